"""A matrix of factors: what each does to log time, and whether effects depend on each other.

Least squares with blocks, every factor and every pair of factors, in deviation coding: an effect
of a factor is its mean over the levels of the others. Terms are tested as those of type II: a
factor after all other terms but the pairs that contain it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from pydantic import BaseModel, Field

from pyrometer.core.estimate import LEVEL, Estimate
from pyrometer.statistics.distributions import f_tail
from pyrometer.statistics.many import adjusted
from pyrometer.statistics.regression import Fit, Matrix, coded, fits, products, squares

UNSET = "–"

NO_NOISE = 1e-20
"""Variance of logarithms that is rounding."""

Term = tuple[str, ...]


@dataclass(frozen=True)
class Cell:
    """One trial: its levels by factor, its time, and its block."""

    levels: Mapping[str, str]
    value: float
    block: str


class LevelEffect(BaseModel):
    """A level compared with another of the same factor, averaged over the levels of the others."""

    a: str
    b: str
    change: Estimate


class Effect(BaseModel):
    """A factor, or two that depend on each other.

    ``share`` is partial eta squared: its part of the variance that no other term explains.
    ``adjusted_p`` is after Holm over all terms. ``error`` is the noise that it is tested against.
    """

    factors: list[str]
    freedom: int
    f: float
    p: float
    adjusted_p: float
    share: float
    error: Literal["trials", "whole plots"] = "trials"
    levels: list[LevelEffect] = Field(default_factory=list)


class Factorial(BaseModel):
    """Effects of all factors and pairs; `reason` says why there are none, or no pairs.

    ``noise_sd`` is that of a trial, ``whole_noise_sd`` that of the mean of a whole plot.
    """

    effects: list[Effect] = Field(default_factory=list)
    noise_sd: float | None = None
    freedom: int | None = None
    whole_noise_sd: float | None = None
    whole_freedom: int | None = None
    reason: str | None = None


def factorial(
    cells: Sequence[Cell],
    first: Mapping[str, str] | None = None,
    level: float = LEVEL,
    split: Sequence[str] = (),
) -> Factorial:
    """Analyse a matrix.

    Parameters
    ----------
    cells : sequence of Cell
        Trials of whole blocks.
    first : mapping, optional
        The level of a factor that its others are compared with. Default: the first that appears.
    split : sequence of str
        Factors whose levels ran together within a block: what they do, alone, is tested against
        the noise of these whole plots, all else against that of the trials within them (Yates
        1935, "Complex experiments").

    Examples
    --------
    >>> noise = iter([1.001, 0.999, 1.0, 1.0, 0.999, 1.0, 1.001, 1.0, 1.0, 1.001, 0.999, 1.0])
    >>> cells = [
    ...     Cell({"heap": heap, "codec": codec}, ten * factor * next(noise), block)
    ...     for block, ten in (("1", 10.0), ("2", 12.0), ("3", 11.0))
    ...     for heap, codec, factor in (
    ...         ("1g", "x", 1.1), ("1g", "y", 1.1), ("2g", "x", 1.0), ("2g", "y", 1.02)
    ...     )
    ... ]
    >>> found = factorial(cells)
    >>> [(one.factors, round(one.levels[0].change.value, 3)) for one in found.effects[:2]]
    [(['heap'], -0.082), (['codec'], 0.01)]
    """
    names = list(dict.fromkeys(name for one in cells for name in one.levels))
    levels = {name: _levels(cells, name, (first or {}).get(name)) for name in names}
    names = [name for name in names if len(levels[name]) > 1]
    if len(names) < 2:
        return Factorial(reason="fewer than two factors vary: the pairs say it all")
    terms: list[Term] = [(name,) for name in names] + list(combinations(names, 2))
    whole = [name for name in names if name in split]
    if not whole:
        return _corrected([_stratum(cells, [one.block for one in cells], terms, levels, level)])
    plots: dict[tuple[str, ...], list[Cell]] = {}
    for one in cells:
        key = (one.block, *(one.levels.get(name, UNSET) for name in whole))
        plots.setdefault(key, []).append(one)
    rest = [name for name in names if name not in whole]
    held = {
        frozenset(tuple(o.levels.get(n, UNSET) for n in rest) for o in p) for p in plots.values()
    }
    if len(held) > 1:
        return Factorial(
            reason="whole plots hold different treatments: only the pairs are reported"
        )
    means = [
        Cell(
            dict(zip(whole, key[1:], strict=True)),
            math.exp(statistics.fmean(math.log(one.value) for one in plot)),
            key[0],
        )
        for key, plot in plots.items()
    ]
    above = [term for term in terms if set(term) <= set(whole)]
    within = [term for term in terms if term not in above]
    between = _stratum(means, [one.block for one in means], above, levels, level)
    for effect in between.effects:
        effect.error = "whole plots"
    if not within:
        return _corrected([between])
    units = [str((one.block, *(one.levels.get(n, UNSET) for n in whole))) for one in cells]
    return _corrected([between, _stratum(cells, units, within, levels, level)])


def _corrected(strata: Sequence[Factorial]) -> Factorial:
    """Join effects tested against different noise, and adjust p for testing many terms."""
    effects = [one for stratum in strata for one in stratum.effects]
    for one, p in zip(effects, adjusted([one.p for one in effects]), strict=True):
        one.adjusted_p = p
    reason = "; ".join(dict.fromkeys(one.reason for one in strata if one.reason)) or None
    joined = strata[-1].model_copy(update={"effects": effects, "reason": reason})
    if len(strata) > 1:
        joined.whole_noise_sd, joined.whole_freedom = strata[0].noise_sd, strata[0].freedom
    return joined


def _stratum(
    cells: Sequence[Cell],
    units: Sequence[str],
    wanted: Sequence[Term],
    levels: Mapping[str, Sequence[str]],
    level: float,
) -> Factorial:
    """Test terms against the residual noise within units: blocks, or whole plots."""
    y = np.log([one.value for one in cells])
    base = np.hstack([np.ones((len(cells), 1)), coded(units, list(dict.fromkeys(units)))])
    columns = {
        name: coded([one.levels.get(name, UNSET) for one in cells], levels[name])
        for name in dict.fromkeys(name for term in wanted for name in term)
    }
    terms: dict[Term, Matrix] = {
        term: columns[term[0]] if len(term) == 1 else products(*(columns[n] for n in term))
        for term in wanted
    }
    reason = None
    if not fits(base, terms.values()):
        reason = "too few trials, or too few combinations, for pairs"
        terms = {term: matrix for term, matrix in terms.items() if len(term) == 1}
        if not terms or not fits(base, terms.values()):
            return Factorial(reason="too few trials, or combinations that cannot be distinguished")
    fit = Fit(np.hstack([base, *terms.values()]), y)
    if fit.variance < NO_NOISE:
        return Factorial(reason="the trials do not vary: there is no noise to test against")
    effects, at = [], base.shape[1]
    for term, matrix in terms.items():
        effects.append(_effect(term, terms, base, y, fit))
        if len(term) == 1:
            effects[-1].levels = _level_effects(fit, at, levels[term[0]], level)
        at += matrix.shape[1]
    return Factorial(
        effects=effects, noise_sd=math.sqrt(fit.variance), freedom=fit.freedom, reason=reason
    )


def _levels(cells: Sequence[Cell], name: str, first: str | None) -> list[str]:
    found = list(dict.fromkeys(one.levels.get(name, UNSET) for one in cells))
    return [first, *(one for one in found if one != first)] if first in found else found


def _effect(term: Term, terms: Mapping[Term, Matrix], base: Matrix, y: Matrix, fit: Fit) -> Effect:
    others = [one for name, one in terms.items() if not set(term) <= set(name)]
    without = np.hstack([base, *others])
    gain = max(0.0, squares(without, y) - squares(np.hstack([without, terms[term]]), y))
    size = terms[term].shape[1]
    f = gain / size / fit.variance
    p = float(f_tail(f, size, fit.freedom))
    share = gain / (gain + fit.variance * fit.freedom)
    return Effect(factors=list(term), freedom=size, f=f, p=p, adjusted_p=p, share=share)


def _level_effects(fit: Fit, at: int, levels: Sequence[str], level: float) -> list[LevelEffect]:
    effects = []
    for index, name in enumerate(levels[1:]):
        # The first level is minus the sum of the others' coefficients.
        weights = np.zeros(fit.size)
        weights[at : at + len(levels) - 1] = 1.0
        weights[at + index] += 1.0
        change = fit.contrast(weights, level)
        effects.append(LevelEffect(a=levels[0], b=name, change=change))
    return effects
