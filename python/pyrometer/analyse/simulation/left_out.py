"""Leave one level out: each size of a scaling experiment, predicted from runs of the others.

A level is a number of slots and, where they are known, of CPUs. What each run of the other levels
says of it is one prediction; the nearest level is relied on, and the interval is that of a further
prediction by another level (t on logarithms).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import mean, median

import numpy as np
from scipy import stats

from pyrometer.analyse.compare.two import mean_of
from pyrometer.analyse.simulation.calibrated import Calibrated, calibrate
from pyrometer.analyse.simulation.cluster import Shape, most_slots, tasks_ratios
from pyrometer.analyse.simulation.contention import Contention
from pyrometer.analyse.simulation.core import schedules
from pyrometer.analyse.simulation.doubts import (
    doubts_of,
    of_runs,
    told,
    without_runs,
)
from pyrometer.analyse.simulation.intervals import LEVEL, coverage
from pyrometer.analyse.simulation.measured import Measured
from pyrometer.analyse.simulation.model import LeftOut, LeftOutReport
from pyrometer.doubt import Doubt
from pyrometer.errors import UsageError
from pyrometer.estimate import Estimate

Size = tuple[int, float | None]


@dataclass(frozen=True)
class Sized:
    """A run of one level, the contention that it was measured under, and what to doubt of both."""

    measured: Measured
    contention: Contention | None = None
    known_doubts: tuple[Doubt, ...] = ()

    @property
    def size(self) -> Size:
        """Slots at once, and CPUs where contention is by them."""
        cpus = None if self.contention is None else self.contention.cpus
        return most_slots(self.measured.executors), cpus

    @property
    def seconds(self) -> float:
        """Measured time of an iteration."""
        return self.measured.elapsed_ns / len(self.measured.intervals) / 1e9

    @cached_property
    def made(self) -> Calibrated:
        """The run, scheduled at its own size."""
        return calibrate(self.measured, self.contention)

    @property
    def doubts(self) -> list[Doubt]:
        """What to doubt of its simulation."""
        return [*self.known_doubts, *doubts_of(self.made, 0)]

    def predict(self, size: Size) -> float:
        """Give the time of an iteration at another size, in seconds."""
        (slots, cpus), made, law = size, self.made, self.contention
        if law is not None:
            law = law.on(cpus)
        shape = Shape(slots / self.size[0])
        clusters = [made.cluster(Shape()), made.cluster(shape)]
        ratios = tasks_ratios(self.measured, len(made.graph.after), shape.ratio)
        scenario = {"cluster": 1, "tasks_ratios": ratios}
        schedule = schedules(made.plan, clusters, [scenario], law)[0]
        return schedule.elapsed_ns / len(self.measured.intervals) / 1e9


def leave_out(runs: Sequence[Sized], refused: Sequence[UsageError] = ()) -> LeftOutReport:
    """Predict each level from the others.

    Parameters
    ----------
    refused : sequence of UsageError
        Why further runs have no part in it; the report doubts them.

    Raises
    ------
    UsageError
        If no run is left, or all are of one level.
    """
    if not runs:
        raise UsageError(f"no run can be simulated: {told(refused)}", refused[0].remedy)
    levels: dict[Size, list[Sized]] = defaultdict(list)
    for run in runs:
        levels[run.size].append(run)
    if len(levels) < 2:
        without = f" ({told(refused)})" if refused else ""
        raise UsageError(
            f"the runs are all of one size: no level can be left out{without}",
            "give runs of other numbers of slots or CPUs, as `pyrometer scale` makes them",
        )
    said: dict[Size, dict[Size, list[float]]] = defaultdict(dict)
    for size in levels:
        others = {other: of for other, of in levels.items() if other != size}
        for other, of in others.items():
            said[size][other] = [run.predict(size) for run in of]
    made = [_left_out(size, levels[size], said[size]) for size in sorted(levels, key=_order)]
    errors = [abs(one.error_ratio) for one in made]
    return LeftOutReport(
        levels=made,
        error_ratio=median(errors),
        worst_error_ratio=max(errors),
        coverage=coverage([one.measured_s.value or 0.0 for one in made],
                          [one.predicted_s for one in made]),
        doubts=[
            *without_runs(refused, len(runs)),
            *of_runs([run.doubts for run in runs]),
        ],
    )  # fmt: skip


def _order(size: Size) -> tuple[float, int]:
    return size[1] or 0.0, size[0]


def distance(a: Size, b: Size) -> float:
    """Give how far apart two sizes are: of two levels the nearer one is relied on."""
    cpus = abs(math.log(a[1] / b[1])) if a[1] and b[1] else 0.0
    return abs(math.log(a[0] / b[0])) + cpus


def _left_out(size: Size, runs: list[Sized], said: dict[Size, list[float]]) -> LeftOut:
    taken = [run.seconds for run in runs]
    nearest = min(said, key=lambda other: (distance(size, other), _order(other)))
    value = mean(said[nearest])
    logs = np.log([mean(one) for one in said.values()])
    low = high = None
    if logs.size > 1:
        half = float(stats.t.ppf((1 + LEVEL) / 2, logs.size - 1)) * float(np.std(logs, ddof=1))
        half *= math.sqrt(1 + 1 / logs.size)
        low, high = math.exp(logs.mean() - half), math.exp(logs.mean() + half)
    return LeftOut(
        slots_count=size[0],
        cpus=size[1],
        measured_s=mean_of(taken, LEVEL),
        predicted_s=Estimate(
            value=value, low=low, high=high, level=LEVEL, n=logs.size,
            method="t on logarithms of what other levels say",
        ),
        from_slots_count=nearest[0],
        from_cpus=nearest[1],
        error_ratio=value / mean(taken) - 1,
    )  # fmt: skip
