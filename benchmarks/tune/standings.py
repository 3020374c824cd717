"""What trials in blocks say of each configuration: means with the blocks taken out, and errors.

log value = configuration + block + noise, with blocks as wide random effects (Robinson 1991), which
the baseline in each of them ties together. Nothing is assumed of how configurations resemble each
other: a table that is to judge engines must not be made by the model of one of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from pyrometer.tune.advise.adviser import FULL, Observation
from pyrometer.tune.space.cube import columns, features, key
from pyrometer.tune.space.space import Space

NOISE, FREEDOM = 0.03, 4.0
"""Deviation that a trial is taken to have before any was repeated, and for how many that counts."""
BLOCKS = 0.05
"""Variance of a trial over that of a block: as good as nothing is assumed of what blocks do."""
RIDGE = 1.0
"""How strongly effects are drawn towards none where factors are ranked."""


@dataclass(frozen=True)
class Standing:
    """How a configuration differs from the baseline.

    Attributes
    ----------
    change : float
        Of log values; below 0: faster.
    error : float
        Standard error of it; 0 for the baseline itself.
    trials : int
        In full, with a value.
    """

    configuration: dict[str, str]
    change: float
    error: float
    trials: int

    @property
    def surely(self) -> float:
        """What it is at most, within its error: for what is to be built upon."""
        return self.change + self.error

    @property
    def perhaps(self) -> float:
        """What it may be at best, within its error: for what is worth another trial."""
        return self.change - self.error


def standings(seen: Iterable[Observation]) -> list[Standing]:
    """Compare every configuration that ran in full with the baseline, the lowest mean first.

    Configurations that came to nothing once are left out (of the baseline only the trial that
    did), and so is everything while the baseline has no value.
    """
    whole = [one for one in seen if one.fidelity == FULL]
    bad = {key(one.configuration) for one in whole if one.failed is not None} - {""}
    good = [
        one
        for one in whole
        if one.value and one.failed is None and not one.censored
        if key(one.configuration) not in bad
    ]
    known = {key(one.configuration): dict(one.configuration) for one in good}
    if "" not in known:
        return []
    names = ["", *(name for name in known if name)]
    means, covariance = _fitted(good, names)
    changes = means - means[0]
    variances = np.diag(covariance) + covariance[0, 0] - 2 * covariance[0]
    counts = [sum(key(one.configuration) == name for one in good) for name in names]
    found = [
        Standing(known[name], float(change), math.sqrt(max(0.0, float(variance))), count)
        for name, change, variance, count in zip(names, changes, variances, counts, strict=True)
    ]
    return sorted(found, key=lambda one: (one.change, key(one.configuration)))


def best_of(found: Sequence[Standing]) -> Standing | None:
    """Give what is best of all that ran twice, and is surely so within its error."""
    twice = [one for one in found if one.trials > 1 or not one.configuration]
    return min(twice, key=lambda one: (one.surely, key(one.configuration)), default=None)


def weights(space: Space, found: Sequence[Standing]) -> np.ndarray:
    """Say by knob how much its levels seem to matter; they add up to 1, and none is 0."""
    even = np.full(len(space.knobs), 1 / len(space.knobs))
    if len(found) < 3:
        return even
    rows = [features(space, [one.configuration]) for one in found]
    matrix = np.vstack(rows) - features(space, [{}])
    values = np.array([one.change for one in found])
    inner = matrix.T @ matrix + RIDGE * np.eye(matrix.shape[1])
    slopes = np.abs(np.linalg.solve(inner, matrix.T @ values))
    by_knob = np.bincount(columns(space), slopes, len(space.knobs))
    total = float(by_knob.sum())
    return even if total <= 0 else (even + by_knob / total) / 2


def _fitted(good: Sequence[Observation], names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    at = {name: number for number, name in enumerate(names)}
    blocks = {one: number for number, one in enumerate(sorted({one.block for one in good}))}
    design = np.zeros((len(good), len(at) + len(blocks)))
    for row, one in enumerate(good):
        design[row, at[key(one.configuration)]] = 1
        design[row, len(at) + blocks[one.block]] = 1
    values = np.log([one.value or 1.0 for one in good])
    centre = float(values.mean())
    inner = design.T @ design + np.diag([0.0] * len(at) + [BLOCKS] * len(blocks))
    inverse = np.linalg.inv(inner)
    point = inverse @ design.T @ (values - centre)
    rest = values - centre - design @ point
    freedom = FREEDOM + len(good) - len(at)
    variance = (FREEDOM * NOISE**2 + float(rest @ rest)) / freedom
    return point[: len(at)] + centre, variance * inverse[: len(at), : len(at)]


def changed(one: Standing, level: float = 1.96) -> tuple[float, float, float]:
    """Give the ratio to the baseline less one: value, low and high end."""
    ends = (one.change, one.change - level * one.error, one.change + level * one.error)
    value, low, high = (math.expm1(each) for each in ends)
    return value, low, high
