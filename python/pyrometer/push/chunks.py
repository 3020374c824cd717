"""Follows a JFR recording that grows: gives its chunks once they are complete, each once."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Chunk", "Recording", "role_and_pid"]

# Magic, major and minor, size, constant pool, metadata, start (Unix ns), duration, start in ticks,
# ticks per second, features: as async-profiler 4 and JDK 11 to 25 write it.
_HEADER = struct.Struct(">4s2H7q4s")
_NAME = re.compile(r"profile-(?P<role>.+)-(?P<pid>\d+)\.jfr")
_BLOCK = 1 << 20
NS_PER_S = 1_000_000_000


@dataclass(frozen=True)
class Chunk:
    """A complete chunk: where it lies in its file, and when it was.

    Parameters
    ----------
    offset, size : int
        Bytes.
    start_wall_ns, duration_ns : int
        Unix time of its start, and its length.
    start_mono_ns : int or None
        The same moment on CLOCK_MONOTONIC; None where its ticks are not that clock's.
    """

    offset: int
    size: int
    start_wall_ns: int
    duration_ns: int
    start_mono_ns: int | None

    @property
    def end(self) -> int:
        """Offset behind it."""
        return self.offset + self.size

    @property
    def end_wall_ns(self) -> int:
        """Unix time of its end."""
        return self.start_wall_ns + self.duration_ns

    @property
    def end_mono_ns(self) -> int | None:
        """CLOCK_MONOTONIC at its end."""
        return None if self.start_mono_ns is None else self.start_mono_ns + self.duration_ns


class Recording:
    """One growing file.

    Parameters
    ----------
    path : Path
        ``profile-<role>-<pid>.jfr``.

    Attributes
    ----------
    offset : int
        First byte not yet done with.
    reason : str or None
        Why nothing more of it can be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.role, self.pid = role_and_pid(path)
        self.offset = 0
        self.reason: str | None = None

    def first_wall_ns(self) -> int | None:
        """Tell when its first chunk began: by it two recordings of one name are told apart."""
        header = self._header(0)
        return None if header is None else int(header[6])

    def next(self, at: int | None = None) -> Chunk | None:
        """Give the chunk at an offset, by default the first not yet done with.

        None as long as it is not complete: an open chunk of async-profiler claims 1 GiB and has
        no constant pool.
        """
        at = self.offset if at is None else at
        header = self._header(at)
        if header is None:
            return None
        magic, major, _, size, pool, _, start_wall, duration, start_ticks, ticks, _features = header
        if magic != b"FLR\0" or major not in (1, 2) or size < _HEADER.size or ticks <= 0:
            self.reason = f"{self.path.name}: no chunk of a JFR recording at byte {at}"
            return None
        if pool == 0 or at + size > self.path.stat().st_size:
            return None
        # The JDK's own ticks are those of its time stamp counter.
        mono = start_ticks if ticks == NS_PER_S else None
        return Chunk(at, size, start_wall, max(duration, 0), mono)

    def ready(self, length_ns: int) -> tuple[list[Chunk], bool]:
        """Give complete chunks until they cover a time, and whether they do."""
        found: list[Chunk] = []
        covered, at = 0, self.offset
        # A clock that was set back within a chunk must not make it a chunk without end.
        while covered < length_ns and (chunk := self.next(at)) is not None:
            found.append(chunk)
            covered += chunk.duration_ns
            at = chunk.end
        return found, covered >= length_ns

    def upto(self, end: int) -> list[Chunk]:
        """Give the complete chunks from the offset up to another."""
        found: list[Chunk] = []
        at = self.offset
        while at < end and (chunk := self.next(at)) is not None:
            found.append(chunk)
            at = chunk.end
        return found

    def left_bytes(self) -> tuple[int, int]:
        """Bytes behind the offset: of complete chunks, and of one that is not."""
        try:
            size = self.path.stat().st_size
            chunks = self.upto(size)
        except OSError:
            return 0, 0
        end = chunks[-1].end if chunks else self.offset
        return end - self.offset, max(0, size - end)

    def copy(self, chunks: Sequence[Chunk], target: Path) -> None:
        """Write chunks that follow one another to a recording of their own."""
        with self.path.open("rb") as source, target.open("wb") as out:
            source.seek(chunks[0].offset)
            left = chunks[-1].end - chunks[0].offset
            while left > 0 and (block := source.read(min(left, _BLOCK))):
                out.write(block)
                left -= len(block)

    def _header(self, at: int) -> tuple[Any, ...] | None:
        try:
            with self.path.open("rb") as source:
                source.seek(at)
                raw = source.read(_HEADER.size)
        except OSError:
            return None
        return None if len(raw) < _HEADER.size else _HEADER.unpack(raw)


def role_and_pid(path: Path) -> tuple[str, int]:
    """Read ``profile-<role>-<pid>.jfr``; pid -1 where the name is another.

    Examples
    --------
    >>> role_and_pid(Path("raw/profile-driver-5213.jfr"))
    ('driver', 5213)
    """
    match = _NAME.fullmatch(path.name)
    return (match["role"], int(match["pid"])) if match else ("unknown", -1)
