"""Several looks at growing data: which p counts at each, so that all together err as one test.

Lan and DeMets (1983): a function says how much of the risk is spent when a share of the data is
there; critical values follow from the joint distribution of the looks (Armitage, McPherson and
Rowe 1969), integrated on a grid.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pyrometer.statistics.distributions import normal_density, normal_quantile, normal_tail
from pyrometer.statistics.power import ALPHA

Spending = Literal["obrien-fleming", "pocock"]

GRID = 801
WIDE = 8.0


def spent(share: float, alpha: float = ALPHA, kind: Spending = "obrien-fleming") -> float:
    """Risk that is spent when a share of the data is there.

    Examples
    --------
    >>> round(spent(1.0), 6), spent(0.25) < 0.0001, round(spent(0.5, kind="pocock"), 3)
    (0.05, True, 0.031)
    """
    share = min(max(share, 0.0), 1.0)
    if kind == "pocock":
        return alpha * math.log(1 + (math.e - 1) * share)
    if share == 0:
        return 0.0
    return float(4 * normal_tail(-normal_quantile(alpha / 4) / math.sqrt(share)))


@lru_cache(maxsize=256)
def nominal(
    shares: tuple[float, ...], alpha: float = ALPHA, kind: Spending = "obrien-fleming"
) -> tuple[float, ...]:
    """Two-sided p below which a difference counts at each look.

    Parameters
    ----------
    shares : tuple of float
        Share of all data at each look, growing, the last at most 1.

    Raises
    ------
    ValueError
        If they do not grow, or exceed 1.

    Examples
    --------
    >>> [round(one, 4) for one in nominal((0.2, 0.4, 0.6, 0.8, 1.0), kind="pocock")]
    [0.0148, 0.0152, 0.0159, 0.0165, 0.017]
    """
    if not shares or any(b <= a for a, b in zip((0.0, *shares), shares, strict=False)):
        raise ValueError(f"shares of the data must grow: {shares}")
    if shares[-1] > 1 + 1e-9:
        raise ValueError(f"a share of the data above 1: {shares[-1]}")
    found: list[float] = []
    grid = weights = density = np.empty(0)
    before = spent_before = 0.0
    for share in shares:
        now = spent(share, alpha, kind)
        risk = max(now - spent_before, 1e-12) / 2
        step = math.sqrt(share - before)
        if not found:
            edge = float(-normal_quantile(risk)) * step
        else:
            edge = _edge(risk, grid, weights * density, step)
        found.append(float(2 * normal_tail(edge / math.sqrt(share))))
        fine = np.linspace(-edge, edge, GRID)
        if len(grid):
            moved = normal_density((fine[:, None] - grid[None, :]) / step) / step
            density = moved @ (weights * density)
        else:
            density = normal_density(fine / step) / step
        grid, weights = fine, _simpson(fine)
        before, spent_before = share, now
    return tuple(found)


def p_of_look(
    look: int, looks: int, alpha: float = ALPHA, kind: Spending = "obrien-fleming"
) -> float:
    """Two-sided p below which a difference counts at one of several equal looks (from 1).

    Examples
    --------
    >>> round(p_of_look(1, 1), 3)
    0.05
    """
    return nominal(tuple((at + 1) / looks for at in range(looks)), alpha, kind)[look - 1]


def _edge(risk: float, grid: NDArray[np.float64], mass: NDArray[np.float64], step: float) -> float:
    from scipy import optimize

    def missing(edge: float) -> float:
        return float(mass @ normal_tail((edge - grid) / step)) - risk

    return float(optimize.brentq(missing, 0.0, WIDE * max(1.0, float(grid[-1]))))


def _simpson(grid: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = np.full(len(grid), 2.0)
    weights[1::2] = 4.0
    weights[[0, -1]] = 1.0
    weighed: NDArray[np.float64] = weights * (grid[1] - grid[0]) / 3
    return weighed
