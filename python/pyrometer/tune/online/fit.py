"""Ratios of configurations to the baseline from runs that drift: data of a recurring job grow.

The logarithm of a run's time is that of the baseline, a trend over the runs, and what its
configuration adds; a least-squares fit with a prior on the trend, since a dozen runs show none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

TREND = 0.003
"""Deviation of the logarithm of a trend, a run, before any is seen."""
NOISE = 0.05
"""Deviation of the logarithm of a run, before any is seen; worth `PRIOR` degrees of freedom."""
PRIOR = 3.0


@dataclass(frozen=True)
class Fit:
    """Effects by name, the baseline's being 0.

    Attributes
    ----------
    names : tuple of str
        Of the effects; the first is the baseline's.
    freedom : float
        Degrees of freedom of the noise.
    """

    names: tuple[str, ...]
    coefficients: Array
    covariance: Array
    sd: float
    freedom: float

    def value(self, name: str, at: int) -> tuple[float, float]:
        """Logarithm of a configuration's time at a run, and its standard error."""
        weights = np.zeros(len(self.coefficients))
        weights[0], weights[1] = 1.0, at
        if (place := self.names.index(name)) > 0:
            weights[1 + place] = 1.0
        return float(weights @ self.coefficients), self._error(weights)

    def difference(self, one: str, other: str) -> tuple[float, float]:
        """Logarithm of the ratio of two configurations, and its standard error."""
        weights = np.zeros(len(self.coefficients))
        for name, sign in ((one, 1.0), (other, -1.0)):
            if (at := self.names.index(name)) > 0:
                weights[1 + at] += sign
        return float(weights @ self.coefficients), self._error(weights)

    def _error(self, weights: Array) -> float:
        return math.sqrt(max(float(weights @ self.covariance @ weights), 0.0))


def fitted(times: Sequence[int], names: Sequence[str], logs: Sequence[float]) -> Fit:
    """Fit runs.

    Parameters
    ----------
    times : sequence of int
        Number of each run.
    names : sequence of str
        Of its configuration; ``""`` is the baseline, which has to be among them.
    logs : sequence of float
        Logarithms of what it took.

    Examples
    --------
    >>> found = fitted(range(6), ["", "", "a", "", "a", ""], [0.0, 0.01, -0.2, 0.0, -0.21, -0.01])
    >>> effect, error = found.difference("a", "")
    >>> round(effect, 2), error < 0.05
    (-0.2, True)
    """
    known = ("", *sorted(set(names) - {""}))
    count, size = len(logs), 1 + len(known)
    design = np.zeros((count, size))
    design[:, 0] = 1.0
    design[:, 1] = times
    for row, name in enumerate(names):
        if name:
            design[row, 1 + known.index(name)] = 1.0
    values = np.asarray(logs, float)
    sd = NOISE
    for _ in range(3):
        weight = np.zeros((size, size))
        weight[1, 1] = (sd / TREND) ** 2
        inverse = np.linalg.inv(design.T @ design + weight)
        found = inverse @ design.T @ values
        rest = values - design @ found
        spare = max(count - len(known), 0)
        freedom = spare + PRIOR
        sd = math.sqrt((float(rest @ rest) + PRIOR * NOISE**2) / freedom)
    covariance: Array = np.asarray(sd**2 * inverse, np.float64)
    return Fit(known, found, covariance, sd, freedom)
