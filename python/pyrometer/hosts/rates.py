"""Which rates of an offset its bounds allow.

A line from a ceiling up to a later floor is the least that the offset rises, and a line from a
floor to a later ceiling the most: with a constant rate these are the tangents common to two convex
hulls (Duda et al. 1987; Moon, Skelly and Towsley 1999). The steepest of all lines is found without
hulls, as the largest ratio (Dinkelbach 1967), so that it is also known where no constant rate
fits: by how much the rate must have wandered.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyrometer.hosts.bounds import Bounds
from pyrometer.hosts.limits import PPM, TOLERANCE_NS, Limits


@dataclass(frozen=True)
class Rates:
    """Lowest and highest rate, nanoseconds of offset per nanosecond."""

    low: float
    high: float

    def opposite(self) -> Rates:
        """Rates of the negated offset, or backwards in time."""
        return Rates(-self.high, -self.low)


def rates(bounds: Bounds, limits: Limits) -> Rates | None:
    """Find which rates the offset can have had.

    Returns
    -------
    Rates or None
        ``None`` if bounds and limits contradict each other.
    """
    most, wander = limits.drift_ppm * PPM, limits.wander_ppm * PPM
    if wander >= most:
        # The constant may be anything, and nothing is gained.
        return Rates(-most, most)
    low, high = steepest_needed(bounds, -most), -steepest_needed(bounds.backwards(), -most)
    # Times are whole nanoseconds: lines that differ by less over all the time are one.
    span = float(bounds.at[-1] - bounds.at[0])
    if low - high > 2 * wander + TOLERANCE_NS / max(span, TOLERANCE_NS):
        return None
    # A constant may be further off by what the rate wanders, and the rate as far from the constant.
    low, high = low - 2 * wander, high + 2 * wander
    found = Rates(max(-most, min(low, high)), min(most, max(low, high)))
    return found if found.low <= found.high else None


def steepest_needed(bounds: Bounds, least: float) -> float:
    """Rate of the steepest line from a ceiling to a later floor; `least` if none is steeper."""
    earlier = np.searchsorted(bounds.ceiling_at, bounds.floor_at, "left")
    behind = earlier > 0
    if not behind.any():
        return least
    at, floor, last = bounds.floor_at[behind], bounds.floor[behind], earlier[behind] - 1
    rate = least
    while True:
        level = bounds.ceiling - rate * bounds.ceiling_at
        gain = floor - rate * at - np.minimum.accumulate(level)[last]
        to = int(np.argmax(gain))
        if gain[to] <= 0:
            return rate
        start = int(np.argmin(level[: last[to] + 1]))
        rise = float(floor[to] - bounds.ceiling[start])
        steeper = rise / float(at[to] - bounds.ceiling_at[start])
        if steeper <= rate:
            return rate
        rate = steeper
