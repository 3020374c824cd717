"""Observations grouped by level: one level is one number of workers (and amount of work).

Worker time is workers times elapsed time, times the slots of each; its parts add up to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel

from pyrometer.core.estimate import Estimate
from pyrometer.statistics.two import mean_of

Kind = Literal["elapsed", "throughput"]


@dataclass(frozen=True)
class Observation:
    """One measured run.

    Attributes
    ----------
    p : float
        Number of workers.
    value : float
        Elapsed time, or throughput.
    work : float
        Amount of work that it did, in any unit.
    facts : mapping of str to float
        What else is known of it, by name (see :data:`FACTS`).
    slots : float
        Tasks that each worker runs at once.
    """

    p: float
    value: float
    work: float = 1.0
    facts: Mapping[str, float] = field(default_factory=dict)
    slots: float = 1.0


FACTS = ("cpu", "run_time", "gc", "bandwidth")
"""Facts of a run: CPU time, run time and garbage collection of its tasks (sums over tasks, in the
unit of elapsed time), and memory throughput (in any unit)."""


@dataclass(frozen=True)
class Level:
    """All runs at one number of workers that did the same amount of work.

    Attributes
    ----------
    unit_time : float
        Elapsed time for one unit of work: mean, or the reciprocal of the mean throughput.
    value : Estimate
        Mean with Student's interval, as given.
    facts : dict of str to list of float
        Values of the runs that have them.
    slots : float
        Tasks that each worker runs at once.
    """

    p: float
    work: float
    unit_time: float
    value: Estimate
    values: tuple[float, ...]
    facts: dict[str, list[float]]
    slots: float = 1.0

    @property
    def n(self) -> int:
        """Runs it was measured in."""
        return len(self.values)

    @property
    def elapsed(self) -> float:
        """Elapsed time of a run of this level."""
        return self.unit_time * self.work

    def mean(self, fact: str) -> float | None:
        """Return the mean of a fact; ``None`` where no run has it."""
        found = self.facts.get(fact)
        return sum(found) / len(found) if found else None

    def per_work(self, fact: str) -> float | None:
        """Return the mean of a fact for one unit of work."""
        found = self.mean(fact)
        return None if found is None else found / self.work


def levels_of(observations: Sequence[Observation], kind: Kind) -> list[Level]:
    """Group observations, whatever their order, by workers and work; the fewest workers first.

    Examples
    --------
    >>> rows = [Observation(2, 6.0), Observation(1, 10.0), Observation(2, 4.0)]
    >>> found = levels_of(rows, "elapsed")
    >>> [(one.p, one.unit_time, one.n) for one in found]
    [(1, 10.0, 1), (2, 5.0, 2)]
    """
    groups: dict[tuple[float, float], list[Observation]] = {}
    for one in observations:
        groups.setdefault((one.p, one.work), []).append(one)
    levels = []
    for (p, work), members in sorted(groups.items()):
        # Sorted: sums must not depend on the order of rows.
        values = tuple(sorted(one.value for one in members))
        mean = mean_of(values)
        assert mean.value is not None
        facts = {
            name: sorted(one.facts[name] for one in members if name in one.facts) for name in FACTS
        }
        unit_time = mean.value / work if kind == "elapsed" else 1 / mean.value
        levels.append(Level(p, work, unit_time, mean, values, facts, members[0].slots))
    return levels


PARTS = ("cpu", "gc", "wait", "idle")


class WorkerTime(BaseModel):
    """Workers times elapsed time for one unit of work, and its parts, which sum up to it.

    Where a worker runs several tasks at once, it is that of all their slots.

    Attributes
    ----------
    total : float
        In the unit of elapsed time.
    cpu : float or None
        On a CPU, in tasks.
    gc : float or None
        Garbage collection during tasks.
    wait : float or None
        Rest of tasks' run time: waiting for a CPU, input, output, locks.
    idle : float or None
        Slots without a task.
    """

    total: float
    cpu: float | None
    gc: float | None
    wait: float | None
    idle: float | None

    def minus(self, other: WorkerTime) -> WorkerTime:
        """Return what this has more than another, part by part."""
        differences: dict[str, float | None] = {"total": self.total - other.total}
        for name in PARTS:
            mine, its = getattr(self, name), getattr(other, name)
            differences[name] = None if mine is None or its is None else mine - its
        return WorkerTime.model_validate(differences)

    def largest(self) -> tuple[str, float] | None:
        """Return the largest part, and its share of the total; ``None`` where none is known."""
        known = {name: one for name in PARTS if (one := getattr(self, name)) is not None}
        if not known or self.total <= 0:
            return None
        name = max(known, key=lambda one: known[one])
        return name, known[name] / self.total


def worker_time(level: Level) -> WorkerTime:
    """Divide the workers' time of a level, as far as its facts go."""
    total = level.p * level.slots * level.unit_time
    run, cpu, gc = (level.per_work(name) for name in ("run_time", "cpu", "gc"))
    wait = None if run is None or cpu is None else run - cpu - (gc or 0.0)
    return WorkerTime(
        total=total, cpu=cpu, gc=gc, wait=wait, idle=None if run is None else total - run
    )


def cpus_used(level: Level) -> float | None:
    """CPUs that tasks kept busy on average."""
    cpu = level.mean("cpu")
    return None if cpu is None else cpu / level.elapsed


def cpu_of_work(levels: Sequence[Level]) -> list[tuple[Level, float]]:
    """Return the levels of which the CPU time of a unit of work is known, each with it."""
    return [(one, cpu) for one in levels if (cpu := one.per_work("cpu"))]


def nearest_below(levels: Sequence[Level], p: float) -> Level:
    """Return the last level with at most so many workers, else the first."""
    found = [one for one in levels if one.p <= p]
    return found[-1] if found else levels[0]
