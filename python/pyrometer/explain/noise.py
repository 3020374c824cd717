"""How much the elapsed time of a run differs from one time to the next, as far as it shows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property
from statistics import fmean

import numpy as np

from pyrometer.explain.change import State
from pyrometer.explain.facts import Facts
from pyrometer.explain.schema import Noise
from pyrometer.explain.what_if import WhatIf
from pyrometer.simulation.measured import Floats
from pyrometer.statistics.two import mean_of

LEAST = 0.02
"""Within so much, `compare` calls two runs the same (its default margin)."""
ALONE = 0.05
"""By more than this, half of all repeated runs differ from their mean: 0.67 standard deviations of
0.075, that of identical work repeated on a small virtual machine (of pairs: 0.106)."""
REPLICATES = 19
FEWEST_ITERATIONS = 3
FEWEST_TASKS = 10
"""Of fewer, drawn again, the differences would be those of their work."""


class Redrawn:
    """Schedules of a run whose tasks' times are drawn again.

    In two ways, each of which says too much somewhere: by their stage, which takes skew for noise,
    and by the spread of like work, which explodes where nothing tells how much work a task had.
    The smaller one counts.

    Parameters
    ----------
    what_if : WhatIf
        The run.
    """

    def __init__(self, what_if: WhatIf, seed: int = 0) -> None:
        self._what_if, self._random = what_if, np.random.default_rng(seed)
        measured = what_if.calibrated.measured
        stages = [one for one in measured.stages if one.tasks_count >= FEWEST_TASKS]
        self._numbers = [one.number for one in stages]
        self._counts = np.array([one.tasks_count for one in stages], dtype=np.intp)
        first = np.array(measured.first_tasks, dtype=np.intp)[self._numbers]
        # Of these stages' tasks: the place of the first of their stage among all, and their own.
        self._firsts = np.repeat(first, self._counts)
        before = np.repeat(np.cumsum(self._counts) - self._counts, self._counts)
        self._places = self._firsts + np.arange(self._firsts.size) - before

    @cached_property
    def by_stage(self) -> float:
        """Half the range, relative to the mean, with times of other tasks of the stage."""
        sizes = np.repeat(self._counts, self._counts)

        def of_stage(tasks: Floats) -> Floats:
            found: Floats = tasks[self._firsts + self._random.integers(0, sizes)]
            return found

        return self._half_range(of_stage)

    def ratio(self, facts: Facts) -> float:
        """Give the smaller of both, as far as it is above `ALONE`."""
        if self.by_stage <= ALONE:
            return self.by_stage
        sigmas = np.repeat([_spread(facts, number) for number in self._numbers], self._counts)

        def drawn(tasks: Floats) -> Floats:
            normal = self._random.standard_normal(self._places.size)
            found: Floats = tasks[self._places] * np.exp(sigmas * normal)
            return found

        return min(self.by_stage, self._half_range(drawn))

    def _half_range(self, draw: Callable[[Floats], Floats]) -> float:
        def redrawn() -> Iterator[State]:
            for _ in range(REPLICATES):
                state = self._what_if.state([])
                state.duration_ns[self._places] = draw(state.duration_ns)
                yield state

        found = self._what_if.of_states(redrawn())
        middle = fmean(found)
        half = (max(found) - min(found)) / 2 / middle if middle > 0 else math.inf
        return half if math.isfinite(half) else 0.0


def noise_of(facts: Facts, redrawn: Redrawn | None = None) -> Noise:
    """Judge by the iterations of the window, or else by the tasks of its stages.

    Parameters
    ----------
    redrawn : Redrawn, optional
        What may have been scheduled already.

    Returns
    -------
    Noise
        Half the 95 % interval of the mean iteration, or half the range of 19 schedules whose tasks
        differ again as much as those of like work did; at least `LEAST`.
    """
    if has_iterations(facts):
        mean = mean_of(times := _times(facts))
        if mean.low is not None and mean.high is not None and mean.value:
            ratio = (mean.high - mean.low) / 2 / mean.value
            return Noise(
                ratio=max(LEAST, ratio), method=f"{len(times)} iterations, 95 % of their mean"
            )
    if facts.what_if is not None:
        redrawn = redrawn or Redrawn(facts.what_if)
        return Noise(
            ratio=max(ALONE, redrawn.ratio(facts)),
            method="a single run: the usual difference between runs on a small machine, or that of"
            " 19 resamplings of its tasks' times, whichever is larger",
        )
    return Noise(ratio=ALONE, method="not known: nothing in this run shows it")


def has_iterations(facts: Facts) -> bool:
    """Whether the window has iterations enough to judge by."""
    return len(_times(facts)) >= FEWEST_ITERATIONS


def _times(facts: Facts) -> list[float]:
    window = set(facts.scope.window.iterations)
    return [
        one.elapsed_ns / 1e9
        for one in facts.summary.iterations
        if one.iteration in window and one.elapsed_ns and one.status == "success"
    ]


def _spread(facts: Facts, number: int) -> float:
    """How much tasks of like work differ in time: the standard deviation of its logarithm.

    By differences of neighbours in order of their work (von Neumann 1941), and their median: the
    difference between much and little work, as skew has it, is none of the noise.
    """
    tasks = facts.tasks_of(number)
    ran = tasks.duration_ns > 0
    work = np.nan_to_num(tasks["executor_cpu_time_ns"])
    if not work.any():
        names = ("input_bytes", "shuffle_read_local_bytes", "shuffle_read_remote_bytes")
        work = np.nansum([tasks[name] for name in names], axis=0)
    if ran.sum() < FEWEST_TASKS:
        return 0.0
    times = np.log(tasks.duration_ns[ran])[np.argsort(work[ran], kind="stable")]
    return float(1.4826 * np.median(np.abs(np.diff(times))) / math.sqrt(2))
