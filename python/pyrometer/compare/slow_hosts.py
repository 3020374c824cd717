"""Hosts on which tasks take longer than those of the same stages elsewhere."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyrometer.core.estimate import LEVEL
from pyrometer.statistics.welch import welch

_LEAST_TASKS = 3
"""Of a host, and of a stage elsewhere: two may be alike by chance."""
_MOST_HOSTS = 20
"""Tested are those that look slowest; what is corrected for is the number of all hosts."""


def slower(
    run_ns: NDArray[np.float64], work: NDArray[np.float64], stage: NDArray[np.int64],
    host: NDArray[np.int64],
) -> dict[int, float]:  # fmt: skip
    """Say how many times as long tasks take on a host, where that is no chance.

    Parameters
    ----------
    run_ns, work : array
        Run time of tasks and the work they had, rows or bytes; 0 where that is unknown.
    stage, host : array
        Number of each task's stage and host.

    Returns
    -------
    dict of int to float
        Ratios above 1, of hosts whose tasks are slower at 95 % after Bonferroni over the hosts.
        Welch's test of logarithms, each task beside those of its stage elsewhere.
    """
    hosts = np.unique(host)
    usable = run_ns > 0
    if hosts.size < 2 or not usable.any():
        return {}
    # A stage whose work is known for all tasks is judged by time per unit of work.
    per_work = np.where(usable, np.log(np.maximum(run_ns, 1.0)), 0.0)
    unknown = np.bincount(stage, (work <= 0) & usable, int(stage.max()) + 1)[stage] > 0
    per_work -= np.where(unknown, 0.0, np.log(np.where(work > 0, work, 1.0)))
    found: dict[int, float] = {}
    stages = int(stage.max()) + 1
    sums, counts = np.bincount(stage, per_work * usable, stages), np.bincount(stage, usable, stages)
    beside = (per_work - (sums / np.maximum(counts, 1))[stage]) * usable
    size = int(host.max()) + 1
    means = np.bincount(host, beside, size) / np.maximum(np.bincount(host, usable, size), 1)
    for one in np.argsort(-means, kind="stable")[:_MOST_HOSTS].tolist():
        mine = usable & (host == one)
        # Each task beside the mean of those of its stage that ran elsewhere.
        elsewhere = counts - np.bincount(stage, mine, stages)
        both = mine & (elsewhere[stage] >= _LEAST_TASKS)
        others = usable & (host != one) & np.isin(stage, stage[both])
        if both.sum() < _LEAST_TASKS:
            continue
        mean = (sums - np.bincount(stage, per_work * mine, stages)) / np.maximum(elsewhere, 1)
        here, there = (per_work[of] - mean[stage[of]] for of in (both, others))
        tested = welch(there, here, 1 - (1 - LEVEL) / hosts.size)
        if tested is not None and (tested.difference.low or 0.0) > 0:
            found[one] = float(np.exp(here.mean()))
    return found
