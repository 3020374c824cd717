"""Seconds that a change saves: the application scheduled again with it, gaps and all.

The saving is the simulated elapsed time without and with the change, as a share of the simulated,
of the measured elapsed time: it never exceeds that. What lies off the critical path saves nothing.

Its interval (90 %) adds in quadrature, each side for itself,

- how much of the change is sure: sampling, and what the remedy itself costs (low, high);
- the simulator's error: the spread of the saving over 19 replicates in which each stage's tasks are
  off by the error of another stage (`pyrometer.simulation.intervals`), or, with too few stages to
  judge by, its error for the whole application, at least `LEAST_ERROR`;
- how far predictions of the rule were off when they were tried (`pyrometer.verification.learned`).
  That error holds the other two as well, so the interval is rather too wide than too narrow. Once
  it is of enough jobs, it takes the place of what the rule only assumes of its remedy: wider or
  narrower, but never narrower than sampling and the simulator allow. Where these trials saved
  another share of what had been predicted, all of it is multiplied by their median.
"""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from pyrometer.core.estimate import Estimate
from pyrometer.explain.change import Change, State
from pyrometer.explain.schema import Earlier
from pyrometer.simulation.cluster import Description, Shape, cluster_of
from pyrometer.simulation.intervals import draw_errors
from pyrometer.simulation.known import Known
from pyrometer.simulation.measured import Floats
from pyrometer.simulation.scheduler import Calibrated

LEVEL = 0.9
TRACE = 1e-3
"""Of a saving: a loss that is smaller is none, as where a schedule came out worse by chance."""
LEAST_ERROR = 0.05
"""Relative error of a saving where it cannot be judged: what the simulator's documentation calls
a large error (docs/reference/simulate.md)."""
MOST_REPLICATED = 20_000
"""Tasks and nodes of the graph up to which each saving has replicates of its own; in larger runs
the spread of the replicates of the whole application counts, relative to the saving: 19 schedules
take too long."""
METHOD = "simulated; sampling, remedy, simulator and earlier trials in quadrature"


@dataclass(frozen=True)
class Extent:
    """How much of a change comes true: 1 is all of it.

    Attributes
    ----------
    value, low, high : float
        What is expected, and the bounds of it.
    n : int
        Observations behind it.
    sampled : tuple of float, optional
        Bounds by sampling alone, where the others hold what is assumed of the remedy, too.
    """

    value: float = 1.0
    low: float = 1.0
    high: float = 1.0
    n: int = 1
    sampled: tuple[float, float] | None = field(default=None, repr=False, compare=False)

    def times(self, low: float, high: float) -> Extent:
        """Give the extent where the remedy itself achieves between `low` and `high` of it.

        Examples
        --------
        >>> Extent(0.9, 0.8, 1.0, n=20).times(0.5, 1.0)
        Extent(value=0.675, low=0.4, high=1.0, n=20)
        """
        middle = (low + high) / 2
        least, most = self.sampled or (self.low, self.high)
        return Extent(
            self.value * middle, self.low * low, self.high * high, self.n,
            (least * middle, most * middle),
        )  # fmt: skip

    def ends(self, tried: bool) -> tuple[float, float]:
        """Give the bounds; where the remedy was tried often enough, without what is assumed of it.

        Examples
        --------
        >>> one = Extent(0.9, 0.8, 1.0, n=20).times(0.5, 1.0)
        >>> one.ends(tried=False), one.ends(tried=True), Extent(0.5, 0.2, 0.9).ends(tried=True)
        ((0.4, 1.0), (0.6000000000000001, 0.75), (0.2, 0.9))
        """
        return self.sampled if tried and self.sampled else (self.low, self.high)


ALL = Extent()
"""All of a change comes true."""


@dataclass(frozen=True)
class Part:
    """A change, how much of it comes true, and how such predictions fared before."""

    change: Change
    extent: Extent = ALL
    earlier: Earlier | None = None

    @property
    def factors(self) -> tuple[float, float, float]:
        """How much of it is expected, and the bounds of that."""
        tried = self.earlier is not None and self.earlier.is_enough
        return self.extent.value, *self.extent.ends(tried)

    @property
    def bias_ratio(self) -> float:
        """What is saved of what is predicted without earlier trials."""
        return 1.0 if self.earlier is None else self.earlier.bias_ratio


Asked = Sequence[tuple[Change, float]]
"""Changes, in their order, and how much of each."""
Key = tuple[tuple[int, float], ...]
"""The same by the identities of changes."""


@dataclass
class WhatIf:
    """An application, and how long it would take otherwise."""

    calibrated: Calibrated
    seed: int = 0
    _known: dict[Key, float] = field(default_factory=dict)
    _saved_core_ns: dict[Key, float] = field(default_factory=dict)
    _kept: dict[int, Change] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Remember the schedule that the others are made from."""
        self._schedule = Known(self.calibrated.plan, self.calibrated.cluster(Shape()))

    @property
    def measured_ns(self) -> int:
        """Measured elapsed time of the window."""
        return self.calibrated.measured.elapsed_ns

    @property
    def simulated_ns(self) -> float:
        """The same as it is simulated."""
        return self.calibrated.schedule.elapsed_ns

    @cached_property
    def core_ns(self) -> float:
        """Time of all tasks."""
        return float(self.calibrated.plan.tasks.duration_ns.sum())

    @cached_property
    def _drawn(self) -> Floats | None:
        known = self.calibrated
        return draw_errors(known.measured_ns, known.simulated_ns, len(known.graph.after), self.seed)

    def state(self, parts: Asked) -> State:
        """Apply changes, in their order, to the plan as it was measured."""
        state = State.of(self.calibrated.measured, self.calibrated.plan.delay_ns)
        for change, factor in parts:
            for edit in change:
                edit.apply(state, factor)
        return state

    def _key(self, parts: Asked) -> Key:
        # What is kept has its identity for itself.
        self._kept.update((id(change), change) for change, _ in parts)
        return tuple((id(change), factor) for change, factor in parts)

    def elapsed(self, parts: Asked) -> float:
        """Give the simulated elapsed time with changes, in nanoseconds."""
        key = self._key(parts)
        if key not in self._known:
            self.foresee([parts])
        return self._known[key]

    def foresee(self, asked: Iterable[Asked], least_ratio: float = -math.inf) -> None:
        """Compute elapsed times that will be asked for, on all CPUs.

        Parameters
        ----------
        least_ratio : float
            Share of the elapsed time: of changes that cannot save as much, none is computed.
        """
        keys: dict[Key, None] = {}

        def states() -> Iterator[State]:
            for parts in asked:
                key = self._key(parts)
                if key in self._known or key in keys:
                    continue
                state = self.state(parts)
                if least_ratio > -math.inf and self._most_saved_ratio(state) < least_ratio:
                    continue
                keys[key] = None
                saved_ns = self.core_ns - float(state.duration_ns.sum()) + state.core_ns
                self._saved_core_ns[key] = saved_ns
                yield state

        times = self.of_states(states())
        self._known.update(zip(keys, times, strict=True))

    def is_known(self, parts: Asked) -> bool:
        """Whether the elapsed time with changes was computed."""
        return self._key(parts) in self._known

    def _most_saved_ratio(self, state: State) -> float:
        """Give the most that changes can save together: all that they take away, in a row.

        That is without a schedule. A list schedule may save more by another order of its tasks;
        that is luck, and none of the changes' doing. What is not time taken away is not bounded.
        """
        plan = self.calibrated.plan
        others = (state.startup_ratio, state.locality_wait_ratio, state.slots_ratio)
        if any(one != 1.0 for one in others) or (state.tasks_ratio != 1).any() or state.stays_ns:
            return math.inf
        less = np.maximum(plan.tasks.duration_ns - state.duration_ns, 0.0).sum()
        less += np.maximum(plan.delay_ns - state.gap_ns, 0.0).sum()
        return float(less) / self.simulated_ns if self.simulated_ns else 0.0

    def of_states(self, states: Iterable[State]) -> list[float]:
        """Give the simulated elapsed times of edited plans, in nanoseconds, on all CPUs."""
        workers = cpus()
        waiting: deque[Future[float]] = deque()
        found: list[float] = []
        with ThreadPoolExecutor(workers) as pool:
            for state in states:
                # Few are kept at once: an edited plan is as large as the plan.
                if len(waiting) >= workers:
                    found.append(waiting.popleft().result())
                waiting.append(pool.submit(self.of_state, state))
            return found + [one.result() for one in waiting]

    def of_state(self, state: State) -> float:
        """Give the simulated elapsed time of an edited plan, in nanoseconds."""
        return self._elapsed(state)[0]

    def saved_ratio(self, parts: Asked) -> float:
        """Give the share of the elapsed time that changes save together; negative: they cost."""
        return 1 - self.elapsed(parts) / self.simulated_ns if self.simulated_ns else 0.0

    def saving(self, parts: Sequence[Part]) -> tuple[Estimate, Estimate]:
        """Give the saving of changes together: elapsed time and time of cores, in nanoseconds.

        Returns
        -------
        (Estimate, Estimate)
            The elapsed time's never exceeds the measured elapsed time.
        """
        asked = [[(part.change, part.factors[side]) for part in parts] for side in range(3)]
        self.foresee(asked)
        middle = asked[0]
        plain = self.saved_ratio(middle)
        bias = self._bias_ratio(parts, plain)
        value, *ends = [bias * self.saved_ratio(one) for one in asked]
        below, above = (abs(bias) * error for error in self._model(middle, plain))
        known = [part.earlier.error_ratio for part in parts if part.earlier is not None]
        earlier = max(known, default=0.0) * abs(plain)
        low = value - math.hypot(value - min(value, *ends), below, earlier)
        # Errors that are shares of a saving, none of which makes a loss of it, make none together.
        worst = min(*ends, value - below, value - earlier)
        low = 0.0 if low < 0 <= worst + TRACE * abs(value) else low
        high = value + math.hypot(max(value, *ends) - value, above, earlier)
        n = min((part.extent.n for part in parts), default=0)
        elapsed = [min(one, 1.0) * self.measured_ns for one in (value, low, high)]
        return (
            _estimate(elapsed, n),
            _estimate([bias * self._saved_core_ns[self._key(one)] for one in asked], n),
        )

    def _bias_ratio(self, parts: Sequence[Part], saved: float) -> float:
        """Give the bias of changes together: of those in a row by what they add to those before."""
        biases = [part.bias_ratio for part in parts]
        if not saved or len(set(biases)) < 2:
            return biases[0] if biases else 1.0
        asked = [(part.change, part.extent.value) for part in parts]
        last = [n for n, pair in enumerate(pairwise([*biases, None])) if pair[0] != pair[1]]
        upto = [[], *(asked[: n + 1] for n in last)]
        self.foresee(upto)
        added = np.diff([self.saved_ratio(one) for one in upto])
        return float(added @ [biases[n] for n in last]) / saved

    def _model(self, parts: Asked, value: float) -> tuple[float, float]:
        """Give how far the saving may be off, to below and above, by the simulator's errors."""
        drawn = self._drawn
        if drawn is None:
            error = max(abs(self.calibrated.error_ratio), LEAST_ERROR) * abs(value)
            return error, error
        without = self.replicates
        plan = self.calibrated.plan
        if plan.tasks.duration_ns.size + len(plan.counts) > MOST_REPLICATED:
            error = (max(without) - min(without)) / 2 / max(min(without), 1.0) * abs(value)
            return error, error
        changed = self._replicated(self.state(parts), drawn)
        ratios = [1 - one / base for one, base in zip(changed, without, strict=True) if base]
        return max(0.0, value - min(ratios)), max(0.0, max(ratios) - value)

    @cached_property
    def replicates(self) -> list[float]:
        """Elapsed times of the run as it was, with the errors of each replicate."""
        return [] if self._drawn is None else self._replicated(self.state([]), self._drawn)

    def _replicated(self, state: State, drawn: Floats) -> list[float]:
        """Give the simulated elapsed times with the errors of each replicate, on all CPUs."""
        workers = cpus()
        with ThreadPoolExecutor(workers) as pool:
            parts = np.array_split(drawn, min(workers, len(drawn)))
            found = pool.map(lambda part: self._elapsed(state, part), parts)
            return [one for part in found for one in part]

    def _cluster(self, state: State) -> Description:
        """Give the executors, some of which stay longer."""
        shape, calibrated = Shape(state.slots_ratio), self.calibrated
        if not state.stays_ns:
            return calibrated.cluster(shape)
        longer = [
            one if one.remove_ns is None
            else replace(
                one, remove_ns=one.remove_ns + round(state.stays_ns.get(one.executor_id, 0.0))
            )
            for one in calibrated.measured.executors
        ]  # fmt: skip
        measured = replace(calibrated.measured, executors=longer)
        return cluster_of(measured, calibrated.graph, shape, calibrated.startup_ns)

    def _elapsed(self, state: State, stretches: Floats | None = None) -> list[float]:
        calibrated = self.calibrated
        cluster = self._cluster(state)
        if state.startup_ratio != 1.0:
            cluster = [_sooner(executor, state.startup_ratio) for executor in cluster]
        others = np.flatnonzero(state.tasks_ratio != 1)
        ratios = dict(zip(others.tolist(), state.tasks_ratio[others].tolist(), strict=True))
        base = {"tasks_ratios": ratios} if ratios else {}
        scenarios = (
            [base]
            if stretches is None
            else [{**base, "stretch": number} for number in range(len(stretches))]
        )
        return self._schedule.elapsed_ns(
            state.duration_ns,
            state.gap_ns,
            calibrated.plan.locality_wait_ns * state.locality_wait_ratio,
            cluster,
            scenarios,
            () if stretches is None else stretches,
        )


def cpus() -> int:
    """Give the number of CPUs that this process may use."""
    workers = os.process_cpu_count() if hasattr(os, "process_cpu_count") else os.cpu_count()
    return workers or 1


def _sooner(executor: dict[str, Any], ratio: float) -> dict[str, Any]:
    node, after = executor["add"]
    return {**executor, "add": (node, after * ratio)}


def _estimate(values: Sequence[float], n: int) -> Estimate:
    value, low, high = values
    return Estimate(
        value=value, low=min(low, high, value), high=max(low, high, value), level=LEVEL, n=n,
        method=METHOD,
    )  # fmt: skip
