"""Errors that reach the user: cause first, then the next command."""

from __future__ import annotations


class PyrometerError(Exception):
    """Base of all errors that the command line turns into one clear message.

    Parameters
    ----------
    message : str
        What is wrong, and where (file, line, byte).
    remedy : str, optional
        What to do next: a command where there is one.

    Attributes
    ----------
    exit_code : int
        Code that Pyrometer itself ends with.
    kind : str
        The same in a word, for JSON.
    """

    exit_code = 4
    kind = "internal"

    def __init__(self, message: str, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


class UsageError(PyrometerError):
    """Bad input or bad usage (exit code 2)."""

    exit_code = 2
    kind = "usage"


class CommandNotFoundError(UsageError):
    """There is no such command (exit code 127, as of ``env`` and ``nice``)."""

    exit_code = 127
    kind = "command-not-found"


class CommandNotExecutableError(UsageError):
    """The command is there and cannot be executed (exit code 126, as of ``env`` and ``nice``)."""

    exit_code = 126
    kind = "command-not-executable"


class CapabilityError(PyrometerError):
    """Something required is missing on this machine (exit code 3)."""

    exit_code = 3
    kind = "capability"


class ReaderGoneError(BrokenPipeError):
    """Nobody reads any more what we print; of other pipes that break it says nothing."""


class WorkloadError(PyrometerError):
    """The observed workload failed (exit code 1)."""

    exit_code = 1
    kind = "workload"
