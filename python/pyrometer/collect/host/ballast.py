"""A ballast: holds memory that nobody can swap out, so that the whole host is short of it.

A separate program (``python ballast.py BYTES``); it needs Python's standard library only. It
writes a line once all is held, and keeps it until it is ended.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import signal
import sys
from pathlib import Path

PART_BYTES = 64 << 20
SPARE_BYTES = 256 << 20
"""What must remain of the available memory."""
READY = "the ballast is held"


def hold(size: int) -> list[mmap.mmap]:
    """Take memory, part by part, and lock it.

    Raises
    ------
    OSError
        If the kernel refuses, or too little would remain: then nothing is held.
    """
    room = available() - SPARE_BYTES
    if size > room:
        raise OSError(errno.ENOMEM, f"{size} bytes: at most {max(0, room)} are free for it")
    libc = ctypes.CDLL(None, use_errno=True)
    parts = []
    for at in range(0, size, PART_BYTES):
        length = min(PART_BYTES, size - at)
        part = mmap.mmap(-1, length)
        address = ctypes.addressof(ctypes.c_char.from_buffer(part))
        if libc.mlock(ctypes.c_void_p(address), ctypes.c_size_t(length)):
            error = ctypes.get_errno()
            raise OSError(error, f"mlock after {at} bytes: {os.strerror(error)}")
        parts.append(part)
    return parts


def available() -> int:
    """Give the memory that can be had without swapping, in bytes."""
    rows = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    return next(int(row.split()[1]) << 10 for row in rows if row.startswith("MemAvailable:"))


def main(size: str) -> None:
    """Hold the memory until ended; where memory runs out, this goes first."""
    Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    parts = hold(int(size))
    os.write(1, f"{READY}: {sum(map(len, parts))}\n".encode())
    signal.pause()


if __name__ == "__main__":
    main(*sys.argv[1:])
