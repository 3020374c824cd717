"""Instructions per cycle: of the window, of thread roles, stages and tasks.

Growth of perf counters in a window and in spans of tasks: straight lines between readings.

A counter that took turns with others on the hardware counted during ``running`` of ``enabled``
nanoseconds. Sums here are as counted, next to both times; `scaled` is the one place where
a count is scaled up.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from pyrometer.accounts.hardware.schema import (
    Counter,
    Ipc,
    RoleCounters,
    StageCounters,
    TaskCounters,
)
from pyrometer.core.estimate import Estimate
from pyrometer.statistics.distributions import t_quantile
from pyrometer.statistics.shares import LEVEL
from pyrometer.window.scope import Scope

THREAD = "thread"
NO_READINGS = "no perf counter was read in this window"


MOST_ROWS = 250_000
"""Readings that are compared at once; of one host all are."""


def define_counts(scope: Scope) -> None:
    """Define the tables that all accounts of counters read.

    ``w_perf``
        Growth in the window: scope, pid, tid, event, value, enabled, running.
    ``task_perf``
        Growth in each task span of the window, by event.
    """
    tables = scope.tables
    if "w_perf" in scope.kept:
        return
    scope.kept["w_perf"] = True
    tables.drop(*({"w_perf", "task_perf"} & tables.defined))
    for _ in each_steps(scope):
        tables.extend("w_perf", _IN_WINDOW)
        tables.extend("task_perf", _IN_SPANS)


def each_steps(scope: Scope) -> Iterator[None]:
    """Define ``perf_steps`` for one group of hosts after the other.

    Two consecutive readings of a counter: times ``t0`` and ``t1``, and what the counter had counted
    by then since its first reading (``value0``, ``value1``, and so for its times). A counter that
    was opened again goes on from where it was.
    """
    tables = scope.tables
    groups = tables.in_groups("perf_counts", MOST_ROWS)
    for rows in groups:
        tables.define("perf_steps", _STEPS.format(rows=rows))
        yield
    tables.drop("perf_steps")


_STEPS = """
    WITH pairs AS (
      SELECT host, scope, pid, tid, event, t_mono_ns AS t1, value, enabled_ns, running_ns,
        lag(t_mono_ns) OVER c AS t0, lag(value) OVER c AS v0,
        lag(enabled_ns) OVER c AS e0, lag(running_ns) OVER c AS r0
      FROM ({rows})
      WINDOW c AS (PARTITION BY host, scope, pid, tid, event ORDER BY t_mono_ns)),
    grown AS (
      SELECT host, scope, pid, tid, event, t0, t1,
        CASE WHEN again THEN 0 ELSE value - v0 END AS value,
        CASE WHEN again THEN 0 ELSE enabled_ns - e0 END AS enabled,
        CASE WHEN again THEN 0 ELSE running_ns - r0 END AS running
      FROM (SELECT *, value < v0 OR enabled_ns < e0 OR running_ns < r0 AS again FROM pairs)
      WHERE t0 IS NOT NULL AND t1 > t0)
    SELECT *, value1 - value AS value0, enabled1 - enabled AS enabled0,
      running1 - running AS running0
    FROM (SELECT *, sum(value) OVER c AS value1, sum(enabled) OVER c AS enabled1,
        sum(running) OVER c AS running1
      FROM grown WINDOW c AS (PARTITION BY host, scope, pid, tid, event ORDER BY t1
        ROWS UNBOUNDED PRECEDING))
"""

_IN_WINDOW = """
    SELECT host, scope, pid, tid, event, sum(value * inside) AS value,
      sum(enabled * inside) AS enabled, sum(running * inside) AS running
    FROM (SELECT s.*, (least(s.t1, w.end_mono_ns) - greatest(s.t0, w.start_mono_ns))::DOUBLE
        / (s.t1 - s.t0) AS inside
      FROM perf_steps s JOIN w ON s.t1 > w.start_mono_ns AND s.t0 < w.end_mono_ns)
    GROUP BY ALL
"""


def _at(step: str, moment: str, column: str) -> str:
    """Give the SQL for a counter at a moment: on the straight line of the step that began last."""
    return (
        f"coalesce({step}.{column}0 + ({step}.{column}1 - {step}.{column}0)::DOUBLE"
        f" * least(1, ({moment} - {step}.t0)::DOUBLE / ({step}.t1 - {step}.t0)), 0)"
    )


def _in_span(column: str) -> str:
    return f"{_at('b', 'm.end_ns', column)} - {_at('a', 'm.start_ns', column)} AS {column}"


_IN_SPANS = f"""
    WITH threads AS (
      SELECT pid, tid, event, min(t0) AS first, max(t1) AS last FROM perf_steps
      WHERE scope = '{THREAD}' GROUP BY ALL),
    marks AS (
      SELECT s.app_index, s.stage_id, s.stage_attempt, s.task_attempt_id, s.pid, s.tid,
        s.start_ns, s.end_ns, c.event,
        greatest(0, least(s.end_ns, c.last) - greatest(s.start_ns, c.first))::DOUBLE
          / greatest(s.end_ns - s.start_ns, 1) AS counted
      FROM w_spans s JOIN threads c USING (pid, tid)
      WHERE c.last > s.start_ns AND c.first < s.end_ns),
    steps AS (SELECT * FROM perf_steps WHERE scope = '{THREAD}')
    SELECT m.app_index, m.stage_id, m.stage_attempt, m.task_attempt_id, m.pid, m.tid, m.event,
      m.start_ns, m.end_ns, m.counted, {_in_span("value")}, {_in_span("enabled")},
      {_in_span("running")}
    FROM marks m
    ASOF LEFT JOIN steps a ON a.pid = m.pid AND a.tid = m.tid AND a.event = m.event
      AND a.t0 <= m.start_ns
    ASOF LEFT JOIN steps b ON b.pid = m.pid AND b.tid = m.tid AND b.event = m.event
      AND b.t0 <= m.end_ns
"""


def scaled(value: float, enabled: float, running: float) -> float | None:
    """Give what a counter would have counted had it never left the hardware.

    Parameters
    ----------
    value : float
        As counted.
    enabled, running : float
        Time it was meant to count, and time it did.

    Examples
    --------
    >>> scaled(100, 40, 10), scaled(100, 40, 40), scaled(0, 40, 0)
    (400.0, 100, None)
    """
    if running <= 0:
        return None if enabled > 0 else value
    return value if enabled <= running else value * enabled / running


def ratio(enabled: float, running: float) -> float | None:
    """Give the part of its time that a counter was on the hardware.

    Examples
    --------
    >>> ratio(40, 10), ratio(0, 0)
    (0.25, None)
    """
    return min(1.0, running / enabled) if enabled > 0 else None


CYCLES = "cycles"
INSTRUCTIONS = "instructions"
SOFTWARE = ("task-clock", "context-switches", "cpu-migrations", "page-faults")
MOST_TASKS = 50
_SUMS = "sum(value)::DOUBLE, sum(enabled)::DOUBLE, sum(running)::DOUBLE"
Sums = dict[str, tuple[float, float, float]]


def counters(scope: Scope, user_only: set[str]) -> list[Counter]:
    """Sum every counter of threads over the window, hardware first."""
    rows = scope.tables.query(
        f"SELECT event, {_SUMS} FROM w_perf WHERE scope = '{THREAD}' GROUP BY event ORDER BY event"
    )
    totals = [
        Counter(
            event=event,
            kind="software" if event in SOFTWARE else "hardware",
            value=round(value),
            running_ratio=ratio(enabled, running),
            scaled=scaled(value, enabled, running),
            user_only=event in user_only,
        )
        for event, value, enabled, running in rows
    ]
    return sorted(totals, key=lambda counter: (counter.kind, counter.event))


def _ipc(sums: Sums, reason: str = NO_READINGS) -> dict[str, Any]:
    """Fields of an `Ipc` from sums of its counters."""
    cycles, instructions = sums.get(CYCLES), sums.get(INSTRUCTIONS)
    if cycles is None or instructions is None:
        return {"reason": reason}
    c, i = scaled(*cycles), scaled(*instructions)
    return {
        "cycles_count": c,
        "instructions_count": i,
        "ipc": i / c if i is not None and c else None,
        "cpi": c / i if c is not None and i else None,
        "running_ratio": ratio(cycles[1], cycles[2]),
    }


def _counts(sums: Sums) -> dict[str, float]:
    counts = {event: scaled(*of) for event, of in sorted(sums.items())}
    return {event: value for event, value in counts.items() if value is not None}


def whole(scope: Scope, reason: str) -> Ipc:
    """Instructions per cycle of all followed threads in the window."""
    return Ipc(**_ipc(window_sums(scope), reason))


def window_sums(scope: Scope) -> Sums:
    """Sum counts and times of all followed threads, by event."""
    rows = scope.tables.query(
        f"SELECT event, {_SUMS} FROM w_perf WHERE scope = '{THREAD}' GROUP BY event"
    )
    return {event: (value, enabled, running) for event, value, enabled, running in rows}


def roles(scope: Scope) -> list[RoleCounters]:
    """Counters by what threads do: tasks, garbage collection, compilers, ..."""
    rows = scope.tables.query(
        f"SELECT t.role, p.event, count(*), {_SUMS} FROM w_perf p JOIN w_threads t USING (pid, tid)"
        f" WHERE p.scope = '{THREAD}' GROUP BY ALL"
    )
    by: dict[str, Sums] = defaultdict(dict)
    threads: dict[str, int] = defaultdict(int)
    for role, event, count, value, enabled, running in rows:
        by[role][event] = (value, enabled, running)
        threads[role] = max(threads[role], count)
    by_role = [
        RoleCounters(role=role, threads_count=threads[role], counts=_counts(sums), **_ipc(sums))
        for role, sums in by.items()
    ]
    return sorted(by_role, key=lambda one: (-one.counts.get("task-clock", 0), one.role))


def stages(scope: Scope) -> list[StageCounters]:
    """Counters of the tasks of each stage attempt, in their order."""
    key = "app_index, stage_id, stage_attempt"
    rows = scope.tables.query(
        f"SELECT {key}, event, count(DISTINCT task_attempt_id),"
        " sum(counted * (end_ns - start_ns))::DOUBLE / greatest(sum(end_ns - start_ns), 1),"
        f" {_SUMS}"
        " FROM task_perf GROUP BY ALL ORDER BY ALL"
    )
    spread = {
        (app, stage, attempt): (mean, sd, n)
        for app, stage, attempt, mean, sd, n in scope.tables.query(
            f"SELECT {key}, avg(ipc), stddev_samp(ipc), count(*) FROM ({_TASK_IPC}) GROUP BY {key}"
        )
    }
    by: dict[tuple[Any, int, int], Sums] = defaultdict(dict)
    about: dict[tuple[Any, int, int], tuple[int, float]] = {}
    for app, stage, attempt, event, tasks, counted, value, enabled, running in rows:
        by[app, stage, attempt][event] = (value, enabled, running)
        about[app, stage, attempt] = (tasks, counted)
    return [
        StageCounters(
            app_index=which[0],
            stage_id=which[1],
            stage_attempt=which[2],
            tasks_count=about[which][0],
            counted_ratio=about[which][1],
            counts=_counts(sums),
            task_ipc=_mean(*spread[which]) if which in spread else None,
            **_ipc(sums),
        )
        for which, sums in by.items()
    ]


_TASK_IPC = f"""
    SELECT app_index, stage_id, stage_attempt, task_attempt_id,
      sum(value) FILTER (event = '{INSTRUCTIONS}') / sum(value) FILTER (event = '{CYCLES}') AS ipc
    FROM task_perf WHERE event IN ('{CYCLES}', '{INSTRUCTIONS}') GROUP BY ALL
    HAVING sum(value) FILTER (event = '{CYCLES}') > 0
"""


def _mean(mean: float, sd: float | None, n: int) -> Estimate:
    """Mean over tasks with its interval; none of a single task."""
    half = (
        float(t_quantile((1 + LEVEL) / 2, n - 1)) * sd / math.sqrt(n)
        if n > 1 and sd is not None
        else None
    )
    return Estimate(
        value=mean,
        low=None if half is None else mean - half,
        high=None if half is None else mean + half,
        level=LEVEL,
        n=n,
        method="t over tasks",
    )


def tasks(scope: Scope) -> list[TaskCounters]:
    """Counters of the longest tasks of the window."""
    key = "app_index, stage_id, stage_attempt, task_attempt_id"
    longest = (
        f"SELECT {key}, max(end_ns - start_ns)::BIGINT AS long FROM task_perf GROUP BY {key}"
        f" ORDER BY long DESC, {key} LIMIT {MOST_TASKS}"
    )
    rows = scope.tables.query(
        f"SELECT l.{key.replace(', ', ', l.')}, long, p.event, avg(p.counted),"
        " sum(p.value)::DOUBLE, sum(p.enabled)::DOUBLE, sum(p.running)::DOUBLE"
        f" FROM ({longest}) l JOIN task_perf p ON p.task_attempt_id = l.task_attempt_id"
        "  AND p.stage_id = l.stage_id AND p.stage_attempt = l.stage_attempt"
        "  AND p.app_index IS NOT DISTINCT FROM l.app_index"
        f" GROUP BY l.{key.replace(', ', ', l.')}, long, p.event ORDER BY long DESC, 4, p.event"
    )
    by: dict[tuple[Any, ...], Sums] = defaultdict(dict)
    part: dict[tuple[Any, ...], float] = {}
    for *which, event, counted, value, enabled, running in rows:
        by[tuple(which)][event] = (value, enabled, running)
        part[tuple(which)] = counted
    return [
        TaskCounters(
            app_index=which[0],
            stage_id=which[1],
            stage_attempt=which[2],
            task_attempt_id=which[3],
            duration_ns=which[4],
            counted_ratio=part[which],
            counts=_counts(sums),
            **_ipc(sums),
        )
        for which, sums in by.items()
    ]
