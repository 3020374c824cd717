"""Where a series of times becomes steady: change points, and what follows the last of them.

The series is cut where its level changes (optimal partitioning with a penalty for each cut), and
its shape is named as Barrett et al. do, "Virtual machine warmup blows hot and cold", OOPSLA 2017:
flat, warm-up, slowdown, or not steady. Traini et al., "Towards effective assessment of steady
state performance in Java software", Empirical Software Engineering 2022, use the same on JMH
benchmarks. Both have thousands of iterations; with the few of a Spark application the noise is
one figure of the whole series (the median absolute deviation of its steps), not one per segment.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from pyrometer.core.estimate import Estimate
from pyrometer.statistics.distributions import t_quantile

Shape = Literal["flat", "warm-up", "slowdown", "not steady", "too short"]

FEWEST = 4
"""Iterations below which no shape is reported."""

STEADY_FEWEST = 3
"""Iterations that must stay at one level before it is called steady (and a quarter of all)."""

SAME_LEVEL = 0.02
"""Relative difference below which two levels are the same, however small the noise."""

PENALTY = 6.0
"""Price of a cut in units of noise variance times ln n (Barrett et al.: 15 ln n for PELT, with
thousands of iterations and a separate variance for each segment). Simulated with normal noise of
5 %: of 6 (10, 20) iterations at one level 85 (91, 97) % are called flat; a first iteration that is
1.5 times slower is found in 79 (90, 94) %."""

LEVEL = 0.95
_MAD_TO_SIGMA = 1 / statistics.NormalDist().inv_cdf(0.75)


@dataclass(frozen=True)
class Warmup:
    """What a series of times looks like.

    Attributes
    ----------
    shape : str
        ``flat``; ``warm-up`` (steady after slower ones); ``slowdown`` (steady after faster ones);
        ``not steady``; ``too short``.
    steady_from : int or None
        Index of the first time of the steady part; ``None`` where nothing is known to be steady.
    starts : tuple of int
        Index at which each segment starts.
    """

    shape: Shape
    steady_from: int | None
    starts: tuple[int, ...]


def detect(times: Sequence[float]) -> Warmup:
    """Find the steady part of a series of positive times.

    Examples
    --------
    >>> detect([6.3, 1.02, 1.0, 0.99, 1.01, 1.0])
    Warmup(shape='warm-up', steady_from=1, starts=(0, 1))
    >>> detect([8.0, 6.0, 4.5, 3.4, 2.5, 1.9]).shape
    'not steady'
    """
    if any(not (math.isfinite(time) and time > 0) for time in times):
        raise ValueError("times must be positive and finite")
    if len(times) < FEWEST:
        return Warmup("too short", None, (0,) if times else ())
    logs = [math.log(time) for time in times]
    noise = max(_noise(logs), SAME_LEVEL)
    starts = _segments(logs, PENALTY * math.log(len(logs)) * noise**2)
    ends = (*starts[1:], len(logs))
    means = [statistics.fmean(logs[a:b]) for a, b in zip(starts, ends, strict=True)]
    first = len(means) - 1
    while first > 0 and abs(means[first - 1] - means[-1]) <= noise:
        first -= 1
    steady_from = starts[first]
    if len(logs) - steady_from < max(STEADY_FEWEST, math.ceil(len(logs) / 4)):
        return Warmup("not steady", None, starts)
    if steady_from == 0:
        return Warmup("flat", 0, starts)
    faster = any(mean < means[-1] - noise for mean in means[:first])
    return Warmup("slowdown" if faster else "warm-up", steady_from, starts)


def counting(times: Sequence[float], declared: int, detected: bool = True) -> tuple[Shape, int]:
    """Return the shape of a series, and from where its iterations count.

    Parameters
    ----------
    declared : int
        Iterations at the beginning that are warm-up whatever their times.
    detected : bool
        Whether further ones are, up to where the times are steady.

    Examples
    --------
    >>> counting([6.3, 2.1, 1.02, 1.0, 0.99, 1.01, 1.0], declared=1)
    ('warm-up', 2)
    >>> counting([6.3, 2.1, 1.02, 1.0, 0.99, 1.01, 1.0], declared=1, detected=False)
    ('warm-up', 1)
    """
    found = detect(times)
    return found.shape, max(declared, (found.steady_from or 0) if detected else 0)


def mean_estimate(values: Sequence[float], level: float = LEVEL) -> Estimate:
    """Return the mean with Student's interval; one value has no interval, none has no mean.

    Where no value is below 0, as no time is, neither is the interval.

    Examples
    --------
    >>> mean_estimate([10.0, 14.0]).low, mean_estimate([-10.0, 14.0]).low < 0
    (0.0, True)
    """
    n = len(values)
    if n == 0:
        return Estimate(value=None, low=None, high=None, level=level, n=0, method="t")
    mean = statistics.fmean(values)
    if n == 1:
        return Estimate(value=mean, low=None, high=None, level=level, n=1, method="t")
    half = float(t_quantile((1 + level) / 2, n - 1)) * statistics.stdev(values) / math.sqrt(n)
    low = mean - half
    if low < 0 <= min(values):
        low = 0.0
    return Estimate(value=mean, low=low, high=mean + half, level=level, n=n, method="t")


def _noise(logs: Sequence[float]) -> float:
    """Estimate the standard deviation of one value from the steps, few of them changes of level."""
    steps = [b - a for a, b in pairwise(logs)]
    middle = statistics.median(steps)
    spread = statistics.median(abs(step - middle) for step in steps)
    return spread * _MAD_TO_SIGMA / math.sqrt(2)


def _segments(values: Sequence[float], penalty: float) -> tuple[int, ...]:
    """Start of each segment of the cheapest partition (Jackson et al. 2005), squared error."""
    sums, squares = [0.0], [0.0]
    for value in values:
        sums.append(sums[-1] + value)
        squares.append(squares[-1] + value * value)
    best: list[tuple[float, int]] = [(-penalty, 0)]
    for end in range(1, len(values) + 1):
        best.append(
            min(
                (
                    best[start][0]
                    + (squares[end] - squares[start])
                    - (sums[end] - sums[start]) ** 2 / (end - start)
                    + penalty,
                    start,
                )
                for start in range(end)
            )
        )
    starts, end = [], len(values)
    while end:
        end = best[end][1]
        starts.append(end)
    return tuple(reversed(starts))
