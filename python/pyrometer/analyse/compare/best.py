"""Which of several treatments is the best, and which others could be: multiple comparisons with it.

Hsu, "Constrained simultaneous confidence intervals for multiple comparisons with the best", Annals
of Statistics 12 (1984): a treatment could be the best unless another one is better by more than
Dunnett's one-sided difference ("A multiple comparison procedure for comparing several treatments
with a control", JASA 50, 1955).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import optimize, special

from pyrometer.analyse.compare.studentized_range import deviations, legendre
from pyrometer.analyse.compare.two import LEVEL, logs

_REACH = 8.5


@dataclass(frozen=True)
class Best:
    """The treatment with the least mean of logarithms.

    Attributes
    ----------
    could_be : tuple of str
        Every treatment that could be the best, at the level, in the order given.
    n : int
        Blocks.
    """

    name: str
    could_be: tuple[str, ...]
    level: float
    n: int


def best(values: Mapping[str, Sequence[float]], level: float = LEVEL) -> Best | None:
    """Find the least of times in blocks; ``None`` below two treatments or two blocks.

    Parameters
    ----------
    values : mapping of str to sequence of float
        Times of each treatment, by block in the same order. Noise is what treatments and blocks,
        added, leave of the logarithms.

    Examples
    --------
    >>> found = best({"1": [12.0, 12.2, 11.9], "2": [10.0, 10.1, 10.1], "4": [10.1, 9.9, 10.0]})
    >>> found.name, found.could_be
    ('4', ('2', '4'))
    """
    names = list(values)
    if len(names) < 2 or len(values[names[0]]) < 2:
        return None
    table = np.array([logs(values[name]) for name in names])
    k, n = table.shape
    means = table.mean(axis=1)
    rest = table - means[:, None] - table.mean(axis=0)[None, :] + table.mean()
    freedom = (k - 1) * (n - 1)
    noise = math.sqrt(float((rest**2).sum()) / freedom)
    least = dunnett(level, k - 1, freedom) * noise * math.sqrt(2 / n)
    close = means - means.min() <= least
    return Best(
        names[int(means.argmin())],
        tuple(name for name, one in zip(names, close, strict=True) if one),
        level,
        n,
    )


@cache
def dunnett(level: float, k: int, df: float) -> float:
    """Give the one-sided critical value for `k` treatments beside a control, of equal numbers.

    Examples
    --------
    >>> round(dunnett(0.95, 1, 10), 3), round(dunnett(0.95, 4, 20), 2)
    (1.812, 2.3)
    """
    s, weights = deviations(df)
    z, w = legendre(-_REACH, _REACH)
    density = w * np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)

    def below(d: float) -> float:
        inside = special.ndtr(z[None, :] + math.sqrt(2) * d * s[:, None]) ** k
        return float(weights @ (inside @ density))

    high = 8.0
    while below(high) < level:
        high *= 2
    return float(optimize.brentq(lambda d: below(d) - level, 0.0, high))
