"""What an application on a cluster waited for, and what its hosts did meanwhile, by its own run.

The guard looks at the machine that it runs on. Of other hosts a trial's run says what it needs: by
the probes there what others took of their CPUs, by the event log where tasks took longer, by the
agents there what each attained before.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from pyrometer.accounts.ledger.core_view import cpus_by_host
from pyrometer.accounts.window import open_scope
from pyrometer.core.json_text import parse_json
from pyrometer.core.units import percent
from pyrometer.experiments.folder import HostCanary, HostSeen
from pyrometer.experiments.plan.file import Guard
from pyrometer.store import Run
from pyrometer.store.axis.one_machine import of_one_machine
from pyrometer.store.services.canaries import NOT_OBSERVED, CanaryBefore, canaries_before
from pyrometer.window.counters import BUSY, define_watched_series

FEWEST_TASKS = 10
"""Tasks of a host, in stages that ran on others, too, from which their times say something."""

_APPS = """
WITH came AS (SELECT app_index, min(add_wall_ns) FILTER (executor_id <> 'driver') AS first_add,
  min(add_wall_ns) FILTER (executor_id = 'driver') AS driver_add FROM executors GROUP BY app_index),
submitted AS (SELECT app_index, min(submit_wall_ns) AS first_job FROM jobs GROUP BY app_index)
SELECT start_wall_ns, end_wall_ns, coalesce(master, 'local'), spark_conf,
  driver_add, first_job, first_add
FROM apps LEFT JOIN came USING (app_index) LEFT JOIN submitted USING (app_index)
WHERE start_wall_ns IS NOT NULL
"""
# Executors of an application at once, at most, and their cores; of dynamic ones nobody asked for
# a number.
_MOST = """
WITH came AS (SELECT app_index, add_wall_ns AS since, cores_count,
    coalesce(remove_wall_ns, 9223372036854775807) AS until
  FROM executors JOIN apps USING (app_index)
  WHERE executor_id <> 'driver' AND add_wall_ns IS NOT NULL AND NOT starts_with(master, 'local')
    AND lower(coalesce(
      json_extract_string(spark_conf, '$."spark.dynamicAllocation.enabled"'), '')) <> 'true')
SELECT max(n)::INTEGER, max(cores)::INTEGER, max(most)::INTEGER FROM (
  SELECT count(*) AS n, sum(b.cores_count) AS cores, max(b.cores_count) AS most
  FROM came a JOIN came b ON b.app_index = a.app_index AND b.since <= a.since AND b.until > a.since
  GROUP BY a.app_index, a.since)
"""
# spark.scheduler.minRegisteredResourcesRatio and …maxRegisteredResourcesWaitingTime, by default.
_RATIO_OF_MANAGERS, _LONGEST_S = 0.8, 30.0
_TIME = re.compile(r"([0-9]+)\s*(us|ms|s|m|min|h|d)?")
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
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
class Most:
    """How many executors an application had at once, at most, and their cores."""

    executors: int
    cores: int | None
    cores_each: int | None

    def missed(self, levels: Mapping[str, str]) -> str | None:
        """Say which level of a treatment it did not reach, and what to do.

        Examples
        --------
        >>> Most(5, 10, 2).missed({"spark.executor.instances": "8"})
        'spark.executor.instances=8: it had 5 executors at most (free the cluster, or ask for less)'
        >>> Most(5, 10, 2).missed({"spark.cores.max": "11"})
        """
        for name, had, each, what in (
            ("spark.executor.instances", self.executors, 1, "executors"),
            ("spark.cores.max", self.cores, self.cores_each or 1, "cores"),
        ):
            asked = levels.get(name, "")
            if had is not None and asked.isdecimal() and had < int(asked) // each * each:
                had_most = f"it had {had} {what} at most"
                return f"{name}={asked}: {had_most} (free the cluster, or ask for less)"
        return None


@dataclass(frozen=True)
class OnACluster:
    """What a run on a cluster says of it.

    Attributes
    ----------
    waited_s : float or None
        How long its applications waited for their first executors, in their contexts or with a
        job, as far as no other one ran meanwhile; ``None`` without a cluster.
    hosts : tuple of HostSeen
        Its hosts, where they are several.
    most : Most or None
        Its executors, where their number is fixed.
    """

    waited_s: float | None = None
    hosts: tuple[HostSeen, ...] = ()
    most: Most | None = None


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
    ((executors, cores, each),) = run.tables.query(_MOST)
    most = None if executors is None else Most(executors, cores, each)
    return OnACluster(waited_s(run), hosts, most)


def waited_s(run: Run, stopped_wall_ns: int | None = None) -> float | None:
    """Say how long applications waited for executors: see :class:`OnACluster`.

    Parameters
    ----------
    stopped_wall_ns : int, optional
        When the run was stopped: until then an application waited that never had an executor.
    """
    if not run.tables.has("executors") or not run.tables.has("apps"):
        return None
    found = _waited_ns(run.tables.query(_APPS), stopped_wall_ns)
    return None if found is None else found / 1e9


def _waited_ns(apps: Sequence[Sequence[Any]], stopped: float | None) -> float | None:
    """Give how long applications waited for executors while none of them worked."""
    waits: list[tuple[float, float]] = []
    works: list[tuple[float, float]] = []
    known = False
    for begin, seen_end, master, conf, driver_add, first_job, first_add in apps:
        end = math.inf if seen_end is None else seen_end
        first = first_add or (None if stopped is None else min(stopped, end))
        known |= first is not None and not master.startswith("local")
        own = _waits(begin, master, conf, driver_add, first_job, first)
        waits += own
        ends: list[float] = [begin, *(edge for one in own for edge in one), end]
        works += [(a, b) for a, b in zip(ends[::2], ends[1::2], strict=True) if a < b]
    if not known:
        return None
    edges = sorted({edge for one in (*waits, *works) for edge in one})
    return sum(
        after - before
        for before, after in pairwise(edges)
        if any(a <= before < b for a, b in waits) and not any(a <= before < b for a, b in works)
    )


def _waits(
    begin: float,
    master: str,
    conf: str | None,
    driver_add: float | None,
    first_job: float | None,
    first_add: float | None,
) -> list[tuple[float, float]]:
    """Say when an application waited for its first executor: in its context, and with a job.

    While there is neither a job nor a context that waits, a driver does its own work.
    """
    if first_add is None or master.startswith("local"):
        return []
    job = math.inf if first_job is None else first_job
    # YARN's client waits until the queue lets the application begin, and registers the driver then.
    accepted = driver_add if master == "yarn" and driver_add is not None else begin
    ready = min(first_add, job, max(accepted, begin + _in_context_s(master, conf) * 1e9))
    return [(a, b) for a, b in ((begin, ready), (job, first_add)) if a < b]


def _in_context_s(master: str, text: str | None) -> float:
    """Say how long the context of a driver waits for its executors at most."""
    found = parse_json(text) if text else None
    conf: Mapping[str, Any] = found if isinstance(found, dict) else {}
    manager = master == "yarn" or master.startswith("k8s")
    ratio = conf.get("spark.scheduler.minRegisteredResourcesRatio")
    if not (_number(ratio) if ratio is not None else _RATIO_OF_MANAGERS * manager):
        return 0.0
    if str(conf.get("spark.dynamicAllocation.enabled")).lower() == "true":
        names = ("dynamicAllocation.minExecutors", "dynamicAllocation.initialExecutors",
                 "executor.instances")  # fmt: skip
        if not any(_number(conf.get(f"spark.{name}")) for name in names):
            return 0.0
    longest = str(conf.get("spark.scheduler.maxRegisteredResourcesWaitingTime", ""))
    match = _TIME.fullmatch(longest.strip().lower())
    return float(match[1]) * _SECONDS[match[2] or "ms"] if match else _LONGEST_S


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return 0.0


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
