"""Bounds of an offset over time, as messages give them: floors that it is not below, ceilings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Bounds:
    """Floors and ceilings of one offset, each in the order of time.

    Times and offsets are nanoseconds from origins near them, so that floats hold them exactly.
    """

    floor_at: Floats
    floor: Floats
    ceiling_at: Floats
    ceiling: Floats

    @classmethod
    def sorted(cls, floor_at: Floats, floor: Floats, ceiling_at: Floats, ceiling: Floats) -> Bounds:
        """Put floors and ceilings in the order of time."""
        floors = np.argsort(floor_at, kind="stable")
        ceilings = np.argsort(ceiling_at, kind="stable")
        return cls(floor_at[floors], floor[floors], ceiling_at[ceilings], ceiling[ceilings])

    def __len__(self) -> int:
        return len(self.floor) + len(self.ceiling)

    @cached_property
    def at(self) -> Floats:
        """Times of all floors and ceilings, in order."""
        return np.sort(np.concatenate([self.floor_at, self.ceiling_at]), kind="stable")

    @cached_property
    def _floors_before(self) -> NDArray[np.int64]:
        """How many of the first so many bounds are floors."""
        at = np.concatenate([self.floor_at, self.ceiling_at])
        is_floor = np.argsort(at, kind="stable") < len(self.floor_at)
        return np.concatenate([[0], np.cumsum(is_floor)]).astype(np.int64)

    def cut(self, first: int, last: int) -> Bounds:
        """Take bounds `first` to `last` (exclusive) in the order of time."""
        floors = slice(self._floors_before[first], self._floors_before[last])
        ceilings = slice(first - floors.start, last - floors.stop)
        return Bounds(
            self.floor_at[floors],
            self.floor[floors],
            self.ceiling_at[ceilings],
            self.ceiling[ceilings],
        )

    def upside_down(self) -> Bounds:
        """Bounds of the negated offset: floors become ceilings."""
        return Bounds(self.ceiling_at, -self.ceiling, self.floor_at, -self.floor)

    def backwards(self) -> Bounds:
        """Bounds of the same offset where time runs backwards."""
        return Bounds(
            -self.floor_at[::-1], self.floor[::-1], -self.ceiling_at[::-1], self.ceiling[::-1]
        )
