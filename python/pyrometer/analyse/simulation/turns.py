"""Slow-down of tasks that take turns on CPUs: by chance of meeting, and as it was measured.

A task that would run finds others that would run as well: each other task by the chance that it is
on a CPU or waits for one, and threads that work beside the tasks (compilers, the collector, the
driver, other processes) as many as Poisson's law gives for their share. With more of them than
CPUs all go slower by as much (processor sharing). That chance depends on the slow-down itself, so
the law is a fixed point, as in approximate mean-value analysis of closed networks (Schweitzer,
"Approximate analysis of multiclass closed networks of queues", 1979): up to a sixth above the exact
solution where tasks mostly wait for something else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats
from scipy.optimize import brentq

from pyrometer.analyse.simulation.measured import Floats

LEAST_SHARE = 0.01
MOST_BESIDE = 8.0
_ROUNDS = 100
_NEAR = 1e-9


@dataclass(frozen=True)
class Turns:
    """How tasks of one host take turns on its CPUs.

    Attributes
    ----------
    cpus : float
        CPUs of the host, or its quota.
    share : float
        Part of a task's time, without waiting for a CPU, in which it wants one.
    beside : float
        CPU time of other threads for each second of CPU that a task uses.
    part : float
        Part of the waiting that chance gives which came about; below 1 where tasks wait for one
        another rather than for a CPU.

    Examples
    --------
    >>> [round(Turns(2, share=1.0).of_tasks(n), 3) for n in (1, 2, 3, 4)]
    [1.0, 1.0, 1.5, 2.0]
    >>> round(Turns(2, share=0.5).of_tasks(3), 3)
    1.142
    """

    cpus: float
    share: float = 1.0
    beside: float = 0.0
    part: float = 1.0

    def __call__(self, load: float) -> float:
        """Give the slow-down at a load: the sum of shares of the running tasks."""
        return self.of_tasks(load / max(self.share, LEAST_SHARE))

    def of_tasks(self, tasks: float) -> float:
        """Give how long so many running tasks take turns; between whole numbers by both."""
        return 1 + self.part * (self._settled(tasks)[0] - 1)

    def _settled(self, tasks: float) -> tuple[float, float]:
        """Give the slow-down by chance alone, and the part of its time that a task would run."""
        share, slow, wants = min(max(self.share, LEAST_SHARE), 1.0), 1.0, 1.0
        for _ in range(_ROUNDS):
            wants = 1 / (1 + (1 - share) / (share * slow))
            before, slow = slow, self._met(max(tasks - 1, 0.0), wants, self.beside * tasks * wants)
            if abs(slow - before) < _NEAR * slow:
                break
        return slow, wants

    def _met(self, others: float, wants: float, threads: float) -> float:
        """Give the mean of max(1, k / CPUs) over who would run: k, the task itself among them."""
        few, would = self._would_run(others, wants, threads)
        free = np.maximum(0, 1 - (few + 1) / self.cpus)
        return float((1 + others * wants + threads) / self.cpus + (would * free).sum())

    def _would_run(self, tasks: float, wants: float, threads: float) -> tuple[Floats, Floats]:
        """Give the chance that 0, 1, … of tasks and threads would run, below the CPUs there are."""
        few = np.arange(math.ceil(self.cpus), dtype=np.float64)
        whole = math.floor(tasks)
        would = (1 - (tasks - whole)) * stats.binom.pmf(few, whole, wants)
        would += (tasks - whole) * stats.binom.pmf(few, whole + 1, wants)
        return few, np.convolve(would, stats.poisson.pmf(few, threads))[: few.size]


def as_measured(cpus: float, share: float, beside: Mapping[float, float], free: float) -> Turns:
    """Find the law under which task time is, without what it slowed them down, as much as measured.

    What chance of tasks alone does not explain, threads beside them do; what it explains too much
    of is taken in part.

    Parameters
    ----------
    beside : mapping of float to float
        Task time by how many tasks ran at once on the host.
    free : float
        Task time without waiting for a CPU, in the same unit.

    Examples
    --------
    >>> law = as_measured(2, 0.8, {2: 12.0}, free=10.0)
    >>> round(law.of_tasks(2), 3), law.part, law.beside > 0
    (1.2, 1.0, True)
    >>> round(as_measured(2, 0.8, {4: 11.0}, free=10.0).of_tasks(4), 3)
    1.1
    """

    def missed(law: Turns) -> float:
        return sum(time / law.of_tasks(tasks) for tasks, time in beside.items()) - free

    alone = Turns(cpus, share)
    if abs(missed(alone)) <= _NEAR * free:
        return alone
    if missed(alone) > 0:
        most = replace(alone, beside=MOST_BESIDE)
        if missed(most) >= 0:
            return most
        found = brentq(lambda x: missed(replace(alone, beside=x)), 0, MOST_BESIDE, xtol=1e-4)
        return replace(alone, beside=found)
    if missed(replace(alone, part=0.0)) <= 0:
        return replace(alone, part=0.0)
    return replace(alone, part=brentq(lambda x: missed(replace(alone, part=x)), 0, 1, xtol=1e-4))
