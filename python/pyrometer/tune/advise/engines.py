"""Engines by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from pyrometer.core.errors import UsageError
from pyrometer.statistics.two import MARGIN
from pyrometer.trial.factors import did_you_mean
from pyrometer.tune.advise.adviser import Adviser
from pyrometer.tune.advise.own import RUNS, Own
from pyrometer.tune.advise.random_search import RandomSearch
from pyrometer.tune.advise.rules import Rules
from pyrometer.tune.advise.tpe import Tpe
from pyrometer.tune.space.space import Configuration, Space

ENGINES = ("own", "tpe", "random", "three-knobs", "rules")

THREE = (
    "spark.sql.shuffle.partitions",
    "spark.sql.autoBroadcastJoinThreshold",
    "spark.sql.files.maxPartitionBytes",
)
"""The knobs of Fabric's autotune (Microsoft, 2024)."""


class Unaided(Own):
    """Our engine that nobody tells anything, as Fabric's."""

    def hint(self, ideas: Sequence[Configuration], expected: Iterable[str] = ()) -> None:
        """Take nothing."""


def engine(
    name: str,
    space: Space,
    *,
    seed: int = 0,
    budget: float = 25.0,
    fidelities: Mapping[str, float] | None = None,
    ideas: Sequence[Configuration] = (),
    expected: Iterable[str] = (),
    margin: float = MARGIN,
    runs: float = RUNS,
    timed: bool = True,
    three: Sequence[str] = THREE,
) -> Adviser:
    """Make an engine; parameters that it has no use for are ignored.

    Parameters
    ----------
    name : str
        One of :data:`ENGINES`.
    three : sequence of str
        Knobs of the engine ``three-knobs``.

    The others are those of :class:`~pyrometer.tune.advise.own.Own`.

    Raises
    ------
    UsageError
        If there is no such engine, or it has nothing to turn in this space.
    CapabilityError
        If it is not installed.
    """
    if name == "random":
        return RandomSearch(space, seed=seed)
    if name == "tpe":
        return Tpe(space, seed=seed)
    if name == "rules":
        return Rules(space, ideas=ideas)
    if name not in ("own", "three-knobs"):
        remedy = did_you_mean(name, ENGINES) or f"use one of: {', '.join(ENGINES)}"
        raise UsageError(f"there is no engine {name!r}", remedy)
    made = Own if name == "own" else Unaided
    return made(
        space if name == "own" else only(space, three),
        seed=seed, budget=budget, fidelities=fidelities, ideas=ideas, expected=expected,
        margin=margin, runs=runs, timed=timed,
    )  # fmt: skip


def only(space: Space, factors: Sequence[str]) -> Space:
    """Keep some knobs of a space.

    Raises
    ------
    UsageError
        If it has none of them.
    """
    knobs = tuple(one for one in space.knobs if one.factor in factors)
    if not knobs:
        raise UsageError(
            f"the space {space.name} has none of {', '.join(factors)}",
            "choose another space, or another engine",
        )
    known = {one.factor for one in knobs} | set(space.facts or {})
    constraints = tuple(one for one in space.constraints if one.names <= known)
    return replace(space, knobs=knobs, constraints=constraints)
