"""``pyrometer``: finds the verb, runs it, turns errors into one message and an exit code."""

from __future__ import annotations

import errno
import gc
import io
import os
import sys
from collections.abc import Iterator, MutableMapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from pyrometer import __version__
from pyrometer.cli.shared.endings import CommandExit
from pyrometer.cli.shared.fetching import Fetching
from pyrometer.cli.shared.verbs import GROUPS, VERBS
from pyrometer.core.errors import PyrometerError, ReaderGoneError
from pyrometer.store.remote.opened import fetched, in_addresses
from pyrometer.store.remote.progress import tell
from pyrometer.terminal import console

# Modules that cannot have the name of their verb.
MODULES = {"import": "import_"}

FETCHED = "PYROMETER_REMOTE_FETCHED"
"""Variable of the environment: whether to say how much of a run elsewhere was fetched."""

OUTSIDE = frozenset({
    errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ESTALE,
    errno.ENAMETOOLONG, errno.ELOOP, errno.EISDIR, errno.ENOTDIR, errno.EMFILE, errno.ENFILE,
})  # fmt: skip
"""Errors of the system that say nothing of Pyrometer, wherever a file is opened."""

UNWRITTEN = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO})
"""Of a write, which does not say to what file: on a disk that is full or ill."""

REMEDIES = {
    errno.EACCES: "run as its owner, or: chmod +r, and +x for folders",
    errno.ENAMETOOLONG: "give a shorter name",
    errno.ENOSPC: "free some space there",
}

# What Typer makes of a KeyboardInterrupt.
INTERRUPTED = 130

EPILOG = "Start here:  pyrometer doctor   ·   pyrometer run -- spark-submit my_app.py"


def module_of(verb: str) -> str:
    """Name the module of a verb: its room has the name of its heading.

    Examples
    --------
    >>> module_of("show"), module_of("import")
    ('pyrometer.cli.read.show', 'pyrometer.cli.measure.import_')
    """
    room = next(heading for heading, verbs in GROUPS.items() if verb in verbs).lower()
    return f"pyrometer.cli.{room}.{MODULES.get(verb, verb)}"


class _Verbs(MutableMapping[str, Any]):
    """Commands by name; a verb's module is imported when its command is asked for."""

    def __init__(self) -> None:
        self._commands: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._commands:
            if name not in VERBS:
                raise KeyError(name)
            module = import_module(module_of(name))
            command = typer.main.get_command(module.app)
            command.name = name
            # Completion is installed once, for the whole command line.
            command.params = [p for p in command.params if not str(p.name).endswith("_completion")]
            self._commands[name] = command
        return self._commands[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._commands[name] = command

    def __delitem__(self, name: str) -> None:
        del self._commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(VERBS)

    def __len__(self) -> int:
        return len(VERBS)


class _PipeBroken(Exception):  # noqa: N818
    """Takes a ``BrokenPipeError``, its cause, past Typer, which would end the process with 1."""


class _Group(TyperGroup):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = _Verbs()

    def invoke(self, ctx: Any) -> Any:
        """Run a verb."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _PipeBroken from error

    def list_commands(self, ctx: Any) -> list[str]:
        return list(VERBS)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the verbs by what they are for, without importing any of them."""
        for heading, verbs in GROUPS.items():
            with formatter.section(heading):
                # One column for all headings.
                width = max(map(len, VERBS))
                formatter.write_dl([(f"{verb:{width}}", text) for verb, text in verbs.items()])


app = typer.Typer(
    cls=_Group,
    no_args_is_help=True,
    # Verbs have a richer one; to import it takes longer than to print this help.
    rich_markup_mode=None,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pyrometer {__version__}")
        raise typer.Exit


@app.callback()
def pyrometer(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_version, is_eager=True),
    ] = False,
) -> None:
    """Measure an Apache Spark job at every layer, and show where its time went."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code (exit codes: docs/reference/cli.md)."""
    # What a verb reads of a run lives as long as the verb: passes over it find no garbage.
    gc.set_threshold(50_000, 20, 20)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            # Whoever started us closed it.
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        # What a terminal's encoding lacks ends nothing.
        sys.stdout.reconfigure(errors="replace")
    code = run_verb(sys.argv[1:] if arguments is None else list(arguments))
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as error:
            # Python would try once more, and end with its own exit code.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            if stream is sys.stdout and error.errno != errno.EPIPE:
                code = code or _say_unwritten("standard output", error)
    sys.exit(code)


def run_verb(arguments: list[str]) -> int:
    """Run one verb and return its exit code; every error becomes one clear message."""
    tell(Fetching())
    try:
        code = app(arguments, prog_name="pyrometer", standalone_mode=False, obj=arguments)
    except CommandExit as command:
        if command.__cause__ is not None:
            _say(command.__cause__, arguments)
        return command.code
    except _PipeBroken as error:
        return _say(error.__cause__ or error, arguments)
    except (Exception, KeyboardInterrupt) as error:
        return _say(error, arguments)
    finally:
        _say_fetched()
    if code == INTERRUPTED:
        return _say(KeyboardInterrupt(), arguments)
    return code if isinstance(code, int) else 0


def _say(error: BaseException, arguments: list[str]) -> int:
    """Print one message about an error; returns the exit code that Pyrometer has for it."""
    if isinstance(error, PyrometerError):
        remedy = error.remedy and in_addresses(error.remedy)
        console.say_error(in_addresses(error.message), remedy)
        return error.exit_code
    if isinstance(error, BrokenPipeError) and _is_unread(error):
        # The reader (head, less) has gone: nothing more to say, and nothing to flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    if isinstance(error, KeyboardInterrupt) or type(error).__name__ == "Abort":
        console.say_error("interrupted", None)
        return 1
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()  # type: ignore[attr-defined]
        return 2
    format_message = getattr(error, "format_message", None)
    if format_message is not None:
        first = [word for word in arguments if not word.startswith("-")][:1]
        words = _verbs(getattr(error, "ctx", None)) or [word for word in first if word in VERBS]
        console.say_error(format_message(), " ".join(("pyrometer", *words, "--help")))
        return 2
    if isinstance(error, OSError) and error.errno in OUTSIDE and error.filename is not None:
        file = in_addresses(os.fsdecode(error.filename))
        console.say_error(f"{file}: {error.strerror}", REMEDIES.get(error.errno))
        return 2
    if isinstance(error, OSError) and error.errno in UNWRITTEN and error.filename is None:
        return _say_unwritten("a file, or standard output, could not be written", error)
    kept = _keep_traceback(error, arguments)
    console.say_error(
        f"internal error: {type(error).__name__}: {error}",
        f"please report it with the file {kept}"
        if kept
        else "set PYTHONFAULTHANDLER=1 for more detail",
    )
    return 4


def _is_unread(error: BrokenPipeError) -> bool:
    """Whether it was our own output that nobody reads, not the pipe of another process."""
    import select

    if isinstance(error, ReaderGoneError):
        return True
    output = select.poll()
    try:
        output.register(sys.stdout.fileno(), 0)
    except (OSError, ValueError):
        return False
    return bool(output.poll(0))


def _verbs(context: Any) -> list[str]:
    """Give the words that lead to the command of a context, such as ``agent``, ``prune``."""
    words: list[str] = []
    while context is not None and context.parent is not None:
        words.insert(0, str(context.info_name))
        context = context.parent
    return words


def _say_unwritten(what: str, error: OSError) -> int:
    """Say what could not be written, and is lost; returns the exit code."""
    with suppress(OSError):
        console.say_error(f"{what}: {error.strerror}", REMEDIES.get(error.errno or 0))
    return 2


def _say_fetched() -> None:
    """Print what was fetched of runs elsewhere, where ``PYROMETER_REMOTE_FETCHED`` asks for it."""
    if os.environ.get(FETCHED, "") not in ("", "0"):
        for line in fetched():
            console.err().print(line, markup=False, soft_wrap=True)


def _keep_traceback(error: BaseException, arguments: list[str]) -> str | None:
    import tempfile
    import traceback

    from pyrometer.core.redaction import Redactor

    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", errors="backslashreplace", prefix="pyrometer-error-",
            suffix=".txt", delete=False,
        ) as kept:  # fmt: skip
            redactor = Redactor.of(arguments)
            words = redactor.words(arguments)
            kept.write(f"pyrometer {__version__}, Python {sys.version}\n{words}\n\n")
            kept.write(redactor.text("".join(traceback.format_exception(error))))
            return kept.name
    except OSError:
        return None


if __name__ == "__main__":
    main()
