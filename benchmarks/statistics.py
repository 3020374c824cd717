"""Ratios with intervals from paired observations. Pure functions; no clock, no process.

Two arms of a block ran one after the other, in random order, so what the machine did slowly meets
both. The unit is the logarithm of the ratio within a block; its mean over blocks, exponentiated,
is the ratio that is reported.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import cache

import numpy as np
from scipy import stats

from pyrometer.core.estimate import Estimate

EXACT_UP_TO = 14  # blocks: 2^14 sign patterns


def log_ratios(baseline: Sequence[float], arm: Sequence[float]) -> list[float]:
    """Logarithms of arm over baseline, block by block.

    Raises
    ------
    ValueError
        If the lists differ in length or hold values that are not above zero.
    """
    pairs = list(zip(baseline, arm, strict=True))
    if any(not (a > 0 and b > 0 and math.isfinite(a) and math.isfinite(b)) for a, b in pairs):
        raise ValueError("a ratio needs finite values above zero")
    return [math.log(b / a) for a, b in pairs]


def spread(logs: Sequence[float]) -> float | None:
    """Give the standard deviation of the logarithms: the noise of a pair; ``None`` below two."""
    return float(np.std(logs, ddof=1)) if len(logs) > 1 else None


def t_interval(logs: Sequence[float], level: float = 0.95) -> Estimate:
    """Ratio with Student's interval on the mean of the logarithms.

    Examples
    --------
    >>> t_interval([0.0, 0.0, 0.0]).value
    1.0
    """
    n = len(logs)
    if n == 0:
        return _estimate(None, None, None, level, 0, "t on log ratios")
    mean = float(np.mean(logs))
    if n == 1:
        return _estimate(mean, None, None, level, 1, "t on log ratios")
    half = float(stats.t.ppf((1 + level) / 2, n - 1)) * float(np.std(logs, ddof=1)) / math.sqrt(n)
    return _estimate(mean, mean - half, mean + half, level, n, "t on log ratios")


def rank_interval(logs: Sequence[float], level: float = 0.95) -> Estimate:
    """Ratio by Hodges and Lehmann, with the interval that Wilcoxon's signed ranks give it.

    The median of all means of two observations. It assumes that the noise is symmetric, not that
    it is normal: a block that met a stall of the machine moves it as little as any other. The
    interval is the normal approximation of the ranks' distribution, good from ten blocks on
    (Hollander, Wolfe, Chicken, Nonparametric Statistical Methods, section 3.3).

    Examples
    --------
    >>> rank_interval([0.0] * 12).value
    1.0
    """
    n, method = len(logs), "Hodges-Lehmann on log ratios"
    if n == 0:
        return _estimate(None, None, None, level, 0, method)
    values = np.asarray(logs, dtype=float)
    first, second = np.triu_indices(n)
    means = np.sort((values[first] + values[second]) / 2)
    centre = float(np.median(means))
    if n < 10:
        return _estimate(centre, None, None, level, n, method)
    spread_of_ranks = math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    z = float(stats.norm.ppf((1 + level) / 2))
    outside = max(0, math.floor(means.size / 2 - z * spread_of_ranks))
    low, high = float(means[outside]), float(means[means.size - 1 - outside])
    return _estimate(centre, low, high, level, n, method)


def bootstrap_interval(
    logs: Sequence[float], seed: int, level: float = 0.95, resamples: int = 10_000
) -> Estimate:
    """Ratio with a bias-corrected and accelerated bootstrap interval: no normality assumed."""
    n, method = len(logs), "BCa bootstrap of log ratios"
    mean = float(np.mean(logs)) if n else None
    if n < 3 or np.ptp(logs) == 0:
        return _estimate(mean, None, None, level, n, method)
    found = stats.bootstrap(
        (np.asarray(logs),),
        np.mean,
        confidence_level=level,
        n_resamples=resamples,
        method="BCa",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return _estimate(mean, float(found.low), float(found.high), level, n, method)


def permutation_p(logs: Sequence[float], seed: int, resamples: int = 20_000) -> float | None:
    """Two-sided p of "no difference" when either order of a block is as likely: signs are flipped.

    Exact up to 14 blocks; ``None`` without blocks.
    """
    values = np.asarray(logs, dtype=float)
    if values.size == 0:
        return None
    observed = abs(values.sum()) * (1 - 1e-12)
    if values.size <= EXACT_UP_TO:
        return float(np.mean(np.abs(_all_signs(values.size) @ values) >= observed))
    signs = np.random.default_rng(seed).choice((-1, 1), size=(resamples, values.size))
    return float((1 + np.sum(np.abs(signs @ values) >= observed)) / (1 + resamples))


@cache
def _all_signs(count: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    return np.array(list(itertools.product((-1, 1), repeat=count)))


def detectable_ratio(
    logs: Sequence[float], level: float = 0.95, power: float = 0.8
) -> float | None:
    """Smallest slow-down that so many blocks of such noise would show; ``None`` below two."""
    n = len(logs)
    if n < 2:
        return None
    quantiles = float(stats.t.ppf((1 + level) / 2, n - 1) + stats.t.ppf(power, n - 1))
    return math.exp(quantiles * float(np.std(logs, ddof=1)) / math.sqrt(n))


def _estimate(
    mean: float | None, low: float | None, high: float | None, level: float, n: int, method: str
) -> Estimate:
    value, low, high = (None if x is None else math.exp(x) for x in (mean, low, high))
    return Estimate(value=value, low=low, high=high, level=level, n=n, method=method)
