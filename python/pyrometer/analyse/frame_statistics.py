"""Change of many shares of one whole between two groups of repetitions. Pure: arrays in and out.

The model, for row f (a frame, an operator) in repetition u of a side: time = whole_u · share_fu.

* Sampling noise is known: samples come like a Poisson process, so a sum of weights w has variance
  Σw², whatever the weights (compound Poisson). One more sample, at the row's usual weight, is
  added to each side, so that nothing seen is not taken for nothing there.
* The whole varies from one repetition to the next for all rows alike (a busy machine, a slow
  clock). Its relative variance comes from the few repetitions there are: Student's t.
* Shares vary too. Their relative variance over and above sampling is common to all rows
  (Robinson and Smyth, Biostatistics 9, 2008, for counts of few replicates), and a row's own
  variance is moved towards it as far as rows are alike (Smyth, Stat. Appl. Genet. Mol. Biol. 3,
  2004: moderated t). It is never taken for less than sampling noise.

Both parts add up; degrees of freedom after Satterthwaite. With one repetition on each side nothing
tells how repetitions vary: the interval then holds sampling noise alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from pyrometer.analyse.frame_spread import (
    CERTAIN,
    Floats,
    Side,
    Spread,
    ratios,
    share_variance,
    spread_of,
)

__all__ = ["Changes", "Side", "Spread", "compare", "significant", "spread_of"]

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
        own = ratios(a, b, spread.shares, own_degrees)
        ratio = (spread.prior_degrees * spread.prior_scale + own_degrees * own) / total
        row_degrees = min(total, CERTAIN)
    else:
        row_degrees = CERTAIN
    parts = [_parts(side, spread, ratio) for side in (a, b)]
    errors = [np.sqrt(np.sum(part, axis=0)) for part in parts]
    sampling, by_share, by_whole = parts[0] + parts[1]
    means = [side.time.mean(axis=1) for side in (a, b)]
    change = means[1] - means[0]
    # Few samples on one side by chance would make themselves look certain: a test takes what both
    # sides tell of sampling noise, as it is if nothing changed.
    together = a.iterations + b.iterations
    pooled = (a.variance_of_one * a.iterations + b.variance_of_one * b.iterations) / together
    at_rest = pooled / a.iterations + pooled / b.iterations
    p = 2 * stats.t.sf(*_t(change, at_rest, by_share, by_whole, row_degrees, own_degrees))
    error = np.sqrt(sampling + by_share + by_whole)
    _, degrees = _t(change, sampling, by_share, by_whole, row_degrees, own_degrees)
    quantile = stats.t.ppf((1 + LEVEL) / 2, degrees)
    half = quantile * error
    share_error = np.sqrt(sum(share_variance(side, spread, ratio) for side in (a, b)))
    share_half = stats.t.ppf((1 + LEVEL) / 2, row_degrees) * share_error
    moved = b.share - a.share
    return Changes(
        means[0], means[1], quantile * errors[0], quantile * errors[1],
        change, change - half, change + half,
        a.share, b.share, moved - share_half, moved + share_half, p,
    )  # fmt: skip


def significant(p: Floats) -> npt.NDArray[np.bool_]:
    """Which tests stand at a false discovery rate of 5 % (Benjamini and Hochberg, 1995)."""
    if p.size == 0:
        return np.zeros(0, bool)
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
