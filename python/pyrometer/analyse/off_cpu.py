"""Exact time off the CPU of every followed thread, and who ended it (tier T0 of the probe)."""

from __future__ import annotations

import json

from pyrometer.analyse.counters import role_case
from pyrometer.analyse.cpu import NO_CLOCK
from pyrometer.analyse.ledger.off_cpu import ended_by_sql
from pyrometer.analyse.model.waits import RoleWaits, WaitEnd, WaitKind, Waits, WaitStack
from pyrometer.analyse.scope import Scope

NO_EVENTS = "the scheduler's events were not recorded (tier T0 of the OS probe): pyrometer doctor"
STACKS = 12
"""Kernel stacks told."""


def waits(scope: Scope) -> Waits:
    """Tell time off the CPU in the window, by role of the thread, kind, waker and kernel stack.

    An interval that the window's edge cuts counts by what lies inside; sums of short intervals
    over a second by the part of that second.

    Parameters
    ----------
    scope : Scope
        A run cut to a window, with ``w_threads``.
    """
    if not scope.has("off_cpu"):
        return Waits(reason=NO_EVENTS)
    if not scope.has_mono:
        return Waits(reason=NO_CLOCK)
    _define(scope)
    roles = _roles(scope)
    return Waits(
        off_ns=sum(role.off_ns for role in roles),
        run_queue_ns=sum(role.run_queue_ns for role in roles),
        count=sum(role.count for role in roles),
        lost_count=_lost(scope),
        roles=roles,
        ended_by=_ended_by(scope),
        stacks=_stacks(scope),
    )


def _define(scope: Scope) -> None:
    """Make ``w_off_cpu``: sums by thread, kind, waker and stack."""
    scope.tables.define(
        "w_off_cpu",
        f"""
        WITH named AS (
          SELECT c.pid, c.tid, coalesce(any_value(t.role), {role_case("last(c.comm)")}) AS role
          FROM thread_counters c LEFT JOIN w_threads t USING (pid, tid) GROUP BY c.pid, c.tid),
        rows AS (
          SELECT o.*, greatest(off_ns - run_queue_ns, 0) AS asleep_ns,
            greatest(w.start_mono_ns, o.begin_mono_ns) AS since,
            least(w.end_mono_ns, o.end_mono_ns) AS until,
            o.begin_mono_ns + off_ns - run_queue_ns AS runnable_ns,
            greatest(o.end_mono_ns - o.begin_mono_ns, 1) AS length
          FROM off_cpu o JOIN w
            ON o.begin_mono_ns < w.end_mono_ns AND o.end_mono_ns > w.start_mono_ns)
        SELECT o.host, o.pid, o.tid, coalesce(n.role, 'other') AS role, o.kind, o.kernel_stack,
          {ended_by_sql()} AS ended_by,
          -- One interval lies where it lies; of what was added up only its second is known.
          CASE WHEN o.off_ns = length THEN (least(until, runnable_ns) > since)::INT
            ELSE o.count * (until - since) / length END AS count,
          CASE WHEN o.off_ns = length THEN greatest(least(until, runnable_ns) - since, 0)
            ELSE asleep_ns * ((until - since) / length) END AS asleep_ns,
          CASE WHEN o.off_ns = length THEN greatest(until - greatest(since, runnable_ns), 0)
            ELSE run_queue_ns * ((until - since) / length) END AS run_queue_ns
        FROM rows o LEFT JOIN named n ON n.pid = o.pid AND n.tid = o.tid
        LEFT JOIN w_threads t ON t.pid = o.waker_pid AND t.tid = o.waker_tid
        """,
    )


def _roles(scope: Scope) -> list[RoleWaits]:
    kinds: dict[str, list[WaitKind]] = {}
    for role, kind, count, asleep, queued in scope.tables.query(
        "SELECT role, kind, round(sum(count))::BIGINT, round(sum(asleep_ns))::BIGINT,"
        " round(sum(run_queue_ns))::BIGINT FROM w_off_cpu GROUP BY ALL"
        " ORDER BY sum(asleep_ns) + sum(run_queue_ns) DESC, role, kind"
    ):
        kinds.setdefault(role, []).append(
            WaitKind(kind=kind, count=count, off_ns=asleep + queued, run_queue_ns=queued)
        )
    threads = scope.tables.query(
        "SELECT role, count(DISTINCT (pid, tid)) FROM w_off_cpu GROUP BY role"
    )
    return [
        RoleWaits(
            role=role,
            threads_count=dict(threads)[role],
            count=sum(kind.count for kind in found),
            off_ns=sum(kind.off_ns for kind in found),
            run_queue_ns=sum(kind.run_queue_ns for kind in found),
            kinds=found,
        )
        for role, found in kinds.items()
    ]


def _ended_by(scope: Scope) -> list[WaitEnd]:
    return [
        WaitEnd(role=role, ended_by=ended_by, count=count, asleep_ns=asleep, share=share)
        for role, ended_by, count, asleep, share in scope.tables.query(
            "SELECT role, ended_by, round(sum(count))::BIGINT, round(sum(asleep_ns))::BIGINT,"
            " sum(asleep_ns) / sum(sum(asleep_ns)) OVER (PARTITION BY role) FROM w_off_cpu"
            " WHERE kind <> 'preempted' GROUP BY role, ended_by HAVING sum(asleep_ns) > 0"
            " ORDER BY role, sum(asleep_ns) DESC, ended_by"
        )
    ]


def _stacks(scope: Scope) -> list[WaitStack]:
    return [
        WaitStack(role=role, kind=kind, stack=stack, count=count, asleep_ns=asleep, share=share)
        for role, kind, stack, count, asleep, share in scope.tables.query(
            "SELECT o.role, o.kind, k.symbols, round(sum(o.count))::BIGINT,"
            " round(sum(asleep_ns))::BIGINT AS asleep,"
            " sum(asleep_ns) / sum(sum(asleep_ns)) OVER (PARTITION BY o.role)"
            " FROM w_off_cpu o JOIN kernel_stacks k"
            " ON k.host = o.host AND k.stack_id = o.kernel_stack"
            " WHERE o.kind <> 'preempted' GROUP BY o.role, o.kind, k.symbols"
            " HAVING sum(asleep_ns) > 0 ORDER BY o.role <> 'task', asleep DESC, k.symbols"
            f" LIMIT {STACKS}"
        )
    ]


def _lost(scope: Scope) -> int | None:
    """Sum what the probes say found no room; ``None`` if none says it."""
    found = []
    for path in scope.run.paths.probe_reports():
        try:
            lost = json.loads(path.read_bytes()).get("events_lost_count")
        except (OSError, ValueError, AttributeError):
            continue
        if lost is not None:
            found.append(int(lost))
    return sum(found) if found else None
