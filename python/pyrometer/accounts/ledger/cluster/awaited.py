"""Time of executors that were not there, by what became of them: pure, no table, no clock."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
POD_ERROR_NS = 500_000_000
"""Kubernetes cuts times to whole seconds: of the middle of a second, half of one."""
PHASES = ("no_pod", "scheduling", "image_and_container")
"""What an executor without a process waited for, where it has a pod; in order of time."""


@dataclass(frozen=True)
class Executors:
    """Executors that registered; times in ns on one clock.

    Attributes
    ----------
    slots, since, until : array of int64
        Slots of each, and from when to when it was registered.
    began, error : array of int64
        When its process started, and how far off that may be; only where ``known``.
    known : array of bool
        Of which it is known when the process started.
    requested : array of int64
        When it was asked for; only where ``asked``.
    asked : array of bool
        Of which it is known when it was asked for.
    created, scheduled : array of int64
        When its pod was created, and had a node; only where ``podded``.
    podded : array of bool
        Of which that is known.
    decommissioned, lost : array of bool
        Which went because Spark decommissioned them, and which went otherwise.
    """

    slots: Ints
    since: Ints
    until: Ints
    began: Ints
    error: Ints
    known: NDArray[np.bool_]
    requested: Ints
    asked: NDArray[np.bool_]
    created: Ints
    scheduled: Ints
    podded: NDArray[np.bool_]
    decommissioned: NDArray[np.bool_]
    lost: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.slots)

    def phases_at(self, at: int, which: slice) -> tuple[NDArray[np.bool_], ...]:
        """Say of each of some executors which of `PHASES` it was in, if it had no process."""
        placed = self.scheduled[which] <= at
        created = (self.created[which] <= at) | placed
        return ~created, created & ~placed, placed


@dataclass
class Time:
    """Slot time of some executors, with what clocks leave open, and how many they are."""

    ns: int = 0
    low_ns: int = 0
    high_ns: int = 0
    n: int = 0

    def add(self, ns: int, less: int = 0, more: int = 0, n: int = 0) -> None:
        """Add a time that may be so much less, or so much more."""
        self.ns, self.low_ns, self.high_ns = (
            self.ns + ns,
            self.low_ns + ns - less,
            self.high_ns + ns + more,
        )
        self.n += n


@dataclass
class Awaited:
    """Slot time of executors that were asked for and were not there.

    Attributes
    ----------
    came_later : Time
        Before their processes started; they registered later.
    no_pod, scheduling, image_and_container : Time
        Of these, where they had pods: before the pod was created, until it had a node, and from
        there on.
    never_came : Time
        They never registered.
    starting : Time
        From the start of their processes until they registered.
    unsplit : Time
        Before they registered, of those of which it is not known when the process started.
    decommissioned, lost : Time
        They had been there, and none replaced them.
    """

    came_later: Time = field(default_factory=Time)
    no_pod: Time = field(default_factory=Time)
    scheduling: Time = field(default_factory=Time)
    image_and_container: Time = field(default_factory=Time)
    never_came: Time = field(default_factory=Time)
    starting: Time = field(default_factory=Time)
    unsplit: Time = field(default_factory=Time)
    decommissioned: Time = field(default_factory=Time)
    lost: Time = field(default_factory=Time)


@dataclass
class _Waits:
    """Of each executor: waiting before its process, after it, and where that is not known.

    ``uncounted`` is the time before its process of which it is not known that it was asked for;
    ``phases`` has a row for each of `PHASES`.
    """

    before: Ints
    after: Ints
    unsplit: Ints
    uncounted: Ints
    phases: Ints

    @classmethod
    def of(cls, count: int) -> _Waits:
        before, after, unsplit, uncounted, *phases = np.zeros((4 + len(PHASES), count), np.int64)
        return cls(before, after, unsplit, uncounted, np.array(phases))

    def add_to(self, found: Awaited, executors: Executors, slots: Ints) -> None:
        for number in np.flatnonzero(self.before + self.after + self.unsplit).tolist():
            n, error = int(slots[number]), int(executors.error[number])
            before, after = int(self.before[number]), int(self.after[number])
            ahead = before + int(self.uncounted[number])
            if before:
                found.came_later.add(n * before, n * min(error, before), n * min(error, after), n=1)
            if after:
                found.starting.add(n * after, n * min(error, after), n * min(error, ahead), n=1)
            # Both ends of a phase but the last are times of Kubernetes.
            errors = (POD_ERROR_NS, 2 * POD_ERROR_NS, POD_ERROR_NS + error)
            for phase, ns, off in zip(PHASES, self.phases[:, number].tolist(), errors, strict=True):
                if ns:
                    rest = before + after - ns
                    time: Time = getattr(found, phase)
                    time.add(n * ns, n * min(off, ns), n * min(off, rest), n=1)
            if self.unsplit[number]:
                found.unsplit.add(n * int(self.unsplit[number]), n=1)


def of_number(executors: Executors, wanted: int, stretches: Iterable[tuple[int, int]]) -> Awaited:
    """Account for an application that asked for a number of executors at its start.

    At each instant as many are missing as were asked for and are not there. Those that registered
    next are the first of them; then come those that had been there; the others never came.

    Parameters
    ----------
    executors : Executors
        Those that registered, in order of that.
    wanted : int
        How many it asked for.
    stretches : iterable of (int, int)
        The time to account for, within the application's life.
    """
    found, waits = Awaited(), _Waits.of(len(executors))
    each = int(np.median(executors.slots))
    ends = np.sort(executors.until)
    good, bad = (
        np.sort(executors.until[which]) for which in (executors.decommissioned, executors.lost)
    )
    inner = [executors.began[executors.known]]
    inner += [times[executors.podded] for times in (executors.created, executors.scheduled)]
    for first, last in stretches:
        cuts = np.concatenate([[first, last], executors.since, executors.until, *inner])
        marks = np.unique(np.clip(cuts, first, last))
        for begin, end in zip(marks[:-1].tolist(), marks[1:].tolist(), strict=True):
            length = end - begin
            came, gone, went_well, went = (
                int(np.searchsorted(times, begin, "right"))
                for times in (executors.since, ends, good, bad)
            )
            rest = max(0, wanted - (came - gone))
            next_ones = slice(came, min(came + rest, len(executors)))
            known = executors.known[next_ones]
            runs = known & (executors.began[next_ones] <= begin)
            waits.after[next_ones] += length * runs
            waits.before[next_ones] += length * (known & ~runs)
            podded = known & ~runs & executors.podded[next_ones]
            for number, when in enumerate(executors.phases_at(begin, next_ones)):
                waits.phases[number, next_ones] += length * (podded & when)
            waits.unsplit[next_ones] += length * ~known
            rest -= next_ones.stop - next_ones.start
            for time, many in ((found.decommissioned, went_well), (found.lost, went)):
                part = min(rest, many)
                time.add(part * length * each)
                rest -= part
            found.never_came.add(rest * length * each)
    waits.add_to(found, executors, np.full(len(executors), each))
    return found


def of_requests(executors: Executors, stretches: Sequence[tuple[int, int]]) -> Awaited:
    """Account for executors until they registered, as far as the times of each are known.

    Of one of which only the start of its process is known, or of its pod, that is from there on.
    """
    found, waits = Awaited(), _Waits.of(len(executors))
    podded = executors.known & executors.podded
    begun = np.minimum(executors.began, executors.since)
    placed = np.minimum(executors.scheduled, begun)
    created = np.minimum(executors.created, placed)
    asked = np.minimum(executors.requested, executors.since)
    ever = np.where(podded, created, np.where(executors.known, begun, executors.since))
    asked = np.where(executors.asked, asked, ever)
    begun = np.maximum(begun, asked)
    ends = [np.clip(times, asked, begun) for times in (created, placed)]
    for first, last in stretches:
        since, *inner, start, until = (
            np.clip(times, first, last) for times in (asked, *ends, begun, executors.since)
        )
        waits.before += np.where(executors.known, start - since, 0)
        waits.phases += np.where(podded, np.diff([since, *inner, start], axis=0), 0)
        waits.after += np.where(executors.known, until - start, 0)
        unasked = executors.known & ~executors.asked & ~podded & (start < until)
        waits.uncounted += np.where(unasked, start - first, 0)
        waits.unsplit += np.where(executors.known, 0, until - since)
    waits.add_to(found, executors, executors.slots)
    return found
