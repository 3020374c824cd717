"""The shortest configuration that keeps the gain: what could be put back to its default."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from pydantic import BaseModel, ConfigDict

from pyrometer.core.estimate import LEVEL, Estimate
from pyrometer.statistics.distributions import normal_quantile
from pyrometer.tune.advise.model import Belief
from pyrometer.tune.advise.surrogate import Surrogate
from pyrometer.tune.space.cube import features, plain
from pyrometer.tune.space.feasible import infeasible
from pyrometer.tune.space.space import Configuration, Space

LOSS = 0.01
"""What may be lost, of the job's time with the incumbent."""


class PutBack(BaseModel):
    """A factor that was put back, and what everything put back so far loses."""

    model_config = ConfigDict(frozen=True)

    factor: str
    level: str
    loss: Estimate


class Shortest(BaseModel):
    """What is left, what was put back in that order, and what all of that loses.

    Attributes
    ----------
    sure : bool
        Whether the whole interval of the loss is within what may be lost; else a trial has to say.
    needed : dict of str to Estimate
        What putting back each factor that is left would lose, on top.
    """

    model_config = ConfigDict(frozen=True)

    configuration: dict[str, str]
    put_back: list[PutBack]
    loss: Estimate
    sure: bool
    needed: dict[str, Estimate]


def shortest(
    space: Space, surrogate: Surrogate, incumbent: Configuration, *, loss: float = LOSS
) -> Shortest:
    """Put back one factor after another, each time the one that loses least.

    Parameters
    ----------
    loss : float
        What may be lost in all, as a share of the incumbent's value.
    """
    base = features(space, [incumbent])[0]
    left, put_back = dict(incumbent), list[PutBack]()
    reached = _estimate(0.0, 0.0, len(surrogate.features))
    while left:
        shorter = _shorter(space, left)
        if not shorter:
            break
        belief = surrogate.differences(features(space, list(shorter.values())), base)
        at = int(np.argmin(belief.mean))
        if float(belief.mean[at]) > math.log1p(loss):
            break
        factor = list(shorter)[at]
        reached = _of(belief, at, len(surrogate.features))
        put_back.append(PutBack(factor=factor, level=left[factor], loss=reached))
        left = shorter[factor]
    needed = {}
    if left and (shorter := _shorter(space, left)):
        here = features(space, [left])[0]
        belief = surrogate.differences(features(space, list(shorter.values())), here)
        needed = {name: _of(belief, at, len(surrogate.features)) for at, name in enumerate(shorter)}
    return Shortest(
        configuration=left,
        put_back=put_back,
        loss=reached,
        sure=reached.high is not None and reached.high <= loss,
        needed=needed,
    )


def _shorter(space: Space, left: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Give what is left without each factor, where that may be launched."""
    found = {}
    for factor in left:
        one = plain(space, {name: level for name, level in left.items() if name != factor})
        if infeasible(space, one) is None:
            found[factor] = one
    return found


def _of(belief: Belief, at: int, count: int) -> Estimate:
    return _estimate(float(belief.mean[at]), float(belief.sd[at]), count)


def _estimate(mean: float, sd: float, count: int) -> Estimate:
    half = float(normal_quantile((1 + LEVEL) / 2)) * sd
    return Estimate(
        value=math.expm1(mean), low=math.expm1(mean - half), high=math.expm1(mean + half),
        level=LEVEL, n=count, method="surrogate",
    )  # fmt: skip
