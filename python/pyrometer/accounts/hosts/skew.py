"""How uneven hosts are: of each measure, the one that has most against the median of the others."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import numpy as np

from pyrometer.accounts.hosts.schema import HostSkew, HostTasks
from pyrometer.core.estimate import LEVEL, Estimate
from pyrometer.statistics.distributions import normal_quantile
from pyrometer.window.scope import Scope

METHOD = "compound Poisson on logarithms, for all hosts at once"
MEASURES = {
    "task_ns": "finish_wall_ns - launch_wall_ns",
    "executor_cpu_time_ns": "executor_cpu_time_ns",
    "jvm_gc_time_ns": "jvm_gc_time_ns",
    "shuffle_fetch_wait_time_ns": "shuffle_fetch_wait_time_ns",
    "input_bytes": "input_bytes",
    "shuffle_read_total_bytes": "coalesce(shuffle_read_local_bytes, 0)"
    " + coalesce(shuffle_read_remote_bytes, 0)",
    "shuffle_read_remote_bytes": "shuffle_read_remote_bytes",
    "shuffle_written_bytes": "shuffle_written_bytes",
    "disk_spilled_bytes": "disk_spilled_bytes",
}
"""What hosts may have more of: SQL of one task attempt, by the name of the sum."""


def skew(scope: Scope, hosts: Sequence[HostTasks]) -> list[HostSkew]:
    """Compare the hosts that ran any tasks, by each measure of those that ended in the window.

    Parameters
    ----------
    scope : Scope
        A run cut to a window, with ``h_places``.
    hosts : sequence of HostTasks
        The hosts, with their slots.
    """
    hosts = [one for one in hosts if one.task_ns > 0]
    if len(hosts) < 2:
        return []
    columns = ", ".join(
        f"sum(({sql})::DOUBLE) AS s_{name}, sum(({sql})::DOUBLE ** 2) AS q_{name}"
        for name, sql in MEASURES.items()
    )
    found = {
        row["host"]: row
        for row in scope.tables.records(
            f"SELECT p.host, {columns} FROM w_tasks t JOIN h_places p USING (app_index,"
            " executor_id) WHERE t.finish_wall_ns IS NOT NULL AND t.reason IS DISTINCT FROM"
            " 'Resubmitted' GROUP BY p.host"
        )
    }
    listed = []
    for name in MEASURES:
        sums = {one.host: _pair(found.get(one.host), name) for one in hosts}
        if any(value for value, _ in sums.values()):
            listed.append(_skew(name, sums, hosts))
    return listed


def _pair(row: dict[str, float | None] | None, name: str) -> tuple[float, float]:
    if row is None:
        return 0.0, 0.0
    return row[f"s_{name}"] or 0.0, row[f"q_{name}"] or 0.0


def _skew(
    measure: str, sums: dict[str, tuple[float, float]], hosts: Sequence[HostTasks]
) -> HostSkew:
    host = max(sums, key=lambda name: sums[name][0])
    value = sums[host][0]
    others = [sums[name][0] for name in sums if name != host]
    middle = median(others)
    nearest = min(
        (name for name in sums if name != host), key=lambda name: abs(sums[name][0] - middle)
    )
    slots = {one.host: one.slots_ns for one in hosts}
    rest = [slots[name] for name in sums if name != host]
    known = [one for one in rest if one is not None]
    usual = median(known) if len(known) == len(rest) else 0.0
    own = slots[host]
    slots_ratio = None if own is None or not usual else own / usual
    found = ratio(sums[host], (middle, sums[nearest][1]), len(sums))
    if found.low is not None and may_be_chance(found.n, len(sums), slots_ratio):
        found = found.model_copy(update={"low": min(found.low, 1.0)})
    return HostSkew(
        measure=measure,
        host=host,
        value=value,
        others_median=middle,
        ratio=found,
        slots_ratio=slots_ratio,
    )


def may_be_chance(tasks: int, hosts: int, slots_ratio: float | None) -> bool:
    """Whether so few tasks have nearly all of it that chance may give them all to one host.

    Parameters
    ----------
    tasks : int
        How many tasks of one size would make up the host's sum.
    hosts : int
        How many hosts there are.
    slots_ratio : float or None
        Slot time of the host over the others' median.

    Examples
    --------
    >>> may_be_chance(1, 100, None), may_be_chance(3, 10, 1.0), may_be_chance(3, 10, 10.0)
    (True, False, True)
    """
    own = max(1.0, slots_ratio or 1.0)
    share = own / (own + hosts - 1)
    return bool(share ** max(0, tasks - 1) > 1 - LEVEL)


def ratio(most: tuple[float, float], middle: tuple[float, float], hosts: int) -> Estimate:
    """Divide two sums; each is that of as many tasks as chance gives a host.

    Parameters
    ----------
    most, middle : tuple of float
        Sum, and sum of squares, of the host that has most, and of the one in the middle.
    hosts : int
        Among so many the largest was chosen.

    Examples
    --------
    >>> found = ratio((300.0, 900.0), (100.0, 100.0), 2)
    >>> found.value, found.low < 2.5, found.high > 3.5
    (3.0, True, True)
    """
    n = round(most[0] ** 2 / most[1]) if most[1] else 0
    if middle[0] <= 0:
        return Estimate(value=None, low=None, high=None, level=LEVEL, n=n, method=METHOD)
    value = most[0] / middle[0]
    error = (most[1] / most[0] ** 2 + middle[1] / middle[0] ** 2) ** 0.5
    reach = float(np.exp(float(normal_quantile(1 - (1 - LEVEL) / 2 / hosts)) * error))
    return Estimate(
        value=value, low=value / reach, high=value * reach, level=LEVEL, n=n, method=METHOD
    )
