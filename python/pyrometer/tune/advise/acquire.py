"""What a trial is worth: the expected improvement over the incumbent, by what it costs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from pyrometer.tune.advise.model import Belief

Array = NDArray[np.float64]


def expected_improvement(belief: Belief) -> Array:
    """Give the expected fall of the log value below the incumbent's.

    Močkus (1975); Jones, Schonlau and Welch (1998).

    Examples
    --------
    >>> found = expected_improvement(Belief(np.array([-0.1, 0.0, 0.1]), np.array([0.1, 0.1, 0.1])))
    >>> [round(float(one), 4) for one in found]
    [0.1083, 0.0399, 0.0083]
    """
    z = -belief.mean / belief.sd
    density = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
    worth: Array = belief.sd * (z * special.ndtr(z) + density)
    return worth


def expected_cost(belief: Belief, limit: float) -> Array:
    """Give the cost of trials that are stopped at `limit` times the incumbent, over its cost.

    The mean of a log-normal time that is cut (Snoek et al. 2012 divide by the expected duration).

    Examples
    --------
    >>> found = expected_cost(Belief(np.array([0.0, 2.0]), np.array([0.01, 0.01])), 1.5)
    >>> [round(float(one), 3) for one in found]
    [1.0, 1.5]
    """
    mean, sd = belief
    edge = (np.log(limit) - mean) / sd
    whole = np.exp(mean + sd**2 / 2) * special.ndtr(edge - sd)
    cost: Array = whole + limit * special.ndtr(-edge)
    return cost
