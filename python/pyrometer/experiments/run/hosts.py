"""What an application on a cluster waited for, and what its hosts did meanwhile, by its own run.

The guard looks at the machine that it runs on. Of other hosts a trial's run says what it needs: by
the probes there what others took of their CPUs, by the event log where tasks took longer, by the
agents there what each attained before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from pyrometer.accounts.ledger.core_view import cpus_by_host
from pyrometer.accounts.window import open_scope
from pyrometer.core.units import percent
from pyrometer.experiments.folder import HostCanary, HostSeen
from pyrometer.experiments.plan.file import Guard
from pyrometer.store import Run
from pyrometer.store.axis.one_machine import of_one_machine
from pyrometer.store.services.canaries import NOT_OBSERVED, CanaryBefore, canaries_before
from pyrometer.window.counters import BUSY, define_watched_series

FEWEST_TASKS = 10
"""Tasks of a host, in stages that ran on others, too, from which their times say something."""

# From the begin of an application until its first executor: queues of managers, and JVMs' starts.
# Where it had a job by then, what it did before that is its own work: with dynamic allocation it
# may not even have asked for an executor.
_APPS = """
WITH added AS (SELECT app_index, min(add_wall_ns) AS first_add FROM executors
  WHERE executor_id <> 'driver' GROUP BY app_index),
submitted AS (SELECT app_index, min(submit_wall_ns) AS first_job FROM jobs GROUP BY app_index)
SELECT start_wall_ns, end_wall_ns,
  CASE WHEN first_job < first_add THEN first_job ELSE start_wall_ns END,
  CASE WHEN master IS NOT NULL AND NOT starts_with(master, 'local') THEN first_add END
FROM apps LEFT JOIN added USING (app_index) LEFT JOIN submitted USING (app_index)
WHERE start_wall_ns IS NOT NULL
"""
_USED = f"""
SELECT host,
  sum(growth) FILTER (scope = 'host' AND name IN ({", ".join(f"'{name}'" for name in BUSY)})),
  sum(growth) FILTER (name = 'cpu_ns' AND (scope LIKE 'process/%' OR scope LIKE 'kernel/%')
    OR name = 'own_cpu_ns' AND scope LIKE 'probe%'),
  sum(growth) FILTER (scope = 'host' AND name = 'cpu_steal_ns')
FROM o_series GROUP BY host ORDER BY host
"""
# Each task against the middle of its stage on the other hosts: work differs between stages.
_SLOWER = f"""
WITH t AS (SELECT app_index, stage_id, stage_attempt, host, executor_run_time_ns AS took FROM tasks
  WHERE status = 'success' AND executor_run_time_ns > 0 AND host IS NOT NULL),
ours AS (SELECT app_index, stage_id, stage_attempt, host, median(took) AS middle, count(*) AS n
  FROM t GROUP BY ALL),
others AS (SELECT o.app_index, o.stage_id, o.stage_attempt, o.host, median(t.took) AS middle
  FROM ours o JOIN t USING (app_index, stage_id, stage_attempt)
  WHERE t.host <> o.host GROUP BY ALL)
SELECT o.host, exp(sum(o.n * ln(o.middle / x.middle)) / sum(o.n))
FROM ours o JOIN others x USING (app_index, stage_id, stage_attempt, host)
GROUP BY o.host HAVING sum(o.n) >= {FEWEST_TASKS} ORDER BY 1
"""


@dataclass(frozen=True)
class OnACluster:
    """What a run on a cluster says of it.

    Attributes
    ----------
    waited_s : float or None
        From the begin of its applications, or their first job where that came first, until each had
        an executor, as far as no other one ran meanwhile; ``None`` without a cluster.
    hosts : tuple of HostSeen
        Its hosts, where they are several.
    """

    waited_s: float | None = None
    hosts: tuple[HostSeen, ...] = ()


def on_a_cluster(run: Run) -> OnACluster:
    """Read it of a run."""
    if not run.tables.has("executors") or not run.tables.has("apps"):
        return OnACluster()
    slower = dict(run.tables.query(_SLOWER))
    others = _others(run) if run.tables.several_hosts else {}
    names = sorted({*slower, *others}) if len(slower) > 1 or others else []
    canaries = canaries_before(run.paths)
    names = sorted({*names, *canaries})
    hosts = tuple(
        HostSeen(
            host=name,
            slower_ratio=slower.get(name),
            canary=_canary(canaries.get(name)),
            **others.get(name, {}),
        )
        for name in names
    )
    return OnACluster(waited_s(run), hosts)


def waited_s(run: Run) -> float | None:
    """Say how long applications waited for executors: see :class:`OnACluster`."""
    if not run.tables.has("executors") or not run.tables.has("apps"):
        return None
    found = _waited_ns(run.tables.query(_APPS))
    return None if found is None else found / 1e9


def _waited_ns(apps: Sequence[Sequence[Any]]) -> float | None:
    """Give how long applications waited for executors while none of them worked.

    Parameters
    ----------
    apps : sequence
        Of each: its begin, its end, since when it waits, its first executor.
    """
    waits: list[tuple[float, float]] = []
    works: list[tuple[float, float]] = []
    for begin, seen_end, since, first in apps:
        end = math.inf if seen_end is None else seen_end
        if first is None or first <= since:
            works.append((begin, end))
            continue
        waits.append((since, first))
        works += [(begin, since), (first, end)]
    if not waits:
        return None
    edges = sorted({edge for one in (*waits, *works) for edge in one})
    return sum(
        after - before
        for before, after in pairwise(edges)
        if any(a <= before < b for a, b in waits) and not any(a <= before < b for a, b in works)
    )


def _canary(before: CanaryBefore | None) -> HostCanary:
    """Write what the agent of a host measured there; a reason where there is nothing."""
    if before is None:
        return HostCanary(reason=NOT_OBSERVED)
    if before.line is None:
        return HostCanary(reason=before.reason)
    return HostCanary(**before.line.medians, wall_ns=before.line.end_wall_ns, age_s=before.age_s)


def _others(run: Run) -> dict[str, dict[str, float]]:
    """Give the shares of their CPUs that others and the hypervisor took of hosts while watched."""
    scope = open_scope(run, None)
    cpus = cpus_by_host(scope)
    # Each probe there takes the run's other executors for others.
    shared = {name for names in of_one_machine(scope.tables, list(cpus)) for name in names}
    found = {}
    # A probe lives as long as its executors: a host is judged by the time that it was watched.
    unwatched = define_watched_series(scope)
    for host, busy, ours, stolen in scope.tables.query(_USED):
        watched = scope.window.length_ns - unwatched.get(host, 0)
        capacity = (cpus.get(host) or 0) * watched
        if capacity and busy is not None:
            found[host] = {"steal_ratio": float(stolen or 0) / capacity}
            if host not in shared:
                found[host]["busy_ratio"] = max(0.0, float(busy - (ours or 0))) / capacity
    return found


def disturbances_of_hosts(hosts: Sequence[HostSeen], guard: Guard) -> list[str]:
    """Name hosts on which others were beyond the limits.

    Examples
    --------
    >>> disturbances_of_hosts([HostSeen(host="h2", busy_ratio=0.4, steal_ratio=0.2)], Guard())
    ['h2: others use 40.0 % of the CPUs', 'h2: the hypervisor took 20.0 % of the CPUs']
    """
    said = []
    for one in hosts:
        if one.busy_ratio is not None and one.busy_ratio > guard.busy:
            said.append(f"{one.host}: others use {percent(one.busy_ratio)} of the CPUs")
        if one.steal_ratio is not None and one.steal_ratio > guard.steal:
            said.append(f"{one.host}: the hypervisor took {percent(one.steal_ratio)} of the CPUs")
    return said
