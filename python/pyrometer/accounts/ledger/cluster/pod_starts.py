"""When executors' pods were created, got a node and ran, on Kubernetes, by the cluster's clocks.

Nothing compares these clocks with the driver's: a pod whose times contradict it is left out.
"""

from __future__ import annotations

from pyrometer.accounts.ledger.cluster.awaited import POD_ERROR_NS
from pyrometer.accounts.ledger.cluster.clock_bounds import LOG_NS
from pyrometer.accounts.ledger.events import define_events
from pyrometer.core.units import counted
from pyrometer.window.scope import Scope

CONTRADICTED = "the clock of the API server or of a node is more than a second off the driver's"

# Kubernetes cuts times to whole seconds. Nothing is seen before it has happened, and no pod is
# created before it is asked for.
_PODS = f"""
WITH known AS (
  SELECT e.app_index, e.executor_id, e.since, min(p.created_wall_ns) AS created,
    min(p.scheduled_wall_ns) AS scheduled, min(p.started_wall_ns) AS started,
    min(p.seen_wall_ns) AS seen, any_value(coalesce(x.request_wall_ns, l.born_wall_ns)) AS asked
  FROM l_executors e
  JOIN executors x USING (app_index, executor_id)
  JOIN lives l USING (app_index)
  JOIN executor_pods p ON p.app_id = l.app_id AND p.executor_id = e.executor_id
  WHERE e.executor_id <> 'driver' AND e.since IS NOT NULL AND e.until IS NOT NULL
  GROUP BY e.app_index, e.executor_id, e.since),
judged AS (
  SELECT *, coalesce(greatest(created, scheduled, started) <= least(seen, since) + {LOG_NS}
    AND created + {2 * POD_ERROR_NS} >= asked - {LOG_NS}, true) AS agrees
  FROM known),
placed AS (SELECT *, agrees AND created + scheduled IS NOT NULL AS placed FROM judged)
SELECT app_index, executor_id,
  CASE WHEN placed THEN created + {POD_ERROR_NS} END AS created_wall_ns,
  CASE WHEN placed THEN greatest(created, scheduled) + {POD_ERROR_NS} END AS scheduled_wall_ns,
  CASE WHEN agrees AND started IS NOT NULL
    THEN least(greatest(created, scheduled, started) + {POD_ERROR_NS}, since)
    END AS started_wall_ns,
  CASE WHEN NOT agrees THEN $1::VARCHAR END AS why
FROM placed
"""
_NOTHING = """
SELECT app_index, executor_id, NULL::BIGINT AS created_wall_ns, NULL::BIGINT AS scheduled_wall_ns,
  NULL::BIGINT AS started_wall_ns, NULL::VARCHAR AS why
FROM l_executors WHERE false
"""
_NEVER_RAN = """
SELECT count(*), mode(p.unschedulable), mode(p.waiting)
FROM executor_pods p JOIN apps a USING (app_id)
WHERE a.app_index = $1 AND p.started_wall_ns IS NULL
  AND NOT EXISTS (SELECT 1 FROM l_executors e
    WHERE e.app_index = a.app_index AND e.executor_id = p.executor_id)
"""


def define_pod_starts(scope: Scope) -> None:
    """Define ``l_pod_starts``: what is known of the pods of executors that registered.

    Columns: app_index, executor_id, created_wall_ns and scheduled_wall_ns (both or none),
    started_wall_ns (its container ran); middles of their seconds. why: the pod has none of them.
    """
    if "l_pod_starts" in scope.tables.defined:
        return
    define_events(scope.tables)
    if scope.tables.has("executor_pods"):
        scope.tables.define("l_pod_starts", _PODS, [CONTRADICTED])
    else:
        scope.tables.define("l_pod_starts", _NOTHING)


def pods_that_never_ran(scope: Scope, app: int) -> str | None:
    """Say how many pods of an application never ran, and why; ``None`` where there are none."""
    if not scope.tables.has("executor_pods"):
        return None
    ((n, *said),) = scope.tables.query(_NEVER_RAN, [app])
    if not n:
        return None
    why = "; ".join(text for text in said if text)
    return f"{counted(n, 'pod')} never ran{': ' if why else ''}{why}"
