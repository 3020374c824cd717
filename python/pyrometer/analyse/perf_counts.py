"""Growth of perf counters in a window and in spans of tasks: straight lines between readings.

A counter that took turns with others on the hardware counted during ``running`` of ``enabled``
nanoseconds. Sums here are as counted, with both times beside them; `scaled` is the one place where
a count is scaled up.
"""

from __future__ import annotations

from pyrometer.analyse.scope import Scope

THREAD = "thread"
NO_READINGS = "no perf counter was read in this window"


def define_counts(scope: Scope) -> None:
    """Make the tables that all accounts of counters read.

    ``perf_steps``
        Two readings of a counter in a row: times ``t0`` and ``t1``, and what the counter had
        counted by then since its first reading (``value0``, ``value1``, and so for its times). A
        counter that was opened anew goes on from where it was.
    ``w_perf``
        Growth in the window: scope, pid, tid, event, value, enabled, running.
    ``task_perf``
        Growth in each task span of the window, by event.
    """
    tables = scope.tables
    if "perf_steps" in scope.kept:
        return
    scope.kept["perf_steps"] = True
    tables.define("perf_steps", _STEPS)
    tables.define("w_perf", _IN_WINDOW)
    tables.define("task_perf", _IN_SPANS)


_STEPS = """
    WITH pairs AS (
      SELECT host, scope, pid, tid, event, t_mono_ns AS t1, value, enabled_ns, running_ns,
        lag(t_mono_ns) OVER c AS t0, lag(value) OVER c AS v0,
        lag(enabled_ns) OVER c AS e0, lag(running_ns) OVER c AS r0
      FROM perf_counts
      WINDOW c AS (PARTITION BY host, scope, pid, tid, event ORDER BY t_mono_ns)),
    grown AS (
      SELECT host, scope, pid, tid, event, t0, t1,
        CASE WHEN anew THEN 0 ELSE value - v0 END AS value,
        CASE WHEN anew THEN 0 ELSE enabled_ns - e0 END AS enabled,
        CASE WHEN anew THEN 0 ELSE running_ns - r0 END AS running
      FROM (SELECT *, value < v0 OR enabled_ns < e0 OR running_ns < r0 AS anew FROM pairs)
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
    """Make SQL for a counter at a moment: on the straight line of the step that began last."""
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
