"""Choosing trials from candidates by what is believed of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pyrometer.core import units
from pyrometer.tune.advise.acquire import expected_cost, expected_improvement
from pyrometer.tune.advise.candidates import neighbours
from pyrometer.tune.advise.surrogate import Surrogate
from pyrometer.tune.space.cube import features, key
from pyrometer.tune.space.feasible import infeasible
from pyrometer.tune.space.space import Space

Array = NDArray[np.float64]

STARTS = 3
STEPS = 3
PLANNED = -1_000_000
"""Number of a block that no other trial is in."""


def choose(
    space: Space,
    found: Surrogate,
    pool: Sequence[dict[str, str]],
    base: Array,
    number: int,
    *,
    share: float = 1.0,
    limit: float = 2.0,
    runs: float | None = None,
) -> list[tuple[dict[str, str], str]]:
    """Choose the trials whose expected gain, by their cost, is largest, one after another.

    Each that was chosen is taken for what is believed of it (Ginsbourger et al. 2010).

    Parameters
    ----------
    base : array
        Features of the incumbent.
    share : float
        Cost of the fidelity, of a full run's.
    limit : float
        Multiple of the incumbent's time at which trials are stopped.
    runs : float, optional
        How many runs of the job a gain is for: nothing is chosen where no trial is worth its cost.

    Returns
    -------
    list of (dict, str)
        Configurations, and why.
    """
    chosen: list[tuple[dict[str, str], str]] = []
    if not pool:
        return chosen
    table, left = features(space, pool), list(range(len(pool)))
    dear = {one.factor for one in space.knobs if one.dear}
    for _ in range(min(number, len(pool))):
        belief = found.differences(table[left], base)
        gain = expected_improvement(belief)
        cost = share * expected_cost(belief, limit)
        cost = cost + np.array([1.0 * bool(dear & pool[at].keys()) for at in left])
        if runs is not None and not chosen and float((gain * runs / cost).max()) < 1:
            return []
        at = int(np.argmax(gain / cost))
        chosen.append(
            (pool[left[at]], f"expected gain {units.percent(-math.expm1(-float(gain[at])))}")
        )
        found = found.with_believed(table[left[at]], PLANNED)
        if belief.mean[at] < 0:
            # The next one has to be better than this one too.
            base = table[left[at]]
        left.pop(at)
    return chosen


def polished(
    space: Space,
    found: Surrogate,
    pool: Sequence[dict[str, str]],
    base: Array,
    active: Sequence[str],
    known: set[str],
) -> list[dict[str, str]]:
    """Improve the best candidates, one knob a step, as long as more is expected of them."""
    if not pool:
        return []
    worth = expected_improvement(found.differences(features(space, pool), base))
    seen = known | {key(one) for one in pool}
    better: list[dict[str, str]] = []
    for start in np.argsort(-worth)[:STARTS]:
        here, reached = pool[int(start)], float(worth[start])
        for _ in range(STEPS):
            beside = [one for one in neighbours(space, here, active) if key(one) not in known]
            if not beside:
                break
            gains = expected_improvement(found.differences(features(space, beside), base))
            order = [int(at) for at in np.argsort(-gains) if gains[at] > reached]
            at = next((one for one in order if infeasible(space, beside[one]) is None), None)
            if at is None:
                break
            here, reached = beside[at], float(gains[at])
            if key(here) not in seen:
                seen.add(key(here))
                better.append(here)
    return better
