"""Tracks of the timeline about machine and JVM: CPU, memory, reads, heap.

A track of the timeline: on which CPU each task thread was seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from pyrometer.accounts.disks import LAYERED
from pyrometer.accounts.hardware.nodes import NODES
from pyrometer.core.process_numbers import own_number
from pyrometer.pages.axis import Axis, Line, gauge_line, rate_line
from pyrometer.pages.columns import Pack, floats, smallest_uint, texts
from pyrometer.store.tables import Tables

MAX_HOSTS = 4
MAX_JVMS = 6
CPU_PARTS = {
    "user": ("cpu_user_ns", "cpu_nice_ns"),
    "system": ("cpu_system_ns",),
    "irq": ("cpu_irq_ns", "cpu_softirq_ns"),
    "iowait": ("cpu_iowait_ns",),
    "steal": ("cpu_steal_ns",),
}
# In these states a CPU spends all its time, in one at a time. Other counters of CPU time count the
# same time again: that of threads (``cpu_threads_ns``), and guests, which are in user and nice.
CPU_STATES = (*(name for names in CPU_PARTS.values() for name in names), "cpu_idle_ns")
MEMORY = ("mem_total_bytes", "mem_available_bytes", "mem_cached_bytes")
Track = dict[str, Any]


def host_tracks(tables: Tables, axis: Axis, pack: Pack) -> list[Track]:
    """CPU, memory and reads of each host, from the OS probe."""
    title, reason = "CPU, memory, reads", "The OS probe recorded nothing in this run."
    if not tables.has("os_series"):
        return [missing_track("cpu", title, reason)]
    hosts = [row[0] for row in tables.query("SELECT DISTINCT host FROM os_series ORDER BY host")]
    joined = [host for host in hosts if axis.offset(host) is not None]
    if not joined:
        why = reason if not hosts else "No reading links the host's clock to Unix time."
        return [missing_track("cpu", title, why)]
    tracks: list[Track] = []
    for number, host in enumerate(joined[:MAX_HOSTS]):
        series = _series(tables, axis, host)
        suffix = f" · {host}" if len(joined) > 1 else ""
        tracks += [
            _cpu(series, pack, axis, f"cpu{number}", suffix),
            _memory(series, pack, axis, f"memory{number}", suffix),
            _reads(series, pack, axis, f"disk{number}", suffix),
        ]
    if len(joined) > MAX_HOSTS:
        tracks[-1]["note"] = f"{MAX_HOSTS} of {len(joined)} hosts are drawn"
    return tracks


Pair = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]
Series = dict[tuple[str, str], Pair]


def _series(tables: Tables, axis: Axis, host: str) -> Series:
    of_host = ", ".join(f"'{name}'" for name in (*CPU_STATES, *MEMORY))
    found = tables.columns(
        f"""
        SELECT scope, name, t_mono_ns, value FROM os_series
        WHERE host = ? AND (
            (scope = 'host' AND name IN ({of_host}))
            OR (scope LIKE 'disk/%' AND name IN ('read_bytes', 'written_bytes'))
            OR (scope LIKE 'process/%' AND name IN ('rchar_bytes', 'read_bytes', 'parent_pid')))
        ORDER BY scope, name, t_mono_ns
        """,
        [host],
    )
    return _split(axis, host, found, ("scope", "name"))


def _split(
    axis: Axis, host: str, found: dict[str, npt.NDArray[Any]], keys: tuple[str, str]
) -> Series:
    """Ordered rows to one (ms, value) pair of arrays per key."""
    at = axis.from_mono(floats(found["t_mono_ns"]), host)
    if at is None or not at.size:
        return {}
    values = floats(found["value"])
    first, second = texts(found[keys[0]]), texts(found[keys[1]])
    labels = list(zip(first, second, strict=True))
    changes = [i for i in range(1, len(labels)) if labels[i] != labels[i - 1]]
    bounds = [0, *changes, len(labels)]
    return {labels[low]: (at[low:high], values[low:high]) for low, high in pairwise(bounds)}


def _cpu(series: Series, pack: Pack, axis: Axis, name: str, suffix: str) -> Track:
    columns = []
    for part, sources in CPU_PARTS.items():
        lines = [
            rate_line(axis, *series["host", s])
            for s in sources
            if len(series.get(("host", s), [[]])[0]) > 1
        ]
        if lines:
            # ns of CPU per second -> CPUs.
            value = np.sum([line.value for line in lines], axis=0) / 1e9
            columns.append(series_column(pack, f"{name}.{part}", part, Line(value)))
    if not columns:
        return missing_track(name, f"CPU{suffix}", "The probe read no CPU counters of this host.")
    cpus = _cpus(series)
    return {
        "id": name,
        "kind": "stack",
        "title": f"CPU{suffix}",
        "unit": "CPUs",
        "help": (
            "CPUs in use on the whole machine: programs (user), kernel (system, irq), waiting for "
            "a disk while idle (iowait), taken by the hypervisor (steal). The rest is idle."
        ),
        "series": columns,
        "capacity": None if cpus is None else {"label": f"{cpus:.0f} CPUs", "value": cpus},
    }


def _cpus(series: Series) -> float | None:
    """CPUs of the host: the time that they spent in all states over the time between readings."""
    parts = [series["host", name] for name in CPU_STATES if ("host", name) in series]
    spans = [t[-1] - t[0] for t, _ in parts if t.size > 1]
    if not spans or max(spans) <= 0:
        return None
    return float(round(sum(v[-1] - v[0] for _, v in parts) / 1e6 / max(spans)))


def _memory(series: Series, pack: Pack, axis: Axis, name: str, suffix: str) -> Track:
    total = series.get(("host", "mem_total_bytes"))
    available = series.get(("host", "mem_available_bytes"))
    if available is None:
        return missing_track(
            name, f"Memory{suffix}", "The probe read no memory figures of this host."
        )
    columns = []
    if total is not None:
        used = (available[0], total[1][-1] - available[1])
        columns.append(series_column(pack, f"{name}.used", "used", gauge_line(axis, *used)))
    for key, label in (("mem_available_bytes", "available"), ("mem_cached_bytes", "page cache")):
        if ("host", key) in series:
            line = gauge_line(axis, *series["host", key])
            columns.append(series_column(pack, f"{name}.{label}", label, line))
    return {
        "id": name,
        "kind": "series",
        "title": f"Memory{suffix}",
        "unit": "bytes",
        "help": (
            "Memory of the whole machine: used (total less available), what programs could still "
            "get (available), and the page cache, most of which is available."
        ),
        "series": columns,
        "capacity": None
        if total is None
        else {"label": "all memory", "value": float(total[1][-1])},
    }


def _reads(series: Series, pack: Pack, axis: Axis, name: str, suffix: str) -> Track:
    disks = {scope for scope, _ in series if scope.startswith("disk/")}
    whole = {scope for scope in disks if not LAYERED.match(scope)} or disks

    def total(prefix: str, key: str) -> npt.NDArray[np.float64] | None:
        of = {
            scope: pair
            for (scope, metric), pair in series.items()
            if scope.startswith(prefix) and metric == key and pair[0].size > 1
        }
        if prefix == "disk/":
            of = {scope: pair for scope, pair in of.items() if scope in whole}
        else:
            of = without_children(of, series)
        lines = [rate_line(axis, *pair).value for pair in of.values()]
        if not lines:
            return None
        summed: npt.NDArray[np.float64] = np.nansum(lines, axis=0)
        summed[np.isnan(lines).all(axis=0)] = np.nan
        return summed

    columns = []
    for prefix, key, label in (
        ("process/", "rchar_bytes", "read calls of the application"),
        ("process/", "read_bytes", "read from disk for it"),
        ("disk/", "read_bytes", "disk reads"),
        ("disk/", "written_bytes", "disk writes"),
    ):
        value = total(prefix, key)
        if value is not None:
            columns.append(series_column(pack, f"{name}.{label}", label, Line(value)))
    if not columns:
        return missing_track(name, f"Reads{suffix}", "The probe read no I/O counters of this host.")
    return {
        "id": name,
        "kind": "series",
        "title": f"Reads and disk{suffix}",
        "unit": "bytes/s",
        "help": (
            "Bytes that the application's processes read with system calls, the part of them that "
            "came from disk, and bytes that all disks delivered. The rest came from the page "
            "cache, pipes or sockets."
        ),
        "series": columns,
    }


def without_children(of: Mapping[str, Pair], series: Series) -> dict[str, Pair]:
    """Take out of counters of processes what the kernel added of children that ended.

    The kernel adds the bytes of a child that was waited for to its parent's. The parent's first
    step that can hold them is taken to do so, once the child is no longer read.
    """
    own = dict(of)
    for scope in sorted(own, key=lambda one: of[one][0][-1]):
        parent = series.get((scope, "parent_pid"))
        above = None if parent is None else f"process/{int(parent[1][-1])}"
        ended, grown = of[scope][0][-1], of[scope][1][-1]
        if above not in own or grown <= 0:
            continue
        at, value = own[above]
        steps = np.diff(value, prepend=value[0])
        holds = np.flatnonzero((at > ended) & (steps >= grown))
        if holds.size:
            steps[holds[0]] -= grown
            own[above] = (at, value[0] + np.cumsum(steps))
    return own


def jvm_tracks(tables: Tables, axis: Axis, pack: Pack) -> list[Track]:
    """Heap of each JVM, from the plugin."""
    if not tables.has("jvm_series"):
        return [missing_track("heap", "Heap", "The plugin recorded no readings of the JVM.")]
    jvms = tables.query("SELECT DISTINCT host, pid FROM jvm_series ORDER BY host, pid")
    columns, maxima = [], []
    for host, pid in jvms[:MAX_JVMS]:
        found = tables.columns(
            """
            SELECT 'jvm' AS scope, name, t_mono_ns, value FROM jvm_series
            WHERE host = ? AND pid = ? AND name IN
                ('heap_used_bytes', 'heap_committed_bytes', 'heap_max_bytes')
            ORDER BY name, t_mono_ns
            """,
            [host, pid],
        )
        series = _split(axis, host, found, ("scope", "name"))
        one = len(jvms) == 1
        for key, label in (("heap_used_bytes", "used"), ("heap_committed_bytes", "committed")):
            pair = series.get(("jvm", key))
            if pair is not None and (one or key == "heap_used_bytes"):
                shown = label if one else f"{label} · {process_label(tables, pid, host)}"
                line = gauge_line(axis, *pair)
                columns.append(series_column(pack, f"heap.{host}.{pid}.{label}", shown, line))
        if ("jvm", "heap_max_bytes") in series:
            maxima.append(float(series["jvm", "heap_max_bytes"][1].max()))
    if not columns:
        return [
            missing_track("heap", "Heap", "The heap readings of the plugin have no usable time.")
        ]
    return [
        {
            "id": "heap",
            "kind": "series",
            "title": "Heap",
            "unit": "bytes",
            "help": (
                "Java heap: used (live objects and garbage not yet collected) and committed "
                "by the JVM."
            ),
            "series": columns,
            "capacity": {"label": "largest allowed", "value": max(maxima)} if maxima else None,
            "note": f"{MAX_JVMS} of {len(jvms)} JVMs are drawn" if len(jvms) > MAX_JVMS else None,
        }
    ]


def process_label(tables: Tables, pid: int | None, host: str | None) -> str:
    """Name a process in the legend of a track: by its number, and its host where these differ."""
    number = own_number(pid)
    return f"{number} on {host}" if tables.several_hosts and host else f"{number}"


def series_column(pack: Pack, name: str, label: str, line: Line) -> dict[str, Any]:
    """Put a line into the pack; return what the page needs to draw it."""
    column: dict[str, Any] = {
        "label": label,
        "value": pack.add(f"{name}.value", line.value.astype(np.float32)),
    }
    if line.low is not None and line.high is not None:
        column["low"] = pack.add(f"{name}.low", line.low.astype(np.float32))
        column["high"] = pack.add(f"{name}.high", line.high.astype(np.float32))
    return column


def missing_track(name: str, title: str, reason: str) -> Track:
    """Give the track that says why it is empty."""
    return {"id": name, "kind": "missing", "title": title, "reason": reason}


MAX_THREADS = 64
MAX_POINTS = 60_000
MIN_NODES = 2
NAME, TITLE = "places", "CPU of each task thread"
_HELP = (
    "The CPU on which the probe last saw each task thread, one point per thread and reading. A"
    " thread that stays in one row was not migrated; one that scatters over rows was, and lost its"
    " caches (and, across sockets, its local memory). The CPUs of a NUMA node are next to"
    " each other and name it, where there are several."
)


def _nodes(tables: Tables, hosts: set[str]) -> dict[int, int]:
    """Give the NUMA node of each CPU, where all hosts that are drawn agree."""
    if not tables.has("os_series"):
        return {}
    found: dict[int, set[int | None]] = {}
    known = tables.query(NODES)
    for host, cpu, node in known:
        if host in hosts:
            found.setdefault(cpu, set()).add(node)
    return {cpu: node for cpu, (node, *others) in found.items() if not others and node is not None}


def _rows_of_cpus(cpus: set[int], nodes: Mapping[int, int]) -> dict[str, list[int | None]]:
    """Order CPUs by node where there are several, and say of which node each is."""
    if len({nodes.get(cpu) for cpu in cpus}) < MIN_NODES:
        return {"cpus": [*sorted(cpus)]}
    rows = sorted(cpus, key=lambda cpu: (nodes.get(cpu, len(nodes)), cpu))
    return {"cpus": [*rows], "nodes": [nodes.get(cpu) for cpu in rows]}


def place_track(tables: Tables, axis: Axis, pack: Pack) -> Track:
    """Points (time, CPU, thread), the last of each thread in each step of the axis."""
    if not tables.has("thread_counters") or not tables.has("spans"):
        return missing_track(NAME, TITLE, "Needs the plugin's task spans and the OS probe.")
    threads = tables.query(
        "SELECT c.host, c.pid, c.tid, count(*) FROM thread_counters c"
        " JOIN (SELECT DISTINCT pid, tid FROM spans) s USING (pid, tid)"
        " WHERE c.cpu >= 0 GROUP BY ALL ORDER BY 4 DESC, 1, 2, 3"
    )
    if not threads:
        return missing_track(NAME, TITLE, "The probe recorded no CPU of any task thread.")
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
        return missing_track(NAME, TITLE, "No reading links the host's clock to Unix time.")
    cpus = np.concatenate(cpu)
    nodes = _nodes(tables, {host for host, *_ in shown})
    more = f"{MAX_THREADS} of {len(threads)} threads are drawn"
    return {
        "id": NAME,
        "kind": "places",
        "title": TITLE,
        "help": _HELP,
        **_rows_of_cpus({int(one) for one in cpus}, nodes),
        "threads": [
            {"host": host, "pid": own_number(pid), "tid": own_number(tid)}
            for host, pid, tid, _ in shown
        ],
        "step_ms": step_ns / 1e6,
        "columns": {
            "time": pack.add("places.time", np.concatenate(at).astype(np.float64)),
            "cpu": pack.add("places.cpu", smallest_uint(cpus)),
            "thread": pack.add("places.thread", smallest_uint(np.concatenate(thread))),
        },
        "note": more if len(threads) > MAX_THREADS else None,
    }
