"""Predictions of each law and of all together, and how far off laws were at measured levels."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pyrometer.core.estimate import LEVEL, Estimate
from pyrometer.statistics.scaling.laws import (
    DRAWN,
    DRAWS,
    LAWS,
    PROPORTIONAL,
    SEED,
    TAILS,
    Array,
    Fitted,
    Law,
    fit,
)
from pyrometer.statistics.scaling.levels import Kind, Level

FAR = 2.0
"""Times the largest fitted level beyond which no single law can be relied on."""

FEWEST = 4
"""Fewest levels that laws are fitted to, to see how far off they are at the next ones."""

MOST_ORIGINS = 16
"""Most fits for that."""

POOLED = "draws of all laws, with their error beyond what they were fitted to"


class Predictor(Protocol):
    """Something that predicts times of a unit of work."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def method(self) -> str:
        """How its intervals are computed."""

    def unit_times(self, p: Sequence[float], work: Sequence[float]) -> Array:
        """Return points."""

    def draws(self, p: Sequence[float], work: Sequence[float]) -> Array | None:
        """Draw what new levels would show: a row for each draw; ``None`` where it cannot."""


@dataclass(frozen=True)
class Ceiling:
    """Least time of a unit of work that a resource allows: bytes to be moved over bandwidth."""

    unit_time: float
    sd: float


@dataclass(frozen=True)
class Model:
    """A law fitted, under a ceiling if it has one."""

    fitted: Fitted
    ceiling: Ceiling | None = None
    method: str = DRAWN

    @property
    def name(self) -> str:
        """The law's name."""
        return self.fitted.law.name

    def unit_times(self, p: Sequence[float], work: Sequence[float]) -> Array:
        """Time of a unit of work."""
        found = self.fitted.unit_times(np.array(p, float), np.array(work, float))
        return found if self.ceiling is None else np.maximum(found, self.ceiling.unit_time)

    def draws(self, p: Sequence[float], work: Sequence[float]) -> Array | None:
        """Draw what new levels would show: a row for each draw, a column for each level."""
        found = self.fitted.predict(np.array(p, float), np.array(work, float))
        if found is None or self.ceiling is None:
            return found
        noise = np.random.default_rng(SEED + 3).standard_normal((DRAWS, 1))
        ceilings = self.ceiling.unit_time + self.ceiling.sd * noise
        draws: Array = np.maximum(found, np.maximum(ceilings, 0))
        return draws


def roofline(levels: Sequence[Level], limit: float, limit_sd: float = 0.0) -> Model | str:
    """Fit proportional scaling below a ceiling of memory bandwidth; say why not.

    Parameters
    ----------
    limit, limit_sd : float
        Attainable bandwidth in the unit of the levels' ``bandwidth``, and its standard error.
    """
    moved = [one.unit_time * mean for one in levels if (mean := one.mean("bandwidth")) is not None]
    if not moved:
        return "no level has its memory throughput"
    mean = statistics.fmean(moved)
    spread = statistics.stdev(moved) / mean if len(moved) > 1 else 0.0
    ceiling = Ceiling(mean / limit, mean / limit * float(np.hypot(spread, limit_sd / limit)))
    # Levels near the ceiling say nothing about the slope.
    below = [one for one in levels if one.unit_time > 2 * ceiling.unit_time]
    found = fit(PROPORTIONAL, below or levels[:1])
    return found if isinstance(found, str) else Model(found, ceiling)


def estimate(
    times: Array | None, point: float, work: float, kind: Kind, n: int, method: str
) -> Estimate:
    """Put a point and draws of the time of a unit of work into the value's kind."""
    ends: list[float | None] = [None, None]
    if times is not None:
        ends = [
            _in_kind(float(one), work, kind) for one in np.quantile(times, TAILS, method="lower")
        ]
    low, high = ends if kind == "elapsed" else ends[::-1]
    value = _in_kind(point, work, kind)
    return Estimate(value=value, low=low, high=high, level=LEVEL, n=n, method=method)


def pooled(
    models: Sequence[Predictor],
    p: Sequence[float],
    work: Sequence[float],
    levels: Sequence[Level],
    error: float | None,
) -> Array | None:
    """Pool the draws of all laws, each with the same weight (linear opinion pool, Stone 1961).

    A law that fits best where it was measured need not be the one that holds beyond: their
    disagreement is part of the interval. So is what all of them have missed (a discrepancy of the
    model, Kennedy and O'Hagan 2001), as a slope of log time over log workers that begins at the
    last fitted level.

    Parameters
    ----------
    levels : sequence of Level
        Those fitted.
    error : float or None
        Of :func:`error_beyond`.
    """
    draws = [one for model in models if (one := model.draws(p, work)) is not None]
    if not draws:
        return None
    pool = np.vstack(draws)
    slopes = (error or 0.0) * np.random.default_rng(SEED + 4).standard_normal((len(pool), 1))
    widened: Array = pool * np.exp(slopes * np.log(np.maximum(np.array(p) / levels[-1].p, 1)))
    return widened


def error_beyond(levels: Sequence[Level]) -> float | None:
    """How far off the laws' median was beyond what they were fitted to, for e times the workers.

    Laws are fitted to the first levels only and held against the next ones, up to twice as many
    workers, each time with one level more (rolling origin, Tashman 2000): the root of the
    mean square error of log time over log workers. ``None`` where there are too few levels.
    """
    tries = np.linspace(FEWEST, len(levels) - 1, min(MOST_ORIGINS, max(0, len(levels) - FEWEST)))
    squares = []
    for first in map(int, tries):
        last = levels[first - 1].p
        then = [one for one in levels[first:] if last < one.p <= FAR * last]
        found = [fit(law, levels[:first]) for law in LAWS]
        models = [Model(one) for one in found if not isinstance(one, str)]
        if not then or not models:
            continue
        p, work = [one.p for one in then], [one.work for one in then]
        said = np.median([model.unit_times(p, work) for model in models], axis=0)
        with np.errstate(divide="ignore"):
            off = np.log(np.array([one.unit_time for one in then]) / said)
        square = float(np.mean((off / np.log(np.array(p) / last)) ** 2))
        if math.isfinite(square):
            squares.append(square)
    return math.sqrt(statistics.fmean(squares)) if squares else None


def left_out(law: Law, levels: Sequence[Level]) -> float | None:
    """Median relative error of the time of a level that was left out."""
    errors = []
    for at, one in enumerate(levels):
        found = fit(law, [*levels[:at], *levels[at + 1 :]])
        if isinstance(found, str) or found.freedom < 1:
            return None
        errors.append(abs(_error(found, one)))
    return statistics.median(errors)


def half(law: Law, levels: Sequence[Level]) -> float | None:
    """Relative error at the largest level of the law fitted to those up to half of it."""
    found = fit(law, [one for one in levels if one.p <= levels[-1].p / 2])
    return None if isinstance(found, str) else _error(found, levels[-1])


def _error(fitted: Fitted, level: Level) -> float:
    time = fitted.unit_times(np.array([level.p]), np.array([level.work]))
    return float(time[0]) / level.unit_time - 1


def _in_kind(unit_time: float, work: float, kind: Kind) -> float | None:
    if kind == "elapsed":
        return unit_time * work if np.isfinite(unit_time) else None
    return 1 / unit_time if unit_time > 0 else None
