"""The folder of what was fetched: its owner's alone, bounded, the oldest removed first."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pyrometer.core import units
from pyrometer.core.errors import UsageError
from pyrometer.store.private import FOLDER_MODE, make_private

BOUND = "PYROMETER_REMOTE_CACHE_BYTES"
"""Variable of the environment that says how many bytes are kept."""
BOUND_BYTES = 10 << 30


def home() -> Path:
    """Give the folder of all runs that were fetched, made if it is missing.

    Raises
    ------
    UsageError
        If it cannot be made, or is not ours: somebody else could then change what we read.
    """
    base = os.environ.get("XDG_CACHE_HOME")
    folder = (Path(base) if base else Path.home() / ".cache") / "pyrometer" / "remote"
    try:
        make_private(folder)
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            raise UsageError(
                f"{folder} is a link or another user's: what it holds cannot be trusted",
                "remove it, or set XDG_CACHE_HOME",
            )
        if stat.S_IMODE(found.st_mode) != FOLDER_MODE:
            folder.chmod(FOLDER_MODE)
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}", "set XDG_CACHE_HOME") from error
    return folder


def bound_bytes() -> int:
    """Give how many bytes are kept.

    Raises
    ------
    UsageError
        If the variable of the environment holds no number of bytes.
    """
    text = os.environ.get(BOUND, "")
    if not text:
        return BOUND_BYTES
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise UsageError(f"{BOUND}={text[:40]!r}: not a number of bytes", f"unset {BOUND}")
    return int(text)


@contextmanager
def written_below(folder: Path) -> Iterator[None]:
    """Say in one message that what was fetched cannot be kept.

    Raises
    ------
    UsageError
        If the block ends with an error of the operating system.
    """
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"{folder}: {error.strerror or error}", "free space there, or set XDG_CACHE_HOME"
        ) from error


class Held:
    """The folder of one state of one run, which nobody removes while we read it.

    Parameters
    ----------
    key : str
        Its name: of the address and of all that lies there.
    below : Path, optional
        The folder that it is in. Default: that of all runs that were fetched.

    Attributes
    ----------
    path : Path
        The folder.
    """

    def __init__(self, key: str, below: Path | None = None) -> None:
        self.path = (home() if below is None else below) / key
        while True:
            with written_below(self.path):
                make_private(self.path)
            try:
                self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            except FileNotFoundError:
                continue
            with suppress(OSError):  # file systems without locks give none
                fcntl.flock(self._lock, fcntl.LOCK_SH)
            # One that was removed between both steps is made again.
            if self.is_there():
                break
            os.close(self._lock)
        with suppress(OSError):
            os.utime(self.path)

    def is_there(self) -> bool:
        """Whether what lies there is the folder that we hold: anybody may have deleted it."""
        try:
            return os.path.samestat(os.fstat(self._lock), self.path.stat())
        except OSError:
            return False

    def make_room(self, wanted_bytes: int) -> None:
        """Remove runs that nobody reads, the least recently used first, until there is room.

        Raises
        ------
        UsageError
            If that many bytes are never kept.
        """
        bound = bound_bytes()
        if wanted_bytes > bound:
            raise UsageError(
                f"{units.size(wanted_bytes)} would have to be fetched; at most"
                f" {units.size(bound)} are kept in {self.path.parent}",
                f"copy the run, or set {BOUND} to more bytes",
            )
        others = [entry for entry in self.path.parent.iterdir() if entry != self.path]
        sizes = {entry: _bytes(entry) for entry in others}
        total = sum(sizes.values()) + wanted_bytes
        for entry in sorted(others, key=_used):
            if total <= bound:
                return
            if _removed(entry):
                total -= sizes[entry]

    def remove_others(self, begin: str) -> None:
        """Remove folders beside it whose names begin so, but for those that somebody reads."""
        for entry in self.path.parent.glob(f"{begin}*"):
            if entry != self.path:
                _removed(entry)

    def forget(self) -> None:
        """Remove what was fetched: it is not what lies there now."""
        shutil.rmtree(self.path, ignore_errors=True)

    def close(self) -> None:
        """Let others remove the folder."""
        os.close(self._lock)


def _used(entry: Path) -> int:
    try:
        return entry.lstat().st_mtime_ns
    except OSError:
        return 0


def _bytes(root: Path) -> int:
    """Bytes that files take on the disk: those of which only parts are there have holes."""
    total = 0
    for folder, _, names in os.walk(root):
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(folder, name)).st_blocks * 512
    return total


def _removed(entry: Path) -> bool:
    try:
        lock = os.open(entry, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(entry, ignore_errors=True)
        return True
    except OSError:
        return False
    finally:
        os.close(lock)
