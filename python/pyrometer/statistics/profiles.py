"""Change of many shares of one whole between two groups of repetitions. Pure: arrays in and out.

The model, for row f (a frame, an operator) in repetition u of a side: time = whole_u · share_fu.

* Sampling noise is known: samples arrive as a Poisson process, so a sum of weights w has variance
  Σw², whatever the weights (compound Poisson). One more sample, at the row's usual weight, is
  added to each side, so that a row without samples is not taken for one without time.
* The whole varies from one repetition to the next for all rows alike (a busy machine, a slow
  clock). Its relative variance comes from the few repetitions there are: Student's t.
* Shares vary too. Their relative variance over and above sampling is common to all rows
  (Robinson and Smyth, Biostatistics 9, 2008, for counts of few replicates), and the variance of a
  row is shrunk towards it as far as rows are alike (Smyth, Stat. Appl. Genet. Mol. Biol. 3,
  2004: moderated t). It is never taken for less than sampling noise.

The parts add up; degrees of freedom after Satterthwaite. One repetition on each side does not show
how repetitions vary: the interval then holds sampling noise alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import special

from pyrometer.statistics.distributions import t_quantile, t_tail

CERTAIN = 1e6
"""Degrees of freedom of what is known."""
_ROWS_FOR_SPREAD = 10
_SAMPLES_FOR_SPREAD = 5  # in each repetition; rarer rows vary in steps and carry little information

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
        Iterations in all repetitions: a repetition may be the mean of several.
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
        Of freedom: repetitions beyond the first of each side; 0 where there is no repetition.
    whole : float
        Relative variance of the whole, sampling noise included.
    shares : float
        Relative variance of shares, over and above sampling noise.
    prior_scale, prior_degrees : float
        Variance, relative to the model, to which that of rows is shrunk, and with what weight.
    """

    degrees: int
    whole: float
    shares: float
    prior_scale: float
    prior_degrees: float


def spread_of(a: Side, b: Side) -> Spread:
    """Estimate how repetitions vary, from rows that do not overlap (the self time of frames)."""
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
    """Variance of a mean share: the model's times `ratio`, but at least that of sampling."""
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
    from scipy import optimize

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
    from scipy import optimize

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


LEVEL = 0.95
FALSE_DISCOVERY_RATE = 0.05
MIN_SAMPLES = 20
"""Rows with fewer samples on both sides together are not tested: they could not show anything, and
each test costs the others power (independent filtering: Bourgon et al., PNAS 107, 2010)."""


@dataclass(frozen=True)
class Changes:
    """Changes from A to B, one entry per row.

    Attributes
    ----------
    a, b, a_half, b_half : array
        Time per iteration, and half its interval.
    change, low, high : array
        Of the time.
    share_a, share_b, share_low, share_high : array
        Shares, and the interval of their change.
    p : array
        Two-sided, of "the time did not change".
    """

    a: Floats
    b: Floats
    a_half: Floats
    b_half: Floats
    change: Floats
    low: Floats
    high: Floats
    share_a: Floats
    share_b: Floats
    share_low: Floats
    share_high: Floats
    p: Floats


def compare(a: Side, b: Side, spread: Spread) -> Changes:
    """Compare all rows of two sides."""
    own_degrees, ratio = spread.degrees, np.full(a.time.shape[0], spread.prior_scale)
    if own_degrees:
        total = spread.prior_degrees + own_degrees
        seen = ratios(a, b, spread.shares, own_degrees)
        ratio = (spread.prior_degrees * spread.prior_scale + own_degrees * seen) / total
        row_degrees = min(total, CERTAIN)
    else:
        row_degrees = CERTAIN
    parts = [_parts(side, spread, ratio) for side in (a, b)]
    errors = [np.sqrt(np.sum(part, axis=0)) for part in parts]
    sampling, by_share, by_whole = parts[0] + parts[1]
    means = [side.time.mean(axis=1) for side in (a, b)]
    change = means[1] - means[0]
    # Few samples on one side by chance would look too certain: the test uses the sampling noise of
    # both sides together under no change.
    together = a.iterations + b.iterations
    pooled = (a.variance_of_one * a.iterations + b.variance_of_one * b.iterations) / together
    at_rest = pooled / a.iterations + pooled / b.iterations
    p = 2 * t_tail(*_t(change, at_rest, by_share, by_whole, row_degrees, own_degrees))
    error = np.sqrt(sampling + by_share + by_whole)
    _, degrees = _t(change, sampling, by_share, by_whole, row_degrees, own_degrees)
    quantile = t_quantile((1 + LEVEL) / 2, degrees)
    half = quantile * error
    share_error = np.sqrt(sum(share_variance(side, spread, ratio) for side in (a, b)))
    share_half = t_quantile((1 + LEVEL) / 2, row_degrees) * share_error
    moved = b.share - a.share
    return Changes(
        means[0], means[1], quantile * errors[0], quantile * errors[1],
        change, change - half, change + half,
        a.share, b.share, moved - share_half, moved + share_half, p,
    )  # fmt: skip


def significant(p: Floats) -> npt.NDArray[np.bool_]:
    """Which tests pass at a false discovery rate of 5 % (Benjamini and Hochberg, 1995)."""
    if p.size == 0:
        return np.zeros(0, bool)
    from scipy import stats

    return np.asarray(stats.false_discovery_control(p, method="bh") <= FALSE_DISCOVERY_RATE)


def _t(
    change: Floats,
    sampling: Floats,
    by_share: Floats,
    by_whole: Floats,
    row_degrees: float,
    own_degrees: int,
) -> tuple[Floats, Floats]:
    """Change over its error, and degrees of freedom of that (Satterthwaite)."""
    total = np.maximum(sampling + by_share + by_whole, np.finfo(float).tiny)
    parts = (sampling, CERTAIN), (by_share, row_degrees), (by_whole, own_degrees or CERTAIN)
    weights = sum((part / total) ** 2 / degrees for part, degrees in parts)
    degrees = 1 / np.maximum(weights, 1 / CERTAIN)
    return np.abs(change) / np.sqrt(total), np.asarray(degrees)


def _parts(side: Side, spread: Spread, ratio: Floats) -> Floats:
    """Variance of a mean time: by sampling, by the row's share, by the whole."""
    mean, whole = side.time.mean(axis=1), float(side.whole.mean())
    sampling = side.variance.mean(axis=1) / side.n
    by_share = whole**2 * (share_variance(side, spread, ratio) - side.sampling / side.n)
    counted = float(np.mean(side.whole_variance)) / max(whole, 1.0) ** 2
    by_whole = mean**2 * max(spread.whole - counted, 0.0) / side.n
    return np.array([sampling, by_share, by_whole])
