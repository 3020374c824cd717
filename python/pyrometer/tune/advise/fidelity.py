"""How well a cheap stand-in ranks configurations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy import stats

from pyrometer.core.estimate import LEVEL, Estimate


@dataclass(frozen=True)
class FidelityRank:
    """How well a cheap stand-in ranks configurations.

    Attributes
    ----------
    share : float
        Its cost, of a full run's.
    correlation : Estimate
        Spearman's, of the configurations that ran at both (n of them).
    """

    name: str
    share: float
    correlation: Estimate


def spearman(full: Sequence[float], cheap: Sequence[float]) -> Estimate:
    """Give the rank correlation with its interval; nothing below three values.

    Examples
    --------
    >>> spearman([1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 2.0, 3.0, 5.0, 4.0]).value
    0.9
    """
    count, method = len(full), "Spearman, Fisher's z"
    if count < 3 or len(set(full)) < 2 or len(set(cheap)) < 2:
        return Estimate(value=None, low=None, high=None, level=LEVEL, n=count, method=method)
    value = round(float(stats.spearmanr(full, cheap).statistic), 12)
    if count < 4:
        return Estimate(value=value, low=None, high=None, level=LEVEL, n=count, method=method)
    # Variance of Fisher's z of ranks by Fieller, Hartley and Pearson (1957).
    half = float(stats.norm.ppf((1 + LEVEL) / 2)) * math.sqrt(1.06 / (count - 3))
    middle = math.atanh(min(max(value, -0.999999), 0.999999))
    return Estimate(
        value=value, low=math.tanh(middle - half), high=math.tanh(middle + half),
        level=LEVEL, n=count, method=method,
    )  # fmt: skip
