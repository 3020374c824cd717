"""Folders for work in progress, which are removed even if their maker was killed.

Their maker holds a lock on them for as long as it lives, however it ends: the next one that needs
such a folder removes those that nobody holds.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

Used = Callable[[Path], bool]

# Until it is locked, a folder that was just created looks like a leftover.
_NEW_S = 60


class Scratch:
    """A private folder (mode 0700) that is removed when it is closed or its maker ends.

    One that others still use then is left to whoever needs such a folder next.

    Parameters
    ----------
    prefix : str
        How its name begins. Leftover folders of this prefix are removed.
    parent : Path, optional
        Where it is created. Default: the system's folder for temporary files.
    used : callable
        Whether others use such a folder. Default: nobody does.

    Attributes
    ----------
    path : Path
        The folder.

    Raises
    ------
    OSError
        If it cannot be created.
    """

    def __init__(
        self, prefix: str, parent: Path | None = None, used: Used = lambda _: False
    ) -> None:
        where = Path(tempfile.gettempdir()) if parent is None else parent
        _sweep(where, prefix, used)
        self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=where))
        lock = _opened(self.path)
        if lock is not None:
            _locked(lock)
        self._finish = weakref.finalize(self, _remove, self.path, lock, os.getpid(), used)

    def close(self) -> None:
        """Remove the folder with all that is in it."""
        self._finish()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _remove(path: Path, lock: int | None, maker: int, used: Used) -> None:
    # A fork of the maker has the same object, but the folder belongs to the maker.
    if os.getpid() == maker and not used(path):
        shutil.rmtree(path, ignore_errors=True)
    if lock is not None:
        os.close(lock)


def _sweep(parent: Path, prefix: str, used: Used) -> None:
    for path in _leftovers(parent, prefix):
        lock = _opened(path)
        if lock is None:
            continue
        try:
            if _locked(lock) and not used(path):
                shutil.rmtree(path, ignore_errors=True)
        finally:
            os.close(lock)


def _leftovers(parent: Path, prefix: str) -> Iterator[Path]:
    """Folders of this prefix that belong to the user and are not quite new."""
    try:
        found = [entry for entry in os.scandir(parent) if entry.name.startswith(prefix)]
    except OSError:
        return
    for entry in found:
        with suppress(OSError):
            status = entry.stat(follow_symlinks=False)
            if status.st_uid == os.geteuid() and time.time() - status.st_mtime > _NEW_S:
                yield Path(entry.path)


def _opened(path: Path) -> int | None:
    """Open a folder for locking; no link to one."""
    try:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None


def _locked(folder: int) -> bool:
    """Whether the lock could be taken; file systems without locks give none."""
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
