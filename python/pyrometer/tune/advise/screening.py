"""Screening: which knobs do anything at all, from as many cheap trials as there are knobs.

A design of Plackett and Burman (1946) changes half of all knobs in every trial, and estimates each
effect from all trials. Without repetitions the noise follows from the effects that are none (Lenth
1989), so a design of eight trials already separates the few that matter.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from pyrometer.core.estimate import LEVEL, Estimate
from pyrometer.statistics.distributions import t_quantile

Array = NDArray[np.float64]

TRIMMED = 2.5
TO_SD = 1.5
"""Lenth's constants: what is left out as active, and from a median of halves to a deviation."""

# First rows by Plackett and Burman (1946); powers of two are Sylvester's.
_ROWS = {
    12: "++-+++---+-",
    20: "++--++++-+-+----++-",
    24: "+++++-+-++--++--+-+----",
    36: "-+-+++---+++++-+++--+----+-+-++--+-",
}


@dataclass(frozen=True)
class Screened:
    """What a knob did between two levels.

    Attributes
    ----------
    effect : Estimate
        Ratio of the values at the two levels less one, averaged over the levels of the others.
    inert : bool
        Whether it is within the margin, or within one standard error: a knob is dropped where
        nothing speaks for it, and kept where it cannot be said. Choices of more than two levels,
        of which a design has two, are kept.
    level : str
        The level that it was changed to.
    """

    factor: str
    effect: Estimate
    inert: bool
    level: str


def plackett_burman(knobs: int) -> NDArray[np.int64]:
    """Give a design: a row a trial, a column a knob, -1 (as it is) or 1 (changed).

    The last row changes nothing.

    Examples
    --------
    >>> design = plackett_burman(11)
    >>> design.shape, int(abs(design.T @ design - 12 * np.eye(11)).max())
    ((12, 11), 0)
    """
    size = next(one for one in (4, 8, 12, 16, 20, 24, 32, 36, 64, 128) if one > knobs)
    if size in _ROWS:
        row = np.array([1 if sign == "+" else -1 for sign in _ROWS[size]])
        design = np.array([np.roll(row, at) for at in range(size - 1)] + [-np.ones(size - 1)])
    else:
        design = -linalg.hadamard(size)[:, 1:]
        design = np.vstack([design[1:], design[:1]])
    return design[:, :knobs].astype(np.int64)


def lenth(effects: Sequence[float], level: float = LEVEL) -> tuple[float, float]:
    """Give the standard error of effects, most of which are none, and the margin of an interval.

    Examples
    --------
    >>> error, margin = lenth([0.01, -0.02, 0.01, 0.0, 0.5, -0.01, 0.02])
    >>> round(error, 4), round(margin, 3)
    (0.015, 0.056)
    """
    sizes = np.abs(np.asarray(effects, float))
    first = TO_SD * float(np.median(sizes))
    kept = sizes[sizes < TRIMMED * first] if first else sizes
    error = TO_SD * float(np.median(kept)) if len(kept) else first
    return error, error * float(t_quantile((1 + level) / 2, max(1.0, len(sizes) / 3)))


def screen(
    rows: Sequence[Mapping[str, str]],
    values: Sequence[float],
    changed: Mapping[str, str],
    margin: float,
    kept: Collection[str] = (),
) -> list[Screened]:
    """Analyse a screening.

    Parameters
    ----------
    rows : sequence of mapping
        Configurations, of which each sets some of the changed levels.
    values : sequence of float
        Logarithms of what they showed.
    changed : mapping of str to str
        The other level by factor.
    margin : float
        Relative difference that counts as none.
    kept : collection of str
        Factors that two levels do not say enough of.

    Returns
    -------
    list of Screened
        The largest effect first; empty where there are too few trials.
    """
    names = list(changed)
    if len(rows) < len(names) + 1:
        return []
    signs = np.array([[1.0 if one.get(n) == changed[n] else -1.0 for n in names] for one in rows])
    design = np.column_stack([np.ones(len(rows)), signs])
    if np.linalg.matrix_rank(design) < design.shape[1]:
        return []
    fitted = np.linalg.lstsq(design, np.asarray(values, float), rcond=None)[0][1:]
    effects = 2 * fitted
    error, half = lenth([float(one) for one in effects])
    found = []
    for name, effect in zip(names, effects, strict=True):
        value = Estimate(
            value=math.expm1(effect), low=math.expm1(effect - half),
            high=math.expm1(effect + half), level=LEVEL, n=len(rows), method="Lenth",
        )  # fmt: skip
        inert = abs(effect) < max(error, math.log1p(margin)) and name not in kept
        found.append(Screened(name, value, bool(inert), changed[name]))
    return sorted(found, key=lambda one: -abs(one.effect.value or 0.0))
