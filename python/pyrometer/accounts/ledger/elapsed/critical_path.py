"""The critical path of an application, walked backwards from its end: pure, no table, no clock.

At each instant something held the application up: a stage, or the driver. A stage is followed back
to its submission, or, where it waited for slots, to the launch of its first task; from there the
path goes on with the stage that it waited for. What was not waiting for any stage is a gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

SAME_NS = 5_000_000
"""Event logs have whole milliseconds: instants closer than this are the same one."""
LINKED_NS = 200_000_000
"""A stage that ended at most so long before another's submission is taken to have caused it, also
where a third stage was running: a driver plans the next stage of a query within this time."""
_MOST_CANDIDATES = 64


@dataclass(frozen=True)
class StageTimes:
    """One stage attempt; times in ns on one clock.

    Attributes
    ----------
    submit, complete : int
        From its submission to its completion.
    first, last : int or None
        First launch and last finish of its tasks; None where it ran none.
    parents : tuple of int
        Positions of the stage attempts whose output it reads, in the sequence it is part of.
    job_submit : int or None
        When the job that it belongs to was submitted.
    """

    submit: int
    complete: int
    first: int | None = None
    last: int | None = None
    parents: tuple[int, ...] = ()
    job_submit: int | None = None


@dataclass(frozen=True)
class Stretch:
    """A part of the path: a stage by its position, or a gap (None)."""

    start: int
    end: int
    stage: int | None = None


def critical_path(stages: Sequence[StageTimes], start: int, end: int) -> list[Stretch]:
    """Say for every instant between `start` and `end` which stage, if any, held the end up.

    Returns
    -------
    list of Stretch
        In order of time, without holes or overlaps; neighbours differ.

    Examples
    --------
    >>> one, two = StageTimes(10, 40), StageTimes(50, 90)
    >>> [(s.start, s.end, s.stage) for s in critical_path([one, two], 0, 100)]
    [(0, 10, None), (10, 40, 0), (40, 50, None), (50, 90, 1), (90, 100, None)]

    A stage that waited for the slots of another is on the path from its first task on:

    >>> holder, waiter = StageTimes(0, 8e9, 0, 8e9), StageTimes(0, 9e9, 8e9, 9e9)
    >>> [(s.end / 1e9, s.stage) for s in critical_path([holder, waiter], 0, 9e9)]
    [(8.0, 0), (9.0, 1)]
    """
    found = _Walk(stages, start, end).run()
    merged: list[Stretch] = []
    for one in reversed(found):
        if merged and merged[-1].stage == one.stage:
            merged[-1] = Stretch(merged[-1].start, one.end, one.stage)
        else:
            merged.append(one)
    return merged


class _Walk:
    def __init__(self, stages: Sequence[StageTimes], start: int, end: int) -> None:
        self.stages, self.start, self.now = stages, start, end
        self.by_end = sorted(range(len(stages)), key=lambda n: stages[n].complete)
        self.active: list[int] = []
        self.found: list[Stretch] = []

    def run(self) -> list[Stretch]:
        following: int | None = None
        while self.now > self.start:
            self._move()
            chosen = self._before(following)
            if chosen is None:
                self._take(self.start, None)
                break
            self._take(max(self.start, min(self.now, self.stages[chosen].complete)), None)
            if self.now > self.start:
                self._follow(chosen)
            following = chosen
        return self.found

    def _take(self, since: int, stage: int | None) -> None:
        if since < self.now:
            self.found.append(Stretch(since, self.now, stage))
            self.now = since

    def _move(self) -> None:
        """Bring the list of active stages to the present instant."""
        while self.by_end and self.stages[self.by_end[-1]].complete >= self.now:
            self.active.append(self.by_end.pop())
        self.active = [n for n in self.active if self.stages[n].submit < self.now]

    def _before(self, following: int | None) -> int | None:
        """Choose the stage that the present instant waited for."""
        parent = self._parent(following)
        if parent is not None:
            return parent
        latest = self.by_end[-1] if self.by_end else None
        ended = [n for n in self.active if self.stages[n].complete - self.now <= SAME_NS]
        if ended:
            return min(ended, key=lambda n: self.stages[n].submit)
        if not self.active:
            return latest
        if latest is not None and self.now - self.stages[latest].complete <= LINKED_NS:
            return latest
        return min(self.active, key=lambda n: self.stages[n].complete)

    def _parent(self, following: int | None) -> int | None:
        """Find the parent that completed last, if it ran for the same job."""
        if following is None:
            return None
        stage = self.stages[following]
        ran = [
            n
            for n in stage.parents
            if self.stages[n].submit < self.now
            and self.stages[n].complete <= self.now + SAME_NS
            and (stage.job_submit is None or self.stages[n].complete >= stage.job_submit)
        ]
        return max(ran, key=lambda n: self.stages[n].complete, default=None)

    def _follow(self, number: int) -> None:
        """Take a stage from the present instant back to where the path came to it."""
        stage = self.stages[number]
        since = max(self.start, stage.submit)
        first = stage.first
        if first is None or first - since <= SAME_NS or first >= self.now:
            self._take(since, number)
            return
        holder = self._holder(number, since, first)
        if holder is None:
            self._take(since, number)
            return
        last = self.stages[holder].last
        self._take(first if last is None else max(since, min(first, last)), number)
        self._move()
        self._follow(holder)

    def _holder(self, waiting: int, since: int, first: int) -> int | None:
        """Find the stage whose tasks had the slots until `first`."""
        near = [n for n in self.active if n != waiting]
        for n in reversed(self.by_end[-_MOST_CANDIDATES:]):
            if self.stages[n].complete <= since:
                break
            near.append(n)
        ran = [n for n in near if self._ran_between(n, since, first)]
        freed = [n for n in ran if (self.stages[n].last or 0) <= first + SAME_NS]
        if freed:
            return max(freed, key=lambda n: self.stages[n].last or 0)
        return min(ran, key=lambda n: self.stages[n].complete, default=None)

    def _ran_between(self, number: int, since: int, first: int) -> bool:
        stage = self.stages[number]
        if stage.first is None or stage.last is None:
            return False
        return stage.first < first - SAME_NS and stage.last > since + SAME_NS
