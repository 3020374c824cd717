"""How much the elapsed time of a run differs from one time to the next, as far as it shows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from pyrometer.explain.change import State
from pyrometer.explain.facts import Facts
from pyrometer.explain.schema import Noise
from pyrometer.explain.what_if import WhatIf
from pyrometer.simulation.measured import Floats

LEAST = 0.02
"""Within so much, `compare` calls two runs the same (its default margin)."""
ALONE = 0.05
"""By more than this, half of all repeated runs differ from their mean: 0.67 standard deviations of
0.075, that of identical work repeated on a small virtual machine (of pairs: 0.106)."""
REPLICATES = 19
FEWEST_ITERATIONS = 3
FEWEST_TASKS = 10
"""Of fewer, drawn again, the differences would be those of their work."""


def noise_of(facts: Facts, seed: int = 0) -> Noise:
    """Judge by the iterations of the window, or else by the tasks of its stages.

    Returns
    -------
    Noise
        Half the 95 % interval of the mean iteration, or half the range of 19 schedules whose tasks
        differ again as much as those of like work did; at least `LEAST`.
    """
    window = set(facts.scope.window.iterations)
    times = [
        one.elapsed_ns / 1e9
        for one in facts.summary.iterations
        if one.iteration in window and one.elapsed_ns and one.status == "success"
    ]
    if len(times) >= FEWEST_ITERATIONS:
        from pyrometer.statistics.two import mean_of  # it loads scipy

        mean = mean_of(times)
        if mean.low is not None and mean.high is not None and mean.value:
            ratio = (mean.high - mean.low) / 2 / mean.value
            return Noise(
                ratio=max(LEAST, ratio), method=f"{len(times)} iterations, 95 % of their mean"
            )
    if facts.what_if is not None:
        return Noise(
            ratio=max(ALONE, _redrawn(facts, facts.what_if, seed)),
            method="one run alone: what repeated runs differ by on a small machine, or its tasks'"
            " times drawn again 19 times, if that is more",
        )
    return Noise(ratio=ALONE, method="not known: nothing in this run shows it")


def _redrawn(facts: Facts, what_if: WhatIf, seed: int) -> float:
    """Half the range of schedules whose tasks are drawn again, relative to their mean.

    In two ways, each of which says too much somewhere: by their stage, which takes skew for noise,
    and by the spread of like work, which explodes where nothing tells how much work a task had.
    The smaller one counts.
    """
    random = np.random.default_rng(seed)
    measured = what_if.calibrated.measured
    numbers = [one.number for one in measured.stages if one.tasks_count >= FEWEST_TASKS]
    first = np.array(measured.first_tasks, dtype=np.intp)
    counts = np.array([measured.stages[number].tasks_count for number in numbers], dtype=np.intp)
    # Of these stages' tasks: their places, and that of the first of their stage, among all.
    firsts = np.repeat(first[numbers], counts)
    before = np.repeat(np.cumsum(counts) - counts, counts)
    places = firsts + np.arange(firsts.size) - before
    sizes = np.repeat(counts, counts)

    def of_stage(tasks: Floats) -> Floats:
        found: Floats = tasks[firsts + random.integers(0, sizes)]
        return found

    by_stage = _half_range(what_if, places, of_stage)
    if by_stage <= ALONE:
        return by_stage
    sigmas = np.repeat([_spread(facts, number) for number in numbers], counts)

    def drawn(tasks: Floats) -> Floats:
        found: Floats = tasks[places] * np.exp(sigmas * random.standard_normal(places.size))
        return found

    return min(by_stage, _half_range(what_if, places, drawn))


def _half_range(
    what_if: WhatIf, places: NDArray[np.intp], draw: Callable[[Floats], Floats]
) -> float:
    def redrawn() -> Iterator[State]:
        for _ in range(REPLICATES):
            state = what_if.state([])
            state.duration_ns[places] = draw(state.duration_ns)
            yield state

    found = what_if.of_states(redrawn())
    middle = fmean(found)
    half = (max(found) - min(found)) / 2 / middle if middle > 0 else math.inf
    return half if math.isfinite(half) else 0.0


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
