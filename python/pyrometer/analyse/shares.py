"""Shares of counted samples, with their intervals."""

from __future__ import annotations

import math

from pyrometer.estimate import Estimate

LEVEL = 0.95
Z = 1.959963984540054


def wilson(hits: int, n: int) -> tuple[float, float]:
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
