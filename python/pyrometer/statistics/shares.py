"""Shares of counted samples, with their intervals."""

from __future__ import annotations

import math

from pyrometer.core.estimate import Estimate

LEVEL = 0.95
Z = 1.959963984540054


def wilson(hits: float, n: float) -> tuple[float, float]:
    """Interval of a binomial share after Wilson, at 95 %.

    Examples
    --------
    >>> [round(x, 4) for x in wilson(8, 10)]
    [0.4902, 0.9433]
    >>> wilson(0, 0)
    (0.0, 1.0)
    """
    if n == 0:
        return 0.0, 1.0
    p = hits / n
    z2 = Z * Z / n
    middle = (p + z2 / 2) / (1 + z2)
    half = Z / (1 + z2) * math.sqrt(p * (1 - p) / n + z2 / (4 * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def part_of(parent_ns: float, hits: int, n: int) -> Estimate:
    """Part of an exactly known time by a share of equally weighted samples.

    Parameters
    ----------
    parent_ns : float
        The time that is split.
    hits, n : int
        Samples of the part, and of the whole.
    """
    low, high = wilson(hits, n)
    share = hits / n if n else None
    return Estimate(
        value=None if share is None else share * parent_ns,
        low=low * parent_ns,
        high=high * parent_ns,
        level=LEVEL,
        n=n,
        method="wilson",
    )


def part_by_weight(
    parent_ns: float, weight: float, whole: float, effective: float, n: int
) -> Estimate:
    """Part of a time by a share of weighed observations.

    Parameters
    ----------
    parent_ns : float
        The time that is split.
    weight, whole : float
        Weight of the part's observations, and of all.
    effective : float
        Effective sample size (Kish): equally weighted observations with the same information.
    n : int
        Observations of the part.

    Examples
    --------
    >>> share = part_by_weight(1.0, 30.0, 60.0, 16.0, 5)
    >>> share.value, round(share.low, 2), round(share.high, 2)
    (0.5, 0.28, 0.72)
    >>> part_by_weight(1.0, 0.0, 0.0, 0.0, 0).value is None
    True
    """
    share = weight / whole if whole else None
    low, high = wilson((share or 0.0) * effective, effective)
    return Estimate(
        value=None if share is None else share * parent_ns,
        low=low * parent_ns,
        high=high * parent_ns,
        level=LEVEL,
        n=n,
        method="wilson, effective number of sleeps",
    )
