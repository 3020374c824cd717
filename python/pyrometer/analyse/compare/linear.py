"""Least squares on log time: coded columns, a fit with its noise, contrasts as relative changes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from pyrometer.estimate import Estimate

FREEDOM = 3
"""Fewest degrees of freedom that must be left for the noise."""

Matrix = NDArray[np.float64]


class Fit:
    """A model with all terms: coefficients, their errors, and the noise that is left."""

    def __init__(self, design: Matrix, y: Matrix) -> None:
        self.size = design.shape[1]
        self.freedom = len(y) - self.size
        self.variance = squares(design, y) / self.freedom
        self._beta = np.linalg.lstsq(design, y, rcond=None)[0]
        self._spread = np.linalg.inv(design.T @ design) * self.variance

    def contrast(self, weights: Matrix, level: float) -> Estimate:
        """Give a sum of coefficients as a relative change."""
        value = float(weights @ self._beta)
        half = float(stats.t.ppf((1 + level) / 2, self.freedom))
        half *= math.sqrt(float(weights @ self._spread @ weights))
        return Estimate(
            value=math.expm1(value),
            low=math.expm1(value - half),
            high=math.expm1(value + half),
            level=level,
            n=self.freedom + 1,
            method="least squares",
        )


def coded(words: Sequence[str], levels: Sequence[str]) -> Matrix:
    """Deviation coding: the first level is minus the sum of the others."""
    made = np.zeros((len(words), len(levels) - 1))
    for row, word in enumerate(words):
        at = levels.index(word)
        if at:
            made[row, at - 1] = 1.0
        else:
            made[row] = -1.0
    return made


def products(a: Matrix, b: Matrix) -> Matrix:
    """Give the columns of two terms that depend on each other."""
    return (a[:, :, None] * b[:, None, :]).reshape(len(a), -1)


def fits(base: Matrix, terms: Iterable[Matrix]) -> bool:
    """Whether columns can be told apart, with enough trials left for the noise."""
    full = np.hstack([base, *terms])
    if len(full) - full.shape[1] < FREEDOM:
        return False
    return bool(np.linalg.matrix_rank(full) == full.shape[1])


def squares(design: Matrix, y: Matrix) -> float:
    """Sum the squares that a design leaves of `y`."""
    left = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    return float(left @ left)
