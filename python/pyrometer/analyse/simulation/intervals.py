"""Intervals of a simulation from its own errors, and how often they hold.

The error of a stage is its measured time over its simulated time. A replicate multiplies the tasks
of each stage by the error of one of the 19 other stages that are nearest to it in length, a
different one in each of 19 replicates. So each stage is judged by others alone, and a new value of
their kind falls outside the smallest and the largest with probability 2/20 (order statistics).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pyrometer.analyse.shares import LEVEL as SHARE_LEVEL
from pyrometer.analyse.shares import wilson
from pyrometer.analyse.simulation.measured import Floats
from pyrometer.estimate import Estimate

LEVEL = 0.9
REPLICATES = 19
METHOD = "errors of the 19 nearest stages"


def draw_errors(measured_ns: Floats, simulated_ns: Floats, nodes: int, seed: int) -> Floats | None:
    """Draw an error for each stage and replicate; ``None`` with too few stages to judge by.

    Parameters
    ----------
    measured_ns, simulated_ns : array
        Of each stage; not a number where a stage has none.

    Returns
    -------
    array or None
        Factors by replicate and node; 1 for nodes without an error.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = measured_ns / simulated_ns
    known = np.flatnonzero(np.isfinite(errors) & (errors > 0))
    if known.size <= REPLICATES:
        return None
    known = known[np.argsort(simulated_ns[known], kind="stable")]
    random = np.random.default_rng(seed)
    drawn = np.ones((REPLICATES, nodes))
    for place, stage in enumerate(known):
        first = min(max(0, place - REPLICATES // 2), known.size - REPLICATES - 1)
        near = np.delete(known[first : first + REPLICATES + 1], place - first)
        drawn[:, stage] = errors[random.permutation(near)]
    return drawn


def interval(value: float, replicated: Floats, stages_count: int) -> Estimate:
    """Give a value with the interval of its replicates; none without replicates."""
    known = replicated.size > 0
    return Estimate(
        value=value,
        low=float(replicated.min()) if known else None,
        high=float(replicated.max()) if known else None,
        level=LEVEL,
        n=stages_count,
        method=METHOD,
    )


def coverage(measured_ns: Sequence[float], intervals: Sequence[Estimate]) -> Estimate:
    """Give the share of measured values inside their intervals."""
    inside = [
        one.low <= value <= one.high
        for value, one in zip(measured_ns, intervals, strict=True)
        if one.low is not None and one.high is not None
    ]
    n = len(inside)
    low, high = wilson(sum(inside), n)
    return Estimate(
        value=sum(inside) / n if n else None,
        low=low if n else None,
        high=high if n else None,
        level=SHARE_LEVEL,
        n=n,
        method="wilson",
    )
