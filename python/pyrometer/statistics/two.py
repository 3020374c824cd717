"""Two treatments: how much B differs from A, and the verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pyrometer.core.estimate import LEVEL, Estimate
from pyrometer.statistics.distributions import chi_square_quantile, normal_quantile, t_quantile
from pyrometer.statistics.power import ALPHA, needed
from pyrometer.statistics.welch import Welch, constant, equivalence, welch

Verdict = Literal["faster", "slower", "same", "cannot tell"]
Counts = NDArray[np.intp]

MARGIN = 0.02
"""Relative difference below which two treatments are the same in practice, unless declared."""

PERMUTATIONS = 9999

BATCH = 1 << 20
"""Values that are drawn or permuted at once: 8 MB, however long the lists are."""


@dataclass(frozen=True)
class Comparison:
    """B compared with A.

    Attributes
    ----------
    a, b : Estimate
        Means with Student's interval, in the unit of the lists.
    change : Estimate
        Geometric mean of B over that of A, minus 1.
    p, permutation_p : float or None
        Two-sided: Welch's on logarithms, and that of permuted labels, which assumes no normality.
    g, delta : Estimate
        Effect sizes: Hedges' g of the logarithms, and Cliff's delta (share of pairs in which B is
        larger less that in which A is).
    margin : float
        Relative difference that counts as none.
    same_p : float or None
        Larger p of the two one-sided tests against the margin (TOST): small means equivalent.
    verdict : str
        Of B compared with A.
    trials_needed : int or None
        Trials of each needed to detect a difference of the margin, by the noise seen, where the
        verdict is ``cannot tell``.
    """

    a: Estimate
    b: Estimate
    change: Estimate
    p: float | None
    permutation_p: float | None
    g: Estimate
    delta: Estimate
    margin: float
    same_p: float | None
    verdict: Verdict
    trials_needed: int | None


def compare(
    a: Sequence[float],
    b: Sequence[float],
    *,
    margin: float = MARGIN,
    level: float = LEVEL,
    seed: int = 0,
    permutations: int = PERMUTATIONS,
) -> Comparison:
    """Compare two lists of positive times, one a trial, that have no blocks in common.

    Of times that do not vary nobody knows the noise: there is no interval, and no verdict.

    Parameters
    ----------
    permutations : int
        Permutations of labels drawn for ``permutation_p``; 0 leaves it out.

    Raises
    ------
    ValueError
        If a value is not above zero, or a list is empty.

    Examples
    --------
    >>> found = compare([10.0, 10.1, 9.9, 10.0], [9.0, 9.1, 8.9, 9.0])
    >>> found.verdict, round(found.change.value, 3)
    ('faster', -0.1)
    """
    x, y = logs(a), logs(b)
    tested = None if _flat(x, y) else welch(x, y, level)
    change = _ratio(x, y, tested, level)
    sames = None if tested is None else equivalence(x, y, margin=margin)
    verdict = judge(change, None if tested is None else tested.p, sames, margin)
    unsure = verdict == "cannot tell" and tested is not None
    return Comparison(
        a=mean_of(a, level),
        b=mean_of(b, level),
        change=change,
        p=None if tested is None else tested.p,
        permutation_p=permutation(x, y, seed=seed, resamples=permutations),
        g=hedges(x, y, level=level),
        delta=cliff(a, b, level=level),
        margin=margin,
        same_p=sames,
        verdict=verdict,
        trials_needed=needed(math.log1p(margin), pooled_sd(x, y)) if unsure else None,
    )


def _flat(a: Sequence[float], b: Sequence[float]) -> bool:
    return min(len(a), len(b)) > 1 and constant(a, b)


def judge(change: Estimate, p: float | None, same_p: float | None, margin: float) -> Verdict:
    """Say what the interval allows: a difference, sameness within the margin, or neither.

    A difference that is certain but smaller than the margin is the same in practice.
    """
    if same_p is not None and same_p < ALPHA:
        return "same"
    if p is None or p >= ALPHA or change.value is None:
        return "cannot tell"
    return "faster" if change.value < 0 else "slower"


def permutation(
    a: Sequence[float], b: Sequence[float], *, seed: int, resamples: int = PERMUTATIONS
) -> float | None:
    """Two-sided p of the difference of means under exchange of labels; exact where few."""
    if len(a) < 2 or len(b) < 2 or not resamples:
        return None
    from scipy import stats

    found = stats.permutation_test(
        (np.asarray(a), np.asarray(b)),
        lambda x, y, axis: np.mean(y, axis=axis) - np.mean(x, axis=axis),
        permutation_type="independent",
        n_resamples=resamples,
        vectorized=True,
        batch=max(1, BATCH // (len(a) + len(b))),
        rng=np.random.default_rng(seed),
    )
    return float(found.pvalue)


def hedges(a: Sequence[float], b: Sequence[float], *, level: float = LEVEL) -> Estimate:
    """Hedges' g: difference of means over the pooled deviation, corrected for small samples.

    The interval uses the normal approximation of Hedges and Olkin (1985).
    """
    n, m = len(a), len(b)
    sd = pooled_sd(a, b)
    if not sd or _flat(a, b):
        return _estimate(None, None, level, min(n, m), "hedges g")
    correction = 1 - 3 / (4 * (n + m) - 9)
    g = correction * (float(np.mean(b)) - float(np.mean(a))) / sd
    error = math.sqrt((n + m) / (n * m) + g * g / (2 * (n + m)))
    half = float(normal_quantile((1 + level) / 2)) * error
    return _estimate(g, half, level, min(n, m), "hedges g")


def cliff(a: Sequence[float], b: Sequence[float], *, level: float = LEVEL) -> Estimate:
    """Cliff's delta with the asymmetric interval of Feng and Cliff (2004).

    The signs of all pairs are counted by ranks, not written down.
    """
    n, m = len(a), len(b)
    x, y = np.asarray(a, float), np.asarray(b, float)
    above, below = _sides(x, y)
    delta = int((above - below).sum()) / (n * m)
    if n < 2 or m < 2:
        return _estimate(delta, None, level, min(n, m), "cliff delta")
    larger, smaller = _sides(y, x)
    rows, columns = (above - below) / m - delta, (smaller - larger) / n - delta
    total = int((above + below).sum()) - n * m * delta**2
    variance = m**2 * float((rows**2).sum()) + n**2 * float((columns**2).sum()) - total
    variance = max(variance / (n * m * (n - 1) * (m - 1)), (1 - delta**2) / (n * m - 1))
    z = float(normal_quantile((1 + level) / 2))
    middle = delta - delta**3
    half = z * math.sqrt(variance) * math.sqrt((1 - delta**2) ** 2 + z**2 * variance)
    under = 1 - delta**2 + z**2 * variance
    low, high = ((middle - half) / under, (middle + half) / under) if under else (delta, delta)
    return Estimate(
        value=delta,
        low=max(-1.0, min(low, delta)),
        high=min(1.0, max(high, delta)),
        level=level,
        n=min(n, m),
        method="cliff delta",
    )


def _sides(values: NDArray[np.float64], others: NDArray[np.float64]) -> tuple[Counts, Counts]:
    """Count, for each value, the others that are larger, and those that are smaller."""
    ordered = np.sort(others)
    larger: Counts = ordered.size - np.searchsorted(ordered, values, side="right")
    return larger, np.searchsorted(ordered, values, side="left")


def pooled_sd(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Return the standard deviation within the two lists together; ``None`` below three values."""
    freedom = len(a) + len(b) - 2
    if freedom < 1 or not a or not b:
        return None
    squares = sum(float(np.var(one)) * len(one) for one in (a, b))
    return math.sqrt(squares / freedom)


def sd_of(variance: float, freedom: int, level: float = LEVEL) -> Estimate:
    """Return the standard deviation with the interval of chi squared.

    Examples
    --------
    >>> found = sd_of(0.01, 9)
    >>> round(found.value, 3), round(found.low, 3), round(found.high, 3)
    (0.1, 0.069, 0.183)
    """
    low, high = (float(chi_square_quantile(q, freedom)) for q in ((1 + level) / 2, (1 - level) / 2))
    return Estimate(
        value=math.sqrt(variance),
        low=math.sqrt(variance * freedom / low),
        high=math.sqrt(variance * freedom / high),
        level=level,
        n=freedom + 1,
        method="chi2",
    )


def mean_of(values: Sequence[float], level: float = LEVEL) -> Estimate:
    """Return the mean with Student's interval; a single value has none.

    Where no value is below 0, as no time is, neither is the interval.

    Examples
    --------
    >>> mean_of([10.0, 14.0]).low, mean_of([-10.0, 14.0]).low < 0
    (0.0, True)
    """
    found = student(values, level)
    if found.low is not None and found.low < 0 <= min(values):
        return found.model_copy(update={"low": 0.0})
    return found


def student(values: Sequence[float], level: float = LEVEL) -> Estimate:
    """Return the mean of values of either sign, differences say, with Student's interval."""
    n = len(values)
    if n < 2:
        return _estimate(float(values[0]) if n else None, None, level, n, "t")
    error = float(np.std(values, ddof=1)) / math.sqrt(n)
    half = float(t_quantile((1 + level) / 2, n - 1)) * error
    return _estimate(float(np.mean(values)), half, level, n, "t")


def geometric_mean_of(
    values: Sequence[float], level: float = LEVEL, noise: tuple[float, int] | None = None
) -> Estimate:
    """Return the geometric mean with Student's interval of the logarithms.

    Parameters
    ----------
    noise : (float, int), optional
        Standard deviation of a logarithm and its degrees of freedom, where a model knows them
        better than these values alone.

    Examples
    --------
    >>> found = geometric_mean_of([1.0, 4.0, 2.0])
    >>> round(found.value, 6), round(found.low, 3), found.n
    (2.0, 0.357, 3)
    """
    found = student(logs(values), level)
    if noise is not None and found.value is not None:
        half = float(t_quantile((1 + level) / 2, noise[1])) * noise[0] / math.sqrt(found.n)
        found = _estimate(found.value, half, level, found.n, "model's noise")
    ends = [None if one is None else math.exp(one) for one in (found.value, found.low, found.high)]
    return Estimate(
        value=ends[0], low=ends[1], high=ends[2], level=level, n=found.n,
        method=f"{found.method} of logs",
    )  # fmt: skip


def _ratio(a: Sequence[float], b: Sequence[float], tested: Welch | None, level: float) -> Estimate:
    n, method = min(len(a), len(b)), "welch of logs"
    if tested is None:
        value = math.expm1(float(np.mean(b)) - float(np.mean(a)))
        return _estimate(value, None, level, n, method)
    found = tested.difference
    return Estimate(
        value=None if found.value is None else math.expm1(found.value),
        low=None if found.low is None else math.expm1(found.low),
        high=None if found.high is None else math.expm1(found.high),
        level=level,
        n=n,
        method=method,
    )


def logs(values: Sequence[float]) -> list[float]:
    """Return the logarithms of positive values.

    Raises
    ------
    ValueError
        If one is not above zero or not finite, or there is none.
    """
    if not values:
        raise ValueError("there is nothing to compare")
    if any(not (math.isfinite(value) and value > 0) for value in values):
        raise ValueError("times must be positive and finite")
    return [math.log(value) for value in values]


def _estimate(
    value: float | None, half: float | None, level: float, n: int, method: str
) -> Estimate:
    known = value is not None and half is not None
    return Estimate(
        value=value,
        low=value - half if known else None,  # type: ignore[operator]
        high=value + half if known else None,  # type: ignore[operator]
        level=level,
        n=n,
        method=method,
    )
