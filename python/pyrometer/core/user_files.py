"""Files that a user wrote, read as text; and files of ours, up to a size."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from pyrometer.core.errors import UsageError

MOST_USER_BYTES = 8 << 20
"""Of a file that a user wrote by hand."""
MOST_BYTES = 64 << 20
"""Of a document that we wrote. A manifest with 1 000 executors has less than a tenth of it."""


def limited_bytes(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """Read a file that must fit into memory many times over, once it is parsed.

    Raises
    ------
    OSError
        If it cannot be read, or is larger (EFBIG).
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        # A device has no size, and no end.
        content = b"" if size > most_bytes else file.read(most_bytes + 1)
    if size > most_bytes or len(content) > most_bytes:
        raise OSError(errno.EFBIG, f"larger than {most_bytes >> 20} MiB", str(path))
    return content


def user_text(path: Path, remedy: str | None = None, most_bytes: int = MOST_USER_BYTES) -> str:
    """Read a file in UTF-8; a byte order mark, as editors of Windows write it, is left out.

    Parameters
    ----------
    remedy : str, optional
        What to do where it cannot be read.

    Raises
    ------
    UsageError
        If it cannot be read, is too large, or is not UTF-8.
    """
    try:
        text = limited_bytes(path, most_bytes).decode("utf-8-sig")
        return text.replace("\r\n", "\n").replace("\r", "\n")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else f"byte {error.start} is not UTF-8"
        raise UsageError(f"{path} cannot be read: {why}", remedy) from error
