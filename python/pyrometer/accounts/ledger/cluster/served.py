"""What those who serve shuffle blocks did while tasks waited for these: pure, no table, no clock.

A task waits for whichever block comes first, and from whom is not recorded. Of each instant of a
wait, threads that serve blocks elsewhere and were at work then share it alike, by what they did;
where none was, the blocks were on their way, or nobody knows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

KINDS = ("disk", "on_cpu", "run_queue", "gc_pause")
"""What serving threads can be at; whoever does nothing of these waits for requests."""
NETWORK, UNSEEN = "network_or_unknown", "not_observed"


@dataclass(frozen=True)
class Stretches:
    """Stretches of time on one axis, in ns, each at a place (a host, by number).

    Attributes
    ----------
    since, until : array of int64
        Begins and ends.
    place : array of int64
        Where; of waits, where the task waited.
    kind : array of int64
        Of work: which of `KINDS`; of others, nothing.
    error : array of int64
        How far off times there may be from those of any other place.
    """

    since: Ints
    until: Ints
    place: Ints
    kind: Ints
    error: Ints

    @classmethod
    def of(cls, *columns: Ints) -> Stretches:
        """Take columns; those that are missing are 0."""
        missing = [np.zeros_like(columns[0])] * (5 - len(columns))
        return cls(*columns, *missing)

    def at(self, place: int) -> Stretches:
        """Give those at a place."""
        there = self.place == place
        return Stretches(*(getattr(self, name)[there] for name in self.__dataclass_fields__))

    def __len__(self) -> int:
        return len(self.since)


@dataclass(frozen=True)
class Served:
    """Time of waits by what served them (ns, in sum over the waits).

    Attributes
    ----------
    parts : dict of str to float
        By each of `KINDS`, `NETWORK` and `UNSEEN`; they add up to the waits.
    most : dict of str to float
        What each can be at most: of `KINDS`, the time in which any thread was at it, its clock as
        far off as it may be.
    least_network : float
        Time in which surely no serving thread was at work.
    """

    parts: dict[str, float]
    most: dict[str, float]
    least_network: float

    def __add__(self, other: Served) -> Served:
        return Served(
            {name: self.parts[name] + other.parts[name] for name in self.parts},
            {name: self.most[name] + other.most[name] for name in self.most},
            self.least_network + other.least_network,
        )


def nothing() -> Served:
    """Give the sums of no wait."""
    names = (*KINDS, NETWORK, UNSEEN)
    return Served(dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0), 0.0)


def hidden(ns: float) -> Served:
    """Give the sums of waits of which nothing is known."""
    none = nothing()
    return Served(none.parts | {UNSEEN: ns}, none.most | {UNSEEN: ns}, 0.0)


def served(waits: Stretches, work: Stretches, unseen: Stretches) -> Served:
    """Divide waits for blocks by what serving threads at other places did in the same time.

    Parameters
    ----------
    waits : Stretches
        When tasks waited.
    work : Stretches
        When a thread that serves blocks was at work.
    unseen : Stretches
        When somebody who may have served was not observed.
    """
    found = nothing()
    if not len(waits):
        return found
    origin = int(waits.since.min())
    ends = [(s.since - s.error, s.since, s.until, s.until + s.error) for s in (work, unseen)]
    times = np.unique(np.concatenate([[origin], *(at for four in ends for at in four)]))
    width = np.diff(times).astype(np.float64)
    levels = _Levels.of(times, work, unseen)
    for place in np.unique(waits.place).tolist():
        mine = waits.at(place)
        elsewhere = levels - _Levels.of(times, work.at(place), unseen.at(place))
        found += _divided(mine, times, width, elsewhere)
    return found


@dataclass(frozen=True)
class _Levels:
    """How many threads are at what between instants, and how many unseen servers there are."""

    sure: Ints
    possible: Ints
    unseen: Ints

    @classmethod
    def of(cls, times: Ints, work: Stretches, unseen: Stretches) -> _Levels:
        def level(since: Ints, until: Ints) -> Ints:
            change = np.zeros(len(times), np.int64)
            np.add.at(change, np.searchsorted(times, since), 1)
            np.add.at(change, np.searchsorted(times, until), -1)
            summed: Ints = np.cumsum(change)[:-1]
            return summed

        kinds = [work.kind == kind for kind in range(len(KINDS))]
        early, late = work.since - work.error, work.until + work.error
        return cls(
            np.array([level(work.since[own], work.until[own]) for own in kinds]),
            np.array([level(early[own], late[own]) for own in kinds]),
            level(unseen.since, unseen.until),
        )

    def __sub__(self, other: _Levels) -> _Levels:
        return _Levels(
            self.sure - other.sure, self.possible - other.possible, self.unseen - other.unseen
        )


def _divided(waits: Stretches, times: Ints, width: Floats, levels: _Levels) -> Served:
    seen = levels.unseen <= 0
    threads = levels.sure.sum(axis=0)
    shares = np.where(seen & (threads > 0), levels.sure / np.maximum(threads, 1), 0.0)
    possible = seen & (levels.possible > 0)

    def inside(share: Floats) -> float:
        """Add up a share of every instant over the waits; outside of all times it is 0."""
        grown = np.concatenate([[0.0], np.cumsum(share * width)])
        at = (times - times[0]).astype(np.float64)
        since, until = (
            np.interp((end - times[0]).astype(np.float64), at, grown)
            for end in (waits.since, waits.until)
        )
        return float((until - since).sum())

    whole = float((waits.until - waits.since).sum())
    parts = {name: inside(shares[kind]) for kind, name in enumerate(KINDS)}
    parts[UNSEEN] = inside(np.where(seen, 0.0, 1.0))
    parts[NETWORK] = max(0.0, whole - sum(parts.values()))
    most = {name: inside(np.where(possible[kind], 1.0, 0.0)) for kind, name in enumerate(KINDS)}
    most |= {UNSEEN: parts[UNSEEN], NETWORK: whole - parts[UNSEEN]}
    busy = inside(np.where(possible.any(axis=0), 1.0, 0.0))
    return Served(parts, most, max(0.0, whole - parts[UNSEEN] - busy))
