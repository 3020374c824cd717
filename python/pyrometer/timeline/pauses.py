"""The track of pauses on the timeline: garbage collections and safepoints."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pyrometer.pages.axis import Axis
from pyrometer.pages.columns import Pack, floats, integers, smallest_uint, texts
from pyrometer.store.tables import Tables
from pyrometer.timeline.machine import Track, missing_track

MAX_PAUSES = 20_000
TITLE = "GC and safepoints"


def pause_track(tables: Tables, axis: Axis, pack: Pack) -> Track:
    """Give the times at which Java threads stood still: collections, and all safepoints."""
    parts: list[tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], list[str], int]] = []
    hosts = _hosts_by_pid(tables)
    unplaced = 0
    if tables.has("gc_pauses"):
        found = tables.columns(
            "SELECT pid, start_mono_ns, start_wall_ns, duration_ns, kind, cause "
            "FROM gc_pauses ORDER BY pid, start_mono_ns"
        )
        at = _place(axis, found["pid"], found["start_mono_ns"], found["start_wall_ns"], hosts)
        names = [
            f"{kind} ({cause})" if cause else kind
            for kind, cause in zip(texts(found["kind"]), texts(found["cause"]), strict=True)
        ]
        parts.append((at, floats(found["duration_ns"]) / 1e6, names, 0))
    if tables.has("safepoints"):
        found = tables.columns(
            "SELECT pid, end_mono_ns - total_ns AS start, total_ns, operation "
            "FROM safepoints ORDER BY pid, end_mono_ns"
        )
        at = _place(axis, found["pid"], found["start"], None, hosts)
        parts.append((at, floats(found["total_ns"]) / 1e6, texts(found["operation"]), 1))
    if not parts:
        return missing_track("pauses", TITLE, "The run has no GC or safepoint log.")
    start = np.concatenate([p[0] for p in parts])
    length = np.concatenate([p[1] for p in parts])
    names = [name for p in parts for name in p[2]]
    row = np.concatenate([np.full(p[0].size, p[3], np.int64) for p in parts])
    keep = np.flatnonzero(~np.isnan(start))
    unplaced = start.size - keep.size
    if not keep.size:
        why = "The pauses of this run have no usable time." if unplaced else "There were no pauses."
        return missing_track("pauses", TITLE, why)
    notes = [f"{unplaced} pauses without a usable time"] if unplaced else []
    if keep.size > MAX_PAUSES:
        notes.append(f"the longest {MAX_PAUSES:,} of {keep.size:,} are drawn")
        keep = np.sort(keep[np.argsort(-length[keep], kind="stable")[:MAX_PAUSES]])
    distinct = sorted({names[i] for i in keep})
    place = {name: n for n, name in enumerate(distinct)}
    return {
        "id": "pauses",
        "kind": "pauses",
        "title": TITLE,
        "help": (
            "Times at which all Java threads of a process were stopped: pauses of the garbage "
            "collector and, below, all safepoints of the JVM (collections included)."
        ),
        "rows": ["GC pauses", "safepoints"],
        "names": distinct,
        "columns": {
            "start": pack.add("pauses.start", start[keep]),
            "length": pack.add("pauses.length", length[keep].astype(np.float32)),
            "row": pack.add("pauses.row", row[keep].astype(np.uint8)),
            "name": pack.add(
                "pauses.name", smallest_uint(np.array([place[names[i]] for i in keep], np.int64))
            ),
        },
        "note": "; ".join(notes) or None,
    }


def _hosts_by_pid(tables: Tables) -> dict[int, str]:
    if not tables.has("processes"):
        return {}
    return {int(pid): host for pid, host in tables.query("SELECT pid, host FROM processes")}


def _place(
    axis: Axis,
    pids: npt.NDArray[Any],
    mono: npt.NDArray[Any],
    wall: npt.NDArray[Any] | None,
    hosts: dict[int, str],
) -> npt.NDArray[np.float64]:
    at = np.full(len(pids), np.nan)
    stamps, pid = floats(mono), integers(pids)
    for one in np.unique(pid):
        placed = axis.from_mono(stamps[pid == one], hosts.get(int(one)))
        if placed is not None:
            at[pid == one] = placed
    if wall is not None:
        fallback = axis.from_wall(floats(wall))
        at = np.where(np.isnan(at), fallback, at)
    return at
