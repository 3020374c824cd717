"""Groups compared within strata: how much larger the values of one are than those of the others.

Times of tasks by host, for example, where each stage has a level of its own. Logarithms of values
are a level of the stratum plus one of the group (least squares, both together), so that a group
that took part in the costlier strata is none the worse for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyrometer.core.estimate import LEVEL, Estimate
from pyrometer.statistics.distributions import t_quantile

METHOD = "least squares on logarithms within strata, for all groups at once"
_TOLERANCE = 1e-6

Floats = NDArray[np.float64]


def ratios_to_others(
    stratum: NDArray[np.int64],
    group: NDArray[np.int64],
    count: Floats,
    total: Floats,
    squares: Floats,
    groups: int,
) -> list[Estimate | None]:
    """Compare each group with the median of the others.

    Parameters
    ----------
    stratum, group : array of int
        Of each cell, numbers from 0; no two cells have both in common.
    count, total, squares : array of float
        Of the logarithms in each cell: how many, their sum, and that of their squares.
    groups : int
        How many groups there are.

    Returns
    -------
    list of Estimate or None
        Ratios, with intervals that hold for all groups at once; ``None`` of a group that cannot be
        compared: it shares no stratum with the others, or nothing is left to judge the error by.

    Examples
    --------
    >>> import numpy as np
    >>> logs = np.log([[1.0, 1.1, 0.9], [3.0, 3.3, 2.7], [10.0, 11.0, 9.0], [30.0, 33.0, 27.0]])
    >>> both = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> found = ratios_to_others(*both, np.full(4, 3.0), logs.sum(1), (logs**2).sum(1), 2)
    >>> round(found[1].value, 2), found[1].n, found[1].low < 3 < found[1].high
    (3.0, 6, True)
    """
    strata = int(stratum.max(initial=-1)) + 1
    sizes = np.bincount(stratum, count, strata)
    means = np.bincount(stratum, total, strata) / np.maximum(sizes, 1.0)
    normal = np.diag(np.bincount(group, count, groups).astype(np.float64))
    order = np.argsort(stratum, kind="stable")
    for cells in np.split(order, np.flatnonzero(np.diff(stratum[order])) + 1):
        if cells.size:
            share = count[cells] / sizes[stratum[cells[0]]]
            normal[np.ix_(group[cells], group[cells])] -= np.outer(share, count[cells])
    wanted = np.bincount(group, total - count * means[stratum], groups)
    inverse = np.linalg.pinv(normal, rcond=1e-9, hermitian=True)
    level = inverse @ wanted
    left = float(squares.sum() - (sizes * means**2).sum() - level @ wanted)
    free = float(sizes.sum()) - strata - int(np.linalg.matrix_rank(normal, hermitian=True))
    if free < 1:
        return [None] * groups
    error = max(left, 0.0) / free
    compared = np.flatnonzero(normal.diagonal() > _TOLERANCE)
    reach = float(t_quantile(1 - (1 - LEVEL) / 2 / max(1, compared.size), free))
    seen = np.bincount(group, count, groups)
    found: list[Estimate | None] = [None] * groups
    for one in compared.tolist():
        contrast = _against_middle(level, one, compared)
        if contrast is None or np.abs(normal @ (inverse @ contrast) - contrast).max() > _TOLERANCE:
            continue
        value = float(contrast @ level)
        half = reach * (max(float(contrast @ inverse @ contrast), 0.0) * error) ** 0.5
        found[one] = Estimate(
            value=float(np.exp(value)), low=float(np.exp(value - half)),
            high=float(np.exp(value + half)), level=LEVEL, n=int(seen[one]), method=METHOD,
        )  # fmt: skip
    return found


def _against_middle(level: Floats, one: int, compared: NDArray[Any]) -> Floats | None:
    """Weigh the levels: one group's less the median of the others'."""
    others = compared[compared != one]
    if not others.size:
        return None
    ranked = others[np.argsort(level[others], kind="stable")]
    weights: Floats = np.zeros(level.size)
    for place in {(ranked.size - 1) // 2, ranked.size // 2}:
        weights[ranked[place]] -= 1.0
    weights /= -weights.sum()
    weights[one] += 1.0
    return weights
