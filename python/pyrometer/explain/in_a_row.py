"""Values of tasks of several stages, in the row in which a plan has all of its tasks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pyrometer.simulation.measured import Floats


def places(spans: Sequence[tuple[int, int]]) -> slice | NDArray[np.intp]:
    """Give the places in spans: as a slice where each begins where the one before ends.

    Examples
    --------
    >>> places([(2, 4), (4, 7)]), places([(0, 2), (4, 5)]).tolist()
    (slice(2, 7, None), [0, 1, 4])
    """
    if not spans:
        return slice(0, 0)
    if all(one[1] == next_[0] for one, next_ in pairwise(spans)):
        return slice(spans[0][0], spans[-1][1])
    return np.concatenate([np.arange(*span, dtype=np.intp) for span in spans])


def in_a_row(values: Sequence[Floats | float], counts: Sequence[int]) -> Floats | float:
    """Put the value, or the values, of the tasks of each stage in a row; 0 where all are.

    Examples
    --------
    >>> in_a_row([0.5, 0.0], [1, 2]).tolist(), in_a_row([0.0, 0.0], [1, 2])
    ([0.5, 0.0, 0.0], 0.0)
    """
    if all(isinstance(one, float) and one == 0.0 for one in values):
        return 0.0
    rows = [np.broadcast_to(one, count) for one, count in zip(values, counts, strict=True)]
    return np.concatenate(rows, dtype=np.float64)


class Taken:
    """Nanoseconds by task, from the first to the last task that anything was taken from.

    Of hundreds of kinds of time in one edited plan, each is of the tasks of a stage or two.

    Examples
    --------
    >>> taken = Taken()
    >>> ns, at = taken.of(slice(4, 6))
    >>> ns[at] += 7
    >>> ns, at = taken.of(np.array([2, 5]))
    >>> ns[at].tolist(), ns.tolist()
    ([0.0, 7.0], [0.0, 0.0, 7.0, 7.0])
    """

    def __init__(self) -> None:
        self._begin = 0
        self._ns: Floats = np.zeros(0)

    def of(self, place: slice | NDArray[np.intp]) -> tuple[Floats, slice | NDArray[np.intp]]:
        """Give an array, and where in it tasks are whose places in the row are given."""
        if isinstance(place, slice):
            begin, end = place.start, place.stop
        else:
            begin, end = (int(place.min()), int(place.max()) + 1) if place.size else (0, 0)
        if begin < end and not self._ns.size:
            self._begin, self._ns = begin, np.zeros(end - begin)
        first, last = self._begin, self._begin + self._ns.size
        if begin < end and (begin < first or end > last):
            self._begin = min(begin, first)
            self._ns = np.pad(self._ns, (first - self._begin, max(end, last) - last))
        if isinstance(place, slice):
            return self._ns, slice(begin - self._begin, end - self._begin)
        return self._ns, place - self._begin
