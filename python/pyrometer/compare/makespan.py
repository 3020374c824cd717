"""How long tasks take on a number of slots, and which of them the end waited for: pure, no table.

Spark hands a free slot the next task. The slot that is done last ran its tasks one after the other:
their times add up to the length, so whatever the times consist of adds up to it as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heapreplace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Tasks:
    """Tasks of a stage in the order of their launch.

    Attributes
    ----------
    parts : array
        Time of each task (rows) by what it consists of (columns), in seconds.
    per_task : array of bool
        Of each column, whether a task costs it however little work it has.
    volume : array
        Work of each task: rows or bytes; zeros where it is unknown.
    """

    parts: Floats
    per_task: NDArray[np.bool_]
    volume: Floats

    @property
    def count(self) -> int:
        """Number of tasks."""
        return int(self.parts.shape[0])

    def split(self, count: int) -> Tasks:
        """Give the same work to another number of tasks; what each task costs is paid by each."""
        if count == self.count or not self.count:
            return self
        of = np.arange(count) * self.count // count
        if count < self.count:
            # Several tasks become one: their work is added up, and rescaled to keep the sum.
            into = np.arange(self.count) * count // self.count
            parts = np.zeros((count, self.parts.shape[1]))
            np.add.at(parts, into, self.parts)
            sizes = np.bincount(into, minlength=count)
            parts[:, self.per_task] /= sizes[:, None]
            return Tasks(
                parts, self.per_task, np.bincount(into, self.volume, count).astype(np.float64)
            )
        copies = np.bincount(of, minlength=self.count)[of]
        parts = self.parts[of]
        parts[:, ~self.per_task] /= copies[:, None]
        volume = self.volume[of] / copies
        return Tasks(parts, self.per_task, volume)


@dataclass(frozen=True)
class Length:
    """Length of a stage.

    Attributes
    ----------
    parts : array
        By what the time consists of, in seconds: of the tasks on the slot that was done last.
    volume : float
        Their work.
    """

    parts: Floats
    volume: float

    @property
    def total(self) -> float:
        """Length in seconds."""
        return float(self.parts.sum())


def length(tasks: Tasks, slots: int) -> Length:
    """Schedule tasks on slots.

    Examples
    --------
    >>> parts = np.array([[3.0, 0.0], [1.0, 1.0], [1.0, 0.5]])
    >>> three = Tasks(parts, np.array([False, True]), np.array([30.0, 10.0, 10.0]))
    >>> length(three, 2).parts.tolist(), length(three, 2).volume
    ([2.0, 1.5], 20.0)
    >>> length(three, 3).total, length(three.split(6), 6).total
    (3.0, 1.5)
    """
    chain = last_chain(tasks.parts.sum(axis=1), slots)
    return Length(tasks.parts[chain].sum(axis=0), float(tasks.volume[chain].sum()))


def last_chain(durations: Floats, slots: int) -> Ints:
    """Give the tasks of the slot that is done last, in order."""
    count = durations.size
    if not count:
        return np.zeros(0, dtype=np.int64)
    slots = max(1, slots)
    if count <= slots:
        return np.array([int(durations.argmax())])
    if slots == 1:
        return np.arange(count)
    times = durations.tolist()
    free = [(times[n], n) for n in range(slots)]
    heapify(free)
    before = [-1] * count
    for n in range(slots, count):
        at, who = free[0]
        before[n] = who
        heapreplace(free, (at + times[n], n))
    _, at_end = max(free)
    chain = []
    while at_end >= 0:
        chain.append(at_end)
        at_end = before[at_end]
    return np.array(chain[::-1], dtype=np.int64)
