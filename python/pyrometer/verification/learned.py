"""What trials of a rule say of its next prediction: its bias, and by how much it may be off. Pure.

What counts is the ratio of the measured to the predicted saving: one for each job, since twenty
trials of one job say nothing of another. Nothing is assumed of how ratios are distributed; a
remedy that cost time has a ratio below zero.

The median of the ratios is a bias where its interval (95 %: order statistics with binomial ranks,
the sign test turned round) does not hold 1. The error is what nine of ten predictions are not off
by: the rank of `upper` (split conformal prediction), of differences from 1, or from the median of
the other ratios where there is a bias (jackknife: Barber et al., "Predictive inference with the
jackknife+", Annals of Statistics 2021).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

LEVEL = 0.9
"""Of predictions, how many are off by no more than the error of a record."""
SURE = 0.95


def upper(errors: Sequence[float]) -> float:
    """Give the error that the next of its kind does not exceed with a probability of `LEVEL`.

    The smallest with rank (n + 1) * `LEVEL` or more, of whatever distribution: split conformal
    prediction (Lei et al., "Distribution-free predictive inference for regression", JASA 2018). Of
    fewer than nine no error has that rank: the largest is given, which the next one does not exceed
    with a probability of n / (n + 1).

    Examples
    --------
    >>> upper([0.5, 0.1, 0.3]), upper([number / 100 for number in range(1, 20)])
    (0.5, 0.18)
    """
    rank = math.ceil(round((len(errors) + 1) * LEVEL, 9))
    return sorted(errors)[min(rank, len(errors)) - 1]


def bias_of(ratios: Sequence[float]) -> float:
    """Give the median of ratios, or 1 where they do not exclude that.

    Examples
    --------
    >>> bias_of([0.5] * 8), bias_of([0.5] * 5), bias_of([0.5] * 8 + [1.5] * 2)
    (0.5, 1.0, 1.0)
    """
    count, tail = len(ratios), 0.0
    rank = 0
    while rank < count // 2:
        tail += math.comb(count, rank) / 2**count
        if tail > (1 - SURE) / 2:
            break
        rank += 1
    if rank == 0:
        return 1.0
    ordered = sorted(ratios)
    holds = ordered[rank - 1] <= 1.0 <= ordered[-rank]
    return 1.0 if holds else median(ordered)


def error_of(ratios: Sequence[float], bias: float) -> float:
    """Give by how much the next ratio may be off its bias, at `LEVEL`.

    Examples
    --------
    >>> error_of([0.5, 0.4, 0.6], 1.0), error_of([0.5] * 8, 0.5)
    (0.6, 0.0)
    """
    if bias == 1.0:
        return upper([abs(one - 1.0) for one in ratios])
    others = [median([*ratios[:at], *ratios[at + 1 :]]) for at in range(len(ratios))]
    return upper([abs(one - other) for one, other in zip(ratios, others, strict=True)])
