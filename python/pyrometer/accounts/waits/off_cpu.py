"""Exact time off the CPU of every followed thread, and who ended it (tier T0 of the probe).

Time off the CPU in tasks by the scheduler's events (tier T0), and who ended each wait.

Every interval that reaches a threshold is one row; shorter ones are added up over a second.
Where a task shares such a second, it gets a part of the sum, with an interval: in proportion to the
time that the thread did not spend in intervals with a row (short waits lie where it runs, not in
the long sleep between two tasks).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from pyrometer.accounts.cpu import NO_CLOCK
from pyrometer.accounts.waits.schema import RoleWaits, WaitEnd, WaitKind, Waits, WaitStack
from pyrometer.core.json_text import parse_json
from pyrometer.store.thread_roles import OTHER, role_case
from pyrometer.window.scope import Scope

INTERRUPT, DISK_INTERRUPT = "interrupt", "disk_interrupt"
NOBODY, OTHER_PROCESSES, OTHER_THREADS = "nobody_or_several", "other_processes", "other_threads"
_SECOND = 1_000_000_000


@dataclass
class OffCpu:
    """Time off the CPU of a group's tasks, inside their spans (ns).

    Attributes
    ----------
    asleep, asleep_low, asleep_high : int
        Not runnable, in all; and what the sums over seconds leave open.
    run_queue, run_queue_low, run_queue_high : int
        Runnable, waiting for a CPU.
    in_pauses : int
        Of ``asleep``: in intervals with a row that a stop-the-world pause covers.
    n : int
        Intervals.
    ended_by : dict of str to (int, int)
        Of ``asleep``: time and intervals by who woke the thread.
    """

    asleep: int = 0
    asleep_low: int = 0
    asleep_high: int = 0
    run_queue: int = 0
    run_queue_low: int = 0
    run_queue_high: int = 0
    in_pauses: int = 0
    n: int = 0
    ended_by: dict[str, tuple[int, int]] = field(
        default_factory=lambda: defaultdict(lambda: (0, 0))
    )


def define_off_cpu(scope: Scope) -> None:
    """Define ``l_off_cpu`` (sums by task and waker) and ``l_off_cpu_pauses``.

    Intervals are joined to spans by the second in which they began: a sum covers one second at
    most, and an interval with a row begins in the span, whose first instant is on a CPU.
    """
    scope.tables.define(
        "l_off_cpu_met",
        f"""
        WITH places AS (
          SELECT *, unnest(range(start_ns // {_SECOND} - 1, end_ns // {_SECOND} + 1)) AS second
          FROM l_spans)
        SELECT s.task, o.pid, o.tid, o.begin_mono_ns AS begin_ns, o.end_mono_ns AS end_ns, o.count,
          greatest(o.off_ns - o.run_queue_ns, 0) AS asleep_ns, o.run_queue_ns,
          greatest(o.begin_mono_ns, s.start_ns) AS since,
          least(o.end_mono_ns, s.end_ns) AS until,
          -- Added up, one short wait alone has a second as its place, too.
          o.off_ns = o.end_mono_ns - o.begin_mono_ns AS single,
          {ended_by_sql()} AS ended_by
        FROM (SELECT *, begin_mono_ns // {_SECOND} AS second FROM off_cpu) o
        JOIN places s ON s.pid = o.pid AND s.tid = o.tid AND s.second = o.second
          AND o.begin_mono_ns < s.end_ns AND o.end_mono_ns > s.start_ns
        LEFT JOIN w_threads t ON t.pid = o.waker_pid AND t.tid = o.waker_tid
        """,
    )
    scope.tables.define("l_off_cpu_away", _AWAY)
    scope.tables.define(
        "l_off_cpu_parts",
        """
        SELECT o.*, CASE WHEN single THEN (until - since) / greatest(end_ns - begin_ns, 1)
          ELSE least(greatest(until - since - (u.away - s.away), 0)
            / greatest(end_ns - begin_ns - (e.away - b.away), 1), 1) END AS inside
        FROM l_off_cpu_met o
        LEFT JOIN l_off_cpu_away b ON (b.pid, b.tid, b.t) = (o.pid, o.tid, o.begin_ns)
        LEFT JOIN l_off_cpu_away s ON (s.pid, s.tid, s.t) = (o.pid, o.tid, o.since)
        LEFT JOIN l_off_cpu_away u ON (u.pid, u.tid, u.t) = (o.pid, o.tid, o.until)
        LEFT JOIN l_off_cpu_away e ON (e.pid, e.tid, e.t) = (o.pid, o.tid, o.end_ns)
        """,
    )
    scope.tables.define(
        "l_off_cpu",
        "SELECT task, ended_by, sum(asleep_ns * inside) AS asleep,"
        f" sum(asleep_ns * {_WHOLE}) AS asleep_low, sum(asleep_ns * {_ANY}) AS asleep_high,"
        f" sum(run_queue_ns * inside) AS queued, sum(run_queue_ns * {_WHOLE}) AS queued_low,"
        f" sum(run_queue_ns * {_ANY}) AS queued_high, sum(count)::BIGINT AS n"
        " FROM l_off_cpu_parts GROUP BY ALL",
    )
    scope.tables.define(
        "l_off_cpu_pauses",
        "SELECT o.task, sum(greatest(0, least(o.until, o.begin_ns + o.asleep_ns, p.end_ns)"
        "  - greatest(o.since, p.start_ns))) AS t"
        " FROM l_off_cpu_parts o JOIN w_pauses p ON (p.pid = o.pid OR p.pid IS NULL)"
        " AND o.since < p.end_ns AND o.until > p.start_ns WHERE o.single GROUP BY o.task",
    )


# How long a thread was in intervals with a row before each moment at which a sum is cut.
_AWAY = """
WITH moments AS (
  SELECT DISTINCT pid, tid, unnest([begin_ns, since, until, end_ns]) AS t
  FROM l_off_cpu_met WHERE NOT single),
alone AS (
  SELECT pid, tid, begin_mono_ns AS begin_ns, end_mono_ns AS end_ns,
    sum(off_ns) OVER (PARTITION BY pid, tid ORDER BY begin_mono_ns
      ROWS UNBOUNDED PRECEDING) - off_ns AS before
  FROM off_cpu WHERE off_ns = end_mono_ns - begin_mono_ns
    AND (pid, tid) IN (SELECT (pid, tid) FROM moments))
SELECT m.pid, m.tid, m.t,
  coalesce(a.before + least(m.t, a.end_ns) - a.begin_ns, 0)::BIGINT AS away
FROM moments m ASOF LEFT JOIN alone a
  ON a.pid = m.pid AND a.tid = m.tid AND a.begin_ns <= m.t
"""

# An interval with a row is cut where its span is; of a sum over a second any part may be inside.
_WHOLE = "CASE WHEN single THEN inside WHEN inside > 0.999999 THEN 1 ELSE 0 END"
_ANY = "CASE WHEN single THEN inside ELSE 1 END"


def ended_by_sql() -> str:
    """Give the SQL for who ended an interval: an interrupt, or the waker's role."""
    role = role_case("coalesce(o.waker_comm, '')")
    return f"""
    CASE WHEN o.waker_interrupt OR o.waker_pid = 0
           THEN CASE WHEN o.kind = 'disk' OR o.io_wait THEN '{DISK_INTERRUPT}'
             ELSE '{INTERRUPT}' END
         WHEN o.waker_tid IS NULL AND o.waker_comm IS NULL THEN '{NOBODY}'
         WHEN t.role <> '{OTHER}' THEN t.role
         WHEN {role} <> '{OTHER}' THEN {role}
         WHEN t.role IS NOT NULL THEN '{OTHER_THREADS}' ELSE '{OTHER_PROCESSES}' END
"""


def off_cpu(scope: Scope) -> dict[int, OffCpu]:
    """Time off the CPU in each group of ``l_groups``."""
    found: dict[int, OffCpu] = defaultdict(OffCpu)
    for number, ended_by, *sums in scope.tables.query(
        "SELECT g.number, o.ended_by, sum(asleep), sum(asleep_low), sum(asleep_high), sum(queued),"
        " sum(queued_low), sum(queued_high), sum(n)::BIGINT FROM l_off_cpu o"
        " JOIN l_groups g USING (task) GROUP BY ALL"
    ):
        group = found[int(number)]
        asleep, low, high, queued, queued_low, queued_high, n = (round(value) for value in sums)
        group.asleep += asleep
        group.asleep_low += low
        group.asleep_high += high
        group.run_queue += queued
        group.run_queue_low += queued_low
        group.run_queue_high += queued_high
        group.n += n
        time, count = group.ended_by.get(ended_by, (0, 0))
        group.ended_by[ended_by] = (time + asleep, count + n)
    for number, t in scope.tables.query(
        "SELECT g.number, sum(p.t)::BIGINT FROM l_off_cpu_pauses p JOIN l_groups g USING (task)"
        " GROUP BY g.number"
    ):
        found[int(number)].in_pauses = int(t)
    return found


NO_EVENTS = "the scheduler's events were not recorded (tier T0 of the OS probe): pyrometer doctor"
STACKS = 12
"""Kernel stacks listed."""


def waits(scope: Scope) -> Waits:
    """Account for time off the CPU in the window, by role, kind, waker and kernel stack.

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
    """Define ``w_off_cpu``: sums by thread, kind, waker and stack."""
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
    """Sum the events that the probes report as lost; ``None`` if none reports them."""
    found = []
    for path in scope.run.paths.probe_reports():
        try:
            lost = parse_json(path.read_bytes()).get("events_lost_count")
        except (OSError, ValueError, AttributeError):
            continue
        if lost is not None:
            found.append(int(lost))
    return sum(found) if found else None
