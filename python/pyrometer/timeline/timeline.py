"""The timeline of the page: tasks, pauses and series on one axis, bounded in size.

The track of stages on the timeline of the page.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
import numpy.typing as npt

from pyrometer.accounts.ledger.host_slots import define_places
from pyrometer.pages.axis import Axis
from pyrometer.pages.columns import Pack, floats, integers, smallest_uint, texts
from pyrometer.store.tables import Tables
from pyrometer.timeline.disks import disk_tracks
from pyrometer.timeline.jvm import work_tracks
from pyrometer.timeline.latency_map import latency_map
from pyrometer.timeline.machine import (
    Track,
    host_tracks,
    jvm_tracks,
    missing_track,
    place_track,
)
from pyrometer.timeline.pauses import pause_track
from pyrometer.timeline.slots import running_tracks

MAX_STAGES = 5_000
MAX_STAGE_LANES = 16
MAX_NAME = 200


def stage_tracks(tables: Tables, axis: Axis, pack: Pack) -> list[Track]:
    """Stage attempts from submission to completion, as far as the event log has them."""
    found = tables.columns(
        f"""
        SELECT app_index, stage_id, stage_attempt, left(name, {MAX_NAME}) AS name, status,
               submit_wall_ns AS start, coalesce(complete_wall_ns, {axis.end_wall_ns}) AS finish
        FROM stages WHERE submit_wall_ns IS NOT NULL ORDER BY start, stage_id, stage_attempt
        """
    )
    start, end = axis.from_wall(floats(found["start"])), axis.from_wall(floats(found["finish"]))
    if not start.size:
        return []
    end = np.maximum(end, start)
    longest = np.argsort(start - end, kind="stable")[:MAX_STAGES]
    keep = np.sort(longest)
    lane = _stage_lanes(start[keep], end[keep])
    lanes = int(lane.max()) + 1
    keep, lane = keep[lane < MAX_STAGE_LANES], lane[lane < MAX_STAGE_LANES]
    app, stage = integers(found["app_index"]), integers(found["stage_id"])
    attempt, names, status = (
        integers(found["stage_attempt"]),
        texts(found["name"]),
        texts(found["status"]),
    )
    several = np.unique(app).size > 1
    notes = []
    if start.size > MAX_STAGES:
        notes.append(f"the longest {MAX_STAGES:,} of {start.size:,} are drawn")
    if lanes > MAX_STAGE_LANES:
        notes.append(f"{MAX_STAGE_LANES} of {lanes} lanes are drawn")
    return [
        {
            "id": "stages",
            "kind": "stages",
            "title": "Stages",
            "help": "One bar per stage attempt, from its submission to its completion.",
            "lanes": min(lanes, MAX_STAGE_LANES),
            "stages": [
                {
                    "stage_id": int(stage[i]),
                    "label": stage_label(app[i], stage[i], attempt[i], several),
                    "name": names[i] or None,
                    "status": status[i] or None,
                }
                for i in keep.tolist()
            ],
            "columns": {
                "start": pack.add("stages.start", start[keep]),
                "length": pack.add("stages.length", (end[keep] - start[keep]).astype(np.float32)),
                "lane": pack.add("stages.lane", smallest_uint(lane)),
            },
            "note": "; ".join(notes) or None,
        }
    ]


def stage_label(app: int, stage: int, attempt: int, several: bool) -> str:
    """Name of a stage attempt; ``several`` where there is more than one application."""
    return (
        (f"app {app} · " if several else "") + f"stage {stage}" + (f".{attempt}" if attempt else "")
    )


def _stage_lanes(
    start: npt.NDArray[np.float64], end: npt.NDArray[np.float64]
) -> npt.NDArray[np.int64]:
    """Lowest lane that is free, in order of start."""
    running: list[tuple[float, int]] = []
    free: list[int] = []
    used = 0
    lane = np.zeros(start.size, np.int64)
    for place, (begins, ends) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
        while running and running[0][0] <= begins:
            heapq.heappush(free, heapq.heappop(running)[1])
        if not free:
            free.append(used)
            used += 1
        lane[place] = heapq.heappop(free)
        heapq.heappush(running, (ends, int(lane[place])))
    return lane


MAX_TASKS = 30_000
MAX_LANES = 64
# Spark gives a slot to the next task before it has noted the end of the one before.
MAX_OVERLAP_MS = 200.0
OVERLAP_SHARE = 0.1
# What only a measured run has; an event log has none of it.
MEASURED_TABLES = (
    "os_series",
    "jvm_series",
    "gc_pauses",
    "safepoints",
    "jit",
    "spans",
    "thread_counters",
)

STATUSES = ("success", "failed", "killed", "running")


def build_timeline(tables: Tables, axis: Axis | None, pack: Pack) -> dict[str, Any]:
    """Everything with a time, in ms on the run's axis; columns go into ``pack``.

    Returns
    -------
    dict
        ``t0_wall_ns``, ``duration_ms``, ``step_ms``, ``marks`` (iterations), ``tracks`` and
        ``latencies``. A track without data has a ``reason`` instead; of an event log, ``needs_run``
        has the titles of the tracks that only a measured run can have. ``{"reason": ...}`` if
        nothing has a time.
    """
    if axis is None:
        return {"reason": "Nothing in this run has a start and an end."}
    tracks = stage_tracks(tables, axis, pack)
    tracks += [*_tasks(tables, axis, pack), pause_track(tables, axis, pack)]
    tracks += host_tracks(tables, axis, pack)
    tracks += disk_tracks(tables, axis, pack)
    tracks += jvm_tracks(tables, axis, pack)
    tracks += work_tracks(tables, axis, pack)
    tracks.append(place_track(tables, axis, pack))
    needs_run: list[str] = []
    if not any(tables.has(name) for name in MEASURED_TABLES):
        needs_run = [t["title"] for t in tracks if t["kind"] == "missing" and t["id"] != "tasks"]
        tracks = [t for t in tracks if t["kind"] != "missing" or t["id"] == "tasks"]
    return {
        "t0_wall_ns": axis.t0_wall_ns,
        "duration_ms": axis.duration_ms,
        "step_ms": axis.step_ms,
        "count": axis.count,
        "marks": _marks(tables, axis),
        "tracks": tracks,
        "needs_run": needs_run,
        "latencies": latency_map(tables, axis, pack),
    }


def _marks(tables: Tables, axis: Axis) -> list[dict[str, Any]]:
    if not tables.has("iterations"):
        return []
    rows = tables.query(
        "SELECT iteration, warmup, start_wall_ns, end_wall_ns FROM iterations ORDER BY 3"
    )
    return [
        {
            "iteration": iteration,
            "warmup": bool(warmup),
            "start_ms": (start - axis.t0_wall_ns) / 1e6,
            "end_ms": ((end or axis.end_wall_ns) - axis.t0_wall_ns) / 1e6,
        }
        for iteration, warmup, start, end in rows
    ]


def _tasks(tables: Tables, axis: Axis, pack: Pack) -> list[Track]:
    title = "Tasks"
    if not tables.has("tasks"):
        return [missing_track("tasks", title, "There is no event log, or it has no tasks.")]
    define_places(tables)
    found = tables.columns(
        f"""
        SELECT coalesce(executor_id, '?') AS executor, coalesce(p.host, t.host, '?') AS host,
               app_index, stage_id, stage_attempt, task_attempt_id, status,
               launch_wall_ns AS start, coalesce(finish_wall_ns, {axis.end_wall_ns}) AS finish
        FROM tasks t LEFT JOIN h_places p USING (app_index, executor_id)
        WHERE launch_wall_ns IS NOT NULL ORDER BY start, task_attempt_id
        """
    )
    start, end = axis.from_wall(floats(found["start"])), axis.from_wall(floats(found["finish"]))
    if not start.size:
        return [missing_track("tasks", title, "No task of this application has a start time.")]
    end = np.maximum(end, start)
    running = running_tracks(tables, axis, pack, start, end, texts(found["host"]))
    return [_lanes(found, start, end, pack), *running]


def _lanes(
    found: dict[str, npt.NDArray[Any]],
    start: npt.NDArray[np.float64],
    end: npt.NDArray[np.float64],
    pack: Pack,
) -> Track:
    total = start.size
    keep = np.arange(total)
    if total > MAX_TASKS:
        keep = np.sort(np.argsort(start - end, kind="stable")[:MAX_TASKS])
    executors = texts(found["executor"])
    hosts = texts(found["host"])
    lane_of, labels = _assign_lanes(keep, executors, hosts, start, end)
    shown = lane_of < MAX_LANES
    keep, lane_of = keep[shown], lane_of[shown]
    app, stage = integers(found["app_index"]), integers(found["stage_id"])
    attempt = integers(found["stage_attempt"])
    stages = sorted({(int(app[i]), int(stage[i]), int(attempt[i])) for i in keep})
    place = {key: n for n, key in enumerate(stages)}
    index = np.array([place[(int(app[i]), int(stage[i]), int(attempt[i]))] for i in keep], np.int64)
    status = np.array(
        [STATUSES.index(s) if s in STATUSES else 3 for s in texts(found["status"])], np.uint8
    )
    several = len({key[0] for key in stages}) > 1
    notes = []
    if total > MAX_TASKS:
        notes.append(f"the longest {MAX_TASKS:,} of {total:,} task attempts are drawn")
    if len(labels) > MAX_LANES:
        notes.append(f"{MAX_LANES} of {len(labels)} lanes are drawn")
    return {
        "id": "tasks",
        "kind": "tasks",
        "title": "Tasks",
        "help": (
            "One bar per task attempt, in as many lanes as ran at once on each executor, coloured "
            "by stage. Times are the driver's, in whole milliseconds; Spark may reuse a slot "
            "slightly before it records the end of the task in it."
        ),
        "lanes": labels[:MAX_LANES],
        "stages": [
            {
                "app_index": a,
                "stage_id": s,
                "stage_attempt": t,
                "label": stage_label(a, s, t, several),
            }
            for a, s, t in stages
        ],
        "statuses": list(STATUSES),
        "columns": {
            "start": pack.add("tasks.start", start[keep]),
            "length": pack.add("tasks.length", (end[keep] - start[keep]).astype(np.float32)),
            "lane": pack.add("tasks.lane", smallest_uint(lane_of)),
            "stage": pack.add("tasks.stage", smallest_uint(index)),
            "status": pack.add("tasks.status", status[keep]),
            "id": pack.add("tasks.id", integers(found["task_attempt_id"])[keep].astype(np.float64)),
        },
        "note": "; ".join(notes) or None,
    }


def _assign_lanes(
    keep: npt.NDArray[np.int64],
    executors: list[str],
    hosts: list[str],
    start: npt.NDArray[np.float64],
    end: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.int64], list[dict[str, str]]]:
    """Lowest free lane of the task's executor, tasks in order of start."""
    free: dict[str, list[int]] = {}
    busy: dict[str, list[tuple[float, int]]] = {}
    used: dict[str, int] = {}
    host_of: dict[str, str] = {}
    local = np.zeros(keep.size, np.int64)
    for place, i in enumerate(keep.tolist()):
        name = executors[i]
        running, idle = busy.setdefault(name, []), free.setdefault(name, [])
        while running and running[0][0] <= start[i]:
            heapq.heappush(idle, heapq.heappop(running)[1])
        if idle:
            lane = heapq.heappop(idle)
        else:
            lane = used.get(name, 0)
            used[name] = lane + 1
        early = min(MAX_OVERLAP_MS, OVERLAP_SHARE * float(end[i] - start[i]))
        heapq.heappush(running, (float(end[i]) - early, lane))
        local[place] = lane
        host_of[name] = hosts[i]
    first: dict[str, int] = {}
    labels: list[dict[str, str]] = []
    for name in sorted(used, key=lambda n: (len(n), n)):
        first[name] = len(labels)
        labels += [
            {"executor": name, "host": host_of[name], "slot": str(slot)}
            for slot in range(used[name])
        ]
    base = np.array([first[executors[i]] for i in keep.tolist()], np.int64)
    return base + local, labels
