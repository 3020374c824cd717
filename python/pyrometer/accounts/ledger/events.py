"""Starts and ends of executors, stages and task attempts, from the event log.

==============  ================================================================
``l_executors``  slots of each executor, and when it came, launched a task, and went
``l_returned``   when an attempt put its task back, to be launched again
``l_stages``     stage attempts with how many tasks they planned and launched
``l_work``       task attempts; the second end of one whose output was lost is ``again``
==============  ================================================================
"""

from __future__ import annotations

from pyrometer.store.lives import define_lives
from pyrometer.store.tables import Tables

GIVEN_UP = ("killed by driver", "explicit termination request", "idle", "decommission")
"""Words of Spark and its cluster managers for an executor that dynamic allocation released."""


def define_events(tables: Tables) -> None:
    """Define these of the whole run, once for each connection."""
    if "l_stages" in tables.defined:
        return
    define_lives(tables)
    tables.define("l_executors", _EXECUTORS)
    tables.define_view("l_work", _WORK)
    tables.define("l_returned", _RETURNED)
    tables.define("l_stages", _STAGES)


_EXECUTORS = """
SELECT e.app_index, e.executor_id,
  e.cores_count // greatest(1, coalesce(TRY_CAST(json_extract_string(
    l.spark_conf, '$."spark.task.cpus"') AS INTEGER), 1)) AS n,
  coalesce(e.add_wall_ns, l.born_wall_ns) AS since,
  coalesce(e.remove_wall_ns, l.gone_wall_ns) AS until,
  (SELECT min(t.launch_wall_ns) FROM tasks t
   WHERE t.app_index = e.app_index AND t.executor_id = e.executor_id) AS used
FROM executors e JOIN lives l USING (app_index) WHERE e.cores_count > 0
"""
_WORK = """
SELECT t.app_index, t.stage_id, t.stage_attempt, t.task_index, t.speculative, t.status,
  t.launch_wall_ns AS since, coalesce(t.finish_wall_ns, l.gone_wall_ns) AS until,
  t.reason IS NOT DISTINCT FROM 'Resubmitted' AS again
FROM tasks t JOIN lives l USING (app_index) WHERE t.launch_wall_ns IS NOT NULL
"""
# Of attempts at a task that overlap, an original and its copy, one that succeeds finishes it. Else
# it goes back when the last of them ends: no task is launched anew while a copy of it runs.
_RETURNED = """
SELECT app_index, stage_id, stage_attempt, until FROM l_work WHERE again
UNION ALL
SELECT x.app_index, x.stage_id, x.stage_attempt,
  greatest(x.until, coalesce((SELECT max(c.until) FROM l_work c
    WHERE c.app_index = x.app_index AND c.stage_id = x.stage_id
      AND c.stage_attempt = x.stage_attempt AND c.task_index = x.task_index
      AND NOT c.again AND c.since < x.until), x.until)) AS until
FROM l_work x
WHERE NOT x.again AND NOT x.speculative AND x.status IN ('failed', 'killed')
  AND NOT EXISTS (SELECT 1 FROM l_work o
    WHERE o.app_index = x.app_index AND o.stage_id = x.stage_id
      AND o.stage_attempt = x.stage_attempt AND o.task_index = x.task_index
      AND o.status = 'success' AND o.until >= x.since AND o.since < x.until)
"""
# code: the place of a stage among those of its application.
_STAGES = """
WITH counted AS (
  SELECT app_index, stage_id, stage_attempt,
    count(*) FILTER (NOT speculative AND NOT again) AS launches
  FROM l_work GROUP BY ALL),
back AS (
  SELECT app_index, stage_id, stage_attempt, count(*) AS returned FROM l_returned GROUP BY ALL)
SELECT s.app_index, s.stage_id, s.stage_attempt,
  row_number() OVER (PARTITION BY s.app_index ORDER BY s.stage_id, s.stage_attempt) - 1 AS code,
  s.submit_wall_ns AS since, coalesce(s.complete_wall_ns, l.gone_wall_ns) AS until,
  coalesce(s.planned_tasks_count, c.launches - coalesce(b.returned, 0), 0) AS planned,
  coalesce(c.launches, 0) AS launches, coalesce(b.returned, 0) AS returned
FROM stages s JOIN lives l USING (app_index)
LEFT JOIN counted c USING (app_index, stage_id, stage_attempt)
LEFT JOIN back b USING (app_index, stage_id, stage_attempt)
WHERE s.submit_wall_ns IS NOT NULL
"""
SLOTS = """
SELECT since, until, n::BIGINT AS n, greatest(since, least(coalesce(used, until), until)) AS used
FROM l_executors WHERE app_index = $1 AND since IS NOT NULL AND until IS NOT NULL
"""
ATTEMPTS = """
SELECT coalesce(c.code, -1)::BIGINT AS code, w.since, w.until, w.again, w.speculative
FROM l_work w LEFT JOIN l_stages c USING (app_index, stage_id, stage_attempt)
WHERE w.app_index = $1 AND w.until IS NOT NULL
"""
RETURNED = """
SELECT s.code::BIGINT AS code, least(r.until, s.until) AS at
FROM l_returned r JOIN l_stages s USING (app_index, stage_id, stage_attempt)
WHERE r.app_index = $1 AND coalesce(r.until, s.until) IS NOT NULL
"""
