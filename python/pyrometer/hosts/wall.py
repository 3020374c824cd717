"""Times of a host's wall clock on its CLOCK_MONOTONIC.

Both are slewed alike by the kernel: what the wall clock is ahead changes only where somebody sets
it. Between two readings of both it may have been set at any moment, so that a time of the wall
clock is an interval of monotonic time: as wide as the step where there was one, else as wide as
the readings differ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyrometer.hosts.messages import Times

READING_NS = 10_000
"""How far both readings of a pair may be apart: the closest of three is kept."""


@dataclass(frozen=True)
class WallClock:
    """What a host's wall clock was ahead of its CLOCK_MONOTONIC, over time.

    Parameters
    ----------
    mono_ns, wall_ns : array of int64
        Pairs of readings, in any order.
    reading_ns : int
        How far the readings of a pair may be apart.

    Raises
    ------
    ValueError
        If there is no pair.

    Examples
    --------
    >>> import numpy as np
    >>> second = 10**9
    >>> mono = second * np.array([1, 2, 3, 4])
    >>> clock = WallClock(mono, mono + second * np.array([70, 70, 75, 75]), 0)
    >>> clock.earliest_mono([second * 71]).tolist(), clock.latest_mono([second * 71]).tolist()
    ([1000000000], [1000000000])
    >>> clock.earliest_mono([second * 77]).tolist(), clock.latest_mono([second * 77]).tolist()
    ([2000000000], [3000000000])
    """

    mono_ns: Times
    wall_ns: Times
    reading_ns: int = READING_NS

    def __post_init__(self) -> None:
        mono, wall = np.asarray(self.mono_ns, np.int64), np.asarray(self.wall_ns, np.int64)
        if not len(mono) or len(mono) != len(wall):
            raise ValueError("no pairs of readings of both clocks")
        order = np.argsort(mono, kind="stable")
        object.__setattr__(self, "mono_ns", mono[order])
        object.__setattr__(self, "wall_ns", wall[order])

    def __add__(self, other: WallClock) -> WallClock:
        """Give the readings of both, which are of the same two clocks."""
        return WallClock(
            np.concatenate([self.mono_ns, other.mono_ns]),
            np.concatenate([self.wall_ns, other.wall_ns]),
            max(self.reading_ns, other.reading_ns),
        )

    def __len__(self) -> int:
        """Count the readings."""
        return len(self.mono_ns)

    @property
    def _ahead(self) -> Times:
        return self.wall_ns - self.mono_ns

    def _least(self) -> Times:
        """Least that the wall clock was ahead: before the first pair, between pairs, after."""
        ahead = self._ahead
        each: Times = np.concatenate([ahead[:1], np.minimum(ahead[:-1], ahead[1:]), ahead[-1:]])
        return each - self.reading_ns

    def _most(self) -> Times:
        ahead = self._ahead
        each: Times = np.concatenate([ahead[:1], np.maximum(ahead[:-1], ahead[1:]), ahead[-1:]])
        return each + self.reading_ns

    def earliest_mono(self, wall_ns: Times) -> Times:
        """Earliest monotonic time at which the wall clock can have shown each time."""
        wall, most = np.asarray(wall_ns, np.int64), self._most()
        # The first stretch whose end is not before it: set back, a clock shows times twice.
        ends = np.maximum.accumulate(self.mono_ns + most[:-1])
        stretch = np.searchsorted(ends, wall)
        earliest: Times = wall - most[stretch]
        after = stretch > 0
        earliest[after] = np.maximum(earliest[after], self.mono_ns[stretch[after] - 1])
        return earliest

    def latest_mono(self, wall_ns: Times) -> Times:
        """Latest monotonic time at which the wall clock can have shown each time."""
        wall, least = np.asarray(wall_ns, np.int64), self._least()
        begins = np.minimum.accumulate((self.mono_ns + least[1:])[::-1])[::-1]
        stretch = np.searchsorted(begins, wall, "right")
        latest: Times = wall - least[stretch]
        before = stretch < len(self.mono_ns)
        latest[before] = np.minimum(latest[before], self.mono_ns[stretch[before]])
        return latest

    def wall(self, mono_ns: Times) -> Times:
        """Give what the wall clock showed, by the reading before, or else the first."""
        mono = np.asarray(mono_ns, np.int64)
        before = np.searchsorted(self.mono_ns, mono, "right") - 1
        shown: Times = mono + self._ahead[np.maximum(before, 0)]
        return shown
