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
    """

    exit_code = 4

    def __init__(self, message: str, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


class UsageError(PyrometerError):
    """Bad input or bad usage (exit code 2)."""

    exit_code = 2


class CapabilityError(PyrometerError):
    """Something required is missing on this machine (exit code 3)."""

    exit_code = 3


class WorkloadError(PyrometerError):
    """The observed workload failed (exit code 1)."""

    exit_code = 1
