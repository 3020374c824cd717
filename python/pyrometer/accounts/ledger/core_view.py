"""Core view: CPUs × wall of a host in a window, every core-second once.

Threads are counted by the probe, the host by its own counters. CPU of threads that no reading saw
is known from their exits where the kernel reports these. Else it is obtained by subtraction,
labelled so, and left out of closure, which would otherwise always be zero.

Threads that ended before a reading saw them: by their exits, else by what processes used more.

Time without a probe: on another host the probe begins with its executor, and ends with it.

Interrupt time: a row where the kernel takes it out of the threads' time, else inside them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pyrometer.accounts.busy import TICK_NS, TICKS, busy_ns
from pyrometer.accounts.cpu import (
    NO_CLOCK,
    NO_PROBE,
    OWN_PROCESS,
    SHORT_LIVED,
    process_cpu_ns,
)
from pyrometer.accounts.ledger.rows import CPU_SAMPLES, SHARE_OF_PARENT, close, counts, slug, split
from pyrometer.accounts.ledger.schema import Row, View
from pyrometer.accounts.ledger.sums import group_all, prepare
from pyrometer.attribution.samples import UNCLASSIFIED
from pyrometer.core.json_text import parse_json
from pyrometer.core.units import duration
from pyrometer.store.thread_roles import OTHER
from pyrometer.window.counters import define_watched_series, growth
from pyrometer.window.scope import Scope

PATH = "exited_threads"
MOST_NAMES = 5
"""Names of short-lived processes that have a row of their own."""
# The only row of such a thread is that of its exit: first sight and last.
UNSEEN = (
    "SELECT pid, tid FROM thread_counters GROUP BY pid, tid"
    ' HAVING count(*) = 1 AND bool_and("first" AND "last")'
)
# Roles of the application's threads; processes that no reading saw by the names of their main
# threads.
_UNSEEN_BY_NAME = f"""
WITH mains AS (
  SELECT pid, arg_max(comm, t_mono_ns) AS main FROM thread_counters WHERE pid = tid GROUP BY pid),
unseen AS (
  SELECT w.*, CASE WHEN pid NOT IN ({SHORT_LIVED}) THEN role
    ELSE 'process ' || coalesce(main, comm) END AS name
  FROM w_threads w LEFT JOIN mains USING (pid)
  WHERE (pid, tid) IN ({UNSEEN}) AND pid NOT IN ({OWN_PROCESS})),
ranks AS (
  SELECT name, row_number() OVER (ORDER BY sum(run_ns) DESC, name) AS rank
  FROM unseen WHERE name LIKE 'process %' GROUP BY name)
SELECT CASE WHEN rank > {MOST_NAMES} THEN 'other processes' ELSE name END,
  sum(run_ns)::BIGINT, count(*)
FROM unseen LEFT JOIN ranks USING (name) GROUP BY 1 ORDER BY 2 DESC, 1
"""


def exited(scope: Scope) -> list[Row]:
    """Account for the CPU of threads that lived between two readings.

    Where the kernel reported exits (taskstats, or the scheduler's events) they are exact, with
    roles by their names, and count in closure. Else the row is what the processes used more than
    their threads as read, and does not count.
    """
    if scope.tables.scalar(f"SELECT count(*) FROM ({UNSEEN})"):
        return _described(scope)
    followed = process_cpu_ns(scope)
    if followed is None:
        why = "no CPU total of the followed processes"
        return [Row(path=PATH, method="unavailable", source=why)]
    counted = int(
        scope.tables.scalar(
            "SELECT coalesce(sum(run_ns), 0)::BIGINT FROM w_threads"
            f" WHERE pid NOT IN ({OWN_PROCESS})"
        )
    )
    return [
        Row(
            path=PATH,
            value_ns=followed - counted,
            method="by_complement",
            source="process totals − Σ their threads as read: threads that ended in between",
        )
    ]


def _described(scope: Scope) -> list[Row]:
    source = "probe: counters at the exit of threads that no reading saw"
    parts = [
        Row(path=f"{PATH}/{slug(name)}", parent=PATH, value_ns=int(run), n=int(n), source=source)
        for name, run, n in scope.tables.query(_UNSEEN_BY_NAME)
    ]
    total, n = sum(row.value_ns or 0 for row in parts), sum(row.n or 0 for row in parts)
    return [Row(path=PATH, value_ns=total, n=n, source=source), *parts]


NOT_IN_STAT = "not in /proc/stat of this kernel"
LATE_NS = 1_000_000_000
"""Longest time without a probe on the only host that is no row: series go on as they were."""


@dataclass(frozen=True)
class Interrupts:
    """Interrupt time of the host.

    Attributes
    ----------
    rows : list of Row
        Where it is no thread's time.
    memos : list of Row
        Where it is inside the time of the threads it interrupted.
    """

    rows: list[Row] = field(default_factory=list)
    memos: list[Row] = field(default_factory=list)

    @property
    def apart_ns(self) -> int:
        """Time that is no thread's."""
        return sum(row.value_ns or 0 for row in self.rows)

    @classmethod
    def of(cls, scope: Scope, host: dict[str, int]) -> Interrupts:
        """Decide by the pressure of interrupts whether the kernel accounts for them separately.

        Linux has that pressure only where it was built with ``CONFIG_IRQ_TIME_ACCOUNTING``
        (kernel/sched/psi.c), which takes interrupts out of the time of threads
        (``update_rq_clock_task`` in kernel/sched/core.c). Kernels before 6.1 have neither file:
        there it is a memo.
        """
        apart = scope.tables.scalar(
            "SELECT count(*) > 0 FROM os_series WHERE scope = 'host' AND name = 'psi_irq_full_ns'"
        )
        source = "no thread's time: this kernel accounts interrupts apart"
        if not apart:
            source = "it is inside the time of the threads it interrupted"
        rows = [
            Row(path=path, value_ns=host[f"cpu_{path}_ns"], source=f"{TICKS}; {source}")
            for path in ("irq", "softirq")
            if f"cpu_{path}_ns" in host
        ]
        if not apart:
            return cls(memos=rows)
        # The kernel counts what ksoftirqd does as soft interrupts and as that thread's time
        # (irqtime_account_process_tick in kernel/sched/cputime.c).
        threads = growth(scope, "scope = 'kernel/ksoftirqd'").get("cpu_ns")
        for row in rows:
            if row.path == "softirq" and threads is not None:
                row.value_ns = max(0, (row.value_ns or 0) - threads)
                row.source += "; without ksoftirqd, a kernel thread"
        return cls(rows=rows)


_ROLES = {
    "task": "task threads",
    "helper": "threads that work for tasks: shuffle, netty, asynchronous reads, broadcasts",
    "driver": "the driver's threads",
    "gc": "garbage collector threads",
    "jit": "JIT compiler threads",
    "vm": "other threads of the JVM itself",
    "python": "Python processes",
    OTHER: "threads whose name shows no role",
}


def core_view(scope: Scope) -> View:
    """Build the core view of the host that the probe watched, or of several hosts together.

    Several are of one kind (:func:`~pyrometer.accounts.ledger.together.groups`): what one of them
    counts all do.
    """
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
    table, unwatched = _watched(scope, cpus)
    rows += _others(scope, host, interrupts, kernel[0].value_ns, table) + interrupts.rows
    rows += unwatched
    ticks = TICK_NS * cpus
    return close(name, cpus * scope.window.length_ns, rows, interrupts.memos, ticks)


def cpus_count(scope: Scope) -> int | None:
    """CPUs of the host that the probe watched, of several all of theirs.

    As the launcher saw its host's; else as the probe read them one by one; else as a JVM says.
    """
    if scope.tables.several_hosts:
        return _cpus_of_hosts(scope)
    if scope.run.manifest and scope.run.manifest.host.cpus_count:
        return scope.run.manifest.host.cpus_count
    if "cpus_count" not in scope.kept:
        scope.kept["cpus_count"] = _cpus_of_facts(scope)
    known: int | None = scope.kept["cpus_count"]
    return known


def _cpus_of_facts(scope: Scope) -> int | None:
    for (facts,) in scope.tables.query("SELECT facts FROM processes WHERE facts IS NOT NULL"):
        try:
            found = parse_json(facts).get("cpus_count")
        except (ValueError, AttributeError):
            continue
        if isinstance(found, int) and found > 0:
            return found
    return None


def watched_ns(scope: Scope) -> int | None:
    """Give CPUs × time of the window while probes read their hosts, of all hosts together."""
    cpus = cpus_count(scope)
    if not cpus or not scope.tables.several_hosts:
        return cpus and cpus * scope.window.length_ns
    known = cpus_by_host(scope)
    return sum(
        (known.get(host) or 0) * int(watched)
        for host, watched in scope.tables.query(
            "SELECT host, sum(greatest(0, least(end_mono_ns, until)"
            " - greatest(start_mono_ns, since)))::BIGINT FROM w,"
            " (SELECT host, min(t_mono_ns) AS since, max(t_mono_ns) AS until FROM os_series"
            "  WHERE scope = 'host' AND name = 'cpu_idle_ns' GROUP BY host) GROUP BY host"
        )
    )


def cpus_by_host(scope: Scope) -> dict[str, int | None]:
    """Give the CPUs of each of several hosts."""
    known: dict[str, int | None] = dict(
        scope.tables.query("SELECT host, cpus_count FROM hosts ORDER BY number")
    )
    known |= dict(
        scope.tables.query(
            "SELECT host, count(DISTINCT scope) FROM os_series WHERE scope LIKE 'cpu/%'"
            " AND name = 'cpu_idle_ns' GROUP BY host"
        )
    )
    manifest = scope.run.manifest
    if manifest and manifest.host.cpus_count and manifest.host.hostname in known:
        known[manifest.host.hostname] = manifest.host.cpus_count
    return known


def _cpus_of_hosts(scope: Scope) -> int | None:
    known = cpus_by_host(scope)
    watched = scope.tables.query("SELECT DISTINCT host FROM os_series WHERE scope = 'host'")
    counts = [known.get(host) for (host,) in watched if host not in scope.machines]
    return sum(n for n in counts if n) if counts and all(counts) else None


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
    """Give the CPU of kernel threads, in all and by name."""
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


def _watched(scope: Scope, cpus: int) -> tuple[str, list[Row]]:
    """Account for the time without a probe on one of several hosts, or long on the only one.

    Returns
    -------
    str
        The table of what series grew by while there was one.
    list of Row
        What is not known of the time when there was none.
    """
    if not scope.tables.several_hosts and unread_ns(scope) < LATE_NS:
        return "w_series", []
    lengths = define_watched_series(scope)
    if max(lengths.values(), default=0) < TICK_NS:
        return "w_series", []
    counts = cpus_by_host(scope) if len(lengths) > 1 else dict.fromkeys(lengths, cpus)
    unwatched = sum((counts.get(host) or 0) * length for host, length in lengths.items())
    spans = f"{duration(max(lengths.values()))} of the window in which no probe was here"
    if len(lengths) > 1:
        spans = "time of the window in which no probe was on a host"
    known = (process_cpu_ns(scope) or 0) - (process_cpu_ns(scope, "o_series") or 0)
    return "o_series", [
        Row(
            path="no_probe",
            value_ns=unwatched - known,
            method="by_complement",
            source=f"CPUs × {spans} − what followed processes had used before their first reading",
        )
    ]


def unread_ns(scope: Scope) -> int:
    """Give the time of the window before the first reading of its only host, and after its last."""
    unread = scope.tables.scalar(
        "SELECT sum(end_mono_ns - start_mono_ns - greatest(0, least(end_mono_ns, until)"
        " - greatest(start_mono_ns, since)))::BIGINT FROM w,"
        " (SELECT min(t_mono_ns) AS since, max(t_mono_ns) AS until FROM os_series"
        "  WHERE scope = 'host' AND name = 'cpu_idle_ns') WHERE since IS NOT NULL"
    )
    return int(unread or 0)


def _others(
    scope: Scope,
    host: dict[str, int],
    interrupts: Interrupts,
    kernel_ns: int | None,
    table: str,
) -> list[Row]:
    followed = process_cpu_ns(scope, table)
    own = growth(scope, "scope LIKE 'probe%'", table).get("own_cpu_ns", 0)
    busy, counted = busy_ns(host, interrupts.apart_ns, watched_ns(scope), cpus_count(scope) or 1)
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
        unknown = Row(path=path, method="unavailable", source=NOT_IN_STAT)
        rows.append(unknown if value is None else Row(path=path, value_ns=value, source=TICKS))
    return rows
