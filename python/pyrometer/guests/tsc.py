"""How fast this host's time stamp counter counts, which an emulated processor shows as its own."""

from __future__ import annotations

import ctypes
import mmap
import platform
import time
from collections.abc import Callable

# rdtsc; shl rdx, 32; or rax, rdx; ret
_CODE = b"\x0f\x31\x48\xc1\xe2\x20\x48\x09\xd0\xc3"
_LOOKS = 50
_LENGTH_S = 0.05
LONGEST_LOOK_NS = 2_000
"""Looks that took longer were interrupted; over the length above they are off by 1 in 10 000."""

Look = tuple[int, int, int]
"""How long a look took, what the counter showed, and when: nanoseconds but for the counter."""


def tsc_khz() -> int | None:
    """Measure it on an x86 host; ``None`` where that cannot be done, or not well."""
    if platform.machine() != "x86_64":
        return None
    try:
        page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError:
        return None  # Memory that is written and executed is not for everybody.
    page.write(_CODE)
    count = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    first = min(_look(count) for _ in range(_LOOKS))
    time.sleep(_LENGTH_S)
    last = min(_look(count) for _ in range(_LOOKS))
    return khz(first, last)


def khz(first: Look, last: Look) -> int | None:
    """Give the rate from two looks; ``None`` if one took too long, or the counter went back.

    Examples
    --------
    >>> khz((130, 1_000_000, 0), (150, 131_000_000, 50_000_000)), khz((9_000, 0, 0), (150, 9, 9))
    (2600000, None)
    """
    passed = last[2] - first[2]
    counted = last[1] - first[1]
    if max(first[0], last[0]) > LONGEST_LOOK_NS or passed <= 0 or counted <= 0:
        return None
    return round(counted * 1e6 / passed)


def _look(count: Callable[[], int]) -> Look:
    before = time.monotonic_ns()
    found = count()
    after = time.monotonic_ns()
    return after - before, found, (before + after) // 2
