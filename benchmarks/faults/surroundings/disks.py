"""Files that are in no cache, and a file system on a disk that takes few bytes a second."""

from __future__ import annotations

import atexit
import os
import subprocess
from pathlib import Path

BLKIO = Path("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device")
"""Limits of the root group: version 1 has them; what the page cache writes back belongs to it."""
IMAGE_BYTES = 1 << 30


def evict(folder: str) -> None:
    """Let the page cache forget the files of a folder."""
    for path in Path(folder).rglob("*"):
        if path.is_file():
            file = os.open(path, os.O_RDONLY)
            os.fsync(file)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(file)


def mount(folder: Path, per_second: int | None, dirty_bytes: int) -> None:
    """Mount a file system of its own on a folder until this process ends.

    Parameters
    ----------
    per_second : int or None
        Bytes that its disk takes; None: as fast as the disk below.
    dirty_bytes : int
        That may wait to be written, where the disk is slow.

    Raises
    ------
    OSError
        If this user may not, or the kernel has no such limits.
    """
    if os.geteuid() or not BLKIO.exists():
        raise OSError(
            f"a slow disk needs root, loop devices and {BLKIO} (control groups version 1)"
        )
    image = folder.with_name(f"{folder.name}.image")
    _unmount(folder, image)
    folder.mkdir(parents=True, exist_ok=True)
    with image.open("wb") as file:
        file.truncate(IMAGE_BYTES)
    _done("mkfs.ext4", "-q", "-F", str(image))
    device = _done("losetup", "--find", "--show", str(image))
    _done("mount", device, str(folder))
    atexit.register(_unmount, folder, image)
    if per_second is not None:
        number = os.stat(device).st_rdev
        name = f"{os.major(number)}:{os.minor(number)}"
        Path(f"/sys/class/bdi/{name}/strict_limit").write_text("1")
        Path(f"/sys/class/bdi/{name}/max_bytes").write_text(str(dirty_bytes))
        BLKIO.write_text(f"{name} {per_second}")
        atexit.register(BLKIO.write_text, f"{name} 0")  # first: then nothing waits any more


def _unmount(folder: Path, image: Path) -> None:
    if os.path.ismount(folder):
        _done("umount", str(folder))
    if image.exists():
        for line in _done("losetup", "--associated", str(image)).splitlines():
            _done("losetup", "--detach", line.split(":")[0])
        image.unlink()


def _done(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout.strip()
