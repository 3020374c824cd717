"""The agreement between who runs trials and who chooses them: ask, run, tell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from pyrometer.tune.space.space import Configuration

FULL = "full"
"""Name of the fidelity that is the job itself."""


@dataclass(frozen=True)
class Suggestion:
    """A trial that is worth its cost.

    Attributes
    ----------
    configuration : mapping of str to str
        Levels to set; empty: the baseline, as the user runs the job.
    fidelity : str
        ``full``, or the name of a cheaper stand-in that the caller offered.
    block : int
        Trials of one block run one after another, in random order; each block has a baseline.
    limit : float or None
        Time in ns after which the trial is stopped, and counts as censored.
    why : str
        In a few words for people: ``screening``, ``incumbent again``, ``expected gain 4 % …``.
    """

    configuration: Configuration
    fidelity: str = FULL
    block: int = 0
    limit: float | None = None
    why: str = ""


@dataclass(frozen=True)
class Observation:
    """What a trial showed.

    Attributes
    ----------
    value : float or None
        The objective (ns of elapsed time, core-ns, money, bytes): less is better. Of a censored
        trial the value that it had reached; ``None`` where it failed.
    censored : bool
        The true value is larger.
    failed : str or None
        Why it counts for nothing: it died, its results differed, a condition (``--subject-to``)
        did not hold.
    void : bool
        It was not launched, or was stopped by a queue, for a reason that passes: nothing is known
        of it, and it may be asked for again.
    cost : float
        Core-ns that the trial took, whatever became of it.
    canary : float or None
        Time of the canary around the trial over its median in this tuning; ``None``: none ran.
    metrics : mapping of str to float
        What else was measured, for conditions and fronts (``peak_memory`` in bytes …).
    """

    configuration: Configuration
    fidelity: str
    block: int
    value: float | None
    cost: float
    censored: bool = False
    failed: str | None = None
    void: bool = False
    canary: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Incumbent:
    """The configuration that is believed to be best, and by how much.

    Attributes
    ----------
    change : tuple of float
        Value, low and high end of its ratio to the baseline less one (-0.2: a fifth less).
    """

    configuration: Configuration
    change: tuple[float, float, float]
    trials: int


class Adviser(Protocol):
    """An engine: deterministic for its seed and what it was told, so a journal can replay it."""

    def ask(self) -> Suggestion | None:
        """Give the next trial; ``None``: nothing that is worth its cost is left."""
        ...

    def tell(self, seen: Observation) -> None:
        """Take in what a trial showed; also trials that nobody asked for (earlier work)."""
        ...

    def best(self) -> Incumbent | None:
        """Give the incumbent; ``None`` before there is one."""
        ...


@runtime_checkable
class TakesHints(Protocol):
    """An engine that has a use for what is known before any trial."""

    def hint(self, ideas: Sequence[Configuration], expected: Iterable[str] = ()) -> None:
        """Take configurations to try first, and factors that have an effect."""
        ...


@runtime_checkable
class TakesStandIns(Protocol):
    """An engine that has a use for cheap stand-ins of a run."""

    def offer(self, fidelity: str, share: float) -> None:
        """Take one, with its cost as a share of a full run's."""
        ...
