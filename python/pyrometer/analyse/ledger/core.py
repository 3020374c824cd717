"""Core view: CPUs × wall of a host in a window, every core-second once.

Threads are counted by the probe, the host by its own counters. CPU of threads that nobody saw alive
is told by their exits where the kernel tells these; else by subtraction, labelled so, and left out
of the closure that it would hide.
"""

from __future__ import annotations

import json

from pyrometer.analyse.attribution import UNCLASSIFIED
from pyrometer.analyse.counters import BUSY, OTHER, growth
from pyrometer.analyse.cpu import NO_CLOCK, NO_PROBE, OWN_PROCESS, process_cpu_ns
from pyrometer.analyse.ledger.closure import SHARE_OF_PARENT, close
from pyrometer.analyse.ledger.exited import UNSEEN, exited
from pyrometer.analyse.ledger.groups import group_all
from pyrometer.analyse.ledger.interrupts import TICKS, Interrupts
from pyrometer.analyse.ledger.rows import CPU_SAMPLES, split
from pyrometer.analyse.ledger.samples import counts
from pyrometer.analyse.ledger.sums import prepare
from pyrometer.analyse.model import Method, Row, View
from pyrometer.analyse.scope import Scope

_ROLES = {
    "task": "task threads",
    "helper": "threads that work for tasks: shuffle, netty, asynchronous reads, broadcasts",
    "driver": "the driver's threads",
    "gc": "garbage collector threads",
    "jit": "JIT compiler threads",
    "vm": "other threads of the JVM itself",
    "python": "Python processes",
    OTHER: "threads whose name tells no role",
}


def core_view(scope: Scope) -> View:
    """Make the core view of the host that the probe watched."""
    name = scope.window.name
    if not scope.has("thread_counters") or not scope.has("os_series"):
        return View(window=name, reason=NO_PROBE)
    if not scope.has_mono:
        return View(window=name, reason=NO_CLOCK)
    cpus = cpus_count(scope)
    if not cpus:
        return View(window=name, reason="the number of CPUs of the host is not known")
    host = growth(scope, "scope = 'host'")
    if "cpu_idle_ns" not in host:
        return View(window=name, reason="the probe read nothing of the host in this window")
    interrupts = Interrupts.of(scope, host)
    kernel = _kernel_threads(scope)
    rows = _threads(scope) + exited(scope) + kernel
    rows += _others(scope, host, interrupts, kernel[0].value_ns) + interrupts.rows
    ticks = 10_000_000 * cpus
    return close(name, cpus * scope.window.length_ns, rows, interrupts.memos, ticks)


def cpus_count(scope: Scope) -> int | None:
    """CPUs of the host: as the launcher saw them, else the JVM."""
    if scope.run.manifest and scope.run.manifest.host.cpus_count:
        return scope.run.manifest.host.cpus_count
    for (facts,) in scope.tables.query("SELECT facts FROM processes WHERE facts IS NOT NULL"):
        try:
            found = json.loads(facts).get("cpus_count")
        except (ValueError, AttributeError):
            continue
        if isinstance(found, int) and found > 0:
            return found
    return None


def _threads(scope: Scope) -> list[Row]:
    used = {
        role: (int(run), int(n))
        for role, run, n in scope.tables.query(
            f"SELECT CASE WHEN pid IN ({OWN_PROCESS}) THEN 'pyrometer' ELSE role END AS r,"
            " sum(run_ns)::BIGINT, sum(readings_count)::BIGINT FROM w_threads t"
            f" WHERE (pid, tid) NOT IN ({UNSEEN}) GROUP BY 1"
        )
    }
    rows = []
    for role, meaning in _ROLES.items():
        run, n = used.get(role, (0, 0))
        path = UNCLASSIFIED if role == OTHER else role
        rows.append(Row(path=path, value_ns=run, n=n, source=f"probe: {meaning} (schedstat)"))
        if role == "task" and run:
            prepare(scope)
            group_all(scope)
            seen = counts(scope)[0].on_cpu
            rows += split("task", run, seen, sum(seen.values()), CPU_SAMPLES)
        if role == "python" and run:
            rows += _python_in_tasks(scope, run)
    own, n = used.get("pyrometer", (0, 0))
    if not scope.tables.scalar(f"SELECT count(*) FROM ({OWN_PROCESS})"):
        own += growth(scope, "scope LIKE 'probe%'").get("own_cpu_ns", 0)
    source = "probe: Pyrometer's threads in the JVM, and the probe itself"
    rows.append(Row(path="pyrometer", value_ns=own, n=n, source=source))
    return rows


def _python_in_tasks(scope: Scope, run_ns: int) -> list[Row]:
    """Give the part of Python's CPU that workers used while a task drove them."""
    used, n = scope.tables.query(
        "SELECT coalesce(sum(weight), 0)::BIGINT, count(*) FROM w_python"
        " WHERE event = 'cpu' AND role = 'python' AND task_attempt_id IS NOT NULL"
    )[0]
    if not n:
        return []
    source = f"{SHARE_OF_PARENT}: CPU between samples of workers while a task drove them"
    return [Row(path="python/for_tasks", parent="python", value_ns=min(used, run_ns), n=n,
                method="apportioned", source=source)]  # fmt: skip


def _kernel_threads(scope: Scope) -> list[Row]:
    """Give the CPU of the kernel's own threads, and of those of each name."""
    used = scope.tables.query(
        "SELECT split_part(scope, '/', 2), growth FROM w_series"
        " WHERE scope LIKE 'kernel/%' AND name = 'cpu_ns' ORDER BY 2 DESC, 1"
    )
    path = "kernel_threads"
    if not used:
        why = "the probe saw no kernel threads: their CPU is among that of the other processes"
        return [Row(path=path, method="unavailable", source=why)]
    total = Row(
        path=path,
        value_ns=sum(ns for _, ns in used),
        n=len(used),
        source="probe: threads of the kernel itself (schedstat), read once a second",
    )
    return [total] + [
        Row(path=f"{path}/{kind}", parent=path, value_ns=ns, source="threads of that name")
        for kind, ns in used
        if ns
    ]


def _others(
    scope: Scope, host: dict[str, int], interrupts: Interrupts, kernel_ns: int | None
) -> list[Row]:
    followed = process_cpu_ns(scope)
    own = growth(scope, "scope LIKE 'probe%'").get("own_cpu_ns", 0)
    busy, counted = host.get("cpu_threads_ns"), "cpuacct.usage of the root"
    if busy is None:
        busy = sum(host.get(name, 0) for name in BUSY) - interrupts.apart_ns
        counted = TICKS
    rows = []
    if followed is None:
        why = "no CPU total of the followed processes"
        rows.append(Row(path="other_processes", method="unavailable", source=why))
    else:
        rows.append(
            Row(
                path="other_processes",
                value_ns=busy - followed - own - (kernel_ns or 0),
                method="by_complement",
                source=f"host busy ({counted}) − followed processes − the probe"
                + ("; kernel threads are among them" if kernel_ns is None else " − kernel threads"),
            )
        )
    for path in ("steal", "idle", "iowait"):
        value = host.get(f"cpu_{path}_ns")
        method: Method = "exact" if value is not None else "unavailable"
        rows.append(Row(path=path, value_ns=value, method=method, source=TICKS))
    return rows
