"""Partial dependence: how values follow a knob, others on average or as the incumbent has them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from pydantic import BaseModel, ConfigDict

from pyrometer.core.estimate import LEVEL, Estimate
from pyrometer.statistics.distributions import normal_quantile
from pyrometer.tune.advise.adviser import FULL, Observation
from pyrometer.tune.advise.surrogate import Surrogate
from pyrometer.tune.importance.slices import Slices
from pyrometer.tune.space.cube import UNSET, encode, features, plain
from pyrometer.tune.space.space import Configuration, Space

SIZE = 15


class Point(BaseModel):
    """A level, its place from 0 to 1, and the ratio to the baseline less one there.

    ``average`` is over all levels of the other knobs, less what it is at the default; ``beside``
    has the others as the incumbent has them.
    """

    model_config = ConfigDict(frozen=True)

    level: str | None
    place: float
    average: Estimate
    beside: Estimate


class Raw(BaseModel):
    """A trial as it was measured: level, place, and its value; `censored`: at least that."""

    model_config = ConfigDict(frozen=True)

    level: str | None
    place: float
    value: float
    block: int
    censored: bool


class Dependence(BaseModel):
    """One knob: what is believed, and the trials in full that it follows from."""

    model_config = ConfigDict(frozen=True)

    factor: str
    points: list[Point]
    trials: list[Raw]


def dependence(
    space: Space,
    surrogate: Surrogate,
    incumbent: Configuration,
    seen: Iterable[Observation],
) -> list[Dependence]:
    """Give how values follow each knob, in the order of the space."""
    slices = Slices(space, surrogate, SIZE)
    kept = [one for one in seen if one.fidelity == FULL and one.value and one.failed is None]
    base = features(space, [{}])[0]
    found = []
    for at, knob in enumerate(space.knobs):
        levels = slices.grids[at]
        start = float(encode(space, {})[at])
        nearest = int(np.argmin([abs(one.place - start) for one in levels]))
        mean, covariance = slices.means([{at: place} for place in range(len(levels))])
        beside = [plain(space, _with(incumbent, knob.factor, one.text)) for one in levels]
        belief = surrogate.differences(features(space, beside), base)
        points = [
            Point(
                level=one.text or None,
                place=one.place,
                average=_ratio(
                    float(mean[place] - mean[nearest]),
                    float(
                        covariance[place, place]
                        + covariance[nearest, nearest]
                        - 2 * covariance[place, nearest]
                    ),
                    len(kept),
                ),
                beside=_ratio(float(belief.mean[place]), float(belief.sd[place]) ** 2, len(kept)),
            )
            for place, one in enumerate(levels)
        ]
        trials = [
            Raw(
                level=one.configuration.get(knob.factor),
                place=float(encode(space, _known(space, one.configuration))[at]),
                value=one.value,
                block=one.block,
                censored=one.censored,
            )
            for one in kept
            if one.value is not None
        ]
        found.append(Dependence(factor=knob.factor, points=points, trials=trials))
    return found


def _known(space: Space, configuration: Configuration) -> dict[str, str]:
    names = {one.factor for one in space.knobs}
    return {name: level for name, level in configuration.items() if name in names}


def _with(configuration: Configuration, factor: str, level: str) -> dict[str, str]:
    rest = {name: one for name, one in configuration.items() if name != factor}
    return rest if level == UNSET else {**rest, factor: level}


def _ratio(middle: float, variance: float, count: int) -> Estimate:
    half = float(normal_quantile((1 + LEVEL) / 2)) * float(np.sqrt(max(variance, 0.0)))
    value, low, high = (float(np.expm1(one)) for one in (middle, middle - half, middle + half))
    return Estimate(value=value, low=low, high=high, level=LEVEL, n=count, method="surrogate")
