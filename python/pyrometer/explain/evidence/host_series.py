"""Series of the host, a disk or a control group, cut to stages."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from pyrometer.explain.facts import Facts
from pyrometer.simulation.measured import Floats


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
    if not facts.stages or facts.scope.offset_ns is None or not facts.has("os_series"):
        return {}
    begin = np.array([stage.submit_ns for stage in facts.stages], dtype=np.float64)
    end = np.array([stage.complete_ns for stage in facts.stages], dtype=np.float64)
    found = np.zeros(begin.size)
    for times, values in _readings(facts, where, name):
        wall = times + facts.scope.offset_ns
        found += np.interp(end, wall, values) - np.interp(begin, wall, values)
    return {number: float(value) for number, value in enumerate(found) if value > 0}


def total(facts: Facts, where: str, name: str) -> float:
    """Give what a cumulative series grew by from its first reading to its last."""
    return float(
        sum(max(0.0, values[-1] - values[0]) for _, values in _readings(facts, where, name))
    )


def level(facts: Facts, where: str, name: str) -> float | None:
    """Give the least reading of a gauge, such as a limit."""
    lows = [values.min() for _, values in _readings(facts, where, name)]
    return float(min(lows)) if lows else None


def _readings(facts: Facts, where: str, name: str) -> list[tuple[Floats, Floats]]:
    found = facts.tables.columns(
        "SELECT host || ' ' || scope AS series, t_mono_ns::DOUBLE AS t, value::DOUBLE AS value"
        f" FROM os_series WHERE scope LIKE '{where}' AND name = '{name}' ORDER BY 1, 2"
    )
    by_series: dict[str, list[int]] = defaultdict(list)
    for place, series in enumerate(found["series"].tolist()):
        by_series[series].append(place)
    times, values = np.asarray(found["t"]), np.asarray(found["value"])
    return [(times[places], values[places]) for places in by_series.values()]


_ROLES = """
WITH known AS (SELECT * FROM w_threads WHERE {threads})
SELECT role, moment // 100000000 * 100000000.0 AS t, sum(run)::DOUBLE AS run
FROM (SELECT w.role, s.t AS moment, s.run FROM thread_steps s JOIN known w USING (pid, tid)
  UNION ALL  -- what a thread used lies between two readings
  SELECT w.role, s.since, 0 FROM thread_steps s JOIN known w USING (pid, tid))
GROUP BY ALL ORDER BY 1, 2
"""


def cpu_by_role(facts: Facts, threads: str = "true") -> dict[str, dict[int, float]]:
    """Give the CPU time of threads of each role while each stage ran, by number of the stage.

    Parameters
    ----------
    threads : str
        Which threads, as a condition on the columns ``comm`` and ``role``.
    """
    offset = facts.scope.offset_ns
    if offset is None:
        return {}
    rows = facts.tables.columns(_ROLES.format(threads=threads))
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
