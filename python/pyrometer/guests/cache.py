"""Where kernels and disks of machines are kept between trials."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pyrometer.core.errors import CapabilityError
from pyrometer.workloads.data_cache import default_root

_STAGED = ".making-"


def cache_root() -> Path:
    """Folder of machines in the user's cache."""
    return default_root() / "guests"


def kernel_cache() -> Path:
    """Folder of it in which packages of kernels are unpacked."""
    return cache_root() / "kernels"


def free_bytes_of(folder: Path) -> int:
    """Bytes that can still be written below a folder, which need not be there yet."""
    there = next(one for one in (folder.absolute(), *folder.absolute().parents) if one.is_dir())
    return shutil.disk_usage(there).free


@contextlib.contextmanager
def staging(cache: Path) -> Iterator[Path]:
    """Give an empty folder in a folder of the cache; it is removed at the end of the block.

    Those that processes left which were killed are removed, too: nobody holds their lock.

    Raises
    ------
    CapabilityError
        If something cannot be written there.
    """
    held = -1
    folder: Path | None = None
    try:
        cache.mkdir(parents=True, exist_ok=True)
        whole = _opened(cache)
        try:
            # What another process has made is locked before anybody else looks at it.
            fcntl.flock(whole, fcntl.LOCK_EX)
            _remove_left(cache)
            folder = Path(tempfile.mkdtemp(dir=cache, prefix=_STAGED))
            held = _opened(folder)
            fcntl.flock(held, fcntl.LOCK_EX)
        finally:
            os.close(whole)
        yield folder
    except OSError as error:
        raise CapabilityError(
            f"{cache} cannot be written: {error}",
            "set PYROMETER_CACHE to a folder of your own that has room",
        ) from error
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        if held >= 0:
            os.close(held)


def _remove_left(cache: Path) -> None:
    for left in cache.glob(f"{_STAGED}*"):
        with contextlib.suppress(OSError):
            descriptor = _opened(left)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left, ignore_errors=True)
            finally:
                os.close(descriptor)


def _opened(folder: Path) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
