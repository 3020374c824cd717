"""Several workloads at once as a whole: throughput and fairness, from slowdowns by block."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

from pyrometer.analyse.compare.two import ALPHA, LEVEL, geometric_mean_of
from pyrometer.analyse.corun.model import PartyReport
from pyrometer.estimate import Estimate


def party_report(slowdowns: Mapping[str, Sequence[float]], own_cpus: bool) -> PartyReport:
    """Tell how much gets done, and how evenly.

    Parameters
    ----------
    slowdowns : mapping of str to sequence of float
        Time together over time alone, of each member by block; the same blocks for all.

    Examples
    --------
    >>> found = party_report({"a": [2.0, 2.0], "b": [1.25, 1.25]}, False)
    >>> [round(one.value, 3) for one in (found.weighted_speedup, found.fairness)]
    [1.3, 0.625]
    """
    blocks = list(zip(*slowdowns.values(), strict=True))
    return PartyReport(
        members=list(slowdowns),
        own_cpus=own_cpus,
        weighted_speedup=geometric_mean_of([sum(1 / one for one in block) for block in blocks]),
        harmonic_speedup=geometric_mean_of([len(block) / sum(block) for block in blocks]),
        fairness=fairness(list(slowdowns.values())),
    )


def fairness(slowdowns: Sequence[Sequence[float]]) -> Estimate:
    """Smallest over largest slowdown, of the geometric means over blocks.

    A ratio of the extremes of each block would never be 1, however fair: noise alone makes one the
    smaller. So each two are compared, and the interval of the logarithm of their ratio is folded at
    0; with more than two, intervals hold for all (Bonferroni), and the least fair two decide.

    Examples
    --------
    >>> found = fairness([[1.0, 1.1, 0.9], [1.1, 1.0, 0.95]])
    >>> found.high, found.low < found.value < 1
    (1.0, True)
    """
    pairs = list(combinations(slowdowns, 2))
    level = 1 - ALPHA / len(pairs)
    ratios = [
        geometric_mean_of([x / y for x, y in zip(a, b, strict=True)], level) for a, b in pairs
    ]
    ends = [_folded(one) for one in ratios]
    low, high = ([one[at] for one in ends] for at in (0, 1))
    known = all(one is not None for one in low)
    return Estimate(
        value=min(math.exp(-abs(math.log(one.value or 1.0))) for one in ratios),
        low=min(one for one in low if one is not None) if known else None,
        high=min(one for one in high if one is not None) if known else None,
        level=LEVEL,
        n=ratios[0].n,
        method="t of log ratios, folded",
    )


def _folded(ratio: Estimate) -> tuple[float | None, float | None]:
    """Fold an interval of a ratio: which of two is the smaller does not matter."""
    if ratio.low is None or ratio.high is None:
        return None, None
    ends = abs(math.log(ratio.low)), abs(math.log(ratio.high))
    near = 0.0 if ratio.low <= 1 <= ratio.high else min(ends)
    return math.exp(-max(ends)), math.exp(-near)
