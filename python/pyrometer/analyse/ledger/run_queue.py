"""Time in the run queue during tasks, from counters of threads read between the ends of spans.

A reading says what a thread's counters grew by since the one before (a *step*). Steps inside a span
are its own exactly. Of a step that a span's end falls into, the span gets its part by time, and the
interval says what the grid of readings leaves open: at most what the span's part of the step is
long, at least what the rest of it cannot hold.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyrometer.analyse.counters import define_steps
from pyrometer.analyse.scope import Scope

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
        # A step ends when it was read: what ends with it is still its own.
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
    """Run-queue time of each group of ``l_groups``; tasks that share a step are held together."""
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
