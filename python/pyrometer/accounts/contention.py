"""Contention for the host's CPUs: what others took, and how long tasks waited behind them.

The run competes for the CPUs that its threads were seen on; of these, others took what was busy
beyond the followed processes, the probe and the kernel's own threads. A host has other CPUs, too,
where a run is bound to some of them.

Time in the run queue is divided piece by piece of the window, for each task thread: while it
waited, others held the share of the busy CPU time that was theirs. At most it waited behind them
for as long as they ran, at least for what the application's own threads cannot have held.
"""

from __future__ import annotations

from typing import NamedTuple

from pyrometer.accounts.cpu import NO_CLOCK, NO_PROBE, OWN_PROCESS, SHORT_LIVED
from pyrometer.accounts.ledger.core_view import cpus_count, unread_ns
from pyrometer.accounts.ledger.schema import Ledger, View
from pyrometer.accounts.machine_schema import CpuTaker, HostContention
from pyrometer.accounts.window import on_host
from pyrometer.core.estimate import Estimate
from pyrometer.window.counters import BUSY, define_steps
from pyrometer.window.scope import Scope

PIECE_NS = 500_000_000
"""Length of the pieces of the window: series of single CPUs are read four times a second."""
MOST_PIECES = 2000
MOST_HOSTS = 8
"""Hosts that are looked at, those on which others took most by their ledgers: first of those on
which tasks waited for a CPU."""
ONE_MACHINE = (
    "hosts of the run are one machine: its executors there are among each other's other processes"
)
_METHOD = (
    "by others' share of busy CPU time; bounds: as long as others ran, and what the"
    " application's own threads cannot have held"
)


def contention(scope: Scope, ledger: Ledger) -> HostContention:
    """Say what others took of the CPUs in the window, and what tasks waited behind them.

    Parameters
    ----------
    scope : Scope
        A run cut to a window.
    ledger : Ledger
        Its ledger: run-queue time and task time are its rows.

    Returns
    -------
    HostContention
        Of several hosts, that on which tasks waited most behind others; with each of them.
    """
    if not ledger.hosts or not scope.tables.several_hosts:
        return _of_one(scope, ledger.core_view, ledger.slot_view)
    found = []
    observed = [one for one in ledger.hosts if one.observed and not one.together]
    apart = [one for one in observed if not one.same_machine]
    if observed and not apart:
        return HostContention(reason=ONE_MACHINE)
    apart.sort(
        key=lambda one: (
            not _share(one.slot_view, "task/run_queue"),
            -(_share(one.core_view, "other_processes") or 0),
        )
    )
    for one in apart[:MOST_HOSTS]:
        with on_host(scope, one.host) as own:
            of_host = _of_one(own, one.core_view, one.slot_view)
        found.append(of_host.model_copy(update={"host": one.host}))
    if not found:
        return HostContention(reason=NO_PROBE)
    first = max(found, key=_weight)
    return first.model_copy(update={"hosts": found})


def _weight(one: HostContention) -> tuple[float, float]:
    behind = one.behind_others_ns
    ratio = -1.0 if one.others_ratio is None else one.others_ratio
    return (behind and behind.value) or 0.0, ratio


def _of_one(scope: Scope, cores: View, slots: View) -> HostContention:
    if not scope.has("thread_counters") or not scope.has("os_series"):
        return HostContention(reason=NO_PROBE)
    if not scope.has_mono:
        return HostContention(reason=NO_CLOCK)
    count = cpus_count(scope)
    if not count or not scope.window.length_ns:
        return HostContention(reason="the number of CPUs of the host is not known")
    cpus = _cpus_used(scope, count)
    define_pieces(scope)
    define_steps(scope)
    _define_used(scope, cpus, count)
    busy, followed, kernel, steal = scope.tables.query(
        "SELECT sum(busy), sum(followed), sum(kernel), sum(steal) FROM c_used"
    )[0]
    # On other hosts a probe lives as long as its executors.
    watched = scope.window.length_ns - unread_ns(scope)
    if busy is None or not followed or watched <= 0:
        return HostContention(reason="the probe read nothing of the host in this window")
    capacity = (len(cpus) or count) * watched
    others = max(0, round(busy - followed - kernel))
    found = HostContention(
        cpus=cpus,
        cpus_count=len(cpus) or count,
        host_cpus_count=count,
        others_ns=others,
        others_ratio=others / capacity,
        steal_ns=round(steal),
        steal_ratio=steal / capacity,
        host_others_ratio=_share(cores, "other_processes"),
        takers=_takers(scope),
    )
    return _with_queue(scope, found, slots)


def _takers(scope: Scope) -> list[CpuTaker]:
    """Give the processes that the launch saw, which are of its own host."""
    manifest = scope.run.manifest
    known = manifest.takers if manifest else []
    if manifest and scope.tables.hosts not in ((), (manifest.host.hostname,)):
        return []
    return [
        CpuTaker.model_validate(one) for one in known if {"pid", "comm", "cpu_ns"} <= one.keys()
    ]


def _share(view: View, path: str) -> float | None:
    return next((row.share for row in view.rows if row.path == path), None)


def _cpus_used(scope: Scope, count: int) -> list[int]:
    """Numbers of the CPUs that the run's threads were seen on; empty: all, or not known."""
    seen = [
        int(cpu)
        for (cpu,) in scope.tables.query(
            "SELECT DISTINCT cpu FROM thread_counters"
            f" WHERE cpu IS NOT NULL AND pid NOT IN ({OWN_PROCESS})"
            " AND 'cpu/' || cpu IN (SELECT scope FROM os_series WHERE name = 'cpu_user_ns')"
            " ORDER BY cpu"
        )
    ]
    return seen if len(seen) < count else []


def define_pieces(scope: Scope) -> None:
    """Define ``c_pieces``: the window in pieces of equal length."""
    length = max(PIECE_NS, scope.window.length_ns // MOST_PIECES)
    if "c_pieces" in scope.tables.defined:
        return
    scope.tables.define(
        "c_pieces",
        f"SELECT row_number() OVER () AS piece, since, least(since + {length}, until) AS until FROM"
        " (SELECT unnest(range(start_mono_ns, end_mono_ns,"
        f"   {length})) AS since, end_mono_ns AS until FROM w)",
    )


def _define_used(scope: Scope, cpus: list[int], count: int) -> None:
    """Define ``c_used``: CPU time by piece, of the CPUs of the run: busy, followed, kernel, steal.

    What followed processes used before the host was first read is left out.
    Kernel threads are not known by CPU: of those of the whole host, the CPUs' part counts.
    """
    names = ", ".join(f"'{name}'" for name in BUSY)
    if cpus:
        scopes = ", ".join(f"'cpu/{cpu}'" for cpu in cpus)
        busy, steal = f"scope IN ({scopes}) AND name IN ({names})", f"scope IN ({scopes})"
    else:
        counted = scope.tables.scalar(
            "SELECT count(*) FROM os_series WHERE scope = 'host' AND name = 'cpu_threads_ns'"
        )
        busy = "scope = 'host' AND name " + ("= 'cpu_threads_ns'" if counted else f"IN ({names})")
        steal = "scope = 'host'"
    part = (len(cpus) or count) / count
    kinds = (
        f"CASE WHEN {busy} THEN 'busy' WHEN {steal} AND name = 'cpu_steal_ns' THEN 'steal'"
        f" WHEN scope LIKE 'kernel/%' AND name = 'cpu_ns' THEN 'kernel'"
        # The probe's own process counts once: as what it says of itself.
        f" WHEN (scope LIKE 'process/%' AND name = 'cpu_ns' AND scope NOT IN"
        f"   (SELECT 'process/' || pid FROM ({OWN_PROCESS})))"
        "  OR (scope LIKE 'probe%' AND name = 'own_cpu_ns') THEN 'followed' END"
    )
    scope.tables.define(
        "c_used",
        f"""
        WITH steps AS (
          SELECT scope, kind, t_mono_ns AS t, value - coalesce(lag(value) OVER s,
              CASE WHEN scope LIKE 'process/%' THEN 0 ELSE value END) AS grown,
            coalesce(lag(t_mono_ns) OVER s, (SELECT min(b.value) FROM os_series b
              WHERE b.scope = x.scope AND b.name = 'start_time_mono_ns'), t_mono_ns - 1) AS t0
          FROM (SELECT *, {kinds} AS kind FROM os_series) x WHERE kind IS NOT NULL
          WINDOW s AS (PARTITION BY host, scope, name ORDER BY t_mono_ns)
          UNION ALL
          SELECT 'process/' || pid, 'followed', t, run, since FROM thread_steps
          WHERE pid IN ({SHORT_LIVED}) AND pid NOT IN ({OWN_PROCESS})),
        cut AS (
          SELECT p.piece, kind, sum(grown::DOUBLE
            * (least(s.t, p.until) - greatest(s.t0, p.since, f.t)) / greatest(s.t - s.t0, 1)) AS ns
          FROM (SELECT min(t_mono_ns) AS t FROM os_series WHERE scope = 'host') f
          JOIN steps s ON s.t > f.t
          JOIN c_pieces p ON s.t > p.since AND greatest(s.t0, f.t) < p.until
          WHERE grown > 0 GROUP BY ALL)
        SELECT p.piece, coalesce(sum(ns) FILTER (kind = 'busy'), 0) AS busy,
          coalesce(sum(ns) FILTER (kind = 'followed'), 0) AS followed,
          {part} * coalesce(sum(ns) FILTER (kind = 'kernel'), 0) AS kernel,
          coalesce(sum(ns) FILTER (kind = 'steal'), 0) AS steal
        FROM c_pieces p LEFT JOIN cut USING (piece) GROUP BY p.piece
        """,
    )


class _Divided(NamedTuple):
    """Run-queue time of task threads, and the part of it behind others with its bounds."""

    whole: float
    behind: float
    low: float
    high: float
    n: int


def _with_queue(scope: Scope, found: HostContention, slots: View) -> HostContention:
    """Add what tasks waited for a CPU, divided by who held it."""
    rows = {row.path: row for row in slots.rows}
    task, queue = rows.get("task"), rows.get("task/run_queue")
    if task is None or not task.value_ns or queue is None or queue.value_ns is None:
        return found
    divided = _divided(scope)
    if not divided.whole:
        return found
    # The ledger's row is exact for time in tasks; threads were divided with what lies between.
    scale = queue.value_ns / divided.whole
    return found.model_copy(
        update={
            "task_ns": task.value_ns,
            "run_queue_ns": queue.value_ns,
            "run_queue_ratio": queue.value_ns / task.value_ns,
            "behind_others_ns": Estimate(
                value=divided.behind * scale,
                low=divided.low * scale,
                high=divided.high * scale,
                level=1.0,
                n=divided.n,
                method=_METHOD,
            ),
            "behind_others_ratio": divided.behind * scale / task.value_ns,
        }
    )


def _divided(scope: Scope) -> _Divided:
    whole, behind, low, high, n = scope.tables.query(
        """
        WITH waited AS (
          SELECT p.piece, s.pid, s.tid, sum(s.delay * part.inside) AS delay,
            sum(s.run * part.inside) AS run
          FROM thread_steps s
          JOIN (SELECT DISTINCT pid, tid FROM spans) k USING (pid, tid)
          JOIN c_pieces p ON s.t > p.since AND s.since < p.until
          CROSS JOIN LATERAL (SELECT (least(s.t, p.until) - greatest(s.since, p.since))::DOUBLE
            / (s.t - s.since) AS inside) part
          WHERE s.delay > 0 OR s.run > 0
          GROUP BY ALL),
        held AS (
          SELECT w.delay, greatest(0, u.busy - u.followed - u.kernel) AS others,
            greatest(0, least(u.followed + u.kernel, u.busy) - w.run) AS own
          FROM waited w JOIN c_used u USING (piece) WHERE w.delay > 0)
        SELECT coalesce(sum(delay), 0),
          coalesce(sum(CASE WHEN others > 0
            THEN least(delay * others / (others + own), others) ELSE 0 END), 0),
          coalesce(sum(least(greatest(0, delay - own), others)), 0),
          coalesce(sum(least(delay, others)), 0), count(*)
        FROM held
        """
    )[0]
    return _Divided(whole, behind, low, high, n)
