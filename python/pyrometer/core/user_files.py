"""Files that a user wrote, read as text."""

from __future__ import annotations

from pathlib import Path

from pyrometer.core.errors import UsageError


def user_text(path: Path, remedy: str | None = None) -> str:
    """Read a file in UTF-8; a byte order mark, as editors of Windows write it, is left out.

    Parameters
    ----------
    remedy : str, optional
        What to do where it cannot be read.

    Raises
    ------
    UsageError
        If it cannot be read, or is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else f"byte {error.start} is not UTF-8"
        raise UsageError(f"{path} cannot be read: {why}", remedy) from error
