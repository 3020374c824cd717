"""Cheap stand-ins for a run: which is used, judged by ranks, and what of it runs in full."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from pyrometer.core import units
from pyrometer.core.estimate import Estimate
from pyrometer.tune.advise.adviser import FULL
from pyrometer.tune.advise.fidelity import (
    ALIKE,
    CHEAP,
    PAIRED,
    FidelityRank,
    misleading,
    spearman,
    spread,
)
from pyrometer.tune.advise.history import History, ranks
from pyrometer.tune.advise.model import Array
from pyrometer.tune.advise.race import standing
from pyrometer.tune.advise.screening import plackett_burman
from pyrometer.tune.advise.surrogate import Surrogate
from pyrometer.tune.space.cube import features, key
from pyrometer.tune.space.feasible import infeasible
from pyrometer.tune.space.space import Configuration, Space

SCREENING = 0.3
"""Largest part of the budget that goes into screening."""

FEWEST_KNOBS = 5
"""Below it nothing is screened."""

FEW = 2.0
"""Degrees of freedom that the prior of a stand-in's noise is worth."""


class StandIns:
    """The stand-ins that were offered; what is asked of them follows from a history alone."""

    def __init__(self) -> None:
        """Begin with none."""
        self._shares: dict[str, float] = {}
        self._late: set[str] = set()

    def offer(self, name: str, share: float, *, late: bool) -> None:
        """Take one, with its cost as a share of a full run's; a late one is never screened on."""
        self._shares[name] = share
        self._shares = dict(sorted(self._shares.items(), key=lambda one: one[1]))
        if late:
            self._late.add(name)

    def share(self, fidelity: str) -> float:
        """Give the cost of a trial over that of a full one."""
        return 1.0 if fidelity == FULL else self._shares[fidelity]

    def ranks(self, history: History) -> list[FidelityRank]:
        """Give how well each ranks what also ran in full, the cheapest first."""
        return [
            FidelityRank(name, share, rank := self._rank(history, name), misleading(rank))
            for name, share in self._shares.items()
        ]

    def _rank(self, history: History, name: str) -> Estimate:
        return spearman(*ranks(history, name))

    def misleading(self, history: History) -> set[str]:
        """Name those whose ranks speak against them."""
        return {one for one in self._shares if misleading(self._rank(history, one))}

    def screening(self, knobs: int, budget: float) -> str | None:
        """Name the one to screen on; ``None`` where it is not worth it."""
        trials = len(plackett_burman(knobs))
        for name, share in self._shares.items():
            if name in self._late:
                continue
            if share <= CHEAP and share * trials <= SCREENING * budget:
                return name if knobs >= FEWEST_KNOBS else None
        return None

    def next_fidelity(self, found: Surrogate, history: History, block: int) -> str:
        """Choose between the full run and a stand-in that ranks well, in turns.

        One whose ranks nobody knows is tried once, so that they become known.
        """
        last = {one.fidelity for one in history.seen if one.block == block - 1}
        bad = self.misleading(history)
        for name, share in self._shares.items():
            unknown = len(ranks(history, name)[0]) < PAIRED
            alike = name not in bad and (unknown or found.correlation(name) >= ALIKE)
            if share <= CHEAP and alike and name not in last and FULL in last:
                return name
        return FULL

    def to_compare(
        self, history: History, fidelity: str, again: Sequence[Configuration]
    ) -> list[dict[str, str]]:
        """Give what ran in full and is to run at a stand-in, so that its ranks can be judged.

        Parameters
        ----------
        again : sequence of mapping
            What runs there anyway.
        """
        there = history.known(fidelity)
        mine = {key(one) for one in again}
        missing = PAIRED - len(ranks(history, fidelity)[0]) - len(mine - there)
        left = [one for name, one in history.finished().items() if name not in there | mine]
        left.sort(key=lambda one: history.typical(one) or math.inf)
        return spread(left, missing)

    def promoted(
        self, space: Space, found: Surrogate, history: History, best: Configuration
    ) -> dict[str, tuple[dict[str, str], str]]:
        """Give what finished at a stand-in and lost no race there, by key, and at which.

        The race is against the incumbent, in the blocks of the stand-in that both ran in.
        """
        kept = {}
        sd = math.sqrt(2 * found.parameters.cheap_noise)
        for one, fidelity in history.without(self.misleading(history)).promising():
            apart = history.differences(one, best, fidelity)
            noise = sd, FEW + history.repeats(fidelity)
            if standing(apart, noise) != "behind" and infeasible(space, one) is None:
                kept[key(one)] = one, fidelity
        return kept

    def first(
        self,
        space: Space,
        found: Surrogate,
        promoted: Mapping[str, tuple[dict[str, str], str]],
        base: Array,
    ) -> tuple[dict[str, str], str] | None:
        """Give what was promoted and is believed to be best, if it is better than the incumbent.

        Parameters
        ----------
        base : array
            Features of the incumbent.
        """
        pool = [one for one, _ in promoted.values()]
        if not pool:
            return None
        means = found.differences(features(space, pool), base).mean
        at = int(np.argmin(means))
        if means[at] >= 0:
            return None
        return pool[at], f"believed to save {units.percent(-math.expm1(float(means[at])))}"
