"""Task attempts of the event log, cut to a window and joined with their spans."""

from __future__ import annotations

from dataclasses import dataclass

from pyrometer.analyse.scope import Scope


@dataclass(frozen=True)
class Attempts:
    """Sums over the task attempts of a window, each cut to it (ns)."""

    count: int
    run_ns: int
    cpu_ns: int | None
    deserialize_ns: int
    deserialize_outside_ns: int
    serialize_ns: int
    getting_result_ns: int
    scheduler_delay_ns: int
    spark_delay_ns: int
    fetch_wait_ns: int | None
    bare_ns: int


def read_attempts(scope: Scope) -> Attempts:
    """Sum the attempts that touch the window, each in proportion to the part inside."""
    row = scope.tables.record(_ATTEMPTS)
    return Attempts(
        count=row["n"],
        run_ns=row["run"] or 0,
        cpu_ns=row["cpu"],
        deserialize_ns=row["deserialize"] or 0,
        deserialize_outside_ns=row["deserialize_outside"] or 0,
        serialize_ns=row["serialize"] or 0,
        getting_result_ns=row["getting"] or 0,
        scheduler_delay_ns=row["delay"] or 0,
        spark_delay_ns=row["spark_delay"] or 0,
        fetch_wait_ns=row["fetch_wait"],
        bare_ns=row["bare"] or 0,
    )


# inner: the part of the deserialisation that lies inside the span, which begins before it ends.
_ATTEMPTS = """
WITH cut AS (
  SELECT t.*, CASE WHEN t.until_wall_ns <= t.launch_wall_ns THEN 1.0
      ELSE sum(greatest(0, least(t.until_wall_ns, w.end_wall_ns)
        - greatest(t.launch_wall_ns, w.start_wall_ns)))
        / (t.until_wall_ns - t.launch_wall_ns)::DOUBLE END AS inside
  FROM (SELECT app_index, task_attempt_id, launch_wall_ns,
      coalesce(finish_wall_ns, a.end_wall_ns, a.last_event_wall_ns) AS until_wall_ns,
      getting_result_wall_ns, executor_run_time_ns AS run, executor_cpu_time_ns AS cpu,
      coalesce(executor_deserialize_time_ns, 0) AS deserialize,
      coalesce(result_serialization_time_ns, 0) AS serialize,
      shuffle_fetch_wait_time_ns AS fetch_wait
    FROM tasks LEFT JOIN apps a USING (app_index) WHERE launch_wall_ns IS NOT NULL) t
  JOIN w ON t.launch_wall_ns < w.end_wall_ns AND t.until_wall_ns >= w.start_wall_ns
  GROUP BY app_index, task_attempt_id, launch_wall_ns, until_wall_ns, getting_result_wall_ns, run,
    cpu, deserialize, serialize, fetch_wait),
whole AS (
  SELECT app_index, task_attempt_id, max(span_end_ns - span_start_ns) AS span
  FROM w_spans GROUP BY ALL),
joined AS (
  SELECT c.*, s.span, c.until_wall_ns - c.launch_wall_ns AS took,
    CASE WHEN c.getting_result_wall_ns IS NULL THEN 0
      ELSE greatest(0, c.until_wall_ns - c.getting_result_wall_ns) END AS getting,
    CASE WHEN s.span IS NULL OR c.run IS NULL THEN 0
      ELSE least(greatest(s.span - c.run - c.serialize, 0), c.deserialize) END AS inner_part
  FROM cut c LEFT JOIN whole s
    ON s.task_attempt_id = c.task_attempt_id AND s.app_index IS NOT DISTINCT FROM c.app_index)
SELECT count(*) AS n,
  sum(run * inside)::BIGINT AS run,
  sum(cpu * inside)::BIGINT AS cpu,
  sum(deserialize * inside)::BIGINT AS deserialize,
  sum((deserialize - inner_part) * inside)::BIGINT AS deserialize_outside,
  sum(serialize * inside)::BIGINT AS serialize,
  sum(getting * inside) FILTER (run IS NOT NULL)::BIGINT AS getting,
  sum(greatest(0, took - run - deserialize - serialize - getting) * inside)::BIGINT AS spark_delay,
  sum(CASE WHEN span IS NULL THEN greatest(0, took - run - deserialize - serialize - getting)
    WHEN run IS NOT NULL THEN took - span - (deserialize - inner_part) - getting
    END * inside)::BIGINT AS delay,
  sum(fetch_wait * inside)::BIGINT AS fetch_wait,
  sum(greatest(0, took - coalesce(span, 0)) * inside) FILTER (run IS NULL)::BIGINT AS bare
FROM joined
"""
