"""Files of which only parts are here: the blocks that were asked for, each with its checksum."""

from __future__ import annotations

import os
import struct
import threading
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

BLOCK_BYTES = 64 << 10
_ENTRY = struct.Struct("<Q")
_THERE = 1 << 32


class Blocks:
    """A file that lies elsewhere, read in parts, which are kept.

    A block that is torn or was never written has another checksum and is fetched again.

    Parameters
    ----------
    path : Path
        Where its parts are kept: in this file, with holes, and their checksums beside it.
    size_bytes : int
        Of the whole file.
    fetch : callable
        Gives its bytes from one place to another.
    """

    def __init__(self, path: Path, size_bytes: int, fetch: Callable[[int, int], bytes]) -> None:
        self.size_bytes = size_bytes
        self._fetch = fetch
        self._lock = threading.Lock()
        self._data = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        sums = path.with_name(f"{path.name}.sums")
        self._sums = os.open(sums, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)

    def read(self, start: int, count: int) -> bytes:
        """Give up to so many bytes from a place on; what is not here is fetched."""
        end = min(self.size_bytes, start + count)
        if start >= end:
            return b""
        first, last = start // BLOCK_BYTES, (end - 1) // BLOCK_BYTES
        with self._lock:
            parts = {at: self._kept(at) for at in range(first, last + 1)}
            for begin, stop in _runs([at for at, part in parts.items() if part is None]):
                parts |= self._fetched(begin, stop)
        content = b"".join(part for _, part in sorted(parts.items()) if part is not None)
        skipped = start - first * BLOCK_BYTES
        return content[skipped : skipped + end - start]

    def _kept(self, at: int) -> bytes | None:
        entry = os.pread(self._sums, _ENTRY.size, at * _ENTRY.size)
        if len(entry) < _ENTRY.size:
            return None
        wanted = min(BLOCK_BYTES, self.size_bytes - at * BLOCK_BYTES)
        content = os.pread(self._data, wanted, at * BLOCK_BYTES)
        whole = _ENTRY.unpack(entry)[0] == _THERE | zlib.crc32(content) and len(content) == wanted
        return content if whole else None

    def _fetched(self, begin: int, stop: int) -> dict[int, bytes]:
        start = begin * BLOCK_BYTES
        content = self._fetch(start, min(self.size_bytes, stop * BLOCK_BYTES))
        parts = {
            at: content[at * BLOCK_BYTES - start : (at + 1) * BLOCK_BYTES - start]
            for at in range(begin, stop)
        }
        sums = [_ENTRY.pack(_THERE | zlib.crc32(part)) for part in parts.values()]
        # On a full disk nothing is kept: it is fetched again.
        with suppress(OSError):
            os.pwrite(self._data, content, start)
            os.pwrite(self._sums, b"".join(sums), begin * _ENTRY.size)
        return parts

    def close(self) -> None:
        """Close the files."""
        os.close(self._data)
        os.close(self._sums)


def _runs(blocks: list[int]) -> list[tuple[int, int]]:
    """Join blocks that follow each other.

    Examples
    --------
    >>> _runs([1, 2, 5])
    [(1, 3), (5, 6)]
    """
    runs: list[tuple[int, int]] = []
    for at in blocks:
        if runs and runs[-1][1] == at:
            runs[-1] = (runs[-1][0], at + 1)
        else:
            runs.append((at, at + 1))
    return runs
