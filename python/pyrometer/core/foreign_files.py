"""Files in folders where others rule, copied: no link is followed, and nothing else is read."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

from pyrometer.core.replacing import new_file

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_BLOCK = 1 << 20
_ROOM = 0.9
"""Share of what is free that a copy may take: a file may have any size and hold nothing."""
MOST_FILES = 10_000
"""Files that are copied of a folder, at most."""

Does = Callable[[Callable[[], None]], None]


def copy_files(source: Path, target: Path, does: Does = lambda action: action()) -> None:
    """Copy a file, or the files of a folder, which may be somebody else's.

    Of a file that grows as much is copied as it has when it is opened. In a folder, what is no
    regular file, and hidden files, are passed over.

    Parameters
    ----------
    source : Path
        A regular file or a folder, and no link to one.
    target : Path
        What is made; it is private.
    does : callable
        Opens what is read, with the rights of its owner where ours are more.

    Raises
    ------
    OSError
        If it cannot be read, is something else, or there is no room for it.
    """
    opened = _opened(source, None, does)
    try:
        if stat.S_ISDIR(os.fstat(opened).st_mode):
            _copy_folder(opened, target, does)
        else:
            _copy_file(opened, target)
    finally:
        os.close(opened)


def _opened(path: str | Path, folder: int | None, does: Does) -> int:
    found: list[int] = []
    does(lambda: found.append(os.open(path, _FLAGS, dir_fd=folder)))
    return found[0]


def _copy_folder(folder: int, target: Path, does: Does) -> None:
    names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    if len(names) > MOST_FILES:
        raise OSError(errno.E2BIG, f"more than {MOST_FILES} files", str(target))
    target.mkdir(mode=0o700)
    for name in names:
        if not stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            continue
        opened = _opened(name, folder, does)
        try:
            _copy_file(opened, target / name)
        finally:
            os.close(opened)


def _copy_file(opened: int, target: Path) -> None:
    about = os.fstat(opened)
    if not stat.S_ISREG(about.st_mode):
        raise OSError(errno.EINVAL, "neither a file nor a folder", str(target))
    room = os.statvfs(target.parent)
    if about.st_size > _ROOM * room.f_bavail * room.f_frsize:
        raise OSError(errno.ENOSPC, "larger than the room that is left", str(target))
    remaining = about.st_size
    try:
        with new_file(target, 0o600) as out:
            while remaining > 0 and (block := os.read(opened, min(_BLOCK, remaining))):
                out.write(block)
                remaining -= len(block)
    except BaseException:
        with contextlib.suppress(OSError):
            target.unlink()
        raise
