"""Tracks of the timeline about the JVM itself: heap at collections, compiling, code cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pyrometer.accounts.jvm.heap_flow import YOUNG, heap_steps
from pyrometer.accounts.jvm.jvm import LAST_TIER
from pyrometer.pages.axis import Axis, Line, gauge_line, rate_line
from pyrometer.pages.columns import Pack, floats, texts
from pyrometer.store.tables import Tables
from pyrometer.timeline.machine import (
    MAX_JVMS,
    Track,
    missing_track,
    process_label,
    series_column,
)

Floats = npt.NDArray[np.float64]
NO_JIT = "This run has no JIT log (profiles light and full write one)."


def work_tracks(tables: Tables, axis: Axis, pack: Pack) -> list[Track]:
    """Heap before and after collections, bytes allocated and promoted, compilations, code cache.

    Parameters
    ----------
    tables : Tables
        Of the run.
    axis : Axis
        That of all tracks.
    pack : Pack
        Where columns go.
    """
    return [
        *_heap(tables, axis, pack),
        _compilations(tables, axis, pack),
        _given_up(tables, axis, pack),
        _code_cache(tables, axis, pack),
    ]


def _jvms(tables: Tables, table: str) -> list[tuple[int | None, str | None]]:
    """List the processes of a table with their hosts, those with most rows first."""
    rows = tables.query(
        f"SELECT t.pid, any_value(p.host) FROM {table} t LEFT JOIN processes p USING (pid)"
        " GROUP BY t.pid ORDER BY count(*) DESC, t.pid"
    )
    return [(pid, host) for pid, host in rows]


def _heap(tables: Tables, axis: Axis, pack: Pack) -> list[Track]:
    titles = {"collections": "Heap at collections", "heapflow": "Allocated and promoted"}
    if not tables.has("gc_pauses"):
        why = "The run has no GC log, or no collections."
        return [missing_track(name, title, why) for name, title in titles.items()]
    jvms = _jvms(tables, "gc_pauses")
    heap, flow = [], []
    for pid, host in jvms[:MAX_JVMS]:
        found = tables.columns(
            f"SELECT * FROM ({heap_steps('p.start_mono_ns')}) WHERE pid IS NOT DISTINCT FROM ?"
            " AND used_before IS NOT NULL ORDER BY start_ns",
            [pid],
        )
        start = axis.from_mono(floats(found["start_ns"]), host)
        if start is None or start.size < 2:
            continue
        tail = "" if len(jvms) == 1 else f" · {process_label(tables, pid, host)}"
        end = start + floats(found["duration_ns"]) / 1e6
        at = np.column_stack([start, np.maximum(end, start + 1e-6)]).ravel()
        used = np.column_stack([floats(found["used_before"]), floats(found["used_after"])]).ravel()
        heap.append(
            series_column(pack, f"collections.{pid}", f"used{tail}", gauge_line(axis, at, used))
        )
        old = floats(found["old_after_bytes"])
        if not np.isnan(old).all():
            known = ~np.isnan(old)
            line = gauge_line(axis, end[known], old[known])
            heap.append(series_column(pack, f"collections.{pid}.old", f"old{tail}", line))
        flow += _flows(axis, pack, found, start, f"{pid}", tail)
    note = f"{MAX_JVMS} of {len(jvms)} JVMs are drawn" if len(jvms) > MAX_JVMS else None
    why = "Fewer than two collections report heap usage."
    return [
        _track("collections", titles["collections"], "bytes", _HEAP_HELP, heap, why, note=note),
        _track("heapflow", titles["heapflow"], "bytes/s", _FLOW_HELP, flow, why, note=note),
    ]


def _flows(
    axis: Axis, pack: Pack, found: dict[str, Any], start: Floats, pid: str, tail: str
) -> list[dict[str, Any]]:
    columns = []
    grown = floats(found["grown"])
    if not np.isnan(grown).all():
        line = rate_line(axis, start, np.nancumsum(grown))
        columns.append(series_column(pack, f"heapflow.{pid}.allocated", f"allocated{tail}", line))
    promoted = floats(found["old_after_bytes"]) - floats(found["old_before_bytes"])
    young = np.isin(np.array(texts(found["kind"])), YOUNG)
    promoted = np.where(young & ~np.isnan(promoted), np.maximum(promoted, 0), 0)
    if young.any() and not np.isnan(floats(found["old_after_bytes"])).all():
        line = rate_line(axis, start, np.cumsum(promoted))
        columns.append(series_column(pack, f"heapflow.{pid}.promoted", f"promoted{tail}", line))
    return columns


def _compilations(tables: Tables, axis: Axis, pack: Pack) -> Track:
    title = "Compilations"
    if not tables.has("jit"):
        return missing_track("jit", title, NO_JIT)
    series = []
    for level in (1, 2, 3, LAST_TIER):
        at = _moments(tables, axis, "jit", "start_mono_ns", f"level = {level}")
        if at.size:
            name = f"tier {level} ({'C2' if level == LAST_TIER else 'C1'})"
            series.append(series_column(pack, f"jit.{level}", name, Line(_per_second(axis, at))))
    why = "The compilations of this run have no usable time."
    return _track("jit", title, "/s", _JIT_HELP, series, why, kind="stack")


def _given_up(tables: Tables, axis: Axis, pack: Pack) -> Track:
    title = "Deoptimisations"
    if not tables.has("deoptimisations"):
        why = "There were no deoptimisations." if tables.has("jit") else NO_JIT
        return missing_track("deoptimisations", title, why)
    series = []
    for name, where in (
        ("optimised code", f"kind = 'invalidated' AND coalesce(level, 4) = {LAST_TIER}"),
        ("code of lower tiers", f"kind = 'invalidated' AND level < {LAST_TIER}"),
        ("uncommon traps", "kind = 'trap'"),
    ):
        at = _moments(tables, axis, "deoptimisations", "t_mono_ns", where)
        if at.size:
            line = Line(_per_second(axis, at))
            series.append(series_column(pack, f"deoptimisations.{name}", name, line))
    why = "The deoptimisations of this run have no usable time."
    return _track("deoptimisations", title, "/s", _DEOPTIMISED_HELP, series, why)


def _code_cache(tables: Tables, axis: Axis, pack: Pack) -> Track:
    name, title = "codecache", "Code cache"
    rows = tables.query(
        "SELECT host, pid FROM jvm_series WHERE name LIKE 'pool_used_bytes/Code%'"
        " GROUP BY ALL ORDER BY max(value) DESC, pid LIMIT 1"
    )
    if not rows:
        return missing_track(name, title, "The plugin recorded no readings of the code cache.")
    host, pid = rows[0]
    pools = tables.query(
        "SELECT DISTINCT split_part(name, '/', 2) FROM jvm_series"
        " WHERE host = ? AND pid = ? AND name LIKE 'pool_used_bytes/Code%' ORDER BY 1",
        [host, pid],
    )
    series = []
    for (pool,) in pools:
        found = tables.columns(
            "SELECT t_mono_ns, value FROM jvm_series"
            " WHERE host = ? AND pid = ? AND name = ? ORDER BY 1",
            [host, pid, f"pool_used_bytes/{pool}"],
        )
        at = axis.from_mono(floats(found["t_mono_ns"]), host)
        if at is not None and at.size:
            label = pool.removeprefix("CodeHeap ").strip("'")
            line = Line(gauge_line(axis, at, floats(found["value"])).value)
            series.append(series_column(pack, f"codecache.{label}", label, line))
    others = tables.scalar(
        "SELECT count(DISTINCT (host, pid)) - 1 FROM jvm_series"
        " WHERE name LIKE 'pool_used_bytes/Code%'"
    )
    drawn = f"JVM {process_label(tables, pid, host)}"
    note = f"{drawn}, the largest; {others} others are not drawn" if others else None
    why = "The readings of the code cache have no usable time."
    return _track(name, title, "bytes", _CACHE_HELP, series, why, kind="stack", note=note)


_MOST_ROWS = 200_000
_MOMENTS = """
SELECT t.{column} AS t, p.host FROM ({rows}) t
LEFT JOIN (SELECT pid, any_value(host) AS host FROM processes GROUP BY pid) p USING (pid)
WHERE {where}
"""


def _moments(tables: Tables, axis: Axis, table: str, column: str, where: str) -> Floats:
    """Place the rows of all JVMs on the axis, those of so many hosts at once as memory holds."""
    parts = [np.empty(0)]
    for rows in tables.in_groups(table, _MOST_ROWS):
        found = tables.columns(_MOMENTS.format(column=column, rows=rows, where=where))
        times, hosts = floats(found["t"]), np.array(texts(found["host"]))
        for host in np.unique(hosts):
            at = axis.from_mono(times[hosts == host], str(host) or None)
            if at is not None:
                parts.append(at[~np.isnan(at)])
    return np.concatenate(parts)


def _per_second(axis: Axis, at: Floats) -> Floats:
    counts, _ = np.histogram(at, bins=axis.edges)
    return counts / (axis.step_ms / 1e3)


def _track(
    name: str,
    title: str,
    unit: str,
    text: str,
    series: Sequence[dict[str, Any]],
    why: str,
    kind: str = "series",
    note: str | None = None,
) -> Track:
    if not series:
        return missing_track(name, title, why)
    return {
        "id": name,
        "kind": kind,
        "title": title,
        "unit": unit,
        "help": text,
        "series": list(series),
        "note": note,
    }


_HEAP_HELP = (
    "Java heap in use before and after each GC pause, from the GC log (the drop is what the pause "
    "freed), and the old generation after it. The band is the range within one point of the "
    "drawing."
)
_FLOW_HELP = (
    "From the GC log: growth of the heap between pauses (allocated), and what young pauses moved "
    "to the old generation (promoted); in whole MiB or, with G1, regions."
)
_JIT_HELP = (
    "Compilations started per second, by tier: 1 to 3 by C1 (2 and 3 with profiling), 4 by C2."
)
_DEOPTIMISED_HELP = (
    "Compiled code made not entrant, per second. Optimised code is discarded when an assumption "
    "of the compiler turns out wrong, code of lower tiers mostly for better code."
)
_CACHE_HELP = "Code cache in use, by segment, as read by the plugin."
