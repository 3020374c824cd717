"""What all trials together say of one configuration."""

from __future__ import annotations

import math

from pyrometer.core.estimate import LEVEL
from pyrometer.statistics.distributions import normal_quantile
from pyrometer.tune.advise.surrogate import Surrogate
from pyrometer.tune.space.cube import features
from pyrometer.tune.space.space import Configuration, Space


def change_of(
    space: Space, found: Surrogate, configuration: Configuration
) -> tuple[float, float, float]:
    """Give the ratio of a configuration to the baseline less one: value, low and high end.

    The value is the model's: a mean that was low by luck is drawn towards what all others say.
    """
    if not configuration:
        return 0.0, 0.0, 0.0
    belief = found.differences(features(space, [configuration]), features(space, [{}])[0])
    middle = float(belief.mean[0])
    half = float(normal_quantile((1 + LEVEL) / 2)) * float(belief.sd[0])
    return math.expm1(middle), math.expm1(middle - half), math.expm1(middle + half)
