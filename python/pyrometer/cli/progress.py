"""How a run goes on, in one line on the terminal (stderr); nothing where that is no terminal."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from pyrometer.cli import common
from pyrometer.plan import Trial

if TYPE_CHECKING:
    from rich.live import Live

WORDS = {
    "prepare": "getting ready",
    "run": "running",
    "close": "closing files",
    "ingest": "making tables",
    "summary": "adding up",
    "report": "writing the report",
}


class Progress:
    """A :class:`pyrometer.run.observe.Watch` for people.

    A command of the user's owns the terminal while it runs: then only notes are shown, so that
    its own output stays as it is.

    Parameters
    ----------
    trial : Trial
        What runs.
    """

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self._live: Live | None = None
        self._since = time.monotonic()
        self._phase = ""

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.live import Live

            self._live = Live(console=common.err(), transient=True, auto_refresh=False)
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def phase(self, name: str) -> None:
        """Show that a phase begins."""
        self._phase, self._since = name, time.monotonic()
        if self._live is not None and self._trial.name is None:
            if name == "run":
                self._live.stop()
            elif name == "close":
                self._live.start()
        self._show(WORDS.get(name, name))

    def progress(self, what: str, done: int, total: int) -> None:
        """Show how far the making of data is."""
        share = f"{100 * done / total:.0f} %" if total else str(done)
        self._show(f"{what}: {share}")

    def running(self, iteration: int | None, iterations: int, warmup: bool) -> None:
        """Show which iteration runs."""
        if self._trial.name is None:
            return
        where = "starting Spark" if iteration is None else f"iteration {iteration}"
        self._show(f"running {self._trial.name}: {where}{' (warm-up)' if warmup else ''}")

    def note(self, text: str) -> None:
        """Print a line that stays."""
        common.err().print(text, markup=False)

    def _show(self, text: str) -> None:
        if self._live is not None and self._live.is_started:
            elapsed = time.monotonic() - self._since
            self._live.update(f"{text}  {elapsed:.0f} s", refresh=True)
