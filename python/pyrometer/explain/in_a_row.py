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
