"""Delay accounting and pressure: totals of the kernel that overlap, so limits, never addends.

Two sources for one quantity, compared.

Time in the run queue during tasks, from counters of threads read between the ends of spans.

A reading shows what a thread's counters grew by since the one before (a *step*). A step inside a
span counts in full. Of a step that a span's end falls into, the span gets its part by time, and the
interval says what the grid of readings leaves open: at most the length of the span's part of the
step, at least what the rest of the step cannot hold.

Stop-the-world pauses during tasks, and what slept in them.

A pause stops threads that run Java; native code and blocked system calls run on through it, so
only the part of a pause in which a task's thread was seen asleep counts as the task's.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyrometer.accounts.ledger.schema import Check, Row
from pyrometer.window.counters import define_steps
from pyrometer.window.scope import Scope

TOLERANCE = 0.05


def compare(
    name: str, left: int | None, right: int | None, slack_ns: int, explanation: str
) -> Check:
    """Compare two sides; they agree within 5 % or within what their resolution allows."""
    if left is None or right is None:
        return Check(
            name=name,
            left_ns=left,
            right_ns=right,
            difference_ratio=None,
            ok=None,
            explanation=explanation,
        )
    difference = left - right
    ratio = difference / right if right else (0.0 if left == 0 else None)
    return Check(
        name=name,
        left_ns=left,
        right_ns=right,
        difference_ratio=ratio,
        ok=abs(difference) <= max(TOLERANCE * max(abs(left), abs(right)), slack_ns),
        explanation=explanation,
    )


_READING_NS = 1_000_000_000
"""Pressure and delays are read about once a second: what their window's ends leave open."""


def delay_memos(scope: Scope) -> list[Row]:
    """Give the delays of task threads in the window by kind, as memos of the ledger."""
    if not scope.has("delays") or not scope.has_mono:
        return []
    source = "taskstats, task threads between tasks too; kinds overlap: a bound, never added"
    return [
        Row(path=f"delays/{kind}", value_ns=int(value), n=int(n), source=source)
        for kind, value, n in scope.tables.query(
            f"SELECT kind, sum(grown)::BIGINT, count(*) FROM ({_grown('delays', _TASK_DELAYS)})"
            " GROUP BY kind HAVING sum(grown) > 0 ORDER BY 2 DESC, 1"
        )
    ]


def delay_checks(scope: Scope) -> list[Check]:
    """Compare schedstat with delay accounting and with pressure, where these were read."""
    if not scope.has("thread_counters"):
        return []
    found = []
    delays = {row.path: row.value_ns for row in delay_memos(scope)}
    if "delays/cpu" in delays:
        counted = scope.tables.scalar(
            "SELECT sum(run_delay_ns)::BIGINT FROM w_threads WHERE role = 'task'"
        )
        found.append(
            compare(
                "run queue: schedstat and delay accounting",
                counted,
                delays["delays/cpu"],
                2 * _READING_NS,
                "One counter of the kernel by two ways; delays are read less often.",
            )
        )
    found += _pressure(scope)
    return found


def _pressure(scope: Scope) -> list[Check]:
    some = scope.tables.scalar(
        "SELECT sum(grown)::BIGINT FROM ("
        + _grown("os_series", "scope = 'host' AND name = 'psi_cpu_some_ns'")
        + ")"
    )
    most = scope.tables.scalar("SELECT max(run_delay_ns)::BIGINT FROM w_threads")
    if some is None or most is None:
        return []
    return [
        Check(
            name="run queue: longest of a thread and pressure",
            left_ns=most,
            right_ns=some,
            difference_ratio=(most - some) / some if some else None,
            ok=most <= (1 + TOLERANCE) * some + 2 * _READING_NS,
            explanation="While a thread waits for a CPU the pressure of CPUs grows: no thread can"
            " have waited longer than that.",
        )
    ]


_TASK_DELAYS = "tid IS NOT NULL AND (pid, tid) IN (SELECT DISTINCT pid, tid FROM spans)"
_COLUMNS = {
    "delays": ("kind", "total_ns", "pid, tid, kind"),
    "os_series": ("name AS kind", "value", "host, scope, name"),
}


def _grown(table: str, where: str) -> str:
    """Give the SQL for what cumulative readings grew by inside the window, in straight lines."""
    kind, value, keys = _COLUMNS[table]
    return (
        "SELECT kind, (v - v0)::DOUBLE * greatest(0, least(t, w.end_mono_ns)"
        "  - greatest(t0, w.start_mono_ns)) / greatest(t - t0, 1) AS grown"
        f" FROM (SELECT {kind}, t_mono_ns AS t, {value} AS v, lag(t_mono_ns) OVER s AS t0,"
        f"  lag({value}) OVER s AS v0 FROM {table} WHERE {where}"
        f"  WINDOW s AS (PARTITION BY {keys} ORDER BY t_mono_ns)) g"
        " JOIN w ON g.t > w.start_mono_ns AND g.t0 < w.end_mono_ns WHERE v >= v0"
    )


NO_PROBE = "no probe: the kernel's run-queue time was not read"


@dataclass(frozen=True)
class RunQueue:
    """Run-queue time of a group: its value, the interval that the grid leaves, the readings."""

    value_ns: int
    low_ns: int
    high_ns: int
    n: int


def define_run_queue(scope: Scope) -> None:
    """Define ``l_run_queue`` (whole steps) and ``l_run_queue_ends`` (cut ones), by task."""
    define_steps(scope)
    # Delay of a thread up to each of its steps; a last step without an end takes what comes after.
    scope.tables.define(
        "l_steps",
        "SELECT pid, tid, since, t, delay, sum(delay) OVER th AS upto, row_number() OVER th AS step"
        " FROM (SELECT pid, tid, since, t, delay FROM thread_steps UNION ALL"
        "  SELECT pid, tid, max(t), 9223372036854775807, 0 FROM thread_steps GROUP BY pid, tid)"
        " WINDOW th AS (PARTITION BY pid, tid ORDER BY t)",
    )
    for mark, moment in (("first", "start_ns"), ("last", "end_ns")):
        # A step ends when it was read: a span that ends at that moment still contains it.
        later = "<" if mark == "first" else "<="
        scope.tables.define(
            f"l_{mark}_steps",
            f"SELECT s.task, s.start_ns, s.end_ns, e.pid, e.tid, e.since, e.t, e.delay, e.upto,"
            f" e.step FROM l_spans s ASOF JOIN l_steps e"
            f" ON e.pid = s.pid AND e.tid = s.tid AND s.{moment} {later} e.t",
        )
    scope.tables.define(
        "l_run_queue",
        "SELECT a.task, sum(greatest(0, b.upto - b.delay - a.upto)) AS delay_ns,"
        " sum(b.step - a.step + 1) AS n"
        " FROM l_first_steps a JOIN l_last_steps b USING (task, start_ns, end_ns) GROUP BY a.task",
    )
    scope.tables.define("l_run_queue_ends", _ENDS)
    scope.tables.drop("l_steps", "l_first_steps", "l_last_steps")


# Of a span whose ends fall into one step one row, else two. Growth lies in [since, t].
_ENDS = """
WITH pairs AS (
  SELECT a.task, a.start_ns, a.end_ns, a.pid, a.tid, a.step AS first_step, b.step AS last_step,
    a.since AS a_since, a.t AS a_t, a.delay AS a_delay,
    b.since AS b_since, b.t AS b_t, b.delay AS b_delay
  FROM l_first_steps a JOIN l_last_steps b USING (task, start_ns, end_ns))
SELECT task, pid, tid, first_step AS step, a_delay AS delay, a_t - a_since AS length,
  greatest(0, least(end_ns, a_t) - greatest(start_ns, a_since)) AS covered
FROM pairs WHERE a_delay > 0
UNION ALL
SELECT task, pid, tid, last_step, b_delay, b_t - b_since,
  greatest(0, least(end_ns, b_t) - greatest(start_ns, b_since))
FROM pairs WHERE b_delay > 0 AND last_step > first_step
"""


def run_queue(scope: Scope) -> dict[int, RunQueue]:
    """Run-queue time of each group of ``l_groups``; tasks that share a step are taken together."""
    rows = scope.tables.query(
        "WITH cut AS (SELECT g.number, e.pid, e.tid, e.step, any_value(e.delay) AS delay,"
        "   any_value(e.length) AS length, least(sum(e.covered), any_value(e.length)) AS covered"
        "  FROM l_run_queue_ends e JOIN l_groups g USING (task)"
        "  GROUP BY g.number, e.pid, e.tid, e.step),"
        " ends AS (SELECT number, sum(delay * covered / length) AS value,"
        "   sum(greatest(0, delay - (length - covered))) AS low,"
        "   sum(least(delay, covered)) AS high FROM cut GROUP BY number),"
        " whole AS (SELECT g.number, sum(q.delay_ns) AS value, sum(q.n) AS n"
        "  FROM l_run_queue q JOIN l_groups g USING (task) GROUP BY g.number)"
        " SELECT w.number, w.value + coalesce(e.value, 0), w.value + coalesce(e.low, 0),"
        "  w.value + coalesce(e.high, 0), w.n FROM whole w LEFT JOIN ends e USING (number)"
    )
    return {
        int(number): RunQueue(round(value), round(low), round(high), int(n))
        for number, value, low, high, n in rows
    }


@dataclass(frozen=True)
class Paused:
    """Pauses ∩ spans of a group, in all and how often."""

    value_ns: int
    n: int


def define_pauses_of_tasks(scope: Scope) -> None:
    """Define ``l_pauses``: time of each task's spans that lies in pauses of its process."""
    scope.tables.define(
        "l_pauses",
        "SELECT s.task, sum(least(s.end_ns, p.end_ns) - greatest(s.start_ns, p.start_ns)) AS t,"
        " count(*) AS n FROM l_spans s JOIN w_pauses p ON (p.pid = s.pid OR p.pid IS NULL)"
        " AND s.start_ns < p.end_ns AND s.end_ns > p.start_ns GROUP BY s.task",
    )


def paused(scope: Scope) -> dict[int, Paused]:
    """Pauses in each group of ``l_groups``."""
    return {
        int(number): Paused(int(t), int(n))
        for number, t, n in scope.tables.query(
            "SELECT g.number, sum(p.t)::BIGINT, sum(p.n)::BIGINT FROM l_pauses p"
            " JOIN l_groups g USING (task) GROUP BY g.number"
        )
    }
