"""Leave one level out: each size of a scaling experiment, predicted from runs of the others.

A level is a number of slots and of CPUs; of slots alone, where a run with as many does not know its
CPUs. Each run of the other levels predicts it;
the prediction of the nearest level counts, and the interval is that of one more prediction by
another level (t on logarithms).

Intervals of a simulation from its own errors, and how often they hold.

The error of a stage is its measured time over its simulated time. A replicate multiplies the tasks
of each stage by the error of one of the 19 other stages that are nearest to it in length, a
different one in each of 19 replicates. So each stage is judged by other stages only, and a new
value of the same kind falls outside the smallest and the largest with probability 2/20 (order
statistics).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import mean, median

import numpy as np

from pyrometer.core.doubt import Doubt
from pyrometer.core.errors import UsageError
from pyrometer.core.estimate import Estimate
from pyrometer.simulation.cluster import Shape, most_slots, on_several_hosts, tasks_ratios
from pyrometer.simulation.contention import Contention
from pyrometer.simulation.measured import Floats, Measured
from pyrometer.simulation.scheduler import (
    Calibrated,
    calibrate,
    doubts_of,
    graph_doubts,
    of_runs,
    schedules,
    without_runs,
)
from pyrometer.simulation.schema import LeftOut, LeftOutReport
from pyrometer.statistics.distributions import t_quantile
from pyrometer.statistics.shares import LEVEL as SHARE_LEVEL
from pyrometer.statistics.shares import wilson
from pyrometer.statistics.two import mean_of

LEVEL = 0.9
REPLICATES = 19
METHOD = "errors of the 19 nearest stages"


def draw_errors(measured_ns: Floats, simulated_ns: Floats, nodes: int, seed: int) -> Floats | None:
    """Draw an error for each stage and replicate; ``None`` with too few stages to judge by.

    Parameters
    ----------
    measured_ns, simulated_ns : array
        Times by stage; NaN where a stage has none.

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


Size = tuple[int, float | None]


@dataclass(frozen=True)
class Sized:
    """A run of one level, its contention when measured, and the doubts about both."""

    measured: Measured
    contention: Contention | None = None
    known_doubts: tuple[Doubt, ...] = ()

    @property
    def size(self) -> Size:
        """Slots at one time, and CPUs if contention is for CPUs."""
        cpus = None if self.contention is None else self.contention.cpus
        return most_slots(self.measured.executors), cpus

    @property
    def several_hosts(self) -> bool:
        """Whether its executors ran on more than one host."""
        return on_several_hosts(self.measured.executors)

    @property
    def seconds(self) -> float:
        """Measured time of an iteration."""
        return self.measured.elapsed_ns / len(self.measured.intervals) / 1e9

    @cached_property
    def calibrated(self) -> Calibrated:
        """The run, scheduled at its own size."""
        return calibrate(self.measured, self.contention)

    @property
    def doubts(self) -> list[Doubt]:
        """Doubts about its simulation."""
        return [*self.known_doubts, *doubts_of(self.calibrated, 0)]

    def predict(self, size: Size, *, several_hosts: bool = False) -> float:
        """Give the time of an iteration at another size, in seconds.

        Parameters
        ----------
        several_hosts : bool
            Whether further executors run on hosts of their own even where this run had one host.
        """
        (slots, cpus), calibrated, law = size, self.calibrated, self.contention
        if law is not None:
            law = law.on(cpus)
        shape = Shape(slots / self.size[0], several_hosts=several_hosts)
        clusters = [calibrated.cluster(Shape()), calibrated.cluster(shape)]
        scenario = {"cluster": 1, "tasks_ratios": tasks_ratios(self.measured, shape.ratio)}
        schedule = schedules(calibrated.plan, clusters, [scenario], law)[0]
        return schedule.elapsed_ns / len(self.measured.intervals) / 1e9


def leave_out(runs: Sequence[Sized], refused: Sequence[UsageError] = ()) -> LeftOutReport:
    """Predict each level from the others.

    Parameters
    ----------
    refused : sequence of UsageError
        Errors of further runs that could not be used; they become doubts of the report.

    Raises
    ------
    UsageError
        If no run can be used, or all are of one level.
    """
    if not runs:
        raise UsageError(f"no run can be simulated: {graph_doubts(refused)}", refused[0].remedy)
    levels = _by_size(runs)
    if len(levels) < 2:
        without = f" ({graph_doubts(refused)})" if refused else ""
        raise UsageError(
            f"the runs are all of one size: no level can be left out{without}",
            "give runs of other numbers of slots or CPUs, as `pyrometer scale` makes them",
        )
    several = any(run.several_hosts for run in runs)
    said: dict[Size, dict[Size, list[float]]] = defaultdict(dict)
    for size in levels:
        others = {other: of for other, of in levels.items() if other != size}
        for other, of in others.items():
            said[size][other] = [run.predict(size, several_hosts=several) for run in of]
    levels_left_out = [
        _left_out(size, levels[size], said[size]) for size in sorted(levels, key=_order)
    ]
    errors = [abs(one.error_ratio) for one in levels_left_out]
    return LeftOutReport(
        levels=levels_left_out,
        error_ratio=median(errors),
        worst_error_ratio=max(errors),
        coverage=coverage([one.measured_s.value or 0.0 for one in levels_left_out],
                          [one.predicted_s for one in levels_left_out]),
        doubts=[
            *without_runs(refused, len(runs)),
            *of_runs([run.doubts for run in runs]),
        ],
    )  # fmt: skip


def _by_size(runs: Sequence[Sized]) -> dict[Size, list[Sized]]:
    """Group runs, so that none is predicted from another of its own size."""
    unknown = {slots for slots, cpus in (run.size for run in runs) if cpus is None}
    levels: dict[Size, list[Sized]] = defaultdict(list)
    for run in runs:
        slots, cpus = run.size
        levels[slots, None if slots in unknown else cpus].append(run)
    return levels


def _order(size: Size) -> tuple[float, int]:
    return size[1] or 0.0, size[0]


def distance(a: Size, b: Size) -> float:
    """Give the distance of two sizes, by which the nearest level is chosen."""
    cpus = abs(math.log(a[1] / b[1])) if a[1] and b[1] else 0.0
    return abs(math.log(a[0] / b[0])) + cpus


def _left_out(size: Size, runs: list[Sized], said: dict[Size, list[float]]) -> LeftOut:

    taken = [run.seconds for run in runs]
    nearest = min(said, key=lambda other: (distance(size, other), _order(other)))
    value = mean(said[nearest])
    logs = np.log([mean(one) for one in said.values()])
    low = high = None
    if logs.size > 1:
        half = float(t_quantile((1 + LEVEL) / 2, logs.size - 1)) * float(np.std(logs, ddof=1))
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
