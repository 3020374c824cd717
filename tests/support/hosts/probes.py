"""Streams as probes write them, of a host whose counters are known to the nanosecond."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from tests.support.tables import ARROW, HOST, MONO0

from pyrometer.core import schema

Counter = Callable[[int], int]
STREAMS = {
    "threads": "thread_counters",
    "series": "os_series",
    "states": "thread_states",
    "kernel-stacks": "kernel_stacks",
    "perf-counts": "perf_counts",
    "io-latency": "io_latency",
}


def write_stream(file: Path, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as an Arrow IPC stream; a column that a row lacks is null."""
    columns = schema.tables()[table].columns
    fields = pa.schema([pa.field(c.name, ARROW[c.type]) for c in columns])
    file.parent.mkdir(parents=True, exist_ok=True)
    with pa.ipc.new_stream(file, fields) as out:
        out.write_batch(pa.RecordBatch.from_pylist([dict(row) for row in rows], fields))


@dataclass
class ProbeOf:
    """A probe that reads a host at its own times, and follows some processes.

    Attributes
    ----------
    times : sequence of int
        Its passes.
    host_counters : mapping
        What it reads of the host at each of them, by scope and name.
    since_begin : mapping
        The same of counters that it begins at 0.
    processes : mapping of int to Counter
        CPU time of the processes that it follows; all began with the world.
    more : mapping
        Rows of other streams.
    """

    times: Sequence[int]
    host_counters: Mapping[tuple[str, str], Counter]
    since_begin: Mapping[tuple[str, str], Counter] = field(default_factory=dict)
    processes: Mapping[int, Counter] = field(default_factory=dict)
    more: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)

    def write(self, folder: Path, host: str = HOST, number: str = "") -> list[Path]:
        """Write its streams, of a later probe of the folder with a number; gives their paths."""
        rows = self._series(host)
        files = {
            folder / f"probe-{host}-{name}{number}.arrows": (STREAMS[name], content)
            for name, content in {"series": rows, **self.more}.items()
        }
        for file, (table, content) in files.items():
            write_stream(file, table, content)
        return list(files)

    def _series(self, host: str) -> list[dict[str, Any]]:
        first = self.times[0]
        read: dict[tuple[str, str], Counter] = dict(self.host_counters)
        for key, counter in self.since_begin.items():
            read[key] = lambda t, c=counter: c(t) - c(first)  # type: ignore[misc]
        for pid, counter in self.processes.items():
            read[f"process/{pid}", "cpu_ns"] = counter
            read[f"process/{pid}", "start_time_mono_ns"] = lambda _: MONO0
        read["probe", "own_cpu_ns"] = lambda t: (t - first) // 100
        read["probe", "passes_count"] = lambda t: self.times.index(t)
        rows = []
        for (scope, name), counter in read.items():
            for at, value in _changes([(t, counter(t)) for t in self.times]):
                rows.append({"host": host, "t_mono_ns": at, "scope": scope, "name": name,
                             "value": value})  # fmt: skip
        return rows


def _changes(readings: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Keep the first and the last reading, those that differ, and the one before each of these."""
    last = len(readings) - 1
    return [
        one
        for at, one in enumerate(readings)
        if at in (0, last)
        or one[1] != readings[at - 1][1]
        or (at < last and one[1] != readings[at + 1][1])
    ]
