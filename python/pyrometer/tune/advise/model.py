"""What a surrogate is made of: the trials it sees, its variances with their priors, its beliefs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Prior(NamedTuple):
    """Mean and deviation of the logarithm of a variance."""

    mean: float
    sd: float


KNOB = Prior(math.log(0.02**2), 2.0)
"""Most knobs do next to nothing to a job, and a few do a lot."""
LEAST = 1.0
"""Deviations of the prior below its mean that a knob's variance may have: a few dozen trials never
show that a knob does nothing, and a search that believes it ends too early.
"""
EXPECTED = Prior(math.log(0.07**2), 2.0)
"""Of a knob of which a finding expects an effect."""
PAIRS = Prior(math.log(5.0), 1.5)
NOISE = Prior(math.log(0.03**2), 1.0)
CHEAP_NOISE = Prior(math.log(0.05**2), 1.0)
BLOCK = Prior(math.log(0.03**2), 1.2)
OWN = Prior(math.log(0.015**2), 0.5)
"""Of what a configuration does beyond its knobs and their pairs: little, or one that is good would
be an accident from which nothing is learnt.
"""
CORRELATION = Prior(1.5, 1.0)
"""Of the logit of the correlation of a fidelity with the full one; each has its own."""


@dataclass(frozen=True)
class Trials:
    """What is known, a row a trial.

    Attributes
    ----------
    features : array
        As :func:`pyrometer.tune.space.cube.features` gives them.
    values : array
        Logarithms of the objective; of censored trials of what it had reached.
    censored : array of bool
        Whether the true value is larger.
    blocks, fidelities : array of int
        Numbers of block and fidelity; 0 is the full one.
    canaries : array
        Logarithms; 0 where none ran.
    names : tuple of str
        Names of the fidelities by their numbers.
    """

    features: Array
    values: Array
    censored: NDArray[np.bool_]
    blocks: NDArray[np.int64]
    fidelities: NDArray[np.int64]
    canaries: Array
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Parameters:
    """Variances that were fitted.

    Attributes
    ----------
    knobs : array
        Of each knob's part.
    pairs : float
        Weight of the parts of pairs.
    own : float
        Variance of what a configuration does beyond its knobs and their pairs.
    noise, cheap_noise, block : float
        Variance of a trial at the full fidelity, at a cheap one, and of blocks.
    correlations : array
        Of each other fidelity with the full one.
    """

    knobs: Array
    pairs: float
    own: float
    noise: float
    cheap_noise: float
    block: float
    correlations: Array


class Belief(NamedTuple):
    """Means and deviations of differences of log values to a configuration."""

    mean: Array
    sd: Array
