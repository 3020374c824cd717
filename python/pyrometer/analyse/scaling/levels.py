"""Observations grouped by level: one level is one number of workers (and amount of work)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pyrometer.analyse.compare.two import mean_of
from pyrometer.estimate import Estimate

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
    """

    p: float
    value: float
    work: float = 1.0
    facts: Mapping[str, float] = field(default_factory=dict)


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
    """

    p: float
    work: float
    unit_time: float
    value: Estimate
    values: tuple[float, ...]
    facts: dict[str, list[float]]

    @property
    def n(self) -> int:
        """Runs behind it."""
        return len(self.values)

    @property
    def elapsed(self) -> float:
        """Elapsed time of a run of this level."""
        return self.unit_time * self.work

    def mean(self, fact: str) -> float | None:
        """Give the mean of a fact; ``None`` where no run has it."""
        found = self.facts.get(fact)
        return sum(found) / len(found) if found else None

    def per_work(self, fact: str) -> float | None:
        """Give the mean of a fact for one unit of work."""
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
    made = []
    for (p, work), members in sorted(groups.items()):
        # Sorted: sums must not depend on the order of rows.
        values = tuple(sorted(one.value for one in members))
        mean = mean_of(values)
        assert mean.value is not None
        facts = {
            name: sorted(one.facts[name] for one in members if name in one.facts) for name in FACTS
        }
        unit_time = mean.value / work if kind == "elapsed" else 1 / mean.value
        made.append(Level(p, work, unit_time, mean, values, facts))
    return made
