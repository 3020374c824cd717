"""Least squares on log time: coded columns, a fit with its noise, contrasts as relative changes.

Covariates are measured on the machine before a trial; they may explain part of the noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pyrometer.core.estimate import LEVEL, Estimate
from pyrometer.statistics.distributions import f_tail, t_quantile
from pyrometer.statistics.two import sd_of

FREEDOM = 3
"""Fewest degrees of freedom that must remain for the noise."""

Matrix = NDArray[np.float64]


class Fit:
    """A model with all terms: coefficients, their errors, and the residual noise."""

    def __init__(self, design: Matrix, y: Matrix) -> None:
        self.size = design.shape[1]
        self.freedom = len(y) - self.size
        self.variance = squares(design, y) / self.freedom
        self._beta = np.linalg.lstsq(design, y, rcond=None)[0]
        self._spread = np.linalg.inv(design.T @ design) * self.variance

    def contrast(self, weights: Matrix, level: float) -> Estimate:
        """Return a sum of coefficients as a relative change."""
        value = float(weights @ self._beta)
        half = float(t_quantile((1 + level) / 2, self.freedom))
        half *= math.sqrt(float(weights @ self._spread @ weights))
        return Estimate(
            value=math.expm1(value),
            low=math.expm1(value - half),
            high=math.expm1(value + half),
            level=level,
            n=self.freedom + 1,
            method="least squares",
        )


def coded(words: Sequence[str], levels: Sequence[str]) -> Matrix:
    """Deviation coding: the first level is minus the sum of the others."""
    design = np.zeros((len(words), len(levels) - 1))
    for row, word in enumerate(words):
        at = levels.index(word)
        if at:
            design[row, at - 1] = 1.0
        else:
            design[row] = -1.0
    return design


def products(a: Matrix, b: Matrix) -> Matrix:
    """Return the columns of two terms that depend on each other."""
    return (a[:, :, None] * b[:, None, :]).reshape(len(a), -1)


def fits(base: Matrix, terms: Iterable[Matrix]) -> bool:
    """Whether the design has full rank, and enough degrees of freedom remain for the noise."""
    full = np.hstack([base, *terms])
    if len(full) - full.shape[1] < FREEDOM:
        return False
    return bool(np.linalg.matrix_rank(full) == full.shape[1])


def squares(design: Matrix, y: Matrix) -> float:
    """Residual sum of squares of `y` under a design."""
    rest = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    return float(rest @ rest)


MOVED = 0.01
"""p of the F test below which a covariate is one that treatments move."""


@dataclass(frozen=True)
class Observed:
    """One trial: its time, its place in the design, and its covariates, which are positive."""

    treatment: str
    block: str
    value: float
    covariates: Mapping[str, float]


@dataclass(frozen=True)
class Adjusted:
    """Changes with the covariates held equal.

    Attributes
    ----------
    names : tuple of str
        Covariates that vary.
    moved : tuple of str
        Those left out, because treatments move them: held equal, they would hide the effect.
    variance_ratio : float
        Residual variance with the covariates over that without: below 1 where they explain noise.
    plain_sd, sd : Estimate
        Standard deviation of the log ratio of two trials of a block, without the covariates and
        with them held equal.
    slopes : dict of str to Estimate
        Relative change of the time by relative change of a covariate.
    changes : dict of (str, str) to Estimate
        B over A minus 1, for each pair asked for.
    """

    names: tuple[str, ...]
    moved: tuple[str, ...]
    variance_ratio: float
    plain_sd: Estimate
    sd: Estimate
    slopes: dict[str, Estimate]
    changes: dict[tuple[str, str], Estimate] = field(default_factory=dict)


def adjust(
    trials: Sequence[Observed], pairs: Sequence[tuple[str, str]], level: float = LEVEL
) -> Adjusted | str:
    """Fit log time by treatment, block and log covariates; say why not, where it cannot be done.

    Simulated, 400 experiments of equal treatments for each of 48 designs (2 to 4 treatments, 4 to
    20 blocks, 1 and 3 covariates, noise shared with them of correlation 0 to 0.95 from trial to
    trial): 5.2 % of 17 543 intervals at 95 % miss zero, by design 0 to 8.3 %.

    Examples
    --------
    >>> wave = [1.0, 1.2, 0.9, 1.3, 1.1, 0.8, 1.25, 0.95]
    >>> trials = [
    ...     Observed("ab"[i % 2], str(i // 2), (10 + i % 2) * w, {"alu": w})
    ...     for i, w in enumerate(wave)
    ... ]
    >>> found = adjust(trials, [("a", "b")])
    >>> found if isinstance(found, str) else round(found.changes["a", "b"].value, 6)
    'too few trials: 2 degrees of freedom would be left, 3 are needed'
    """
    names = tuple(
        name
        for name in (trials[0].covariates if trials else ())
        if all(name in one.covariates for one in trials)
        and len({one.covariates[name] for one in trials}) > 1
    )
    if not names:
        return "no covariate was measured before every trial"
    treatments = list(dict.fromkeys(one.treatment for one in trials))
    blocks = list(dict.fromkeys(one.block for one in trials))
    base = np.array(
        [
            [float(one.treatment == t) for t in treatments]
            + [float(one.block == b) for b in blocks[1:]]
            for one in trials
        ]
    )
    moved = tuple(name for name in names if _moved(base, len(treatments), name, trials))
    names = tuple(name for name in names if name not in moved)
    if not names:
        return f"treatments move {', '.join(moved)}: held equal, that would hide their effect"
    logs = np.log([[one.covariates[name] for name in names] for one in trials])
    y = np.log([one.value for one in trials])
    full = np.hstack([base, logs - logs.mean(axis=0)])
    freedom = len(trials) - full.shape[1]
    if freedom < FREEDOM:
        return (
            f"too few trials: {max(freedom, 0)} degrees of freedom would be left,"
            f" {FREEDOM} are needed"
        )
    if np.linalg.matrix_rank(full) < full.shape[1]:
        return "the covariates do not vary within blocks"
    plain = _variance(base, y)
    beta = np.linalg.lstsq(full, y, rcond=None)[0]
    variance = _variance(full, y)
    if plain == 0:
        return "there is no noise to explain"
    spread = np.linalg.inv(full.T @ full) * variance
    critical = float(t_quantile((1 + level) / 2, freedom))

    def contrast(weights: NDArray[np.float64]) -> tuple[float, float]:
        return float(weights @ beta), critical * math.sqrt(float(weights @ spread @ weights))

    def unit(at: int) -> NDArray[np.float64]:
        weights = np.zeros(full.shape[1])
        weights[at] = 1.0
        return weights

    slopes = {}
    for at, name in enumerate(names):
        value, half = contrast(unit(base.shape[1] + at))
        slopes[name] = _estimate(value, value - half, value + half, level, len(trials))
    changes = {}
    for a, b in pairs:
        value, half = contrast(unit(treatments.index(b)) - unit(treatments.index(a)))
        low, high = math.expm1(value - half), math.expm1(value + half)
        changes[a, b] = _estimate(math.expm1(value), low, high, level, len(blocks))
    return Adjusted(
        names, moved, variance / plain,
        plain_sd=sd_of(2 * plain, len(y) - base.shape[1], level),
        sd=sd_of(2 * variance, freedom, level),
        slopes=slopes, changes=changes,
    )  # fmt: skip


def _moved(
    base: NDArray[np.float64], treatments: int, name: str, trials: Sequence[Observed]
) -> bool:
    """Test whether a covariate differs between treatments, blocks taken out."""
    y = np.log([one.covariates[name] for one in trials])
    without = np.hstack([np.ones((len(y), 1)), base[:, treatments:]])
    freedom = len(y) - base.shape[1]
    if treatments < 2 or freedom < FREEDOM:
        return False
    noise = squares(base, y)
    gain = squares(without, y) - noise
    if noise <= 0:
        return gain > 0
    f = gain / (treatments - 1) / (noise / freedom)
    return float(f_tail(f, treatments - 1, freedom)) < MOVED


def _variance(design: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    return squares(design, y) / float(len(y) - design.shape[1])


def _estimate(value: float, low: float, high: float, level: float, n: int) -> Estimate:
    return Estimate(value=value, low=low, high=high, level=level, n=n, method="least squares")
