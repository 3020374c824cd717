"""Averages of the surrogate over knobs, exact: its covariance is a sum of products over knobs.

A slice fixes some knobs to levels of a grid and averages over all others, each evenly over its
coordinate. Since parts of the covariance belong to one knob or to two, the average of a slice is
itself normal, with a covariance of averaged parts; nothing is sampled but the levels of the grid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyrometer.tune.advise.surrogate import Surrogate
from pyrometer.tune.space.cube import UNSET, choices, columns, features, level_at
from pyrometer.tune.space.space import Knob, Space

Array = NDArray[np.float64]

GRID = 7
"""Levels of a range."""


@dataclass(frozen=True)
class Level:
    """A level of a grid: its text, empty where the factor is left out, and its coordinate."""

    text: str
    place: float


def grid(knob: Knob, size: int = GRID) -> list[Level]:
    """Give the levels of a knob, each for the same part of its coordinate."""
    count = len(choices(knob)) if knob.kind == "choice" else size
    places = [(at + 0.5) / count for at in range(count)]
    return [Level(level_at(knob, place), place) for place in places]


class Slices:
    """Averages of a surrogate by what is fixed."""

    def __init__(self, space: Space, surrogate: Surrogate, size: int = GRID) -> None:
        """Prepare the grids of all knobs."""
        self.space, self._surrogate = space, surrogate
        self.grids = [grid(knob, size) for knob in space.knobs]
        self._tables = [self._table(at) for at in range(len(space.knobs))]

    def means(self, slices: Sequence[Mapping[int, int]]) -> tuple[Array, Array]:
        """Believe averages: means and covariances.

        Parameters
        ----------
        slices : sequence of mapping
            The place in its grid by the number of each knob that is fixed.
        """
        knobs = len(self.grids)
        trials = len(self._surrogate.features)
        known = np.empty((knobs, trials, len(slices)))
        among = np.empty((knobs, len(slices), len(slices)))
        for at in range(knobs):
            points, table = self._tables[at]
            # The last place of the table is the average.
            places = np.array([one.get(at, len(self.grids[at])) for one in slices])
            known[at] = points[:, places]
            among[at] = table[np.ix_(places, places)]
        return self._surrogate.averages(known, among)

    def _table(self, at: int) -> tuple[Array, Array]:
        """Covariances of a knob's part: trials, and grid and average, with grid and average."""
        knob = self.space.knobs[at]
        rows = features(
            self.space,
            [{} if one.text == UNSET else {knob.factor: one.text} for one in self.grids[at]],
        )
        mine = np.asarray(columns(self.space)) == at
        trials = self._surrogate.features
        # Only columns of this knob count: its part of the kernels is taken.
        points = self._surrogate.kernels(_only(trials, mine), _only(rows, mine))[at]
        table = self._surrogate.kernels(_only(rows, mine), _only(rows, mine))[at]
        points = np.hstack([points, points.mean(axis=1, keepdims=True)])
        table = np.hstack([table, table.mean(axis=1, keepdims=True)])
        return points, np.vstack([table, table.mean(axis=0, keepdims=True)])


def _only(rows: Array, mine: NDArray[np.bool_]) -> Array:
    kept: Array = np.where(mine[None, :], rows, 0.0)
    return kept
