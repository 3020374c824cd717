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
MOST_POINTS = 50_000
"""Moments of waits that are looked at together."""


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


def served(
    waits: Stretches, work: Stretches, unseen: Stretches, most_points: int = MOST_POINTS
) -> Served:
    """Divide waits for blocks by what serving threads at other places did in the same time.

    Parameters
    ----------
    waits : Stretches
        When tasks waited.
    work : Stretches
        When a thread that serves blocks was at work.
    unseen : Stretches
        When somebody who may have served was not observed.
    most_points : int
        Where something changes within waits more often than that, so many moments of them are
        looked at, evenly spaced, and at least one of each.
    """
    if not len(waits):
        return nothing()
    points = _points(waits, work, unseen, most_points)
    return _divided(points, work, unseen)


@dataclass(frozen=True)
class _Points:
    """Moments of waits: when, where, and for how much time (ns) each of them stands."""

    at: Ints
    place: Ints
    weight: Floats


def _points(waits: Stretches, work: Stretches, unseen: Stretches, most: int) -> _Points:
    """Choose moments of waits: one wherever something changes; of too many, evenly spaced ones."""
    ends = [(s.since - s.error, s.since, s.until, s.until + s.error) for s in (work, unseen)]
    times = np.unique(np.concatenate([at for four in ends for at in four]))
    first = np.searchsorted(times, waits.since, "right")
    counts = 1 + np.maximum(0, np.searchsorted(times, waits.until, "left") - first)
    length = waits.until - waits.since
    exact = int(counts.sum()) <= most
    if not exact:
        counts = np.maximum(1, np.ceil(most * (length / max(1, int(length.sum()))))).astype(
            np.int64
        )
    owner = np.repeat(np.arange(len(waits)), counts)
    number = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    if not exact:
        each = length / counts
        at = waits.since[owner] + ((number + 0.5) * each[owner]).astype(np.int64)
        return _Points(at, waits.place[owner], each[owner])
    cuts = np.concatenate([times, [0]])
    at = np.where(number == 0, waits.since[owner], cuts[first[owner] + number - 1])
    is_last = number == counts[owner] - 1
    until = np.where(
        is_last, waits.until[owner], cuts[np.minimum(first[owner] + number, len(times))]
    )
    return _Points(at, waits.place[owner], (until - at).astype(np.float64))


def _elsewhere(points: _Points, since: Ints, until: Ints, place: Ints) -> Ints:
    """Count, for each moment, the stretches at other places that it lies in."""
    low, high = int(points.at.min()), int(points.at.max()) + 1
    width = high - low + 1

    def key(where: Ints, at: Ints) -> Ints:
        """Give moments of all places numbers, place by place."""
        found: Ints = (where + 1) * width + np.clip(at, low, high) - low
        return found

    def begun(ends: Ints) -> tuple[Ints, Ints]:
        every = np.searchsorted(np.sort(ends), points.at, "right")
        own = np.searchsorted(np.sort(key(place, ends)), key(points.place, points.at), "right")
        return every, own

    # Of stretches at places numbered before, as many begin as end.
    (begin, own_begin), (end, own_end) = begun(since), begun(until)
    found: Ints = (begin - end) - (own_begin - own_end)
    return found


def _divided(points: _Points, work: Stretches, unseen: Stretches) -> Served:
    seen = _elsewhere(points, unseen.since, unseen.until, unseen.place) <= 0
    weight = np.where(seen, points.weight, 0.0)
    early, late = work.since - work.error, work.until + work.error
    sure, most = [], dict[str, float]()
    busy = np.zeros(len(weight), bool)
    for kind, name in enumerate(KINDS):
        own = work.kind == kind
        sure.append(_elsewhere(points, work.since[own], work.until[own], work.place[own]))
        possible = _elsewhere(points, early[own], late[own], work.place[own]) > 0
        most[name] = float(weight[possible].sum())
        busy |= possible
    threads = sum(sure[1:], sure[0])
    shares = weight / np.maximum(threads, 1)
    parts = {name: float((at * shares).sum()) for name, at in zip(KINDS, sure, strict=True)}
    parts[NETWORK] = float(weight[threads <= 0].sum())
    parts[UNSEEN] = float(points.weight[~seen].sum())
    most |= {UNSEEN: parts[UNSEEN], NETWORK: float(weight.sum())}
    return Served(parts, most, float(weight[~busy].sum()))
