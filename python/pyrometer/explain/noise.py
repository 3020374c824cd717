"""How much the elapsed time of a run differs from one time to the next, as far as it shows."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

import numpy as np

from pyrometer.core import units
from pyrometer.explain.change import State
from pyrometer.explain.facts import Facts
from pyrometer.explain.schema import Noise
from pyrometer.explain.what_if import WhatIf
from pyrometer.simulation.measured import Floats, Stage
from pyrometer.statistics.two import mean_of

LEAST = 0.02
"""Within so much, `compare` calls two runs the same (its default margin)."""
ALONE = 0.05
"""By more than this, half of all repeated runs differ from their mean: 0.67 standard deviations of
0.075, that of identical work repeated on a small virtual machine (of pairs: 0.106)."""
NORMAL = 1.96
REPLICATES = 19
FEWEST_ITERATIONS = 3
FEWEST_TASKS = 10
"""Of fewer, drawn again, the differences would be those of their work."""
FEWEST_REPEATS = 10
"""Of fewer differences between repetitions, the median says little."""
REPEATED = 0.5
"""Share of the elapsed time from which on what repeats stands for the whole."""
ALIKE = 0.02
"""Stages whose rows and bytes differ by more do not repeat each other."""
_WORK = ("input_records_count", "input_bytes", "shuffle_read_records_count",
         "shuffle_written_records_count", "output_records_count")  # fmt: skip


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
    """Judge by the iterations of the window, by stages that repeat in it, or by tasks; else assume.

    Parameters
    ----------
    redrawn : Redrawn, optional
        What may have been scheduled already.

    Returns
    -------
    Noise
        Measured: half the 95 % interval of the mean iteration, or of the time of the whole by the
        differences of what repeats in it, at least `LEAST`; or half the range of 19 schedules whose
        tasks differ again as much as those of like work did, where that is more than `ALONE`.
        Else that is assumed.
    """
    if has_iterations(facts):
        mean = mean_of(times := _times(facts))
        if mean.low is not None and mean.high is not None and mean.value:
            ratio = (mean.high - mean.low) / 2 / mean.value
            return _measured(ratio, f"{len(times)} iterations, 95 % of their mean")
    if facts.what_if is None:
        return _assumed("nothing in this run shows it")
    repeats = Repeats.of(facts)
    if repeats is not None and repeats.suffice:
        return _measured(repeats.ratio, repeats.words)
    resampled = (redrawn or Redrawn(facts.what_if)).ratio(facts)
    if resampled > ALONE:
        return _measured(resampled, f"half the range of {REPLICATES} resamplings of its tasks")
    few = "nothing in this run repeats"
    return _assumed(few if repeats is None else f"only {repeats.words}")


def _measured(ratio: float, method: str) -> Noise:
    return Noise(ratio=max(LEAST, ratio), kind="measured", method=method)


def _assumed(why: str) -> Noise:
    return Noise(ratio=ALONE, kind="assumed", method=why)


@dataclass(frozen=True)
class Repeats:
    """Stages of a run that repeat others of it, with the same name, tasks, rows and bytes.

    Attributes
    ----------
    count : int
        How many there are.
    differences : int
        From one to the next of its kind.
    share : float
        Of the elapsed time, in which they ran.
    sd : float
        By how much the time of one differs from the next: the deviation of the logarithm.
    parts : float
        How many of equal length would differ in sum as little as they do: of independent times,
        the square of their sum over the sum of their squares (Kish 1965).
    """

    count: int
    differences: int
    share: float
    sd: float
    parts: float

    @classmethod
    def of(cls, facts: Facts) -> Repeats | None:
        """Find them; ``None`` where there are none."""
        groups: dict[tuple[object, ...], list[Stage]] = defaultdict(list)
        for stage in facts.stages:
            work = [facts.tasks_of(stage.number).total(name) for name in _WORK]
            if stage.tasks_count and stage.ran_ns > stage.submit_ns and any(work):
                alike = tuple(round(math.log1p(amount) / ALIKE) for amount in work)
                groups[stage.name, stage.called, stage.tasks_count, stage.pool, alike].append(stage)
        repeated = [
            sorted(group, key=lambda one: one.submit_ns)
            for group in groups.values()
            if len(group) >= FEWEST_ITERATIONS
        ]
        times = [np.array([one.ran_ns - one.submit_ns for one in group]) for group in repeated]
        found = np.concatenate([np.diff(np.log(one)) for one in times]) if times else np.zeros(0)
        if not found.size or not facts.elapsed_ns:
            return None
        every = np.concatenate(times).astype(np.float64)
        spans = [(one.submit_ns, one.ran_ns) for group in repeated for one in group]
        return cls(
            count=every.size,
            differences=found.size,
            share=min(1.0, _covered_ns(spans) / facts.elapsed_ns),
            sd=_deviation(found),
            parts=float(every.sum() ** 2 / (every**2).sum()),
        )

    @property
    def suffice(self) -> bool:
        """Whether they stand for the whole."""
        return self.differences >= FEWEST_REPEATS and self.share >= REPEATED

    @property
    def ratio(self) -> float:
        """Half the 95 % interval of the whole: of what repeats, and as assumed of the rest.

        Repetitions within a run show nothing of what differs from one launch to the next.
        """
        repeated = NORMAL * self.sd / math.sqrt(self.parts)
        return math.hypot(self.share * repeated, (1 - self.share) * ALONE)

    @property
    def words(self) -> str:
        """Say what repeats."""
        return f"{self.count} stages repeat others, {units.percent(self.share)} of the time"


def _covered_ns(spans: list[tuple[int, int]]) -> int:
    """Give the time that at least one of some spans covers.

    Examples
    --------
    >>> _covered_ns([(5, 9), (0, 4), (2, 6)])
    9
    """
    covered = until = 0
    for begin, end in sorted(spans):
        covered += max(0, end - max(begin, until))
        until = max(until, end)
    return covered


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
    return _deviation(np.diff(times))


def _deviation(differences: Floats) -> float:
    """Give the standard deviation of what has such differences from one to the next."""
    return float(1.4826 * np.median(np.abs(differences)) / math.sqrt(2))
