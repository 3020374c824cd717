"""Follows a JFR recording that grows: gives its chunks once they are complete, each once.

Follows the plugin's records of one JVM: which tasks ran when, and whose process it is.

Lines are kept as they are, and only those of tasks that run or that ended in the chunk at hand:
memory is bounded by them, however long the application lasts.
"""

from __future__ import annotations

import re
import socket
import struct
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyrometer.core.json_text import parse_json
from pyrometer.core.liveness import runs

# Magic, major and minor, size, constant pool, metadata, start (Unix ns), duration, start in ticks,
# ticks per second, features: as async-profiler 4 and JDK 11 to 25 write it.
_HEADER = struct.Struct(">4s2H7q4s")
_NAME = re.compile(r"profile-(?P<role>.+)-(?P<pid>\d+)\.jfr")
_BLOCK = 1 << 20
NS_PER_S = 1_000_000_000


@dataclass(frozen=True)
class Chunk:
    """A complete chunk: its place in the file, and its time.

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
        """Offset of its end."""
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
        """Start of its first chunk: it distinguishes two recordings of one name."""
        header = self._header(0)
        return None if header is None else int(header[6])

    def next(self, at: int | None = None) -> Chunk | None:
        """Return the chunk at an offset, by default the first not yet done with.

        None as long as it is not complete: an open chunk of async-profiler claims 1 GiB and has
        no constant pool.
        """
        at = self.offset if at is None else at
        header = self._header(at)
        if header is None:
            return None
        magic, major, _, size, pool, _, start_wall, duration, start_ticks, ticks, _features = header
        if magic != b"FLR\0" or major not in (1, 2) or size < _HEADER.size or ticks <= 0:
            self.reason = f"{self.path.name}: not a chunk of a JFR recording at byte {at}"
            return None
        if pool == 0 or at + size > self.path.stat().st_size:
            return None
        # The JDK's ticks are those of its time stamp counter.
        mono = start_ticks if ticks == NS_PER_S else None
        return Chunk(at, size, start_wall, max(duration, 0), mono)

    def ready(self, length_ns: int) -> tuple[list[Chunk], bool]:
        """Return complete chunks until they cover a time, and whether they do."""
        found: list[Chunk] = []
        covered, at = 0, self.offset
        # A clock that was set back within a chunk must not make it a chunk without end.
        while covered < length_ns and (chunk := self.next(at)) is not None:
            found.append(chunk)
            covered += chunk.duration_ns
            at = chunk.end
        return found, covered >= length_ns

    def upto(self, end: int) -> list[Chunk]:
        """Return the complete chunks from the offset up to another."""
        found: list[Chunk] = []
        at = self.offset
        while at < end and (chunk := self.next(at)) is not None:
            found.append(chunk)
            at = chunk.end
        return found

    def left_bytes(self) -> tuple[int, int]:
        """Bytes after the offset: of complete chunks, and of one that is not."""
        try:
            size = self.path.stat().st_size
            chunks = self.upto(size)
        except OSError:
            return 0, 0
        end = chunks[-1].end if chunks else self.offset
        return end - self.offset, max(0, size - end)

    def copy(self, chunks: Sequence[Chunk], target: Path) -> None:
        """Write chunks that follow one another to a separate recording."""
        with self.path.open("rb") as source, target.open("wb") as out:
            source.seek(chunks[0].offset)
            remaining = chunks[-1].end - chunks[0].offset
            while remaining > 0 and (block := source.read(min(remaining, _BLOCK))):
                out.write(block)
                remaining -= len(block)

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


_KIND = re.compile(rb'\{"k":"([a-z_]+)"')
_TIME = re.compile(rb'"mono_ns":(\d+)')
# A sample of a sleeping thread covers the time until it woke, maybe since another chunk.
_BEFORE_NS = 30_000_000_000
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


class TaskLog:
    """Records of one process, read as far as they are needed.

    Parameters
    ----------
    path : Path
        ``plugin-<role>-<executor>-<pid>.ndjson``.

    Attributes
    ----------
    pid : int
        The process.
    facts : dict
        The latest ``process`` record; that of an application, once it is known.
    closed : bool
        The JVM or its context said good-bye.
    alloc_bytes : int
        Bytes between two samples of allocation; 0 if unknown.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.pid = int(path.stem.rpartition("-")[2])
        self.facts: dict[str, Any] = {}
        self.closed = False
        self.alloc_bytes = 0
        self._host = socket.gethostname()
        self._at = 0
        self._time_ns = 0
        self._process_lines: list[bytes] = []
        self._clock = b""
        self._open: dict[tuple[int, int], bytes] = {}
        self._ended: deque[tuple[int, bytes]] = deque()

    @property
    def app_id(self) -> str | None:
        """The application, once it is known."""
        return self.facts.get("app_id")

    def read_past(self, mono_ns: int) -> bool:
        """Read on until a record is younger than a moment; False if there is none yet.

        Records are written in order of time: what follows a younger one
        says nothing about the time before, but for the application's name.
        """
        try:
            with self.path.open("rb") as lines:
                lines.seek(self._at)
                while self._time_ns <= mono_ns or self.app_id is None:
                    line = lines.readline()
                    if not line.endswith(b"\n"):
                        break
                    self._at += len(line)
                    self._take(line)
        except OSError:
            return False
        return self._time_ns > mono_ns

    def over(self) -> bool:
        """Whether nothing more will be written: the process is gone; elsewhere, it said so."""
        here = self.facts.get("host", self._host) == self._host
        return not runs(self.pid) if here else self.closed

    def write(self, start_mono_ns: int, target: Path) -> None:
        """Write what a chunk that starts then needs; tasks that ended long before are dropped."""
        while self._ended and self._ended[0][0] < start_mono_ns - _BEFORE_NS:
            self._ended.popleft()
        with target.open("wb") as out:
            out.writelines(self._process_lines)
            out.write(self._clock)
            out.writelines(self._open.values())
            out.writelines(line for _, line in self._ended)

    def _take(self, line: bytes) -> None:
        match = _KIND.match(line)
        kind = match[1] if match else b""
        if kind in (b"mx", b"clock"):
            self._moment(line)
            if kind == b"clock":
                self._clock = line
            return
        if kind not in (b"process", b"task_start", b"task", b"profiler", b"bye"):
            return
        try:
            self._record(kind, parse_json(line), line)
        except (ValueError, KeyError, TypeError):
            # The reader of all records counts those that cannot be read.
            return

    def _record(self, kind: bytes, record: dict[str, Any], line: bytes) -> None:
        if kind == b"process":
            self._process(record, line)
        elif kind == b"task_start":
            self._time_ns = max(self._time_ns, record["start_ns"])
            self._open[record["tid"], record["task"]] = line
        elif kind == b"task":
            self._time_ns = max(self._time_ns, record["end_ns"])
            self._open.pop((record["tid"], record["task"]), None)
            self._ended.append((record["end_ns"], line))
        elif kind == b"profiler":
            self.alloc_bytes = alloc_bytes(str(record.get("options") or ""))
        else:
            self.closed = True
            self._moment(line)

    def _process(self, record: dict[str, Any], line: bytes) -> None:
        # A context that is stopped leaves the application as the one that was.
        self.closed = False
        if record.get("app_id") or not self.facts:
            self.facts = record
            self._process_lines = [*self._process_lines[-1:], line]
        self._moment(line)

    def _moment(self, line: bytes) -> None:
        match = _TIME.search(line)
        if match:
            self._time_ns = max(self._time_ns, int(match[1]))


def alloc_bytes(options: str) -> int:
    """Read the bytes between two samples of allocation; 0 if the options do not say.

    Examples
    --------
    >>> alloc_bytes("start,event=cpu,alloc=8m,lock=10ms"), alloc_bytes("start,event=cpu")
    (8388608, 0)
    """
    match = re.search(r"\balloc=(\d+)([kmg]?)\b", options.lower())
    return int(match[1]) * _UNITS[match[2]] if match else 0
