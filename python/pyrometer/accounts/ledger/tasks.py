"""Task attempts of a window, each cut to it: from the event log, and from their spans.

Every rule of the ledger keeps its sums by ``task``, the number that an attempt gets here.
"""

from __future__ import annotations

from pyrometer.accounts.ledger.cluster.clock_bounds import LOG_NS, define_clock_bounds
from pyrometer.core.process_numbers import KEY
from pyrometer.window.scope import Scope


def define_tasks(scope: Scope) -> str | None:
    """Define ``l_tasks`` and ``l_spans``: attempts and spans, each cut to the window.

    An attempt that reaches over the window's edge counts in proportion to the part inside. Columns
    ``*_ns`` are of that part. ``wall_ns`` and ``span_cpu_ns`` are the plugin's, all else is the
    event log's; either may be missing. ``launch_ns`` and ``result_ns`` are what of ``delay_ns`` lay
    before the span and after it, within ``…_low_ns`` and ``…_high_ns``; ``unsplit_ns`` is the rest.

    Returns
    -------
    str or None
        Why no delay of any task is split so.
    """
    why = define_clock_bounds(scope)
    known = [None if why else scope.offset_ns, LOG_NS // 2]
    scope.tables.define("l_tasks", _TASKS, known)
    scope.tables.define(
        "l_spans",
        "SELECT t.task, s.pid, s.tid, s.start_ns, s.end_ns FROM w_spans s JOIN l_tasks t"
        " ON t.task_attempt_id = s.task_attempt_id AND t.app_index IS NOT DISTINCT FROM s.app_index"
        " WHERE s.end_ns > s.start_ns",
    )
    return why


def _part(name: str, error: str) -> str:
    """Write a part of the delay, and its ends; no message takes less than no time.

    Nor does one take more than both: the delay, whose ends are each known to a millisecond.
    """
    ends = {
        "": name,
        "_low": f"least({name}, greatest(0, {name} - {error}))",
        "_high": f"least({name} + {error}, delay + 2 * $2)",
    }
    return ", ".join(
        f"CASE WHEN is_parted THEN {sql} * inside END AS {name}{end}_ns"
        for end, sql in ends.items()
    )


# An attempt whose output was lost ends a second time (Resubmitted): the first is its time.
# inner: the part of the deserialisation that lies inside the span, which begins before it ends.
# A span's ends are on the axis, within a bound each; those of an attempt are the driver's, cut to
# milliseconds: on average they were half of one later. Of one that ended before its span by more
# than that can be, the driver had given it up.
_TASKS = f"""
WITH known AS (
  SELECT t.app_index, t.task_attempt_id, t.stage_id, t.stage_attempt, t.sql_id,
    t.task_index, t.attempt, t.executor_id, t.status, t.launch_wall_ns,
    coalesce(t.finish_wall_ns, a.gone_wall_ns) AS until_wall_ns,
    t.getting_result_wall_ns, t.executor_run_time_ns AS run, t.executor_cpu_time_ns AS cpu,
    coalesce(t.executor_deserialize_time_ns, 0) AS deserialize,
    coalesce(t.result_serialization_time_ns, 0) AS serialize,
    t.shuffle_fetch_wait_time_ns AS fetch_wait
  FROM run_tasks t LEFT JOIN lives a USING (app_index) WHERE t.launch_wall_ns IS NOT NULL
    AND t.reason IS DISTINCT FROM 'Resubmitted'),
cut AS (
  SELECT t.*, CASE WHEN t.until_wall_ns <= t.launch_wall_ns THEN 1.0
      ELSE sum(greatest(0, least(t.until_wall_ns, w.end_wall_ns)
        - greatest(t.launch_wall_ns, w.start_wall_ns))) OVER attempt
        / (t.until_wall_ns - t.launch_wall_ns)::DOUBLE END AS inside
  FROM known t JOIN w ON t.launch_wall_ns < w.end_wall_ns AND (t.until_wall_ns > w.start_wall_ns
    OR (t.until_wall_ns <= t.launch_wall_ns AND t.until_wall_ns >= w.start_wall_ns))
  WINDOW attempt AS (PARTITION BY t.app_index, t.task_attempt_id, t.launch_wall_ns)
  QUALIFY row_number() OVER attempt = 1),
whole AS (
  SELECT app_index, task_attempt_id, any_value(stage_id) AS stage_id,
    any_value(stage_attempt) AS stage_attempt, any_value(sql_id) AS sql_id,
    max(span_end_ns - span_start_ns) AS span, any_value(pid) // {KEY} AS number,
    arg_max(span_start_ns, span_end_ns - span_start_ns) AS first,
    arg_max(span_end_ns, span_end_ns - span_start_ns) AS last, sum(end_ns - start_ns) AS wall,
    sum(cpu_ns * inside) AS cpu, count(*) AS n, count(cpu_ns) AS measured
  FROM w_spans GROUP BY app_index, task_attempt_id),
joined AS (
  SELECT c.*, s.span, c.until_wall_ns - c.launch_wall_ns AS took,
    coalesce(c.app_index, s.app_index) AS app,
    coalesce(c.task_attempt_id, s.task_attempt_id) AS id,
    coalesce(c.stage_id, s.stage_id) AS stage,
    coalesce(c.stage_attempt, s.stage_attempt) AS stage_try,
    coalesce(c.sql_id, s.sql_id) AS sql,
    s.wall, s.number, s.first, s.last,
    s.cpu AS span_cpu, coalesce(s.n, 0) AS spans, coalesce(s.measured, 0) AS measured,
    CASE WHEN c.getting_result_wall_ns IS NULL THEN 0
      ELSE greatest(0, c.until_wall_ns - c.getting_result_wall_ns) END AS getting,
    CASE WHEN s.span IS NULL OR c.run IS NULL THEN 0
      ELSE least(greatest(s.span - c.run - c.serialize, 0), c.deserialize) END AS inner_part
  FROM cut c FULL JOIN whole s
    ON s.task_attempt_id = c.task_attempt_id AND s.app_index IS NOT DISTINCT FROM c.app_index),
delayed AS (
  SELECT *, greatest(0, took - run - deserialize - serialize - getting) AS sparks,
    CASE WHEN span IS NULL THEN sparks
      WHEN run IS NOT NULL THEN took - span - (deserialize - inner_part) - getting END AS delay
  FROM joined),
parted AS (
  SELECT d.*, b.bound_ns + $2 AS early, e.bound_ns + $2 AS late,
    first - (launch_wall_ns - $1::BIGINT + $2) - (deserialize - inner_part) AS launch,
    until_wall_ns - $1::BIGINT + $2 - last - getting AS result,
    coalesce(launch + early >= 0 AND result + late >= 0 AND run IS NOT NULL, false) AS is_parted
  FROM delayed d
  ASOF LEFT JOIN l_clock_bounds b ON b.number = d.number AND d.first >= b.since
  ASOF LEFT JOIN l_clock_bounds e ON e.number = d.number AND d.last >= e.since)
SELECT row_number() OVER (ORDER BY app, id)::INTEGER AS task,
  app AS app_index, id AS task_attempt_id, stage AS stage_id, stage_try AS stage_attempt,
  sql AS sql_id, task_index, attempt, executor_id, status, took,
  (took IS NOT NULL)::INTEGER AS attempts,
  took * inside AS took_ns, run * inside AS run_ns, cpu * inside AS cpu_ns,
  deserialize * inside AS deserialize_ns,
  (deserialize - inner_part) * inside AS deserialize_outside_ns,
  serialize * inside AS serialize_ns,
  CASE WHEN run IS NOT NULL THEN getting * inside END AS getting_ns,
  sparks * inside AS spark_delay_ns,
  delay * inside AS delay_ns,
  {", ".join(_part(*one) for one in (("launch", "early"), ("result", "late")))},
  CASE WHEN NOT is_parted THEN delay * inside END AS unsplit_ns,
  is_parted::INTEGER AS parted, (NOT is_parted AND delay IS NOT NULL)::INTEGER AS unsplit,
  fetch_wait * inside AS fetch_wait_ns,
  CASE WHEN run IS NULL THEN greatest(0, took - coalesce(span, 0)) * inside END AS bare_ns,
  wall::DOUBLE AS wall_ns, span_cpu AS span_cpu_ns, spans, measured
FROM parted
"""
