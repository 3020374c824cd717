"""What went on beside the samples: tasks, GC pauses, stages, as intervals on the samples' clock."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from pyrometer.export.stacks import Stacks

_NUMBER, _TEXT, _BYTES = "integer", "string", "bytes"


def _schema(name: str, label: str, **fields: str) -> dict[str, Any]:
    return {
        "name": name,
        "display": ["marker-chart", "marker-table", "timeline-overview"],
        "chartLabel": label,
        "tableLabel": label,
        "tooltipLabel": label,
        "fields": [{"key": key, "label": key, "format": kind} for key, kind in fields.items()],
    }


SCHEMAS = [
    _schema(
        "Task",
        "stage {marker.data.stage}, task {marker.data.task}",
        stage=_NUMBER,
        attempt=_NUMBER,
        task=_NUMBER,
        status=_TEXT,
    ),
    _schema(
        "GC pause",
        "{marker.data.kind} ({marker.data.cause})",
        collector=_TEXT,
        kind=_TEXT,
        cause=_TEXT,
        before=_BYTES,
        after=_BYTES,
    ),
    _schema("Stage", "stage {marker.data.stage}: {marker.data.text}", stage=_NUMBER, text=_TEXT),
]
"""How the profiler shows each kind of marker."""


class Marker(NamedTuple):
    """An interval with what is known of it."""

    name: str
    start_ns: int
    end_ns: int
    data: dict[str, Any]


Thread = tuple[str | None, int | None, int | None]


def task_markers(stacks: Stacks) -> dict[Thread, list[Marker]]:
    """Give the tasks of each thread: a row per task attempt of the run (and iteration)."""
    after = stacks.after_mono_ns
    if after is None:
        return {}
    sql = f"""
        SELECT host, pid, tid, start_mono_ns + {after}, end_mono_ns + {after},
            stage_id, stage_attempt, task_attempt_id, status
        FROM spans WHERE end_mono_ns IS NOT NULL {_only(stacks)} ORDER BY start_mono_ns
    """
    found: dict[Thread, list[Marker]] = defaultdict(list)
    for host, pid, tid, start, end, stage, attempt, task, status in stacks.run.tables.query(sql):
        data = {"stage": stage, "attempt": attempt, "task": task, "status": status}
        found[host, pid, tid].append(Marker("Task", start, end, {"type": "Task", **data}))
    return found


def process_markers(stacks: Stacks) -> dict[int | None, list[Marker]]:
    """Give the GC pauses of each process, and the stages, where both clocks are known."""
    tables = stacks.run.tables
    found: dict[int | None, list[Marker]] = defaultdict(list)
    after = stacks.after_mono_ns
    if after is None:
        return found
    pauses = f"""
        SELECT pid, start_mono_ns + {after}, start_mono_ns + duration_ns + {after},
            collector, kind, cause, heap_before_bytes, heap_after_bytes
        FROM gc_pauses WHERE start_mono_ns IS NOT NULL ORDER BY start_mono_ns
    """
    for pid, start, end, collector, kind, cause, before, after in tables.query(pauses):
        data = {"collector": collector, "kind": kind, "cause": cause or "no cause logged"}
        sizes = {"before": before, "after": after}
        found[pid].append(Marker("GC pause", start, end, {"type": "GC pause", **data, **sizes}))
    stages = list(_stages(stacks, after))
    for (pid,) in tables.query("SELECT DISTINCT pid FROM samples"):
        found[pid] += stages
    return found


def _stages(stacks: Stacks, after: int) -> Iterator[Marker]:
    offset = stacks.offset_ns
    if offset is None:
        return
    sql = f"""
        SELECT submit_wall_ns, complete_wall_ns, stage_id, name FROM stages
        WHERE submit_wall_ns IS NOT NULL AND complete_wall_ns IS NOT NULL {_only(stacks)}
        ORDER BY submit_wall_ns
    """
    for start, end, stage, text in stacks.run.tables.query(sql):
        data = {"type": "Stage", "stage": stage, "text": text or ""}
        yield Marker("Stage", start - offset + after, end - offset + after, data)


def _only(stacks: Stacks) -> str:
    return "" if stacks.iteration is None else f" AND iteration = {int(stacks.iteration)}"
