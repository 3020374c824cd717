"""Welch's test of two means: of logarithms for verdicts, and of the values as they were given."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from pyrometer.core.estimate import LEVEL, Estimate

Array = NDArray[np.float64]

NO_VARIATION = "the values do not vary"


@dataclass(frozen=True)
class Welch:
    """Welch's test of two lists, and the difference of their means (B minus A), in their unit."""

    t: float
    df: float
    p: float
    difference: Estimate


class WelchAsGiven(BaseModel):
    """A minus B, as R's ``t.test(a, b)`` prints it; no logarithms, no blocks.

    Attributes
    ----------
    difference : float or None
        Mean of A less that of B, in the unit of the values: positive where B takes less.
    interval : (float, float) or None
        Its interval at `level`.
    difference_percent_of_a, percent_of_a : float, (float, float) or None
        The same two in per cent of the mean of A, whose error is ignored. A ratio with the
        error of both is ``change`` of the pair.
    t, df, p : float or None
        Statistic, degrees of freedom (Welch and Satterthwaite), two-sided p.
    reason : str or None
        Why there is no test.
    """

    difference: float | None = None
    interval: tuple[float, float] | None = None
    difference_percent_of_a: float | None = None
    percent_of_a: tuple[float, float] | None = None
    t: float | None = None
    df: float | None = None
    p: float | None = None
    level: float = LEVEL
    reason: str | None = None


def welch(a: Sequence[float], b: Sequence[float], level: float = LEVEL) -> Welch | None:
    """Test two means with unequal variances (Welch 1947); ``None`` below two values on a side.

    Counts may have no noise: the difference of values that do not vary is taken as exact. Of times
    it is not, see :func:`constant`.

    Examples
    --------
    >>> found = welch([1.0, 2.0, 3.0], [2.0, 3.0, 4.0])
    >>> round(found.t, 4), found.df, round(found.difference.value, 6)
    (1.2247, 4.0, 1.0)
    """
    if len(a) < 2 or len(b) < 2:
        return None
    x, y = np.asarray(a, float), np.asarray(b, float)
    difference = float(y.mean() - x.mean())
    n = min(x.size, y.size)
    if constant(x, y):
        p = 1.0 if difference == 0 else 0.0
        t = 0.0 if difference == 0 else math.copysign(math.inf, difference)
        exact = Estimate(
            value=difference, low=difference, high=difference, level=level, n=n, method="welch"
        )
        return Welch(t, float(x.size + y.size - 2), p, exact)
    found = _t_test(y, x)
    interval = found.confidence_interval(level)
    estimate = Estimate(
        value=difference, low=float(interval.low), high=float(interval.high),
        level=level, n=n, method="welch",
    )  # fmt: skip
    return Welch(float(found.statistic), float(found.df), float(found.pvalue), estimate)


def equivalence(a: Sequence[float], b: Sequence[float], *, margin: float) -> float:
    """Test that two lists of logarithms differ by less than the margin (Schuirmann's TOST 1987).

    Returns
    -------
    float
        The larger p of the two one-sided tests.
    """
    if len(a) < 2 or len(b) < 2:
        return 1.0
    x, y = np.asarray(a, float), np.asarray(b, float)
    least, most = math.log1p(-margin), math.log1p(margin)
    if constant(x, y):
        return 0.0 if least < y.mean() - x.mean() < most else 1.0
    above = _t_test(y, x + least, alternative="greater")
    below = _t_test(y, x + most, alternative="less")
    return float(max(above.pvalue, below.pvalue))


def _t_test(a: Array, b: Array, alternative: str = "two-sided") -> Any:
    # Takes half a second to import, and most runs have nothing to test.
    from scipy import stats

    # SciPy warns where one list is constant, which Welch's test allows.
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):
        return stats.ttest_ind(a, b, equal_var=False, alternative=alternative)


def constant(a: Sequence[float] | Array, b: Sequence[float] | Array) -> bool:
    """Whether all that varies in two lists of two values or more is rounding.

    By the rule of R's ``t.test``. Nobody knows then how much such values vary: times that are
    rounded, or a run that was copied.

    Examples
    --------
    >>> constant([3.0, 3.0], [2.0, 2.0 + 4e-16]), constant([3.0, 3.0], [2.0, 2.1])
    (True, False)
    """
    a, b = np.asarray(a, float), np.asarray(b, float)
    error = math.sqrt(a.var(ddof=1) / a.size + b.var(ddof=1) / b.size)
    rounding = 10 * float(np.finfo(float).eps) * max(abs(a.mean()), abs(b.mean()))
    return bool(error <= rounding)


def welch_as_given(a: Sequence[float], b: Sequence[float], level: float = LEVEL) -> WelchAsGiven:
    """Test whether two lists of positive values have the same mean.

    Examples
    --------
    >>> found = welch_as_given([10.0, 11.0, 12.0], [8.0, 9.0, 10.0])
    >>> found.difference, [round(end, 3) for end in found.interval]
    (2.0, [-0.267, 4.267])
    >>> [round(end, 1) for end in found.percent_of_a]
    [-2.4, 38.8]
    >>> welch_as_given([10.0], [8.0, 9.0]).reason
    'fewer than two values'
    """
    mean, other = float(np.mean(a)), float(np.mean(b))
    apart = mean - other
    shown = WelchAsGiven(difference=apart, difference_percent_of_a=100 * apart / mean, level=level)
    found = welch(b, a, level)
    if found is None:
        shown.reason = "fewer than two values"
    elif math.isinf(found.t) or found.difference.low == found.difference.high:
        shown.reason = NO_VARIATION
    else:
        low, high = found.difference.low, found.difference.high
        assert low is not None
        assert high is not None
        shown.interval = low, high
        shown.percent_of_a = 100 * low / mean, 100 * high / mean
        shown.t, shown.df, shown.p = found.t, found.df, found.p
    return shown
