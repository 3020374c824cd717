"""A track of the timeline: on which CPU each task thread was seen."""

from __future__ import annotations

import numpy as np

from pyrometer.report.axis import Axis
from pyrometer.report.columns import floats
from pyrometer.report.machine import Track, missing_track
from pyrometer.report.pack import Pack, smallest_uint
from pyrometer.store.tables import Tables

MAX_THREADS = 64
MAX_POINTS = 60_000
NAME, TITLE = "places", "CPU of each task thread"
_HELP = (
    "The CPU on which the probe last saw each task thread run, one point for a thread and a moment."
    " A thread that stays in one row was left where it was; one that scatters was moved about, and"
    " left its caches (and, across sockets, its memory) behind."
)


def place_track(tables: Tables, axis: Axis, pack: Pack) -> Track:
    """Points (time, CPU, thread), the last of each thread in each step of the axis."""
    if not tables.has("thread_counters") or not tables.has("spans"):
        return missing_track(NAME, TITLE, "It needs the plugin's task spans and the OS probe.")
    threads = tables.query(
        "SELECT c.host, c.pid, c.tid, count(*) FROM thread_counters c"
        " JOIN (SELECT DISTINCT pid, tid FROM spans) s USING (pid, tid)"
        " WHERE c.cpu >= 0 GROUP BY ALL ORDER BY 4 DESC, 1, 2, 3"
    )
    if not threads:
        return missing_track(NAME, TITLE, "The probe read no CPU of a task thread.")
    shown = sorted(threads[:MAX_THREADS])
    step_ns = axis.step_ms * 1e6 * max(1.0, len(shown) * axis.count / MAX_POINTS)
    at, cpu, thread = [], [], []
    for number, (host, pid, tid, _) in enumerate(shown):
        found = tables.columns(
            "SELECT max(t_mono_ns) AS t, arg_max(cpu, t_mono_ns) AS cpu FROM thread_counters"
            " WHERE host = ? AND pid = ? AND tid = ? AND cpu >= 0"
            f" GROUP BY t_mono_ns // {max(1, round(step_ns))} ORDER BY 1",
            [host, pid, tid],
        )
        times = axis.from_mono(floats(found["t"]), host)
        if times is None:
            continue
        at.append(times)
        cpu.append(floats(found["cpu"]).astype(np.uint32))
        thread.append(np.full(times.size, number, dtype=np.uint32))
    if not at:
        return missing_track(NAME, TITLE, "No reading joins the clocks of its host with Unix time.")
    cpus = np.concatenate(cpu)
    more = f"{MAX_THREADS} of {len(threads)} threads are drawn"
    return {
        "id": NAME,
        "kind": "places",
        "title": TITLE,
        "help": _HELP,
        "cpus": sorted({int(one) for one in cpus}),
        "threads": [{"host": host, "pid": pid, "tid": tid} for host, pid, tid, _ in shown],
        "step_ms": step_ns / 1e6,
        "columns": {
            "time": pack.add("places.time", np.concatenate(at).astype(np.float64)),
            "cpu": pack.add("places.cpu", smallest_uint(cpus)),
            "thread": pack.add("places.thread", smallest_uint(np.concatenate(thread))),
        },
        "note": more if len(threads) > MAX_THREADS else None,
    }
