"""The knee: where the speed-up leaves its line, and from where on more workers bring nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from pydantic import BaseModel

from pyrometer.core.estimate import LEVEL, Estimate
from pyrometer.statistics.distributions import f_quantile, t_quantile
from pyrometer.statistics.power import ALPHA
from pyrometer.statistics.scaling.laws import Array
from pyrometer.statistics.scaling.levels import Level
from pyrometer.statistics.two import MARGIN

GRID = 200
COARSE = 40
"""Breaks tried in a simulated curve, and in the curve it is compared with."""

SIMULATED = 999
NEAR_LINEAR = 0.9
"""Slope above which scaling is as good as linear: doubling the workers gives 1.87 times or more."""

PLATEAU_LEVELS = 3
PLATEAU_RATIO = 1.2
"""Fewest levels that make a plateau, and how many times as many workers its end has as its start:
neighbouring levels are always alike."""


class Knee(BaseModel):
    """A broken line through log throughput over log workers.

    Attributes
    ----------
    at : Estimate
        Workers at the break; its interval holds all breaks that an F test does not refute.
    p : float or None
        Of a straight line, against a break anywhere (largest F, simulated under the line).
    before, after : Estimate or None
        Slopes, given the break: 1 is linear scaling, 0 no gain; doubling the workers multiplies
        throughput by 2 to that power.
    reason : str or None
        Why no knee is reported.
    """

    at: Estimate
    p: float | None = None
    before: Estimate | None = None
    after: Estimate | None = None
    reason: str | None = None


def knee(levels: Sequence[Level]) -> Knee:
    """Find the knee of a curve, or say why none can be found."""
    n = len(levels)
    if len({one.p for one in levels}) < 5:
        return Knee(at=_estimate(None, None, None, n), reason="five levels are needed")
    x = np.log([one.p for one in levels])
    y = -np.log([one.unit_time for one in levels])
    line = np.column_stack([np.ones(n), x])
    inner = np.unique(x)
    breaks = np.linspace(float(inner[1]), float(inner[-2]), GRID)
    p = _refuted(line, [_broken(line, one) for one in breaks], y)
    best, low, high = _break(line, y, breaks)
    before, after = _slopes(_broken(line, best), y)
    why = None
    if p >= ALPHA:
        why = "a straight line is not refuted"
    elif (after.value or 0.0) > min(NEAR_LINEAR, before.value or 0.0):
        why = f"beyond {math.exp(best):.3g} the slope is still {after.value:.2f}"
    if why is not None:
        return Knee(at=_estimate(None, None, None, n), p=p, before=before, after=after, reason=why)
    at = _estimate(math.exp(best), math.exp(low), math.exp(high), n)
    return Knee(at=at, p=p, before=before, after=after)


def _broken(line: Array, at: float) -> Array:
    return np.column_stack([line, np.maximum(0, line[:, 1] - at)])


def _break(line: Array, y: Array, breaks: Array) -> tuple[float, float, float]:
    """Find the break, and the interval that an F test leaves of the grid; then in finer steps."""
    step, first, last = float(breaks[1] - breaks[0]), breaks[0], breaks[-1]
    freedom = len(y) - 4
    wider = 1 + float(f_quantile(LEVEL, 1, freedom)) / freedom
    for _ in range(2):
        squares = np.array([_squares(_broken(line, at), y) for at in breaks])
        best = float(breaks[int(squares.argmin())])
        kept = breaks[squares <= squares.min() * wider]
        low, high = float(kept[0]), float(kept[-1])
        breaks = np.linspace(max(first, low - step), min(last, high + step), GRID)
    return best, low, high


def flat_from(points: Sequence[tuple[float, float]], margin: float = MARGIN) -> float | None:
    """Return the least p from which on all values are within a margin of the largest.

    Examples
    --------
    >>> flat_from([(1, 1.0), (2, 2.0), (3, 2.5), (4, 2.51), (5, 2.49)])
    3
    >>> flat_from([(1, 1.0), (2, 2.0), (3, 3.0)]) is None
    True
    """
    ordered = sorted(points)
    top = max((value for _, value in ordered), default=0.0)
    flat: list[float] = []
    for p, value in reversed(ordered):
        if abs(value - top) > margin * top:
            break
        flat.append(p)
    wide = len(set(flat)) >= PLATEAU_LEVELS and flat[0] >= PLATEAU_RATIO * flat[-1]
    return flat[-1] if wide else None


def _squares(design: Array, y: Array) -> Array:
    """Residual squares; of each column, where there are several."""
    basis, _ = np.linalg.qr(design)
    rest = y - basis @ (basis.T @ y)
    sums: Array = (rest**2).sum(axis=0)
    return sums


def _refuted(line: Array, designs: Sequence[Array], y: Array) -> float:
    """Share of simulated straight lines, noise added, that a break would fit as much better."""
    noise = np.random.default_rng(0).standard_normal((len(line), SIMULATED))
    every = designs[:: GRID // COARSE]

    def ratio(values: Array) -> Array:
        best = np.minimum.reduce([_squares(one, values) for one in every])
        ratios: Array = best / np.maximum(_squares(line, values), np.finfo(float).tiny)
        return ratios

    return float(1 + (ratio(noise) <= ratio(y)).sum()) / (SIMULATED + 1)


def _slopes(design: Array, y: Array) -> tuple[Estimate, Estimate]:
    freedom = len(y) - 3
    coefficients = np.linalg.lstsq(design, y, rcond=None)[0]
    spread = np.linalg.inv(design.T @ design) * float(_squares(design, y)) / freedom
    critical = float(t_quantile((1 + LEVEL) / 2, freedom))
    slopes = []
    for weights in (np.array([0.0, 1, 0]), np.array([0.0, 1, 1])):
        value = float(weights @ coefficients)
        half = critical * math.sqrt(float(weights @ spread @ weights))
        slopes.append(_estimate(value, value - half, value + half, len(y), "least squares"))
    return slopes[0], slopes[1]


def _estimate(
    value: float | None, low: float | None, high: float | None, n: int, method: str = "F test"
) -> Estimate:
    return Estimate(value=value, low=low, high=high, level=LEVEL, n=n, method=method)
