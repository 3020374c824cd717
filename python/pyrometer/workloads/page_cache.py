"""The page cache of given files: how much is resident, evict it, bring it in.

Residency is counted by ``cachestat(2)`` (Linux 6.5), else page by page by ``mincore(2)``; see
their manual pages. Of files that the user neither owns nor may write, the kernel tells it to root
alone: to others ``mincore`` says that every page is resident. Only the standard library is used:
the workload runner does this before each iteration, outside of its time.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

STATES = ("cold", "warm")
COLD_AT_MOST = 0.01
WARM_AT_LEAST = 0.99
SAMPLED_FILES = 32
"""Most files that are checked if no state is asked for."""

_SYS_CACHESTAT = 451
_PAGE = os.sysconf("SC_PAGESIZE")
_CHUNK = 1 << 20
_MINCORE_CHUNK = 1 << 30
_DROP_CACHES = Path("/proc/sys/vm/drop_caches")
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]


@dataclass(frozen=True)
class Residency:
    """Pages of some files, those of them in the page cache, and what counted them.

    What is not told is ``None``.
    """

    pages: int
    resident: int | None
    method: str | None

    @property
    def ratio(self) -> float | None:
        """Resident share; ``None`` where there is no page, or it is not told."""
        if self.resident is None or not self.pages:
            return None
        return self.resident / self.pages


def residency(paths: Iterable[str]) -> Residency:
    """Count the resident pages of files.

    Raises
    ------
    OSError
        If a file cannot be read.
    """
    pages = resident = 0
    method = "cachestat"
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            size = os.fstat(descriptor).st_size
            count = _cachestat(descriptor)
            if count is None and size and not _is_told(path, descriptor):
                return Residency(pages + -(-size // _PAGE), None, None)
            if count is None:
                method, count = "mincore", mincore(descriptor, size)
        finally:
            os.close(descriptor)
        pages += -(-size // _PAGE)
        resident += count
    return Residency(pages, resident, method)


def evict(paths: Iterable[str]) -> None:
    """Write back dirty pages of files, then drop the pages that nobody has mapped."""
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def read(paths: Iterable[str]) -> None:
    """Read files from beginning to end."""
    buffer = bytearray(_CHUNK)
    for path in paths:
        with open(path, "rb", buffering=0) as source:
            while source.readinto(buffer):
                pass


def bring(state: str | None, paths: Sequence[str]) -> dict[str, Any]:
    """Bring files into a state of the page cache and verify it.

    Parameters
    ----------
    state : {"cold", "warm"} or None
        ``None``: only look, at no more than `SAMPLED_FILES` of the files.
    paths : sequence of str
        The files.

    Returns
    -------
    dict
        ``state`` as asked, ``resident_ratio`` as found at the end (``None`` with a ``reason``
        where it is unknown), ``method``; also ``reason`` where the state was not reached.
    """
    facts: dict[str, Any] = {"state": state, "resident_ratio": None, "method": None}
    if not paths:
        return {**facts, "reason": "the workload names no files"}
    try:
        if state is None:
            step = -(-len(paths) // SAMPLED_FILES)
            found = residency(paths[::step])
        elif state == "cold":
            found = _cool(paths)
        else:
            found = _heat(paths)
    except OSError as error:
        return {**facts, "reason": f"{error.filename or 'a file'}: {error.strerror}"}
    return {
        **facts,
        "resident_ratio": found.ratio,
        "method": found.method,
        **({"reason": why} if (why := _missed(state, found)) else {}),
    }


def _cool(paths: Sequence[str]) -> Residency:
    evict(paths)
    found = residency(paths)
    if found.resident is not None and _missed("cold", found):
        # Pages on their way through a CPU's batch of the LRU list escape the advice.
        try:
            _DROP_CACHES.write_text("1")
        except OSError:
            return found
        evict(paths)
        found = residency(paths)
    return found


def _heat(paths: Sequence[str]) -> Residency:
    found = residency(paths)
    if _missed("warm", found):
        read(paths)
        found = residency(paths)
    return found


def _missed(state: str | None, found: Residency) -> str | None:
    if found.resident is None:
        return "the kernel tells only who owns a file, or may write it, which pages are resident"
    ratio = found.ratio
    if ratio is None:
        return "the files are empty"
    if state == "cold" and ratio > COLD_AT_MOST:
        return "pages stayed: another process has them mapped, or keeps reading them"
    if state == "warm" and ratio < WARM_AT_LEAST:
        return "the files do not stay in the page cache: too little memory is free for them"
    return None


class _Range(ctypes.Structure):
    _fields_ = (("off", ctypes.c_uint64), ("len", ctypes.c_uint64))


class _Counts(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_uint64)
        for name in ("cache", "dirty", "writeback", "evicted", "recently_evicted")
    )


def _cachestat(descriptor: int) -> int | None:
    whole, counts = _Range(0, 0), _Counts()
    failed = _libc.syscall(
        ctypes.c_long(_SYS_CACHESTAT),
        ctypes.c_uint(descriptor),
        ctypes.byref(whole),
        ctypes.byref(counts),
        ctypes.c_uint(0),
    )
    return None if failed else int(counts.cache)


def _is_told(path: str, descriptor: int) -> bool:
    """Whether ``mincore`` tells this user the truth about a file."""
    # Root, too, may not write on a file system that is mounted read-only.
    return os.geteuid() in (0, os.fstat(descriptor).st_uid) or os.access(path, os.W_OK)


def mincore(descriptor: int, size: int) -> int:
    """Count the resident pages of an open file of `size` bytes by mapping it."""
    count = 0
    for offset in range(0, size, _MINCORE_CHUNK):
        length = min(_MINCORE_CHUNK, size - offset)
        address = _libc.mmap(None, length, 0, 1, descriptor, offset)  # PROT_NONE, MAP_SHARED
        if address in (None, ctypes.c_void_p(-1).value):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        flags = ctypes.create_string_buffer(-(-length // _PAGE))
        try:
            if _libc.mincore(address, length, flags):
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        finally:
            _libc.munmap(address, length)
        count += sum(byte & 1 for byte in flags.raw)
    return count
