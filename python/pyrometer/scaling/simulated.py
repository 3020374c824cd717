"""The simulator as a predictor: the tasks of a run of each level, scheduled at the others."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pyrometer.core.errors import PyrometerError
from pyrometer.scaling.plan import OF_CLUSTERS, SLOTS
from pyrometer.simulation.contention import MOST_CPUS, of_ledger
from pyrometer.simulation.intervals import Size, Sized, distance
from pyrometer.simulation.measured import measured_of
from pyrometer.simulation.scheduler import no_contention
from pyrometer.statistics.scaling.laws import DRAWS, SEED, Array
from pyrometer.store import Run
from pyrometer.window.windows import choose

OF_SLOTS = (*SLOTS, *OF_CLUSTERS)
"""Factors that change how many slots there are, and no host's CPUs."""

FARTHEST = 1000.0
"""Most times the largest level that a run is scheduled at."""


@dataclass(frozen=True)
class Simulated:
    """What runs of levels predict for other numbers of workers.

    Attributes
    ----------
    said : mapping
        Seconds of an iteration, by level and by predicted workers. No level predicts itself.
    nearest : mapping
        The nearest level, by predicted workers.
    """

    said: Mapping[float, Mapping[float, float]]
    nearest: Mapping[float, float]
    name: str = "simulator"
    method: str = "t on logarithms of what levels say"

    def unit_times(self, p: Sequence[float], work: Sequence[float]) -> Array:
        """Give the prediction of the nearest level."""
        return np.array([self.said[self.nearest[one]][one] for one in p])

    def draws(self, p: Sequence[float], work: Sequence[float]) -> Array | None:
        """Draw predictions of a further level: t on the logarithms of the predictions."""
        logs = [np.log([its[one] for its in self.said.values() if one in its]) for one in p]
        if any(len(one) < 2 for one in logs):
            return None
        rng = np.random.default_rng(SEED)
        freedom = np.array([len(one) - 1 for one in logs])
        t = rng.standard_normal((DRAWS, 1)) * np.sqrt(
            freedom / rng.chisquare(freedom, (DRAWS, len(p)))
        )
        spread = np.array(
            [float(np.std(one, ddof=1)) * math.sqrt(1 + 1 / len(one)) for one in logs]
        )
        drawn: Array = np.exp(np.array([one.mean() for one in logs]) + t * spread)
        return drawn


def sized(run: Run) -> Sized | str:
    """Prepare a run for simulation, or say why it cannot be simulated."""
    try:
        window = choose(run, None)
        measured = measured_of(run, window)
        found, reason = of_ledger(run, measured, window.name, None)
    except PyrometerError as error:
        return error.message
    return Sized(measured, found, () if reason is None else (no_contention(reason),))


def simulated(
    runs: Mapping[float, Sized | str], factor: str, asked: Sequence[float]
) -> Simulated | str:
    """Simulate a run of each level at the others and at the workers asked for, or say why not.

    Parameters
    ----------
    runs : mapping
        A run of each level.
    """
    wrong = next((one for one in runs.values() if isinstance(one, str)), None)
    if wrong is not None:
        return wrong
    if len(runs) < 2:
        return "two levels are needed: each is simulated from the others"
    ready = {level: run for level, run in runs.items() if not isinstance(run, str)}
    if (most := max(asked, default=0.0)) > FARTHEST * max(ready):
        return f"{most:g} is more than {FARTHEST:g} times the largest level"
    # A run of one executor does not show whether the next one would share its host.
    several = any(run.several_hosts for run in ready.values())
    said: dict[float, dict[float, float]] = {level: {} for level in ready}
    nearest = {}
    for p in dict.fromkeys([*ready, *asked]):
        size = ready[p].size if p in ready else _size(ready, p, factor)
        if size is None or (factor not in OF_SLOTS and size[1] is None):
            return "the ledger does not show how tasks share CPUs"
        if size[1] is not None and size[1] > MOST_CPUS:
            return f"a host of {size[1]:g} CPUs is too large to simulate: at most {MOST_CPUS}"
        others = {level: run for level, run in ready.items() if level != p}
        nearest[p] = min(others, key=lambda level: (distance(size, others[level].size), level))
        for level, run in others.items():
            try:
                said[level][p] = run.predict(size, several_hosts=several)
            except PyrometerError as error:
                return error.message
    return Simulated(said, nearest)


def _size(ready: Mapping[float, Sized], p: float, factor: str) -> Size | None:
    """Give the size for another number of workers."""
    level = min(ready, key=lambda one: abs(math.log(one / p)))
    slots, cpus = ready[level].size
    if factor in OF_SLOTS:
        return max(1, round(slots * p / level)), cpus
    if cpus is None:
        return None
    sizes = [run.size for run in ready.values()]
    # By default Spark takes as many slots as it sees CPUs.
    follow = all(each and slots == math.ceil(each) for slots, each in sizes)
    return math.ceil(cpus * p / level) if follow else slots, cpus * p / level
