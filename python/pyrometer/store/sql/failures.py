"""What a query failed of that is no mistake of ours: one message with what to do."""

from __future__ import annotations

import tempfile
from pathlib import Path

import duckdb

from pyrometer.core.errors import UsageError

SPILL = "pyrometer-duckdb-"
"""How the folders begin, among temporary files, in which DuckDB puts what memory cannot hold."""

# How the system calls a disk, or a user's share of it, that is full.
_FULL = ("no space left", "quota exceeded")


def failure_of(error: duckdb.Error, folder: Path) -> UsageError | None:
    """Say why a query of the tables of a folder failed; ``None`` if that is not known."""
    why = str(error).splitlines()[0]
    return _too_large(error, why, folder) or no_room(error, folder)


def _too_large(error: duckdb.Error, why: str, folder: Path) -> UsageError | None:
    reckoned = isinstance(error, (duckdb.OutOfRangeException, duckdb.ConversionException))
    if not reckoned or ("overflow" not in why.lower() and "out of range" not in why.lower()):
        return None
    return UsageError(
        f"{folder}: values are too large to compute with ({why})",
        "restore the damaged streams from their source, and ingest them again",
    )


def no_room(error: duckdb.Error, folder: Path) -> UsageError | None:
    """Say what had no room while tables of a folder were read or made; ``None`` if nothing."""
    why = str(error).splitlines()[0]
    while folder.name.startswith("."):
        # New tables are made in a hidden folder, which is gone by then.
        folder = folder.parent
    temporary = tempfile.gettempdir()
    more = f"free some space in {temporary}, or set TMPDIR to a folder with more"
    if isinstance(error, duckdb.OutOfMemoryException):
        return UsageError(
            f"{folder}: a query needs more memory, or more room in {temporary}, than there is"
            f" ({why})",
            f"{more}; if that does not help, and the command has --window, look at less",
        )
    if not isinstance(error, duckdb.IOException) or not any(one in why.lower() for one in _FULL):
        return None
    if SPILL in why:
        return UsageError(
            f"{folder}: the folder for temporary files, {temporary}, has no space left ({why})",
            more,
        )
    return UsageError(
        f"{folder}: there is no space left to write tables ({why})",
        f"free some space on the disk of {folder}",
    )
