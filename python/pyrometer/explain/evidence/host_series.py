"""Series of the host, a disk or a control group, cut to stages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

import numpy as np

from pyrometer.explain.evidence.places import of_application
from pyrometer.explain.evidence.places import where as in_stages
from pyrometer.explain.facts import Facts
from pyrometer.simulation.measured import Floats
from pyrometer.store.sql.text import literal


def growth(facts: Facts, where: str, name: str) -> dict[int, float]:
    """Give what a cumulative series grew by while each stage ran, straight between readings.

    Parameters
    ----------
    where : str
        Scope of the series, as a pattern of LIKE; several scopes and hosts are added up.

    Returns
    -------
    dict of int to float
        By number of the stage, where it is more than nothing.
    """
    found = np.zeros(len(facts.stages))
    for grown in _grown(facts, where, name).values():
        found += grown
    return {number: float(value) for number, value in enumerate(found) if value > 0}


def growth_query(
    facts: Facts, where: str, name: str, unit: int = 1, hosts: Collection[str] = ()
) -> str:
    """Give the SQL of what `growth` adds up to over all stages, times a unit.

    Parameters
    ----------
    hosts : collection of str
        Where; by default, anywhere.
    """
    offset = facts.scope.offset_ns or 0
    times = "" if unit == 1 else f"{unit} * "
    there = f" AND host IN ({', '.join(map(literal, sorted(hosts)))})" if hosts else ""
    return (
        f"SELECT {times}sum(grown * (least(t, complete_wall_ns) - greatest(since, submit_wall_ns))"
        "::DOUBLE / (t - since)) FROM (SELECT value - lag(value) OVER s AS grown,"
        f" t_mono_ns + {offset} AS t, lag(t_mono_ns) OVER s + {offset} AS since FROM os_series"
        f" WHERE scope LIKE '{where}' AND name = '{name}'{there}"
        " WINDOW s AS (PARTITION BY host, scope ORDER BY t_mono_ns)) JOIN stages"
        " ON t > submit_wall_ns AND since < complete_wall_ns AND t > since"
        f" WHERE {in_stages(facts)}"
    )


def growth_by_host(
    facts: Facts, where: str, name: str, apart: Collection[str] | None = None
) -> dict[str | None, dict[int, float]]:
    """Give the same by host; under None in a run on one host.

    Parameters
    ----------
    apart : collection of str, optional
        Hosts to give one by one, the rest together under None; by default, each. Of the rest, those
        whose series did not grow stand there with nothing.
    """
    several = facts.tables.several_hosts
    found: dict[str | None, dict[int, float]] = {}
    rest: dict[str, bool] = {}
    for (host, _scope), grown in _grown(facts, where, name).items():
        is_apart = several and (apart is None or host in apart)
        own = found.setdefault(host if is_apart else None, {})
        if several and not is_apart:
            rest[host] = rest.get(host, False) or bool((grown > 0).any())
        for number, value in enumerate(grown.tolist()):
            if value > 0:
                own[number] = own.get(number, 0.0) + value
    kept = {host: own for host, own in found.items() if own}
    still = [host for host, grew in rest.items() if not grew] if None in kept else []
    return {**kept, **{host: {} for host in still}}


def growth_of_each(facts: Facts, where: str, name: str) -> dict[tuple[str, str], float]:
    """Give what each cumulative series grew by while stages ran, by host and scope.

    Parameters
    ----------
    where : str
        Scopes of the series, as a pattern of LIKE.
    """
    return {
        series: float(np.maximum(grown, 0.0).sum())
        for series, grown in _grown(facts, where, name).items()
    }


def _grown(facts: Facts, where: str, name: str) -> dict[tuple[str, str], Floats]:
    """Give what each series grew by while each stage ran, straight between readings."""
    if not facts.stages or facts.scope.offset_ns is None or not facts.has("os_series"):
        return {}
    begin = np.array([stage.submit_ns for stage in facts.stages], dtype=np.float64)
    end = np.array([stage.complete_ns for stage in facts.stages], dtype=np.float64)
    found = {}
    for series, (times, values) in _readings(facts, where, name).items():
        wall = times + facts.scope.offset_ns
        found[series] = np.interp(end, wall, values) - np.interp(begin, wall, values)
    return found


def total(facts: Facts, where: str, name: str) -> float:
    """Give what a cumulative series grew by from its first reading to its last."""
    readings = _readings(facts, where, name).values()
    return float(sum(max(0.0, values[-1] - values[0]) for _, values in readings))


def level(facts: Facts, where: str, name: str, hosts: Collection[str] = ()) -> float | None:
    """Give the least reading of a gauge, such as a limit: of some hosts, by default of all."""
    lows = [
        values.min()
        for (host, _), (_, values) in _readings(facts, where, name).items()
        if not hosts or host in hosts
    ]
    return float(min(lows)) if lows else None


def _readings(facts: Facts, where: str, name: str) -> dict[tuple[str, str], tuple[Floats, Floats]]:
    """Give times and values of each series, by host and scope."""
    found = facts.tables.columns(
        "SELECT host, scope, t_mono_ns::DOUBLE AS t, value::DOUBLE AS value FROM os_series"
        f" WHERE scope LIKE '{where}' AND name = '{name}' AND t_mono_ns IS NOT NULL"
        " ORDER BY host, scope, t"
    )
    by_series: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, series in enumerate(
        zip(found["host"].tolist(), found["scope"].tolist(), strict=True)
    ):
        by_series[series].append(place)
    times, values = np.asarray(found["t"]), np.asarray(found["value"])
    return {series: (times[places], values[places]) for series, places in by_series.items()}


OTHERS = "another application"
_ROLES = """
WITH known AS (SELECT pid, tid, CASE WHEN {own} THEN role ELSE '{others}' END AS role
  FROM w_threads WHERE {threads})
SELECT role, moment // 100000000 * 100000000.0 AS t, sum(run)::DOUBLE AS run
FROM (SELECT w.role, s.t AS moment, s.run FROM thread_steps s JOIN known w USING (pid, tid)
  UNION ALL  -- what a thread used lies between two readings
  SELECT w.role, s.since, 0 FROM thread_steps s JOIN known w USING (pid, tid))
GROUP BY ALL ORDER BY 1, 2
"""


def cpu_by_role(facts: Facts, threads: str = "true") -> dict[str, dict[int, float]]:
    """Give the CPU time of threads of each role while each stage ran, by number of the stage.

    Threads of other applications' JVMs have the role `OTHERS`.

    Parameters
    ----------
    threads : str
        Which threads, as a condition on the columns ``comm`` and ``role``.
    """
    offset = facts.scope.offset_ns
    if offset is None:
        return {}
    own = of_application(facts, "pid")
    rows = facts.tables.columns(_ROLES.format(threads=threads, own=own, others=OTHERS))
    roles, times = np.asarray(rows["role"]), np.asarray(rows["t"])
    begin = np.array([stage.submit_ns for stage in facts.stages], dtype=np.float64) - offset
    end = np.array([stage.complete_ns for stage in facts.stages], dtype=np.float64) - offset
    found = {}
    for role in dict.fromkeys(roles.tolist()):
        mine = roles == role
        used = np.cumsum(np.asarray(rows["run"])[mine])
        grown = np.interp(end, times[mine], used) - np.interp(begin, times[mine], used)
        found[role] = {n: float(value) for n, value in enumerate(grown) if value > 0}
    return found
