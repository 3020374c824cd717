"""How a verb ends when the exit code is the observed command's."""

from __future__ import annotations


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
