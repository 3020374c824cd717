"""What every verb needs to print: human text to stderr or stdout, JSON as the last line.

Also a part of the terminal (stderr) that is redrawn; nothing where that is no terminal.

How a run goes on: one line on the terminal (stderr), plain lines where that is no terminal.
"""

from __future__ import annotations

import shlex
import shutil
import sys
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer

if TYPE_CHECKING:
    from rich.console import Console as Console
    from rich.console import RenderableType
    from rich.live import Live

    from pyrometer.trial.trial import Trial

NAME = "pyrometer"

JsonOption = Annotated[
    bool, typer.Option("--json", help="Print JSON as the last line of stdout, for programs.")
]


@cache
def err() -> Console:
    """Return the console for human text that is not the result (stderr)."""
    return _console(stderr=True)


@cache
def out() -> Console:
    """Return the console for human text that is the verb's result (stdout)."""
    return _console(stderr=False)


def _console(*, stderr: bool) -> Console:
    from pyrometer.terminal.harmless import Harmless
    from pyrometer.terminal.reticent import Reticent

    console = Reticent(stderr=stderr, highlight=False)
    console.push_render_hook(Harmless())
    return console


def program() -> str:
    """Say how a shell here finds this program: by its name, or else by the path it was called by.

    So a command that is printed works as printed, also where the environment of an installation
    was not activated.
    """
    called = Path(sys.argv[0])
    if called.name != NAME or not called.is_file():
        return NAME
    found = shutil.which(NAME)
    if found is not None and Path(found).samefile(called):
        return NAME
    return from_here(called.absolute())


def from_here(path: Path) -> str:
    """Write a path as a shell takes it: relative to the working directory if it lies below."""
    here = Path.cwd()
    return shlex.quote(str(path.relative_to(here) if path.is_relative_to(here) else path))


def human(as_json: bool) -> Console:
    """Where a reading verb writes its text: stdout, or stderr if JSON goes to stdout."""
    return err() if as_json else out()


def emit_json(value: Any) -> None:
    """Write one line of JSON to stdout. Call it last.

    Parameters
    ----------
    value : Any
        A pydantic model or plain data; keys that end in a unit hold that unit.
    """
    dump = getattr(value, "model_dump", None)
    if dump is not None:
        value = dump(mode="json", by_alias=True)
    from pyrometer.core.json_text import to_json
    from pyrometer.core.redaction import redacted

    text = redacted(to_json(value, ensure_ascii=False))
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        # Names of files may be bytes that are no text, and a locale may have ASCII alone.
        text = redacted(to_json(value))
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def say_error(message: str, remedy: str | None) -> None:
    """Print an error: what is wrong, then what to do next.

    Where nobody reads it, the exit code says so alone.
    """
    from rich.markup import escape

    from pyrometer.core.redaction import Redactor

    console, redact = err(), Redactor().text
    with suppress(OSError):
        console.print(f"[bold red]error:[/] {escape(redact(message))}", soft_wrap=True)
        if remedy:
            console.print(f"  [bold]try:[/] {escape(redact(remedy))}", soft_wrap=True)


WORDS = {
    "machine": "making a virtual machine",
    "programs": "making a virtual machine: looking for its programs",
    "disks": "making a virtual machine: its disks",
    "boot": "booting it",
    "prepare": "getting ready",
    "run": "running",
    "close": "closing files",
    "ingest": "making tables",
    "summary": "adding up",
    "report": "writing the report",
}
"""Phases of a trial, for people."""
PLAIN_EVERY_S = 10.0


class LiveDisplay:
    """Shows something from its beginning to its end, and then takes it away.

    Where the terminal is gone, or who reads us, nothing is shown, and what is shown goes on.
    """

    def __init__(self) -> None:
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.live import Live

            self._live = Live(console=err(), transient=True, auto_refresh=False)
            self.begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.pause()

    def begin(self) -> None:
        """Show it, again if it was taken away."""
        if self._live is not None:
            with suppress(OSError):
                self._live.start()

    def pause(self) -> None:
        """Take it away for now."""
        if self._live is not None:
            with suppress(OSError):
                self._live.stop()

    @property
    def shows(self) -> bool:
        """Whether anything that is drawn is seen."""
        return self._live is not None and self._live.is_started

    def draw(self, what: RenderableType) -> None:
        """Draw it."""
        if self._live is not None and self._live.is_started:
            with suppress(OSError):
                self._live.update(what, refresh=True)


def progress_line(what: str, done: int, total: int) -> str:
    """Say how much of the data has been generated.

    Examples
    --------
    >>> progress_line("web_sales", 3, 12), progress_line("web_sales", 3, 0)
    ('web_sales: 25 %', 'web_sales: 3')
    """
    return f"{what}: {100 * done / total:.0f} %" if total else f"{what}: {done}"


class Progress(LiveDisplay):
    """A :class:`pyrometer.collect.launch.observe.Watch` for people.

    A command of the user's owns the terminal while it runs: then only notes are shown, so that
    its own output stays as it is. Of a workload, plain lines are printed where stderr is no
    terminal: one for every step, and one every ten seconds.

    Parameters
    ----------
    trial : Trial
        What runs.
    """

    def __init__(self, trial: Trial) -> None:
        super().__init__()
        self._trial = trial
        self._began = self._since = time.monotonic()
        self._phase = ""
        self._printed = (0.0, "")

    def phase(self, name: str) -> None:
        """Show that a phase begins."""
        self._phase, self._since = name, time.monotonic()
        if self._live is not None and self._trial.name is None:
            if name == "run":
                self.pause()
            elif name == "close":
                self.begin()
        self._show(WORDS.get(name, name))

    def progress(self, what: str, done: int, total: int) -> None:
        """Show how much of the data has been generated."""
        self._show(progress_line(what, done, total), what)

    def running(self, iteration: int | None, iterations: int, warmup: bool) -> None:
        """Show which iteration runs."""
        if self._trial.name is None:
            return
        where = "starting Spark" if iteration is None else f"iteration {iteration}"
        self._show(f"running {self._trial.name}: {where}{' (warm-up)' if warmup else ''}")

    def exited(self, record: object, ending: object) -> None:
        """Show nothing: the phases that follow do."""

    def summarised(self, record: object, summary: object, scope: object) -> Any:
        """Show nothing; a verb that prints a summary does."""

    def note(self, text: str) -> None:
        """Print a line that stays."""
        with suppress(OSError):
            err().print(text, markup=False)

    def _show(self, text: str, step: str | None = None) -> None:
        now = time.monotonic()
        if self._live is not None:
            self.draw(f"{text}  {now - self._since:.0f} s")
        elif self._trial.name is not None:
            last, printed = self._printed
            if (step or text) != printed or now - last >= PLAIN_EVERY_S:
                self._printed = now, step or text
                self.note(f"[{now - self._began:4.0f} s] {text}")
