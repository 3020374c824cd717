"""A neighbour: uses up one resource until it is ended, and reports how much it got.

A separate program (``python neighbour.py KIND FOLDER``); it needs Python's standard library only.
Each second it writes what it has done since it began: a line ``{"mono_ns", "work"}``, in steps of
arithmetic (cpu) or bytes (the others).
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import mmap
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

UNITS = {"cpu": "steps", "memory": "bytes", "cache": "bytes", "disk": "bytes"}
STREAM_BYTES = 128 << 20
FILE_BYTES = 64 << 20
BLOCK_BYTES = 1 << 20
OTHER_CACHE_BYTES = 8 << 20
"""Size of the last cache where the kernel does not report it."""


def cpu(folder: Path) -> Iterator[int]:
    """Do integer arithmetic."""
    steps, state = 100_000, 1
    while True:
        for _ in range(steps):
            state = (state * 25214903917 + 11) & 0xFFFFFFFFFFFF
        yield steps


def memory(folder: Path) -> Iterator[int]:
    """Copy an array that no cache holds; counts bytes read and written."""
    return _copies(STREAM_BYTES)


def cache(folder: Path) -> Iterator[int]:
    """Copy within an array as large as the last cache: what others keep there goes."""
    return _copies(last_cache() // 2)


def disk(folder: Path) -> Iterator[int]:
    """Write and read a file, past the page cache where the file system allows."""
    # Without a name from the first moment where the file system allows: a kill leaves none behind.
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        with contextlib.suppress(OSError):
            fcntl.fcntl(file, fcntl.F_SETFL, os.O_DIRECT)
        block = mmap.mmap(-1, BLOCK_BYTES)
        block.write(os.urandom(BLOCK_BYTES))
        while True:
            for act in (os.pwritev, os.preadv):
                for at in range(0, FILE_BYTES, BLOCK_BYTES):
                    yield act(file.fileno(), [block], at)
                os.fdatasync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


KINDS: dict[str, Callable[[Path], Iterator[int]]] = {
    "cpu": cpu,
    "memory": memory,
    "cache": cache,
    "disk": disk,
}


def last_cache() -> int:
    """Give the size of the last cache of the first CPU."""
    indices = Path("/sys/devices/system/cpu/cpu0/cache").glob("index[0-9]*/size")
    sizes = [_bytes(path.read_text(encoding="ascii")) for path in indices]
    return max(sizes, default=OTHER_CACHE_BYTES)


def _bytes(text: str) -> int:
    number = text.strip()
    return int(number.rstrip("KMG")) << {"K": 10, "M": 20, "G": 30}.get(number[-1], 0)


def _copies(size: int) -> Iterator[int]:
    source, target = (ctypes.create_string_buffer(size) for _ in range(2))
    ctypes.memset(source, 1, size)
    part = min(size, 8 << 20)
    while True:
        for at in range(0, size - part + 1, part):
            ctypes.memmove(ctypes.byref(target, at), ctypes.byref(source, at), part)
            yield 2 * part


def main(kind: str, folder: str) -> None:
    """Work until ended."""
    done, due = 0, time.monotonic() + 1.0
    _report(done)
    for work in KINDS[kind](Path(folder)):
        done += work
        if time.monotonic() >= due:
            due += 1.0
            _report(done)


def _report(done: int) -> None:
    line = json.dumps({"mono_ns": time.monotonic_ns(), "work": done}) + "\n"
    os.write(1, line.encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
