"""Change points of a series: E-divisive (Matteson and James 2014), for histories of runs.

At each step the series is cut where the energy distance of the two parts is largest; the cut is
kept if few permutations of the runs within their segments give a larger one. It assumes no normal
noise, and its false alarms are bounded for the whole series. MongoDB finds changes of performance
so (Daly et al., "The use of change point detection to identify software performance regressions
in a continuous integration system", ICPE 2020).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

ALPHA = 0.05
"""Chance of a cut in a series that has none (and, at each further step, of one cut too many)."""

LEAST = 3
"""Fewest values of a segment."""

PERMUTATIONS = 199
"""Of each step; sequential (Besag and Clifford 1991): it ends when it can no longer be kept."""

LONGEST = 500
"""Values above which it takes too long: time and memory grow with their square."""

PLACE = 11.03
"""95 % of Bai's limiting distribution of an estimated place ("Estimation of a change point in
multiple regression models", Review of Economics and Statistics 79, 1997)."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Cut:
    """Where a new level begins.

    Attributes
    ----------
    index : int
        First value of the new level.
    p : float
        Share of permutations with a cut at least as good.
    statistic : float
        Scaled energy distance of both parts.
    """

    index: int
    p: float
    statistic: float


def change_points(
    values: Sequence[float],
    *,
    alpha: float = ALPHA,
    least: int = LEAST,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> list[Cut]:
    """Find where the level of a series changes, in the order of the series.

    Parameters
    ----------
    values : sequence of float
        In the order of time; logarithms where relative changes matter.
    least : int
        Fewest values of a segment, at least 2.

    Raises
    ------
    ValueError
        If the series is longer than `LONGEST`, or holds what is no number.

    Examples
    --------
    >>> series = [1.0, 1.1, 0.9, 1.0, 1.05, 0.95, 1.5, 1.6, 1.4, 1.5, 1.55, 1.45]
    >>> [(cut.index, cut.p) for cut in change_points(series)]
    [(6, 0.005)]
    >>> change_points([1.0, 1.1, 0.9, 1.0, 1.05, 0.95])
    []
    """
    if len(values) > LONGEST:
        raise ValueError(f"{len(values)} values: at most {LONGEST}")
    series = np.asarray(values, float)
    if not np.isfinite(series).all():
        raise ValueError("values must be finite")
    least = max(2, least)
    draw = np.random.default_rng(seed)
    distances = np.abs(series[:, None] - series[None, :])
    bounds, cuts = [0, len(series)], []
    while True:
        best = _best_of(distances, bounds, least)
        if best is None or best[1] <= 0:
            break
        p = _p(distances, bounds, least, best[1], alpha, permutations, draw)
        if p > alpha:
            break
        cuts.append(Cut(best[0], p, best[1]))
        bounds = sorted([*bounds, best[0]])
    return sorted(cuts, key=lambda cut: cut.index)


def best_cut(distances: Array, least: int = LEAST) -> tuple[int, float] | None:
    """Return the cut of one segment with the largest scaled energy distance, and that distance.

    For each cut, the part after it may end before the segment does (equation 8 of the paper), so
    that a level that comes and goes is seen.

    Returns
    -------
    tuple or None
        Index and statistic; ``None`` where the segment is too short to be cut.
    """
    n = len(distances)
    if n < 2 * least:
        return None
    sums = np.zeros((n + 1, n + 1))
    np.cumsum(np.cumsum(distances, axis=0), axis=1, out=sums[1:, 1:])
    whole = np.diag(sums)
    cut, end = np.arange(least, n - least + 1)[:, None], np.arange(2 * least, n + 1)[None, :]
    before, after = cut.astype(float), (end - cut).astype(float)
    after[after < least] = np.nan
    between = sums[cut, end] - whole[cut]
    left, right = whole[cut], whole[end] - 2 * sums[cut, end] + whole[cut]
    # Sums over all ordered pairs are twice those over pairs: means are the same.
    energy = (
        2 * between / (before * after)
        - left / (before * (before - 1))
        - right / (after * (after - 1))
    )
    scaled = before * after / (before + after) * energy
    row, column = divmod(int(np.nanargmax(scaled)), scaled.shape[1])
    return int(cut[row, 0]), float(scaled[row, column])


def place_interval(before: Sequence[float], after: Sequence[float]) -> tuple[int, int]:
    """By how many values the change may be earlier and later, with 95 % (Bai 1997).

    Examples
    --------
    >>> place_interval([1.0, 1.1, 0.9], [2.0, 2.1, 1.9])
    (1, 1)
    """
    n, m = len(before), len(after)
    step = float(np.mean(after) - np.mean(before))
    variance = (float(np.var(before)) * n + float(np.var(after)) * m) / max(1, n + m - 2)
    half = n + m if step == 0 else math.floor(PLACE * variance / step**2) + 1
    return min(half, n - 1), min(half, m - 1)


def _best_of(distances: Array, bounds: Sequence[int], least: int) -> tuple[int, float] | None:
    found = []
    for first, last in pairwise(bounds):
        best = best_cut(distances[first:last, first:last], least)
        if best is not None:
            found.append((first + best[0], best[1]))
    return max(found, key=lambda one: one[1]) if found else None


def _p(
    distances: Array, bounds: Sequence[int], least: int, seen: float, alpha: float,
    permutations: int, draw: np.random.Generator,
) -> float:  # fmt: skip
    """Permute within segments; stop when so many were as good that it cannot be kept."""
    enough = math.floor(alpha * (permutations + 1)) + 1
    as_good = 1
    for count in range(1, permutations + 1):
        order = np.concatenate(
            [first + draw.permutation(last - first) for first, last in pairwise(bounds)]
        )
        best = _best_of(distances[np.ix_(order, order)], bounds, least)
        # Rounding must not make equal values differ.
        as_good += best is not None and best[1] >= seen * (1 - 1e-9)
        if as_good >= enough:
            return as_good / (count + 1)
    return as_good / (permutations + 1)
