"""When the process of each executor started: what came before was the cluster's, not Spark's.

Where nothing recorded the process, that of a pod started when its container did.
"""

from __future__ import annotations

from pyrometer.accounts.ledger.cluster.awaited import POD_ERROR_NS
from pyrometer.accounts.ledger.cluster.clock_bounds import LOG_NS, bound_at, define_clock_bounds
from pyrometer.accounts.ledger.cluster.pod_starts import define_pod_starts
from pyrometer.accounts.ledger.events import define_events
from pyrometer.window.scope import Scope

NO_RECORD = "nothing recorded when their processes started"
NO_BOUND = "nothing bounds the clocks of their hosts"
_TICK_NS = 10_000_000
"""Of what the kernel says of a process's start, there are a hundred in a second."""
_LONGEST_NS = 3_600_000_000_000
"""A JVM whose plugin started so much later had its wall clock set in between."""

# What a probe read of the process; else what its JVM says, whose wall clock tells how long before
# the plugin it started; of a process that only an agent found, the agent's word.
_BEGUN = f"""
WITH read AS (
  SELECT scope, value AS began FROM os_series
  WHERE name = 'start_time_mono_ns' AND scope LIKE 'process/%'),
said AS (
  SELECT a.app_index, p.executor_id, p.pid, p.start_mono_ns AS recorded, p.facts IS NULL AS found,
    TRY_CAST(json_extract_string(p.facts, '$.wall_ns') AS BIGINT)
      - TRY_CAST(json_extract_string(p.facts, '$.jvm_start_wall_ms') AS BIGINT) * 1000000 AS before
  FROM processes p JOIN apps a USING (app_id)
  WHERE p.executor_id IS NOT NULL AND p.executor_id <> 'driver'),
begun AS (
  SELECT s.app_index, s.executor_id, s.pid, coalesce(max(r.began), any_value(
    CASE WHEN s.found THEN s.recorded
      WHEN s.before BETWEEN 0 AND {_LONGEST_NS} THEN s.recorded - s.before END)) AS began,
    CASE WHEN count(r.began) > 0 OR any_value(s.found) THEN {_TICK_NS} ELSE 0 END AS tick
  FROM said s LEFT JOIN read r ON r.scope = 'process/' || s.pid
    AND r.began <= s.recorded + 2 * {_TICK_NS}
  GROUP BY s.app_index, s.executor_id, s.pid, s.recorded)
SELECT app_index, executor_id, began, tick + {bound_at("pid", "began")} AS bound_ns
FROM begun WHERE began IS NOT NULL
"""
# Attempts of one application number their executors alike: the last that can have registered then.
_STARTS = """
SELECT e.app_index, e.executor_id,
  max(b.began + $1) FILTER (b.bound_ns IS NOT NULL) AS began_wall_ns,
  arg_max(b.bound_ns, b.began) FILTER (b.bound_ns IS NOT NULL) + $2 AS error_ns,
  CASE WHEN count(b.bound_ns) = 0 THEN CASE WHEN count(b.began) = 0 THEN $3 ELSE $4 END END AS why
FROM l_executors e LEFT JOIN l_begun b ON b.app_index = e.app_index
  AND b.executor_id = e.executor_id AND b.began + $1 - coalesce(b.bound_ns, 0) - $2 <= e.since
WHERE e.executor_id <> 'driver' AND e.since IS NOT NULL AND e.until IS NOT NULL
GROUP BY ALL
"""
_NOTHING = """
SELECT app_index, executor_id, NULL::BIGINT AS began_wall_ns, NULL::BIGINT AS error_ns,
  $1::VARCHAR AS why
FROM l_executors WHERE executor_id <> 'driver' AND since IS NOT NULL AND until IS NOT NULL
"""

_WITH_PODS = f"""
SELECT app_index, executor_id, coalesce(r.began_wall_ns, p.started_wall_ns) AS began_wall_ns,
  CASE WHEN r.began_wall_ns IS NOT NULL THEN r.error_ns
    WHEN p.started_wall_ns IS NOT NULL THEN {POD_ERROR_NS + LOG_NS} END AS error_ns,
  CASE WHEN p.started_wall_ns IS NULL AND r.why IS NOT NULL THEN concat_ws('; ', r.why, p.why)
    END AS why
FROM l_recorded_starts r LEFT JOIN l_pod_starts p USING (app_index, executor_id)
"""


def define_process_starts(scope: Scope) -> None:
    """Define ``l_process_starts``: when the process of each executor started.

    Columns: app_index, executor_id, began_wall_ns (by the driver's clock), error_ns (it is not
    further off), why (it is not known).
    """
    if "l_process_starts" in scope.tables.defined:
        return
    define_events(scope.tables)
    why = define_clock_bounds(scope)
    if why is None and not scope.has("processes"):
        why = NO_RECORD
    if why is not None:
        scope.tables.define("l_recorded_starts", _NOTHING, [why])
    else:
        scope.tables.define("l_begun", _BEGUN)
        known = [scope.offset_ns, LOG_NS, NO_RECORD, NO_BOUND]
        scope.tables.define("l_recorded_starts", _STARTS, known)
    define_pod_starts(scope)
    scope.tables.define("l_process_starts", _WITH_PODS)
