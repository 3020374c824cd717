"""Groups compared within strata: how much larger the values of one are than those of the others.

Times of tasks by host, for example, where each stage has a level of its own. Logarithms of values
are a level of the stratum plus one of the group (least squares, both together), so that a group
that took part in the costlier strata is none the worse for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyrometer.core.estimate import LEVEL, Estimate
from pyrometer.statistics.distributions import t_quantile

METHOD = "least squares on logarithms within strata"
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
    fit = _fit(stratum, group, count, total, squares, groups)
    if fit is None:
        return [None] * groups
    compared = np.flatnonzero(fit.normal.diagonal() > _TOLERANCE)
    reach = 1 - (1 - LEVEL) / 2 / max(1, compared.size)
    seen = np.bincount(group, count, groups)
    found: list[Estimate | None] = [None] * groups
    for one in compared.tolist():
        contrast = _against_middle(fit.level, one, compared)
        if contrast is not None:
            found[one] = fit.ratio(contrast, reach, int(seen[one]))
    return found


def ratio_of_marked(
    stratum: NDArray[np.int64],
    group: NDArray[np.int64],
    marked: NDArray[np.bool_],
    count: Floats,
    total: Floats,
    squares: Floats,
) -> Estimate | None:
    """Compare marked values with the others, whatever the level of their strata and groups.

    Parameters
    ----------
    stratum, group, marked : array
        Of each cell: numbers from 0, and whether its values are marked.
    count, total, squares : array of float
        Of the logarithms in each cell, as above.

    Returns
    -------
    Estimate or None
        The ratio; ``None`` where a mark cannot be told from a group, or from a stratum.

    Examples
    --------
    >>> import numpy as np
    >>> logs = np.log([[1.0, 1.1], [2.0, 2.2], [6.0, 6.6], [5.0, 5.5], [10.0, 11.0]])
    >>> cells = np.array([0, 0, 0, 1, 1]), np.array([0, 1, 1, 0, 1]), np.arange(5) == 2
    >>> found = ratio_of_marked(*cells, np.full(5, 2.0), logs.sum(1), (logs**2).sum(1))
    >>> round(found.value, 2), found.n
    (3.0, 2)
    """
    groups = int(group.max(initial=-1)) + 1
    fit = _fit(stratum, group, count, total, squares, groups, marked)
    if fit is None:
        return None
    contrast = np.zeros(groups + 1)
    contrast[-1] = 1.0
    return fit.ratio(contrast, 1 - (1 - LEVEL) / 2, int(count[marked].sum()))


@dataclass(frozen=True)
class _Fit:
    """Levels by least squares, the equations that they solve, and the variance of one value."""

    level: Floats
    normal: Floats
    inverse: Floats
    error: float
    free: float

    def ratio(self, contrast: Floats, reach: float, n: int) -> Estimate | None:
        """Give what a difference of levels is as a ratio; None where the cells do not show it."""
        if np.abs(self.normal @ (self.inverse @ contrast) - contrast).max() > _TOLERANCE:
            return None
        value = float(contrast @ self.level)
        spread = max(float(contrast @ self.inverse @ contrast), 0.0) * self.error
        half = float(t_quantile(reach, self.free)) * spread**0.5
        return Estimate(
            value=float(np.exp(value)), low=float(np.exp(value - half)),
            high=float(np.exp(value + half)), level=LEVEL, n=n, method=METHOD,
        )  # fmt: skip


def _fit(
    stratum: NDArray[np.int64],
    group: NDArray[np.int64],
    count: Floats,
    total: Floats,
    squares: Floats,
    groups: int,
    marked: NDArray[np.bool_] | None = None,
) -> _Fit | None:
    """Fit levels of groups, and one of marks, within strata.

    Returns
    -------
    _Fit or None
        Without anything left to judge errors by, none.
    """
    strata = int(stratum.max(initial=-1)) + 1
    sizes = np.bincount(stratum, count, strata)
    means = np.bincount(stratum, total, strata) / np.maximum(sizes, 1.0)
    beyond = total - count * means[stratum]
    inside = np.zeros((strata, groups))
    np.add.at(inside, (stratum, group), count)
    normal, wanted = np.diag(inside.sum(axis=0)), np.bincount(group, beyond, groups)
    if marked is not None:
        own = np.where(marked, count, 0.0)
        inside = np.column_stack([inside, np.bincount(stratum, own, strata)])
        both = np.bincount(group, own, groups)
        normal = np.block([[normal, both[:, None]], [both[None, :], np.full((1, 1), own.sum())]])
        wanted = np.append(wanted, beyond[marked].sum())
    normal = normal - inside.T @ (inside / np.maximum(sizes, 1.0)[:, None])
    inverse = np.linalg.pinv(normal, rcond=1e-9, hermitian=True)
    level: Floats = inverse @ wanted
    left = float(squares.sum() - (sizes * means**2).sum() - level @ wanted)
    free = float(sizes.sum()) - int((sizes > 0).sum())
    free -= int(np.linalg.matrix_rank(normal, hermitian=True))
    return _Fit(level, normal, inverse, max(left, 0.0) / free, free) if free >= 1 else None


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
