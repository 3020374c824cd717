"""How a verb ends: as was judged, as the observed command did, or when the user interrupts it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import typer

from pyrometer.terminal.console import err


@contextmanager
def ended_by_interrupt(kept: str) -> Iterator[None]:
    """End with exit code 1 where the user interrupts, and say what is kept and how to go on.

    Raises
    ------
    Exit
        If the user interrupts.
    """
    try:
        yield
    except KeyboardInterrupt:
        err().print(f"interrupted; {kept}", markup=False, soft_wrap=True)
        raise typer.Exit(1) from None


@contextmanager
def ending_with(verdict: Exception | None) -> Iterator[None]:
    """Print what was judged before, and end with that, whether or not anybody reads all of it.

    Parameters
    ----------
    verdict : Exception or None
        How the verb ends: an ``Exit`` with a code, or an error; ``None`` if all is well.

    Raises
    ------
    Exception
        The verdict.
    """
    try:
        yield
    except BrokenPipeError:
        if verdict is None:
            raise
    if verdict is not None:
        raise verdict


@contextmanager
def read_or_not() -> Iterator[None]:
    """Print before work that is done also where nobody reads what is printed."""
    with suppress(BrokenPipeError):
        yield


class CommandExit(Exception):  # noqa: N818
    """Ends Pyrometer with the exit code of the command that it ran.

    Its cause, if there is one, is what went wrong in Pyrometer meanwhile: that is printed.

    Parameters
    ----------
    code : int
        The exit code.
    """

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code
