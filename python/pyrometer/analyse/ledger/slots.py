"""Slots over time, from the event log: how many there were, and why those idle were idle.

One sweep over all starts and ends, in the database: nothing is held in Python.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyrometer.analyse.scope import Scope

CAUSES = ("driver", "executor_startup", "waiting_to_launch", "too_few_tasks", "stage_tail")


@dataclass(frozen=True)
class Slots:
    """Slot time of a window.

    Attributes
    ----------
    total_ns : int
        ∫ registered slots dt.
    busy_ns : int
        ∫ task attempts under way dt; more than the slots where attempts overlap.
    idle_ns : dict of str to int
        ∫ idle slots dt by cause (``CAUSES``).
    overlap_ns : int
        ∫ attempts beyond the slots dt: clocks or logs that disagree.
    """

    total_ns: int
    busy_ns: int
    idle_ns: dict[str, int]
    overlap_ns: int


def slots(scope: Scope) -> Slots | None:
    """Sweep over the window; ``None`` where no executor tells its cores."""
    known = scope.tables.scalar("SELECT count(*) FROM executors WHERE cores_count > 0")
    if not known or not scope.window.intervals:
        return None
    row = scope.tables.record(_SWEEP)
    return Slots(
        total_ns=int(row["total"] or 0),
        busy_ns=int(row["busy"] or 0),
        idle_ns={cause: int(row[cause] or 0) for cause in CAUSES},
        overlap_ns=int(row["overlap"] or 0),
    )


# Deltas at an instant: slots, fresh (slots of executors that have not yet launched a task), run
# (attempts under way), active (stages), planned and pending (their tasks in all, and not yet
# launched), inside (the window).
_SWEEP = """
WITH life AS (
  SELECT app_index, coalesce(start_wall_ns, first_event_wall_ns) AS born,
    coalesce(end_wall_ns, last_event_wall_ns) AS gone,
    greatest(1, coalesce(TRY_CAST(json_extract_string(
      spark_conf, '$."spark.task.cpus"') AS INTEGER), 1)) AS cpus
  FROM apps),
places AS (
  SELECT e.app_index, e.executor_id, e.cores_count // l.cpus AS n,
    coalesce(e.add_wall_ns, l.born) AS since, coalesce(e.remove_wall_ns, l.gone) AS until,
    (SELECT min(t.launch_wall_ns) FROM tasks t
     WHERE t.app_index = e.app_index AND t.executor_id = e.executor_id) AS used
  FROM executors e JOIN life l USING (app_index) WHERE e.cores_count > 0),
work AS (
  SELECT t.app_index, t.stage_id, t.stage_attempt, t.speculative, t.status,
    t.launch_wall_ns AS since, coalesce(t.finish_wall_ns, l.gone) AS until
  FROM tasks t JOIN life l USING (app_index) WHERE t.launch_wall_ns IS NOT NULL),
counted AS (
  SELECT app_index, stage_id, stage_attempt,
    count(*) FILTER (NOT speculative) AS launches,
    count(*) FILTER (NOT speculative AND status IN ('failed', 'killed')) AS returned
  FROM work GROUP BY ALL),
staged AS (
  SELECT s.app_index, s.stage_id, s.stage_attempt, s.submit_wall_ns AS since,
    coalesce(s.complete_wall_ns, l.gone) AS until,
    coalesce(s.planned_tasks_count, c.launches - c.returned, 0) AS planned,
    coalesce(c.launches, 0) AS launches, coalesce(c.returned, 0) AS returned
  FROM stages s JOIN life l USING (app_index)
  LEFT JOIN counted c USING (app_index, stage_id, stage_attempt)
  WHERE s.submit_wall_ns IS NOT NULL),
deltas(app_index, t, slots, fresh, run, active, planned, pending, inside) AS (
  SELECT app_index, since, n, n, 0, 0, 0, 0, 0 FROM places
  UNION ALL SELECT app_index, until, -n, 0, 0, 0, 0, 0, 0 FROM places
  UNION ALL SELECT app_index, greatest(since, least(coalesce(used, until), until)),
    0, -n, 0, 0, 0, 0, 0 FROM places
  UNION ALL SELECT app_index, since, 0, 0, 1, 0, 0, CASE WHEN speculative THEN 0 ELSE -1 END, 0
    FROM work
  UNION ALL SELECT app_index, until, 0, 0, -1, 0, 0, 0, 0 FROM work
  UNION ALL SELECT w.app_index, least(w.until, s.until), 0, 0, 0, 0, 0, 1, 0
    FROM work w JOIN staged s USING (app_index, stage_id, stage_attempt)
    WHERE NOT w.speculative AND w.status IN ('failed', 'killed')
  UNION ALL SELECT app_index, since, 0, 0, 0, 1, planned, planned, 0 FROM staged
  UNION ALL SELECT app_index, until, 0, 0, 0, -1, -planned, -(planned - launches + returned), 0
    FROM staged
  UNION ALL SELECT l.app_index, w.start_wall_ns, 0, 0, 0, 0, 0, 0, 1 FROM w, life l
  UNION ALL SELECT l.app_index, w.end_wall_ns, 0, 0, 0, 0, 0, 0, -1 FROM w, life l),
instants AS (
  SELECT app_index, t, sum(slots) AS slots, sum(fresh) AS fresh, sum(run) AS run,
    sum(active) AS active, sum(planned) AS planned, sum(pending) AS pending, sum(inside) AS inside
  FROM deltas WHERE t IS NOT NULL GROUP BY ALL),
levels AS (
  SELECT t, sum(slots) OVER upto AS slots, sum(fresh) OVER upto AS fresh,
    sum(run) OVER upto AS run, sum(active) OVER upto AS active, sum(planned) OVER upto AS planned,
    sum(pending) OVER upto AS pending, sum(inside) OVER upto AS inside,
    lead(t) OVER (PARTITION BY app_index ORDER BY t) - t AS dt
  FROM instants WINDOW upto AS (PARTITION BY app_index ORDER BY t)),
spent AS (
  SELECT *, greatest(slots - run, 0) * dt AS idle,
    least(greatest(slots - run, 0), greatest(fresh, 0)) * dt AS starting,
    CASE WHEN active <= 0 THEN 'driver' WHEN pending > 0 THEN 'pending'
      WHEN planned < slots THEN 'few' ELSE 'tail' END AS why
  FROM levels WHERE inside > 0 AND dt > 0)
SELECT sum(slots * dt)::BIGINT AS total, sum(run * dt)::BIGINT AS busy,
  sum(greatest(run - slots, 0) * dt)::BIGINT AS overlap,
  sum(idle) FILTER (why = 'driver')::BIGINT AS driver,
  sum(starting) FILTER (why = 'pending')::BIGINT AS executor_startup,
  sum(idle - starting) FILTER (why = 'pending')::BIGINT AS waiting_to_launch,
  sum(idle) FILTER (why = 'few')::BIGINT AS too_few_tasks,
  sum(idle) FILTER (why = 'tail')::BIGINT AS stage_tail
FROM spent
"""
