"""SQL for what a scheduler can know of an application ($1), within table ``sim_window``."""

from __future__ import annotations

# The job of a stage is the first that lists it and was running when it was submitted. An attempt
# that was never seen to end is taken to have ended with its stage. A copy that is ended because the
# other one is done may outlive the stage: how long results are fetched, only attempts that
# succeeded say.
STAGES = """
WITH ran AS (
  SELECT t.stage_id, t.stage_attempt, count(DISTINCT t.task_attempt_id) AS attempts,
    count(DISTINCT t.task_index) FILTER (t.status = 'success') AS done,
    coalesce(mode(e.resource_profile_id), 0) AS pool,
    list_sort(list(DISTINCT coalesce(e.host, t.executor_id))
      FILTER (t.locality IN ('PROCESS_LOCAL', 'NODE_LOCAL'))) AS hosts,
    max(t.finish_wall_ns) FILTER (t.status = 'success')
      - max(least(t.getting_result_wall_ns, t.finish_wall_ns)) FILTER (t.status = 'success')
      AS fetch_ns
  FROM tasks t LEFT JOIN executors e USING (app_index, executor_id)
  WHERE t.app_index = $1 AND t.launch_wall_ns IS NOT NULL GROUP BY ALL),
listed AS (
  SELECT job_id, submit_wall_ns, end_wall_ns, unnest(stage_ids) AS stage_id
  FROM jobs WHERE app_index = $1),
done AS (
  SELECT s.*, r.pool, r.hosts, r.fetch_ns,
    CASE WHEN s.status = 'succeeded' AND r.done < s.planned_tasks_count THEN 0
      ELSE coalesce(r.attempts, 0) END AS tasks_count,
    (SELECT min(j.job_id) FROM listed j
      WHERE j.stage_id = s.stage_id AND j.submit_wall_ns <= s.submit_wall_ns
      AND coalesce(j.end_wall_ns, s.submit_wall_ns) >= s.submit_wall_ns) AS of_job
  FROM stages s JOIN sim_window w
    ON s.submit_wall_ns >= w.start_ns AND s.complete_wall_ns <= w.end_ns
  LEFT JOIN ran r USING (stage_id, stage_attempt) WHERE s.app_index = $1)
SELECT row_number() OVER (ORDER BY of_job NULLS LAST, stage_id, stage_attempt) - 1 AS number,
  of_job AS job_id, stage_id, stage_attempt AS attempt, name, parent_ids,
  submit_wall_ns AS submit_ns, complete_wall_ns AS complete_ns, tasks_count,
  coalesce(pool, 0) AS pool, hosts,
  CASE WHEN tasks_count > 0 THEN least(greatest(0, coalesce(fetch_ns, 0)),
    complete_wall_ns - submit_wall_ns) ELSE 0 END AS fetch_ns
FROM done
"""
FIRST_LAUNCH = """
SELECT min(t.launch_wall_ns) FROM tasks t JOIN sim_stages s USING (stage_id)
WHERE t.app_index = $1 AND t.stage_attempt = s.attempt AND s.tasks_count > 0
"""
CUT = """
SELECT count(*) FROM stages s JOIN sim_window w
  ON s.submit_wall_ns >= w.start_ns AND s.submit_wall_ns < w.end_ns
WHERE s.app_index = $1 AND (s.complete_wall_ns IS NULL OR s.complete_wall_ns > w.end_ns)
"""
JOBS = """
SELECT j.job_id, j.submit_wall_ns AS submit_ns,
  CASE WHEN j.end_wall_ns <= w.end_ns THEN j.end_wall_ns END AS end_ns
FROM jobs j JOIN sim_window w ON j.submit_wall_ns >= w.start_ns AND j.submit_wall_ns <= w.end_ns
WHERE j.app_index = $1 ORDER BY j.job_id
"""
# Task time by how many tasks ran at once on a host, in steps of a quarter of e.
CONCURRENT_TASKS = """
WITH ran AS (
  SELECT DISTINCT t.host, t.task_attempt_id, t.launch_wall_ns AS a,
    least(t.getting_result_wall_ns, t.finish_wall_ns) AS b
  FROM tasks t JOIN sim_stages s USING (stage_id)
  WHERE t.app_index = $1 AND t.stage_attempt = s.attempt AND t.finish_wall_ns > t.launch_wall_ns),
changes AS (SELECT host, a AS t, 1 AS change FROM ran UNION ALL SELECT host, b, -1 FROM ran),
steps AS (SELECT host, t, sum(change) AS change FROM changes GROUP BY ALL),
levels AS (
  SELECT sum(change) OVER w AS n, lead(t) OVER w - t AS ns FROM steps
  WINDOW w AS (PARTITION BY host ORDER BY t))
SELECT round(exp(round(ln(n) * 4) / 4))::DOUBLE AS tasks, sum(n * ns)::DOUBLE AS ns
FROM levels WHERE n > 0 AND ns > 0 GROUP BY 1
"""
# How many CPUs the hosts that ran tasks have, as far as that is known; each number once.
CPUS_OF_HOSTS = """
WITH ran AS (
  SELECT DISTINCT app_index, executor_id FROM tasks
  WHERE app_index = $1 AND launch_wall_ns IS NOT NULL)
SELECT DISTINCT h.cpus_count FROM ran r JOIN apps a USING (app_index)
JOIN processes p ON p.app_id = a.app_id AND p.executor_id = r.executor_id
JOIN hosts h ON h.host = p.host WHERE h.cpus_count > 0 ORDER BY h.cpus_count
"""
# Nothing begins on an executor after the attempts that are lost with it, which end when it is known
# to be gone; a schedule that is a little ahead would begin more until it is removed.
_EXECUTORS = """
SELECT executor_id, e.host, e.cores_count, e.add_wall_ns, e.remove_reason,
  CASE WHEN r.lost_wall_ns BETWEEN e.add_wall_ns AND e.remove_wall_ns
    THEN r.lost_wall_ns ELSE e.remove_wall_ns END AS remove_wall_ns,
  coalesce(e.resource_profile_id, 0) AS pool, r.at_once
FROM (SELECT * FROM executors WHERE app_index = $1) e FULL JOIN ran r USING (executor_id)
ORDER BY e.add_wall_ns NULLS FIRST, TRY_CAST(executor_id AS BIGINT), executor_id
"""
_LOST = """(max(launch_wall_ns) FILTER (reason = 'ExecutorLostFailure') // 2
    + max(finish_wall_ns) FILTER (reason = 'ExecutorLostFailure') // 2) AS lost_wall_ns"""
EXECUTORS = f"""
WITH ran AS (
  SELECT executor_id, NULL AS at_once, {_LOST} FROM tasks
  WHERE app_index = $1 AND reason IS DISTINCT FROM 'Resubmitted'
    AND (launch_wall_ns IS NOT NULL OR finish_wall_ns IS NOT NULL) GROUP BY executor_id)
{_EXECUTORS}
"""
EXECUTORS_AT_ONCE = f"""
WITH steps AS (
  SELECT executor_id, launch_wall_ns AS t, 1 AS d FROM tasks
    WHERE app_index = $1 AND finish_wall_ns IS NOT NULL AND reason IS DISTINCT FROM 'Resubmitted'
  UNION ALL SELECT executor_id, least(getting_result_wall_ns, finish_wall_ns), -1 FROM tasks
    WHERE app_index = $1 AND launch_wall_ns IS NOT NULL AND reason IS DISTINCT FROM 'Resubmitted'),
ran AS (
  SELECT executor_id, max(n) AS at_once, any_value(lost_wall_ns) AS lost_wall_ns FROM (
    SELECT executor_id, sum(d) OVER (PARTITION BY executor_id ORDER BY t, d) AS n FROM steps)
  LEFT JOIN (SELECT executor_id, {_LOST} FROM tasks WHERE app_index = $1 GROUP BY executor_id)
    USING (executor_id)
  GROUP BY executor_id)
{_EXECUTORS}
"""
"""The same with the most tasks that each ran at once: a sort of all starts and ends."""

DESCRIPTIONS = """
SELECT s.stage_id, any_value(q.description) FROM stages s
  JOIN sql_executions q USING (app_index, sql_id) WHERE s.app_index = $1 GROUP BY ALL
"""
