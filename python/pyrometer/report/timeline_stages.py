"""The track of stages on the timeline of the page."""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt

from pyrometer.report.axis import Axis
from pyrometer.report.columns import floats, integers, texts
from pyrometer.report.machine import Track
from pyrometer.report.pack import Pack, smallest_uint
from pyrometer.store.tables import Tables

MAX_STAGES = 5_000
MAX_LANES = 16
MAX_NAME = 200


def stage_tracks(tables: Tables, axis: Axis, pack: Pack) -> list[Track]:
    """Stage attempts from submission to completion; none where the event log has none."""
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
    lane = _lanes(start[keep], end[keep])
    lanes = int(lane.max()) + 1
    keep, lane = keep[lane < MAX_LANES], lane[lane < MAX_LANES]
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
    if lanes > MAX_LANES:
        notes.append(f"{MAX_LANES} of {lanes} lanes are drawn")
    return [
        {
            "id": "stages",
            "kind": "stages",
            "title": "Stages",
            "help": "One bar per stage attempt, from its submission to its completion.",
            "lanes": min(lanes, MAX_LANES),
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


def _lanes(start: npt.NDArray[np.float64], end: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
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
