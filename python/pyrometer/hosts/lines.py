"""What is to be added to a host's times, as straight lines from knot to knot.

The middle of what is possible bends at every message. Tables are read with fewer knots, by SQL;
what the lines are off from the middle is in their bound, so that it holds as the middle's does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyrometer.hosts.bounds import Floats
from pyrometer.hosts.clock import HostClock
from pyrometer.hosts.host_clocks import HostClocks
from pyrometer.hosts.limits import PPM
from pyrometer.hosts.messages import LONGEST_NS, Times

MOST_KNOTS = 2048
"""Knots between the first and the last message of a host."""
CLOSEST_NS = 50_000_000
"""Distance below which knots gain nothing: the lines are within microseconds of the middle."""
MOST_FAR = 120
"""Knots on either side of all messages."""
_ROUNDING_NS = 2


@dataclass(frozen=True)
class Lines:
    """Lines that give a host's times on the driver's clock.

    Attributes
    ----------
    from_host_ns : array of int64
        Times of the host at which lines begin; the last one has no end, and earlier times are not
        known.
    offset_ns : array of int64
        What is to be added there.
    rate : array of float64
        What the offset gains from there on, ns per ns.
    bound_ns : masked array of int64
        The true time is not further off anywhere on the line. Masked where nothing bounds it.
    """

    from_host_ns: Times
    offset_ns: Times
    rate: Floats
    bound_ns: np.ma.MaskedArray[Any, np.dtype[np.int64]]

    def to_driver(self, host_ns: Times) -> Times:
        """Give times of the host, none before the first knot, on the driver's clock."""
        line = np.searchsorted(self.from_host_ns, host_ns, "right") - 1
        since = host_ns - self.from_host_ns[line]
        gained = np.rint(since * self.rate[line]).astype(np.int64)
        on_driver: Times = host_ns + self.offset_ns[line] + gained
        return on_driver

    def bound(self, first_host_ns: int, last_host_ns: int) -> int | None:
        """Give the largest bound between two times; ``None`` where a part has none."""
        first = max(0, int(np.searchsorted(self.from_host_ns, first_host_ns, "right")) - 1)
        last = max(first + 1, int(np.searchsorted(self.from_host_ns, last_host_ns, "right")))
        part = self.bound_ns[first:last]
        return None if np.ma.getmaskarray(part).any() else int(part.max())


def lines(clocks: HostClocks, host: str) -> Lines | None:
    """Lay lines for one host; ``None`` if its times are not known."""
    if host == clocks.driver_host:
        return None
    if host in clocks.clocks:
        return _of_messages(clocks.clocks[host])
    if host in clocks.walls and clocks.driver_wall is not None:
        at = np.unique(clocks.walls[host].mono_ns)
        offset = np.ma.getdata(clocks.to_driver(host, at).driver_ns) - at
        turns = np.flatnonzero(np.concatenate([[True], np.diff(offset) != 0]))
        start = at[turns].copy()
        start[0] = max(int(start[0]) - LONGEST_NS, -(1 << 63))
        return Lines(start, offset[turns], np.zeros(len(turns)), _none(len(turns)))
    return None


def _of_messages(clock: HostClock) -> Lines:
    """Lay lines between knots, with the bound that the envelope leaves them."""
    messages = clock.messages_at
    knots = _knots(clock, messages)
    at = np.unique(np.concatenate([knots, messages]))
    low, high = clock.offsets(at)
    middle = _middle(at, low, high)
    place = np.searchsorted(at, knots)
    level = np.rint(middle[place])
    line = np.interp(at.astype(float), knots.astype(float), level)
    excess = np.maximum(high - line, line - low)
    reach = _between(clock, at, line, low, high)
    # A line's bound is that of its points, both ends included, and of what lies between these.
    points = np.maximum.reduceat(excess, place)
    points[:-1] = np.maximum(points[:-1], excess[place[1:]])
    gaps = np.maximum.reduceat(np.concatenate([reach, [0.0]]), place)
    worst = np.maximum(points, gaps)
    bounded = np.isfinite(worst)
    bound = np.ceil(np.where(bounded, worst, 0)).astype(np.int64) + _ROUNDING_NS
    length = np.diff(knots).astype(float)
    rate = np.append(np.diff(level) / length, 0.0)
    # The last knot is the end of what floats hold exactly: no line goes on from there.
    return Lines(
        (knots + clock.start_ns)[:-1],
        level.astype(np.int64)[:-1] + clock.origin_ns,
        rate[:-1],
        np.ma.MaskedArray(bound, ~bounded)[:-1],
    )


def _middle(at: Times, low: Floats, high: Floats) -> Floats:
    """Give the middle of what is possible; the only end that there is, or what lies around."""
    below, above = np.isfinite(low), np.isfinite(high)
    middle = np.where(below, low, high)
    both = below & above
    middle[both] = (low[both] + high[both]) / 2
    # Between two pieces of a clock there may be neither.
    open_ends = ~(below | above)
    if open_ends.any():
        known = ~open_ends
        middle[open_ends] = np.interp(at[open_ends], at[known], middle[known])
    return middle


def _knots(clock: HostClock, messages: Times) -> Times:
    """Choose knots, ns after the clock's start: a grid, ends of its pieces, and far outside."""
    first, last = int(messages[0]), int(messages[-1])
    step = max(CLOSEST_NS, (last - first) // MOST_KNOTS)
    edges = [piece.first_host_ns - clock.start_ns for piece in clock.pieces[1:]]
    edges += [piece.last_host_ns - clock.start_ns for piece in clock.pieces[:-1]]
    around = np.array([[edge, edge + 1] for edge in edges], np.int64).reshape(-1)
    # Outside of all messages the bound grows as a line: knots are further and further apart.
    far = np.minimum(CLOSEST_NS * 1.25 ** np.arange(MOST_FAR), LONGEST_NS).astype(np.int64)
    far = np.append(far[far < LONGEST_NS - last], [LONGEST_NS - last - 1])
    grid = np.arange(first, last, step)
    return np.unique(np.concatenate([first - far, grid, [last], last + far, around]))


def _between(clock: HostClock, at: Times, line: Floats, low: Floats, high: Floats) -> Floats:
    """Furthest that the offset can be from the line between two points next to each other.

    Between messages the highest offset rises from the point before and falls to the one behind, as
    fast as the limits allow: it is furthest from the line where both meet.
    """
    most = clock.limits.drift_ppm * PPM
    gap, slope = np.diff(at).astype(float), np.diff(line)
    with np.errstate(invalid="ignore"):
        above = _peak(high[:-1] - line[:-1], high[1:] - line[1:], gap, slope, most)
        below = _peak(line[:-1] - low[:-1], line[1:] - low[1:], gap, -slope, most)
        found = np.maximum(above, below)
    # One nanosecond is the distance of both sides of a cut: there is nothing between.
    return np.where(gap <= 1, 0.0, found)


def _peak(before: Floats, behind: Floats, gap: Floats, slope: Floats, most: float) -> Floats:
    """Highest value between two points: up from one and down to the other at the limits."""
    rate = slope / gap
    up, down = most - rate, most + rate
    safe: NDArray[np.float64] = np.maximum(up + down, 1e-30)
    meet = np.clip((behind - before + down * gap) / safe, 0.0, gap)
    between = np.minimum(before + up * meet, behind + down * (gap - meet))
    ends = np.maximum(before, behind)
    return np.where(np.isfinite(ends), np.maximum(ends, between), ends)


def _none(count: int) -> np.ma.MaskedArray[Any, np.dtype[np.int64]]:
    return np.ma.MaskedArray(np.zeros(count, np.int64), np.ones(count, bool))
