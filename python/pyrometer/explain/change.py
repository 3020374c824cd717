"""What would be different without a cause: edits of a run's plan, for the simulator to schedule.

An edit says what is taken away or rearranged, at most: applied at a factor between 0 and 1 it goes
part of the way. Edits compose: what one has taken from a task, another of the same kind of time
does not take again, and no task gets shorter than nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pyrometer.explain.in_a_row import Taken, in_a_row, places
from pyrometer.simulation.measured import Floats, Measured

MOST_RATIO = 1000.0
"""A stage is never split, or joined, into more than so many times its tasks."""


@dataclass
class State:
    """A plan being edited; times in nanoseconds.

    Attributes
    ----------
    duration_ns : array
        Of all task attempts, by stage.
    gap_ns : array
        The driver's time before each node of the graph.
    tasks_ratio : array
        Tasks of each node, over those measured.
    startup_ratio : float
        Time until executors register, over the measured.
    locality_wait_ratio : float
        Time that tasks wait for a slot near their data, over what is set.
    slots_ratio : float
        Slots, over the measured.
    stays_ns : dict of str to float
        How much longer executors stay, by their names.
    core_ns : float
        Time of cores saved beside what tasks lose; negative where others do their work.
    taken : dict of str to Taken
        What was taken from tasks, by the kind of time.
    gap_taken : dict of str to array
        What was taken of the driver's time before each node, by kind.
    recounted : dict of int to float
        What other numbers of tasks cost so far, by number of the stage; negative: they save it.
    left : array or None
        Share of each task that stays in it where work is divided; None: it is nowhere.
    """

    first: Sequence[int]
    duration_ns: Floats
    gap_ns: Floats
    tasks_ratio: Floats
    startup_ratio: float = 1.0
    locality_wait_ratio: float = 1.0
    slots_ratio: float = 1.0
    stays_ns: dict[str, float] = field(default_factory=dict)
    core_ns: float = 0.0
    taken: dict[str, Taken] = field(default_factory=dict)
    gap_taken: dict[str, Floats] = field(default_factory=dict)
    recounted: dict[int, float] = field(default_factory=dict)
    left: Floats | None = None

    @classmethod
    def of(cls, measured: Measured, gap_ns: Sequence[float] | Floats) -> State:
        """Give the plan as it was measured."""
        return cls(
            measured.first_tasks,
            measured.tasks.duration_ns.copy(),
            np.array(gap_ns, dtype=np.float64),
            np.ones(len(gap_ns)),
        )

    def tasks(self, stage: int) -> slice:
        """Give the place of a stage's tasks, by the stage's number."""
        return slice(self.first[stage], self.first[stage + 1])


class Edit(Protocol):
    """One thing that would be different."""

    def apply(self, state: State, factor: float) -> None:
        """Change the plan, ``factor`` (0 to 1) of the way."""

    @property
    def stages(self) -> frozenset[int]:
        """Numbers of the stages that it concerns."""


@dataclass(frozen=True)
class Less:
    """Time that tasks would not need.

    Attributes
    ----------
    what : str
        Kind of the time, for example ``gc``, ``spill`` or ``cpu``: two edits that take the same
        time from a task take it once. Times that cannot be the same have different names.
    ns : mapping of int to array or float
        By number of the stage: nanoseconds of each of its tasks, or a share of their time.
    """

    what: str
    ns: Mapping[int, Floats | float]

    @property
    def stages(self) -> frozenset[int]:
        """Numbers of the stages whose tasks would need less."""
        return frozenset(self.ns)

    def apply(self, state: State, factor: float) -> None:
        """Take the time away, ``factor`` of it."""
        place, share, fixed = self._laid_out(state.first)
        taken, at = state.taken.setdefault(self.what, Taken()).of(place)
        now, before = state.duration_ns[place], taken[at]
        left: Floats | float = 1.0 if state.left is None else state.left[place]
        wanted = ((now + before) * share + fixed * left) * factor
        less = np.minimum(np.maximum(wanted - before, 0.0), now)
        taken[at] = before + less
        state.duration_ns[place] = now - less
        if state.left is not None:  # the other parts of a task are shorter, too
            state.core_ns += float((less * (1 / left - 1)).sum())

    def _laid_out(
        self, first: Sequence[int]
    ) -> tuple[slice | NDArray[np.intp], Floats | float, Floats | float]:
        """Give the places of all its tasks, and of each the share or the time that goes.

        Kept, as an edit is applied many times to plans of the same tasks: one number where all
        tasks have the same, and a slice where the places are next to one another.
        """
        known: tuple[slice | NDArray[np.intp], Floats | float, Floats | float] | None
        known = self.__dict__.get("_known")
        if known is None:
            spans = [(first[stage], first[stage + 1]) for stage in self.ns]
            counts = [end - begin for begin, end in spans]
            shares = [
                min(max(one, 0.0), 1.0) if isinstance(one, float) else 0.0
                for one in self.ns.values()
            ]
            amounts = [0.0 if isinstance(one, float) else one for one in self.ns.values()]
            known = (
                places(spans),
                in_a_row(shares, counts),
                np.nan_to_num(in_a_row(amounts, counts)),
            )
            self.__dict__["_known"] = known
        return known


@dataclass(frozen=True)
class Even:
    """Tasks of a stage would be alike.

    Attributes
    ----------
    numbers : sequence of int
        Numbers of the stages.
    conserved : bool
        The work stays, and is spread (skew); else what lies above the median goes away, as where
        a few tasks were slow for no work of their own (stragglers).
    keeps : float
        Time of a task that cannot be spread, in nanoseconds.
    onto : int or None
        Tasks of each stage that have all of its work; None: all that ran.
    """

    numbers: Sequence[int]
    conserved: bool = True
    keeps: float = 0.0
    onto: int | None = None

    @property
    def stages(self) -> frozenset[int]:
        """Numbers of the stages."""
        return frozenset(self.numbers)

    def apply(self, state: State, factor: float) -> None:
        """Bring the tasks together, ``factor`` of the way."""
        for stage in self.numbers:
            place = state.tasks(stage)
            now = state.duration_ns[place]
            ran = now > 0
            if not ran.any():
                continue
            if self.conserved and self.onto is not None and self.onto < ran.sum():
                target = np.zeros_like(now)
                target[np.argsort(-now, kind="stable")[: self.onto]] = max(
                    float(now.sum()) / self.onto, self.keeps
                )
            elif self.conserved:
                target = np.where(ran, max(float(now[ran].mean()), self.keeps), 0.0)
            else:
                target = np.minimum(now, max(float(np.median(now[ran])), self.keeps))
            state.duration_ns[place] = now + factor * (target - now)


@dataclass(frozen=True)
class Apart:
    """Of a stage, all but one task would be more and smaller: that one cannot be divided further.

    Attributes
    ----------
    number : int
        Number of the stage.
    keeps : float
        Time of the longest task that cannot be divided, in nanoseconds; the rest of the work is
        spread over the other tasks.
    """

    number: int
    keeps: float

    @property
    def stages(self) -> frozenset[int]:
        """Number of the stage."""
        return frozenset((self.number,))

    def apply(self, state: State, factor: float) -> None:
        """Bring the other tasks together, ``factor`` of the way."""
        place = state.tasks(self.number)
        now = state.duration_ns[place]
        others = int((now > 0).sum()) - 1
        if others < 1:
            return
        longest = int(now.argmax())
        kept = min(self.keeps, float(now[longest]))
        target = np.where(now > 0, (float(now.sum()) - kept) / others, 0.0)
        target[longest] = kept
        state.duration_ns[place] = now + factor * (target - now)


@dataclass(frozen=True)
class Recount:
    """Stages would have another number of tasks, with the same work in all.

    Of two that give a stage fewer tasks, or more, the one that goes further counts.

    Attributes
    ----------
    ratios : mapping of int to float
        Tasks over those measured, by number of the stage.
    per_task_ns : float
        What each task costs beside its work: it is saved with each task less, and paid for each
        one more.
    """

    ratios: Mapping[int, float]
    per_task_ns: float = 0.0

    @property
    def stages(self) -> frozenset[int]:
        """Numbers of the stages."""
        return frozenset(self.ratios)

    def apply(self, state: State, factor: float) -> None:
        """Change the number of tasks, ``factor`` of the way."""
        for stage, asked in self.ratios.items():
            ratio = 1 + factor * (min(max(asked, 1 / MOST_RATIO), MOST_RATIO) - 1)
            place = state.tasks(stage)
            now = state.duration_ns[place]
            count = now.size
            if not count:
                continue
            costs = (round(count * ratio) - count) * self.per_task_ns
            before, paid = state.tasks_ratio[stage], state.recounted.get(stage, 0.0)
            further = min if ratio < 1 else max
            same = (ratio < 1) == (before < 1)
            state.tasks_ratio[stage] = further(before, ratio) if same else before * ratio
            state.recounted[stage] = further(paid, costs) if same else paid + costs
            # The scheduler keeps the work: what more or fewer tasks cost is spread over these.
            more = (state.recounted[stage] - paid) / count
            state.duration_ns[place] = np.maximum(now + more, 0.0)


@dataclass(frozen=True)
class LessGap:
    """Time that the driver would not need between stages, by node of the graph.

    Attributes
    ----------
    what : str
        Kind of the time: two edits that take the same time from a gap take it once.
    """

    ns: Mapping[int, float]
    concerns: frozenset[int] = frozenset()
    what: str = "program"

    @property
    def stages(self) -> frozenset[int]:
        """Numbers of stages that it concerns."""
        return self.concerns

    def apply(self, state: State, factor: float) -> None:
        """Shorten the gaps, by ``factor`` of the time."""
        taken = state.gap_taken.setdefault(self.what, np.zeros_like(state.gap_ns))
        nodes = np.fromiter(self.ns.keys(), np.intp, len(self.ns))
        less = np.fromiter(self.ns.values(), np.float64, len(self.ns))
        now, before = state.gap_ns[nodes], taken[nodes]
        more = np.minimum(np.maximum(factor * less - before, 0.0), now)
        taken[nodes] = before + more
        state.gap_ns[nodes] = now - more


@dataclass(frozen=True)
class Sooner:
    """Executors would be there sooner: ``share`` of the time until they register goes away.

    Attributes
    ----------
    held_core_ns : float
        Time of their cores meanwhile, which somebody pays for.
    """

    share: float = 1.0
    held_core_ns: float = 0.0

    @property
    def stages(self) -> frozenset[int]:
        """It concerns no stage more than others."""
        return frozenset()

    def apply(self, state: State, factor: float) -> None:
        """Shorten the time until executors are there."""
        state.startup_ratio *= 1 - factor * min(max(self.share, 0.0), 1.0)
        state.core_ns -= factor * self.held_core_ns


@dataclass(frozen=True)
class Stay:
    """Executors that were lost would stay until others have taken their place.

    Attributes
    ----------
    ns : mapping of str to float
        How much longer, by the name of the executor.
    """

    ns: Mapping[str, float]

    @property
    def stages(self) -> frozenset[int]:
        """It concerns no stage more than others."""
        return frozenset()

    def apply(self, state: State, factor: float) -> None:
        """Keep them longer, by ``factor`` of the time."""
        for name, ns in self.ns.items():
            state.stays_ns[name] = max(state.stays_ns.get(name, 0.0), factor * ns)


@dataclass(frozen=True)
class NoLocalityWait:
    """Tasks would take any free slot at once, and not wait for one near their data."""

    numbers: Sequence[int] = ()

    @property
    def stages(self) -> frozenset[int]:
        """Numbers of the stages that it concerns most."""
        return frozenset(self.numbers)

    def apply(self, state: State, factor: float) -> None:
        """Shorten the wait."""
        state.locality_wait_ratio *= 1 - factor


@dataclass(frozen=True)
class LongestFirst:
    """The longest tasks of stages would be launched first."""

    numbers: Sequence[int]

    @property
    def stages(self) -> frozenset[int]:
        """Numbers of the stages."""
        return frozenset(self.numbers)

    def apply(self, state: State, factor: float) -> None:
        """Sort the tasks; in part: each takes so much of the length of the one it gives way to."""
        for stage in self.numbers:
            place = state.tasks(stage)
            now = state.duration_ns[place]
            state.duration_ns[place] = now + factor * (np.sort(now)[::-1] - now)


@dataclass(frozen=True)
class Slots:
    """The application would have another number of slots."""

    ratio: float

    @property
    def stages(self) -> frozenset[int]:
        """It concerns all stages."""
        return frozenset()

    def apply(self, state: State, factor: float) -> None:
        """Change the number of slots, ``factor`` of the way."""
        state.slots_ratio *= 1 + factor * (self.ratio - 1)


Change = tuple[Edit, ...]
"""What would be different without a cause, all together."""


def concerned(change: Change) -> frozenset[int]:
    """Give the numbers of the stages that a change concerns."""
    return frozenset().union(*(edit.stages for edit in change))
