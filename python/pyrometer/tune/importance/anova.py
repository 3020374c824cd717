"""Importance: what share of all variation each knob has, and which pairs depend on each other.

Functional analysis of variance (Hooker 2007; Hutter, Hoos and Leyton-Brown 2014) of the surrogate:
the variance of a knob's average effect over its levels, and what two knobs do together beyond
that. Intervals are those of functions drawn from the belief.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from pyrometer.core.estimate import LEVEL, Estimate
from pyrometer.tune.advise.surrogate import Surrogate
from pyrometer.tune.importance.slices import Slices
from pyrometer.tune.space.space import Space

Array = NDArray[np.float64]

DRAWS = 400
PAIRED = 6
"""Knobs whose pairs are looked at: those with the largest effects of their own."""
METHOD = "functional anova"


class Importance(BaseModel):
    """One knob.

    Attributes
    ----------
    share : Estimate
        Of the variance of log values over the whole space.
    effect : Estimate
        From the best to the worst level, on average over the other knobs: ratio less one.
    best : str or None
        Level with the lowest average; ``None``: the factor is left out.
    """

    model_config = ConfigDict(frozen=True)

    factor: str
    share: Estimate
    effect: Estimate
    best: str | None


class Interaction(BaseModel):
    """Two knobs: the share of the variance that neither has alone."""

    model_config = ConfigDict(frozen=True)

    factors: tuple[str, str]
    share: Estimate


class Anova(BaseModel):
    """Knobs and pairs, the most important first; `reason` says why there are none."""

    model_config = ConfigDict(frozen=True)

    knobs: list[Importance] = []
    pairs: list[Interaction] = []
    reason: str | None = None


FEWEST = 6
"""Trials below which nothing is said of importance."""


def anova(space: Space, surrogate: Surrogate, *, seed: int = 0, trials: int | None = None) -> Anova:
    """Divide the variation of a fitted surrogate among knobs and pairs.

    Parameters
    ----------
    seed : int
        Of the functions that are drawn.
    trials : int, optional
        How many trials it is fitted to, where that is not the number of its rows.
    """
    count = len(surrogate.features) if trials is None else trials
    if count < FEWEST:
        return Anova(reason=f"{count} of at least {FEWEST} trials")
    slices = Slices(space, surrogate)
    wanted: list[dict[int, int]] = [{}]
    main = {}
    for at, levels in enumerate(slices.grids):
        main[at] = slice(len(wanted), len(wanted) + len(levels))
        wanted += [{at: place} for place in range(len(levels))]
    mean, _ = slices.means(wanted)
    order = sorted(main, key=lambda at: -float(np.var(mean[main[at]])))
    both = {}
    for one, other in itertools.combinations(sorted(order[:PAIRED]), 2):
        shape = len(slices.grids[one]), len(slices.grids[other])
        both[one, other] = slice(len(wanted), len(wanted) + shape[0] * shape[1]), shape
        wanted += [{one: a, other: b} for a in range(shape[0]) for b in range(shape[1])]
    drawn = _drawn(*slices.means(wanted), np.random.default_rng(seed))
    alone = {at: drawn[:, main[at]] - drawn[:, main[at]].mean(axis=1, keepdims=True) for at in main}
    variance = {at: (one**2).mean(axis=1) for at, one in alone.items()}
    joint = {
        pair: _beyond(drawn[:, where].reshape(-1, *shape)) for pair, (where, shape) in both.items()
    }
    whole = sum(variance.values()) + sum(joint.values(), np.zeros(DRAWS))
    knobs = [
        Importance(
            factor=space.knobs[at].factor,
            share=_estimate(variance[at] / whole, count),
            effect=_estimate(np.expm1(np.ptp(alone[at], axis=1)), count),
            best=_best(slices, at, mean[main[at]]),
        )
        for at in order
    ]
    pairs = [
        Interaction(
            factors=(space.knobs[one].factor, space.knobs[other].factor),
            share=_estimate(joint[one, other] / whole, count),
        )
        for one, other in both
    ]
    return Anova(
        knobs=sorted(knobs, key=lambda one: -(one.share.value or 0.0)),
        pairs=sorted(pairs, key=lambda one: -(one.share.value or 0.0)),
    )


def _beyond(cells: Array) -> Array:
    """Variance of what two knobs do beyond what each does, by draw."""
    rows = cells.mean(axis=2, keepdims=True)
    columns = cells.mean(axis=1, keepdims=True)
    left = cells - rows - columns + cells.mean(axis=(1, 2), keepdims=True)
    variance: Array = (left**2).mean(axis=(1, 2))
    return variance


def _drawn(mean: Array, covariance: Array, rng: np.random.Generator) -> Array:
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    kept = values > 1e-12
    root = vectors[:, kept] * np.sqrt(values[kept])
    drawn: Array = mean + rng.standard_normal((DRAWS, root.shape[1])) @ root.T
    return drawn


def _estimate(drawn: Array, count: int) -> Estimate:
    low, value, high = np.quantile(drawn, [(1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2])
    return Estimate(
        value=float(value), low=float(low), high=float(high), level=LEVEL, n=count, method=METHOD
    )


def _best(slices: Slices, at: int, mean: Sequence[float] | Array) -> str | None:
    text = slices.grids[at][int(np.argmin(mean))].text
    return text or None
