"""A suite of queries as one: the geometric mean of their ratios, with its interval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

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
    either side are (Kalibera and Jones 2013 resample each level that is random).

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
        for sign, side in zip((-1, 1), sides, strict=True):
            for one in side.values():
                # Resampled means vary too little by (n - 1) / n: stretched about the mean.
                means = one[draw.integers(0, one.size, (resamples, one.size))].mean(axis=1)
                stretched = (means - one.mean()) * math.sqrt(one.size / (one.size - 1))
                sums += sign * (one.mean() + stretched)
        found = np.quantile(sums / len(names), [(1 - level) / 2, (1 + level) / 2])
        low, high = math.expm1(float(found[0])), math.expm1(float(found[1]))
    return Estimate(
        value=math.expm1(value),
        low=low,
        high=high,
        level=level,
        n=n,
        method="hierarchical bootstrap",
    )
