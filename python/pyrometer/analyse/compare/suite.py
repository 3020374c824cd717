"""A suite of queries as one: the geometric mean of their ratios, with its interval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from pyrometer.analyse.compare.two import LEVEL, logs
from pyrometer.estimate import Estimate

RESAMPLES = 10_000


def geometric_mean(
    a: Mapping[str, Sequence[float]],
    b: Mapping[str, Sequence[float]],
    *,
    level: float = LEVEL,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Estimate:
    """Geometric mean over queries of B over A, minus 1, by a hierarchical bootstrap.

    The queries are those of the suite, so they are not drawn anew; within each query the trials of
    either side are (Kalibera and Jones 2013 resample each level that is random). As percentiles of
    few trials lie too near, they are stretched twice: by the variance that drawing loses, and from
    the normal's to Student's (expanded percentiles, Hesterberg 2015).

    Parameters
    ----------
    a, b : mapping of str to sequence of float
        Times of each query, one a trial. Queries that one side lacks are left out.

    Raises
    ------
    ValueError
        If no query is on both sides, or a value is not above zero.

    Examples
    --------
    >>> before, after = {"q1": [10, 10.2], "q2": [1, 1.02]}, {"q1": [5, 5.1], "q2": [2, 2.1]}
    >>> found = geometric_mean(before, after)
    >>> round(found.value, 2), found.n
    (0.01, 2)
    """
    names = [name for name in a if name in b]
    if not names:
        raise ValueError("no query is on both sides")
    sides = [{name: np.asarray(logs(one[name])) for name in names} for one in (a, b)]
    value = float(np.mean([sides[1][name].mean() - sides[0][name].mean() for name in names]))
    n = min(len(one[name]) for one in sides for name in names)
    low = high = None
    if n > 1:
        draw = np.random.default_rng(seed)
        sums = np.zeros(resamples)
        errors = np.array([[o.var(ddof=1) / o.size, o.size - 1] for s in sides for o in s.values()])
        for sign, side in zip((-1, 1), sides, strict=True):
            for one in side.values():
                # Resampled means vary too little by (n - 1) / n: stretched about the mean.
                means = one[draw.integers(0, one.size, (resamples, one.size))].mean(axis=1)
                stretched = (means - one.mean()) * math.sqrt(one.size / (one.size - 1))
                sums += sign * (one.mean() + stretched)
        found = np.quantile(sums / len(names), [(1 - level) / 2, (1 + level) / 2])
        found = value + (found - value) * _expansion(errors, level)
        low, high = math.expm1(float(found[0])), math.expm1(float(found[1]))
    return Estimate(
        value=math.expm1(value),
        low=low,
        high=high,
        level=level,
        n=n,
        method="hierarchical bootstrap",
    )


def _expansion(errors: NDArray[np.float64], level: float) -> float:
    """Student's quantile over the normal's, by the degrees of freedom of a sum (Satterthwaite).

    Parameters
    ----------
    errors : array
        Squared error of each mean in the sum, and its degrees of freedom.
    """
    squares, freedoms = errors.T
    if not squares.any():
        return 1.0
    freedom = squares.sum() ** 2 / (squares**2 / freedoms).sum()
    at = (1 + level) / 2
    return float(stats.t.ppf(at, freedom) / stats.norm.ppf(at))
