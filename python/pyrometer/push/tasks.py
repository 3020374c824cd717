"""Follows the plugin's records of one JVM: which tasks ran when, and whose process it is.

Lines are kept as they are, and only those of tasks that run or that ended in the chunk at hand:
memory is bounded by them, however long the application lasts.
"""

from __future__ import annotations

import json
import re
import socket
from collections import deque
from pathlib import Path
from typing import Any

from pyrometer.process import runs

__all__ = ["TaskLog"]

_KIND = re.compile(rb'\{"k":"([a-z_]+)"')
_TIME = re.compile(rb'"mono_ns":(\d+)')
# A sample of a thread that sleeps stands for the time until it woke, maybe since another chunk.
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

        Records are written in the order in which they were made: what follows a younger one
        tells nothing of the time before, but for the application's name.
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
        """Write what a chunk that starts then needs; tasks that ended long before are let go of."""
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
            self._record(kind, json.loads(line), line)
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
    """Read how many bytes lie between two samples of allocation; 0 if the options do not say.

    Examples
    --------
    >>> alloc_bytes("start,event=cpu,alloc=8m,lock=10ms"), alloc_bytes("start,event=cpu")
    (8388608, 0)
    """
    match = re.search(r"\balloc=(\d+)([kmg]?)\b", options.lower())
    return int(match[1]) * _UNITS[match[2]] if match else 0
