"""What CPU work costs more where more CPUs are busy, fitted over runs of several levels.

The same work takes more CPU time beside other busy CPUs: hardware threads of one core share its
units, all share caches and the way to memory. A single run does not tell by how much; runs that
kept other numbers of CPUs busy do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

LEAST_SPREAD = 0.15
"""CPUs by which the busy ones of levels must differ to say anything of what they cost."""


@dataclass(frozen=True)
class Cost:
    """CPU work of a run.

    Attributes
    ----------
    busy_cpus : float
        CPUs of a host that were busy while tasks ran, on the mean.
    cpu_ns : float
        CPU time of its tasks, of an iteration.
    """

    busy_cpus: float
    cpu_ns: float


def interference(levels: Iterable[Sequence[Cost]]) -> float | None:
    """Fit what CPU work costs more for each busy CPU beside the first (least squares).

    Parameters
    ----------
    levels : iterable of sequence of Cost
        Runs of each level; a level counts as their mean.

    Returns
    -------
    float or None
        Not below 0. ``None`` where all levels kept about as many CPUs busy.

    Examples
    --------
    >>> levels = [[Cost(1.0, 6e9)], [Cost(1.5, 7.5e9)], [Cost(2.0, 9e9)]]
    >>> round(interference(levels), 3)
    0.5
    >>> interference(levels[2:] * 2) is None
    True
    """
    told = [
        (max(1.0, float(np.mean([one.busy_cpus for one in level]))),
         float(np.mean([one.cpu_ns for one in level])))
        for level in levels if level
    ]  # fmt: skip
    if not told or np.ptp([busy for busy, _ in told]) < LEAST_SPREAD:
        return None
    busy, cost = np.array(told).T
    slope, first = np.polyfit(busy - 1, cost, 1)
    return max(0.0, float(slope / first)) if first > 0 else None
