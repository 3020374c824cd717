"""What a trial of a curve of scaling measured, per iteration."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyrometer.analyse.bandwidth import attainable
from pyrometer.analyse.cpu import cpu
from pyrometer.analyse.hardware import hardware
from pyrometer.analyse.io import io
from pyrometer.analyse.ledger.slot import slot_view
from pyrometer.analyse.model import View
from pyrometer.analyse.summary import open_scope
from pyrometer.analyse.totals import window_totals
from pyrometer.analyse.trials import Measures
from pyrometer.estimate import Estimate
from pyrometer.store import Run

MEASURES = {
    "run_time_s": "run time of tasks (Spark)",
    "cpu_time_s": "CPU time of tasks (Spark)",
    "process_cpu_s": "CPU time of all threads of the application",
    "run_queue_s": "task threads wait for a CPU",
    "gc_s": "task threads stand still for collections",
    "read_bytes": "bytes read by system calls",
    "disk_bytes": "bytes read from disk",
    "ipc": "instructions per cycle",
    "memory_bytes_per_s": "memory traffic",
    "memory_share": "memory traffic, of what the host card attained",
    "link_bytes_per_s": "traffic of links between nodes",
    "moved_ratio": "bytes moved to and from memory, per byte of input files",
}
"""What is told of each level; those in ``_s`` and ``_bytes`` are of one iteration."""


@dataclass(frozen=True)
class Measured(Measures):
    """One trial: what it has of :data:`MEASURES`, and more.

    Attributes
    ----------
    ledger : dict of str to float
        Seconds of slots in one iteration, by row of the slot view; the rows are apart.
    attainable : Estimate or None
        Memory throughput that the host card attained, bytes a second.
    """

    ledger: dict[str, float] = field(default_factory=dict)
    attainable: Estimate | None = None


def measured(run: Run, seconds: float) -> Measured:
    """Read what a run measured.

    Parameters
    ----------
    seconds : float
        Time of one of its iterations, as the experiment counts it: what is summed over the window
        is brought to it.
    """
    scope = open_scope(run, None)
    length = scope.window.length_ns / 1e9
    each = seconds / length if length else 0.0
    succeeded, failed = window_totals(scope)
    none = None if succeeded["tasks_count"] else "no task of Spark succeeded"
    tasks = {} if none else succeeded
    process, (files, _) = cpu(scope, succeeded, failed), io(scope, succeeded, failed)
    counters = hardware(scope)
    memory = counters.bandwidth
    ledger = _apart(slot_view(scope), each)
    links = [one.bytes_per_s for one in memory.links if one.bytes_per_s is not None]
    share = memory.share_of_attainable
    moved = None
    if memory.total_bytes is not None and files.scan_files_size_bytes:
        moved = memory.total_bytes / files.scan_files_size_bytes
    found: dict[str, tuple[float | None, str | None]] = {
        "run_time_s": (_times(tasks.get("executor_run_time_ns"), each / 1e9), none),
        "cpu_time_s": (_times(tasks.get("executor_cpu_time_ns"), each / 1e9), none),
        "process_cpu_s": (_times(process.process_cpu_ns, each / 1e9), process.reason),
        "run_queue_s": (ledger.get("task/run_queue"), "no probe: light or full profile"),
        "gc_s": (ledger.get("task/gc_pause"), "no GC log: light or full profile"),
        "read_bytes": (_times(files.process_read_chars_bytes, each), files.reason),
        "disk_bytes": (_times(files.process_read_bytes, each), files.reason),
        "ipc": (counters.ipc.ipc, counters.ipc.reason),
        "memory_bytes_per_s": (memory.bytes_per_s, memory.reason),
        "memory_share": (share.value if share else None, memory.reason),
        "link_bytes_per_s": (sum(links) if links else None, "no counter of links"),
        "moved_ratio": (moved, memory.reason or "the size of the files read is not known"),
    }
    manifest = run.manifest
    return Measured(
        measures={name: value for name, (value, _) in found.items() if value is not None},
        missing={
            name: why or "not counted" for name, (value, why) in found.items() if value is None
        },
        ledger=ledger,
        attainable=attainable(manifest.host.card)[0] if manifest else None,
    )


def _times(value: int | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _apart(view: View, each: float) -> dict[str, float]:
    """Seconds of the first two tiers of rows: a row, or its parts where it has some."""
    top = [row for row in view.rows if row.parent is None]
    made: dict[str, float] = {}
    for row in top:
        parts = [part for part in view.rows if part.parent == row.path and part.value_ns]
        for one in parts or [row]:
            if one.value_ns:
                made[one.path] = one.value_ns * each / 1e9
        if parts and row.value_ns is not None:
            rest = row.value_ns - sum(part.value_ns or 0 for part in parts)
            if abs(rest) > UNSEEN * row.value_ns:
                made[f"{row.path}/rest"] = rest * each / 1e9
    return made


UNSEEN = 0.001
"""Share of a row below which what its parts leave out is not told."""
