"""How repetitions of a profile vary: by sampling, each share by itself, and the whole. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import optimize, special

CERTAIN = 1e6
"""Degrees of freedom of what is known."""
_ROWS_FOR_SPREAD = 10
_SAMPLES_FOR_SPREAD = 5  # in each repetition; rarer rows vary in steps, and tell little

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Side:
    """Repetitions of one side: columns are repetitions, values ns per iteration.

    Attributes
    ----------
    time, variance : array of (rows, repetitions)
        Time of each row, and its variance by sampling alone.
    whole, whole_variance : array of (repetitions,)
        The same of everything sampled.
    iterations : int
        Iterations behind all repetitions: a repetition may be the mean of several.
    """

    time: Floats
    variance: Floats
    whole: Floats
    whole_variance: Floats
    iterations: int

    @property
    def n(self) -> int:
        """Repetitions."""
        return int(self.whole.size)

    @property
    def variance_of_one(self) -> Floats:
        """Variance of one iteration, by sampling alone."""
        return np.asarray(self.variance.mean(axis=1) * self.iterations / self.n)

    @property
    def shares(self) -> Floats:
        """Share of each row in each repetition."""
        return self.time / np.where(self.whole > 0, self.whole, 1.0)

    @property
    def share(self) -> Floats:
        """Mean share of each row."""
        return np.asarray(self.shares.mean(axis=1))

    @property
    def sampling(self) -> Floats:
        """Variance of a share in one repetition, by sampling alone (delta method)."""
        x, v = self.shares, self.variance
        found = (v * (1 - 2 * x) + x * x * self.whole_variance) / np.maximum(self.whole, 1.0) ** 2
        return np.asarray(np.maximum(found, 0.0).mean(axis=1))


@dataclass(frozen=True)
class Spread:
    """How repetitions vary.

    Attributes
    ----------
    degrees : int
        Of freedom: repetitions beyond the first of each side; 0 where nothing tells.
    whole : float
        Relative variance of the whole, sampling noise included.
    shares : float
        Relative variance of shares, over and above sampling noise.
    prior_scale, prior_degrees : float
        What a row's own variance is moved towards, relative to the model, and how firmly.
    """

    degrees: int
    whole: float
    shares: float
    prior_scale: float
    prior_degrees: float


def spread_of(a: Side, b: Side) -> Spread:
    """Learn how repetitions vary, from rows that do not overlap (the self time of frames)."""
    degrees = a.n + b.n - 2
    if degrees == 0:
        return Spread(0, 0.0, 0.0, 1.0, CERTAIN)
    squares = sum(float(np.sum((s.whole / s.whole.mean() - 1) ** 2)) for s in (a, b) if _has(s))
    usable = (_samples(a) >= _SAMPLES_FOR_SPREAD) & (_samples(b) >= _SAMPLES_FOR_SPREAD)
    a, b = _rows(a, usable), _rows(b, usable)
    if usable.sum() < _ROWS_FOR_SPREAD:
        return Spread(degrees, squares / degrees, 0.0, 1.0, 0.0)
    shares = _common(a, b, degrees)
    scale, prior = _prior(ratios(a, b, shares, degrees), degrees)
    return Spread(degrees, squares / degrees, shares, scale, prior)


def share_variance(side: Side, spread: Spread, ratio: Floats) -> Floats:
    """Variance of a mean share: by the model, moved towards the row's own, at least sampling's."""
    least = side.sampling
    return np.asarray(np.maximum(ratio * _expected(side, spread.shares), least) / side.n)


def _has(side: Side) -> bool:
    return bool(side.whole.mean() > 0)


def _rows(side: Side, which: npt.NDArray[np.bool_]) -> Side:
    return replace(side, time=side.time[which], variance=side.variance[which])


def _samples(side: Side) -> Floats:
    """Count samples of each row in one repetition, by what its sampling noise is worth."""
    variance = side.variance.mean(axis=1)
    squares = side.time.mean(axis=1) ** 2
    return np.asarray(np.divide(squares, variance, out=np.zeros_like(squares), where=variance > 0))


def _expected(side: Side, shares: float) -> Floats:
    """Variance of a share in one repetition by the model."""
    return side.sampling + shares * side.share**2


def ratios(a: Side, b: Side, shares: float, degrees: int) -> Floats:
    """Variance seen over variance by the model, row by row."""
    found = np.zeros(a.time.shape[0])
    for side in (a, b):
        squares = np.sum((side.shares - side.share[:, None]) ** 2, axis=1)
        expected = _expected(side, shares)
        found += np.divide(squares, expected, out=np.zeros_like(squares), where=expected > 0)
    return found / degrees


def _common(a: Side, b: Side, degrees: int) -> float:
    """Relative variance with which rows vary, on average, as the model says."""

    def excess(shares: float) -> float:
        return float(ratios(a, b, shares, degrees).mean()) - 1

    if excess(0.0) <= 0:
        return 0.0
    most = 1e-8
    while excess(most) > 0 and most < 1e4:
        most *= 10
    return float(optimize.brentq(excess, 0.0, most)) if excess(most) <= 0 else most


def _prior(ratios: Floats, degrees: int) -> tuple[float, float]:
    """Scale and degrees of freedom of the distribution that rows' variances come from."""
    logs = np.log(ratios[ratios > 0])
    if logs.size < _ROWS_FOR_SPREAD:
        return 1.0, 0.0
    centred = logs - special.digamma(degrees / 2) + math.log(degrees / 2)
    mean = float(centred.mean())
    excess = float(centred.var(ddof=1)) - float(special.polygamma(1, degrees / 2))
    if excess <= 1e-5:
        return math.exp(mean), CERTAIN
    half = float(optimize.brentq(lambda y: special.polygamma(1, y) - excess, 1e-4, 1e6))
    return math.exp(mean + float(special.digamma(half)) - math.log(half)), 2 * half
