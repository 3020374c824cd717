"""How well a cheap stand-in ranks configurations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from pyrometer.core.estimate import LEVEL, Estimate
from pyrometer.statistics.distributions import normal_quantile

T = TypeVar("T")

CHEAP = 0.4
"""Largest share of a full run that a fidelity may cost to be worth its errors."""

ALIKE = 0.5
"""Correlation with the full run from which on a cheap fidelity is used for choosing."""

PAIRED = 5
"""Configurations that have to have run at both before ranks say that a fidelity misleads."""
SURE = 8
"""The same, before ranks that agree a little are too little."""
LITTLE = 0.4
"""Rank correlation that is too little."""


@dataclass(frozen=True)
class FidelityRank:
    """How well a cheap stand-in ranks configurations.

    Attributes
    ----------
    share : float
        Its cost, of a full run's.
    correlation : Estimate
        Spearman's, of the configurations that ran at both (n of them).
    misleads : str or None
        Why it is not used any more.
    """

    name: str
    share: float
    correlation: Estimate
    misleads: str | None = None


def misleading(correlation: Estimate) -> str | None:
    """Say why ranks speak against a stand-in; ``None`` where they do not, or it is too early.

    Examples
    --------
    >>> misleading(spearman([1.0, 2.0, 3.0, 4.0, 5.0], [5.0, 4.0, 3.0, 2.0, 1.0]))
    'it ranks 5 configurations otherwise than the full run (correlation -1)'
    >>> misleading(spearman([1.0, 2.0, 3.0], [3.0, 2.0, 1.0])) is None
    True
    """
    value, count = correlation.value, correlation.n or 0
    if value is None or count < PAIRED:
        return None
    if value <= 0 or (count >= SURE and value < LITTLE):
        return (
            f"it ranks {count} configurations otherwise than the full run (correlation {value:.2g})"
        )
    return None


def spread(ordered: Sequence[T], number: int) -> list[T]:
    """Take some of a list, the first and the last among them, the others evenly between.

    Examples
    --------
    >>> spread("abcdefg", 3), spread("ab", 3), spread("abc", 1), spread("abc", 0)
    (['a', 'd', 'g'], ['a', 'b'], ['a'], [])
    """
    if number >= len(ordered) or number <= 0:
        return list(ordered) if number > 0 else []
    step = (len(ordered) - 1) / max(number - 1, 1)
    return [ordered[round(at * step)] for at in range(number)]


def spearman(full: Sequence[float], cheap: Sequence[float]) -> Estimate:
    """Give the rank correlation with its interval; nothing below three values.

    Examples
    --------
    >>> spearman([1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 2.0, 3.0, 5.0, 4.0]).value
    0.9
    """
    from scipy import stats

    count, method = len(full), "Spearman, Fisher's z"
    if count < 3 or len(set(full)) < 2 or len(set(cheap)) < 2:
        return Estimate(value=None, low=None, high=None, level=LEVEL, n=count, method=method)
    value = round(float(stats.spearmanr(full, cheap).statistic), 12)
    if count < 4:
        return Estimate(value=value, low=None, high=None, level=LEVEL, n=count, method=method)
    # Variance of Fisher's z of ranks by Fieller, Hartley and Pearson (1957).
    half = float(normal_quantile((1 + LEVEL) / 2)) * math.sqrt(1.06 / (count - 3))
    middle = math.atanh(min(max(value, -0.999999), 0.999999))
    return Estimate(
        value=value, low=math.tanh(middle - half), high=math.tanh(middle + half),
        level=LEVEL, n=count, method=method,
    )  # fmt: skip
