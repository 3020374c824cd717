"""How much the elapsed time of a run differs from one time to the next, as far as it shows."""

from __future__ import annotations

import math
from statistics import fmean

import numpy as np

from pyrometer.explain.facts import Facts
from pyrometer.explain.schema import Noise
from pyrometer.explain.what_if import WhatIf

LEAST = 0.02
"""Within so much, `compare` calls two runs the same (its default margin)."""
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
        are drawn from their stage again; at least `LEAST`.
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
            ratio=max(LEAST, _redrawn(facts.what_if, seed)),
            method="one run alone: its tasks drawn again 19 times; how runs differ is not in it",
        )
    return Noise(ratio=LEAST, method="not known: nothing in this run shows it")


def _redrawn(what_if: WhatIf, seed: int) -> float:
    random = np.random.default_rng(seed)
    found = []
    for _ in range(REPLICATES):
        state = what_if.state([])
        for stage in what_if.calibrated.measured.stages:
            place = state.tasks(stage.number)
            tasks = state.duration_ns[place]
            if tasks.size >= FEWEST_TASKS:
                state.duration_ns[place] = random.choice(tasks, tasks.size)
        found.append(what_if.of_state(state))
    middle = fmean(found)
    spread = (max(found) - min(found)) / 2 / middle if middle > 0 else math.inf
    return spread if math.isfinite(spread) else 0.0
