"""Hosts on which tasks take longer than those of the same stages with the same work elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pyrometer.core.estimate import LEVEL
from pyrometer.statistics.distributions import t_quantile
from pyrometer.statistics.welch import welch

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

_LEAST_TASKS = 3
"""Of a host, and of a stage elsewhere: two may be alike by chance."""
_MOST_HOSTS = 20
"""Tested are those that look slowest; what is corrected for is the number of all hosts."""


def slower(
    run_ns: Floats, work: Sequence[Floats], stage: Numbers, host: Numbers
) -> dict[int, float]:
    """Say how many times as long tasks take on a host, where that is no chance.

    How much longer a task takes for its rows and bytes is estimated in each stage from tasks of
    the same host, so neither input of another size nor a host is taken for the other. The rest is
    compared with the tasks of the stage elsewhere.

    Parameters
    ----------
    run_ns : array
        Run time of tasks.
    work : sequence of array
        What they had to do: rows, bytes, …; 0 where that is unknown.
    stage, host : array
        Number of each task's stage and host.

    Returns
    -------
    dict of int to float
        Ratios above 1, of hosts whose tasks are slower at 95 % after Bonferroni over the hosts:
        by Welch's test of logarithms over tasks, and by Student's over means of hosts in stages.
    """
    hosts = np.unique(host)
    usable = run_ns > 0
    if hosts.size < 2 or not usable.any():
        return {}
    rest = _beside_the_work(run_ns, work, stage, host, usable)
    found: dict[int, float] = {}
    stages, size = int(stage.max()) + 1, int(host.max()) + 1
    sums, counts = np.bincount(stage, rest * usable, stages), np.bincount(stage, usable, stages)
    beside = (rest - (sums / np.maximum(counts, 1))[stage]) * usable
    means = np.bincount(host, beside, size) / np.maximum(np.bincount(host, usable, size), 1)
    level = 1 - (1 - LEVEL) / hosts.size
    for one in np.argsort(-means, kind="stable")[:_MOST_HOSTS].tolist():
        mine = usable & (host == one)
        # Each task beside the mean of those of its stage that ran elsewhere.
        elsewhere = counts - np.bincount(stage, mine, stages)
        both = mine & (elsewhere[stage] >= _LEAST_TASKS)
        others = usable & (host != one) & np.isin(stage, stage[both])
        if both.sum() < _LEAST_TASKS:
            continue
        mean = (sums - np.bincount(stage, rest * mine, stages)) / np.maximum(elsewhere, 1)
        here, there = (rest[of] - mean[stage[of]] for of in (both, others))
        tested = welch(there, here, level)
        if tested is None or (tested.difference.low or 0.0) <= 0:
            continue
        if _cells_agree(here, stage[both], there, (stage[others], host[others]), level):
            found[one] = float(np.exp(here.mean()))
    return found


def _beside_the_work(
    run_ns: Floats, work: Sequence[Floats], stage: Numbers, host: Numbers,
    usable: NDArray[np.bool_],
) -> Floats:  # fmt: skip
    """Give logarithms of run times without what the work of a task accounts for."""
    rest = np.where(usable, np.log(np.maximum(run_ns, 1.0)), 0.0)
    logs = np.column_stack([np.log1p(np.maximum(one, 0.0)) for one in work])
    order = np.argsort(stage, kind="stable")
    edges = np.flatnonzero(np.diff(stage[order])) + 1
    for tasks in np.split(order, edges):
        own = tasks[usable[tasks]]
        if own.size > _LEAST_TASKS:
            rest[own] -= _of_the_work(rest[own], logs[own], host[own])
    return rest


def _of_the_work(time: Floats, logs: Floats, host: Numbers) -> Floats:
    """Give what the work of each task of a stage adds to the logarithm of its time."""
    from scipy.optimize import nnls

    _, cell = np.unique(host, return_inverse=True)
    counts = np.bincount(cell)

    def within(values: Floats) -> Floats:
        return values - (np.bincount(cell, values) / counts)[cell]

    varied = [n for n in range(logs.shape[1]) if np.ptp(logs[:, n]) > 0]
    free = time.size - counts.size - len(varied)
    if not varied:
        return np.zeros(time.size)
    if free <= 0:
        # Too few tasks to estimate it: time goes with the first amount that there is.
        return logs[:, varied[0]]
    # More work never makes a task faster.
    columns = np.column_stack([within(logs[:, n]) for n in varied])
    slopes, _ = nnls(columns, within(time))
    return np.asarray(logs[:, varied] @ slopes)


def _cells_agree(
    here: Floats, stage: Numbers, there: Floats, cells: tuple[Numbers, Numbers], level: float
) -> bool:
    """Whether a host is slower than what hosts are in any stage, by chance of the stage.

    Tasks of a host in a stage share data, caches and a moment, so the mean of them is the unit.
    How much such means scatter is seen in the stages of the host itself, and in other hosts.
    """
    own, weights = _means(here, stage)
    middle = float(weights @ own)
    count = 1 / float(weights @ weights)
    free = count - 1
    squares = float(weights @ (own - middle) ** 2) * count
    _, cell = np.unique(np.column_stack(cells), axis=0, return_inverse=True)
    others, shares = _means(there, cell.reshape(-1))
    beside = others.size / own.size
    other_free = others.size - own.size
    if other_free <= 0 and free < 1e-9:
        return True  # one stage on two hosts: there are but tasks
    other_squares = float(shares @ others**2) * others.size
    # The mean elsewhere is uncertain as well.
    ways = [(squares, free), (squares + other_squares * (1 + 1 / beside), free + other_free)]
    part = (1 - level) / len(ways)
    return any(
        freedom > 1e-9
        and middle > float(t_quantile(1 - part / 2, freedom)) * (total / freedom / count) ** 0.5
        for total, freedom in ways
    )


def _means(values: Floats, group: Numbers) -> tuple[Floats, Floats]:
    """Give the mean of each group, and the share of values that are in it."""
    _, cell = np.unique(group, return_inverse=True)
    counts = np.bincount(cell)
    return np.bincount(cell, values) / counts, counts / counts.sum()
