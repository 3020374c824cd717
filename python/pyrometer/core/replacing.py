"""Files that are written whole or not at all, and never through a link."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(target: Path, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Give a new file, which takes the place of `target` when the block ends.

    Its folder may be somebody else's: a link in the place of the file, or of the temporary one, is
    replaced, and what it leads to stays as it is.

    Parameters
    ----------
    target : Path
        The file; one that is there stays as it is if the block fails.
    mode : int
        Its rights, from which the umask takes some.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with new_file(temporary, mode) as out:
            yield out
        temporary.replace(target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def new_file(path: Path, mode: int = 0o666) -> BinaryIO:
    """Open a new file for writing, in the place of one or a link that is there.

    Raises
    ------
    OSError
        If it cannot be created.
    """
    path.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return open(os.open(path, flags, mode), "wb")
