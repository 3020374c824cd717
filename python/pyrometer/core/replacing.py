"""Files that are written whole or not at all, and never through a link."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(target: Path, mode: int | None = None) -> Iterator[BinaryIO]:
    """Give a new file, which takes the place of `target` when the block ends.

    Its folder may be somebody else's: a link in the place of the file, or of the temporary one, is
    replaced, and what it leads to stays as it is. Who writes the same file at the same time, on
    this host or another, has a temporary one of its own.

    Parameters
    ----------
    target : Path
        The file; one that is there stays as it is if the block fails.
    mode : int, optional
        Its rights, from which the umask takes some; by default 0666, and none that the file which
        is there does not give.

    Raises
    ------
    OSError
        If it cannot be written, or `target` is a device or a pipe: nothing may take its place.
    """
    there = _replaceable(target)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        with new_file(temporary, 0o666 if mode is None else mode) as out:
            if mode is None and there is not None:
                os.fchmod(out.fileno(), stat.S_IMODE(os.fstat(out.fileno()).st_mode) & there)
            yield out
        temporary.replace(target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def _replaceable(target: Path) -> int | None:
    """Rights of the file that will be replaced; ``None`` where there is none, or only a link."""
    try:
        mode = target.stat().st_mode
        # /dev/stdout may lead to a file.
        device = target.is_symlink() and target.readlink().is_relative_to("/proc")
    except OSError:
        return None
    if device or not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, "a device or a pipe, not a file", str(target))
    return None if target.is_symlink() else stat.S_IMODE(mode) & 0o777


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
