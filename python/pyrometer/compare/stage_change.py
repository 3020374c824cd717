"""What the change of one stage's time on the critical path consists of: exact, pure, no table.

The time in which a stage held the application up is: waiting to launch and finishing, as counted;
and the rest, which is the length of its tasks on its slots (`makespan`), times what is left over:
slots that other stages had, overlap with other stages, the order in which Spark launched tasks.

Slots, number of tasks, and what the tasks consist of change one after the other, and the effect of
each is its mean over all orders (Shapley 1953). What tasks consist of is moved from one side to the
other in a straight line, and at each step the tasks count that the end then waits for (Aumann and
Shapley 1974). Within a task, time is work of the stage × the task's share of it × cost of a unit;
logarithmic means split it without a rest (LMDI, Ang 2004). The effects add up to the change, and
the way back is minus the way there.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from pyrometer.compare.makespan import Floats, Tasks, last_chain, length

SLOTS, COUNT, INPUT, UNEVEN = "slots", "tasks", "input", "uneven_input"
OTHERS, OVERLAP, UNKNOWN = "other_stages", "overlap", "unknown"

_MANY = 2_000
_STEPS, _FEW_STEPS = 16, 3
"""Of many tasks a slot runs many, and one task more or less matters little."""
_NEAR = 1e-7
"""Closer ratios have no logarithm with enough digits."""


@dataclass(frozen=True)
class Held:
    """A stage of one side as the path saw it; seconds.

    Attributes
    ----------
    waits : mapping of str to float
        Time on the path in which none of its tasks ran, by cause.
    net : float
        The rest of its time on the path.
    others : float
        Share of `net` that slots were taken by tasks of other stages.
    tasks : Tasks or None
        None where they are unknown.
    slots : int
        Slots that there were.
    shares : mapping of int to mapping of str to float
        What a column of the tasks' times is made of, where samples tell: names to shares.
    """

    waits: Mapping[str, float] = field(default_factory=dict)
    net: float = 0.0
    others: float = 0.0
    tasks: Tasks | None = None
    slots: int = 1
    shares: Mapping[int, Mapping[str, float]] = field(default_factory=dict)

    @property
    def total(self) -> float:
        """Time on the path."""
        return self.net + sum(self.waits.values())


def stage_change(a: Held, b: Held, columns: Sequence[str]) -> dict[str, float]:
    """Split the change of a stage's time on the path, by cause; the values add up to it.

    Parameters
    ----------
    columns : sequence of str
        Names of what tasks' times consist of.

    Examples
    --------
    >>> per_task, rows = np.array([False]), np.full(8, 10.0)
    >>> one = Tasks(np.full((8, 1), 1.0), per_task, rows)
    >>> two = Tasks(np.full((8, 1), 2.0), per_task, 2 * rows)
    >>> stage_change(Held(net=2, tasks=one, slots=4), Held(net=4, tasks=two, slots=4), ["cpu"])
    {'input': 2.0}
    >>> stage_change(Held(net=2, tasks=one, slots=4), Held(net=4, tasks=one, slots=2), ["cpu"])
    {'slots': 2.0}
    """
    found: dict[str, float] = defaultdict(float)
    for wait in sorted(a.waits.keys() | b.waits.keys()):
        found[wait] += b.waits.get(wait, 0.0) - a.waits.get(wait, 0.0)
    if a.tasks is None or b.tasks is None or not a.tasks.count or not b.tasks.count:
        found[UNKNOWN] += b.net - a.net
        return _kept(found)
    first, second = length(a.tasks, a.slots).total, length(b.tasks, b.slots).total
    if first <= 0 or second <= 0:
        found[UNKNOWN] += b.net - a.net
        return _kept(found)
    used = (a.net / first + b.net / second) / 2
    for cause, seconds in _tasks_change(a, b, columns).items():
        found[cause] += used * seconds
    # The rest: net = length × use. What others' tasks took of it is known.
    mean = (first + second) / 2
    others = mean * (b.others * b.net / second - a.others * a.net / first)
    found[OTHERS] += others
    found[OVERLAP] += mean * (b.net / second - a.net / first) - others
    return _kept(found)


def _kept(found: Mapping[str, float]) -> dict[str, float]:
    return {cause: seconds for cause, seconds in found.items() if seconds}


def _tasks_change(a: Held, b: Held, columns: Sequence[str]) -> dict[str, float]:
    """Split the change of the tasks' length on their slots."""
    assert a.tasks is not None
    assert b.tasks is not None
    tasks, counts, slots = (a.tasks, b.tasks), (a.tasks.count, b.tasks.count), (a.slots, b.slots)

    @cache
    def split(content: int, count: int) -> Tasks:
        return tasks[content].split(count)

    @cache
    def total(content: int, count: int, slot: int) -> float:
        return length(split(content, count), slot).total

    @cache
    def moved(count: int, slot: int) -> dict[str, float]:
        return _content_change((split(0, count), split(1, count)), slot, (a, b), columns)

    found: dict[str, float] = defaultdict(float)
    # Shapley's weights of three players: 1/3 where none or both of the others moved, else 1/6.
    for x in (0, 1):
        for y in (0, 1):
            weight = 1 / 3 if x == y else 1 / 6
            content, count, slot = x, counts[x], slots[y]
            found[SLOTS] += weight * (
                total(content, counts[y], slots[1]) - total(content, counts[y], slots[0])
            )
            found[COUNT] += weight * (
                total(content, counts[1], slot) - total(content, counts[0], slot)
            )
            change = moved(count, slot)
            for cause, seconds in change.items():
                found[cause] += weight * seconds
            # Steps are finite: what they miss is nowhere.
            missed = total(1, count, slot) - total(0, count, slot) - math.fsum(change.values())
            found[OVERLAP] += weight * missed
    return found


def _content_change(
    tasks: tuple[Tasks, Tasks], slots: int, held: tuple[Held, Held], columns: Sequence[str]
) -> dict[str, float]:
    """Split the change of the length, of the same number of tasks on the same slots."""
    first, second = tasks
    names, effects = _effects(first, second, held, columns)
    start, end = first.parts.sum(axis=1), second.parts.sum(axis=1)
    if np.array_equal(start, end) and not effects.any():
        return {}
    steps = _STEPS if start.size <= _MANY else _FEW_STEPS
    found = np.zeros(len(names))
    for step in range(steps):
        share = (step + 0.5) / steps
        found += effects[last_chain(start + share * (end - start), slots)].sum(axis=0)
    return dict(zip(names, (found / steps).tolist(), strict=True))


def _effects(
    first: Tasks, second: Tasks, held: tuple[Held, Held], columns: Sequence[str]
) -> tuple[list[str], Floats]:
    """Split the change of each task, by cause: of a row, the effects add up to it."""
    volumes = float(first.volume.sum()), float(second.volume.sum())
    known = (first.volume > 0) & (second.volume > 0) & (min(volumes) > 0)
    more = math.log(volumes[1] / volumes[0]) if min(volumes) > 0 else 0.0
    share = np.zeros(first.count)
    share[known] = np.log(second.volume[known] / first.volume[known]) - more
    names, effects = [INPUT, UNEVEN], [np.zeros(first.count), np.zeros(first.count)]
    for number, column in enumerate(columns):
        x, y = first.parts[:, number], second.parts[:, number]
        for name, (ours, theirs) in _named(column, number, held).items():
            before, after = x * ours, y * theirs
            change = after - before
            if not first.per_task[number]:
                both = known & (before > 0) & (after > 0)
                mean = np.zeros(first.count)
                mean[both] = logarithmic_means(before[both], after[both])
                effects[0] += mean * more
                effects[1] += mean * share
                change = change - mean * (more + share)
            names.append(name)
            effects.append(change)
    return names, np.stack(effects, axis=1)


def _named(column: str, number: int, held: tuple[Held, Held]) -> dict[str, tuple[float, float]]:
    """Give the parts of a column by name, with their shares of it on both sides."""
    ours, theirs = (side.shares.get(number) for side in held)
    if not ours or not theirs:
        return {column: (1.0, 1.0)}
    return {
        f"{column}/{name}": (ours.get(name, 0.0), theirs.get(name, 0.0))
        for name in sorted(ours.keys() | theirs.keys())
    }


def logarithmic_means(x: Floats, y: Floats) -> Floats:
    """Give logarithmic means of positive numbers, pair by pair."""
    ratio = y / x
    near = np.abs(ratio - 1) < _NEAR
    found: Floats = np.where(near, (x + y) / 2, (y - x) / np.log(np.where(near, 2.0, ratio)))
    return found


def logarithmic_mean(x: float, y: float) -> float:
    """Give the logarithmic mean: the change divided by the change of the logarithm.

    Examples
    --------
    >>> logarithmic_mean(2.0, 2.0), round(logarithmic_mean(1.0, math.e), 4)
    (2.0, 1.7183)
    """
    if x == y:
        return x
    ratio = y / x
    if abs(ratio - 1) < _NEAR:
        return (x + y) / 2
    return (y - x) / math.log(ratio)
