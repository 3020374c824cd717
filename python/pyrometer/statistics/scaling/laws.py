"""Laws of scaling, each linear in its coefficients, in time or in throughput.

Written for one unit of work, with p workers:

=========  ==================================================  ==============================
Amdahl     time = s + w/p                                      serial part s, parallel part w
Gustafson  throughput = a + b p                                the parallel part grows with p
USL        time = s + w/p + c (p - 1)                          c: each pays for every other
Ernest     time = a + b/p + c log p + d p  (all four >= 0)     communication in trees and lists
Roofline   time = max(w/p, ceiling)                            ceiling: bytes over bandwidth
=========  ==================================================  ==============================

The universal scalability law is usually written X(p) = γ p / (1 + α (p-1) + β p (p-1)); then
γ = 1/(s+w), α = s/(s+w), β = c/(s+w). A negative s is allowed there (super-linear), as is none
of the others; Amdahl's law is that with c = 0 and s >= 0.

Sources: Amdahl 1967; Gustafson 1988; Gunther, Guerrilla Capacity Planning, 2007; Venkataraman et
al., Ernest, NSDI 2016; Williams et al., Roofline, CACM 2009. Each is fitted as its source fits it:
Ernest by least squares in time, the others in throughput.

A law is fitted to levels by constrained least squares; draws of its coefficients give intervals
of predictions. The observations are the means of levels: runs of one level share whatever the law
misses there, so that counting each run would make intervals too narrow. Degrees of freedom are
levels less coefficients, and the residual variance holds misfit as well as noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pyrometer.core.estimate import LEVEL, Estimate
from pyrometer.statistics.distributions import t_quantile
from pyrometer.statistics.scaling.levels import Level

Array = NDArray[np.float64]
Space = Literal["time", "rate"]


@dataclass(frozen=True)
class Law:
    """A law.

    Attributes
    ----------
    design : callable
        Rows for workers and work; rows times coefficients are the time (or rate) of one unit.
    linear, loss : {"time", "rate"}
        In what it is linear, and in what squares are summed: time of a run, or throughput.
    signed : tuple of bool
        By coefficient: whether it may be negative.
    parameters : callable
        The parameters of the law, from coefficients along the last axis.
    """

    name: str
    design: Callable[[Array, Array], Array]
    linear: Space
    loss: Space
    signed: tuple[bool, ...]
    parameters: Callable[[Array], dict[str, Array]]

    @property
    def size(self) -> int:
        """Number of coefficients; as many levels are needed to fit them."""
        return len(self.signed)


def _columns(*columns: Array) -> Array:
    return np.column_stack(columns)


def _time_parts(c: Array) -> dict[str, Array]:
    whole = c[..., 0] + c[..., 1]
    return {"serial": c[..., 0] / whole, "gamma": 1 / whole}


def _rate_parts(c: Array) -> dict[str, Array]:
    whole = c[..., 0] + c[..., 1]
    return {"serial": c[..., 0] / whole, "gamma": whole}


def _usl(c: Array) -> dict[str, Array]:
    whole = c[..., 0] + c[..., 1]
    return {"alpha": c[..., 0] / whole, "beta": c[..., 2] / whole, "gamma": 1 / whole}


def _ernest(c: Array) -> dict[str, Array]:
    return {name: c[..., at] for at, name in enumerate(("constant", "parallel", "log", "linear"))}


AMDAHL = Law(
    "amdahl", lambda p, work: _columns(np.ones_like(p), 1 / p), "time", "rate", (False, False),
    _time_parts,
)  # fmt: skip
GUSTAFSON = Law(
    "gustafson", lambda p, work: _columns(np.ones_like(p), p), "rate", "rate", (False, False),
    _rate_parts,
)  # fmt: skip
USL = Law(
    "usl", lambda p, work: _columns(np.ones_like(p), 1 / p, p - 1), "time", "rate",
    (True, True, False), _usl,
)  # fmt: skip
ERNEST = Law(
    "ernest", lambda p, work: _columns(1 / work, 1 / p, np.log(p) / work, p / work), "time", "time",
    (False,) * 4, _ernest,
)  # fmt: skip
PROPORTIONAL = Law(
    "roofline", lambda p, work: _columns(1 / p), "time", "rate", (False,),
    lambda c: {"gamma": 1 / c[..., 0]},
)  # fmt: skip

BOUNDS = {
    "serial": (0.0, 1.0),
    **dict.fromkeys(("beta", "gamma", "constant", "parallel", "log", "linear"), (0.0, np.inf)),
}
"""Least and largest value that a parameter can have."""

LAWS = (AMDAHL, GUSTAFSON, USL, ERNEST)


DRAWS = 1000
SEED = 0
DRAWN = "draws of the linearised law"
TAILS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
STEPS = 200
TOLERANCE = 1e-13


@dataclass(frozen=True)
class Fitted:
    """A law with its coefficients.

    Attributes
    ----------
    coefficients : array
        Within the law's signs.
    free : array
        The same without signs, one step from there: intervals start from it.
    root : array
        Upper triangle whose square is the information matrix.
    sd : float or None
        Residual standard deviation in the law's loss space; ``None`` without degrees of freedom.
    unit : float
        Unit of time in which coefficients are kept, so that they do not depend on the user's.
    """

    law: Law
    coefficients: Array
    free: Array
    root: Array
    sd: float | None
    freedom: int
    unit: float

    def unit_times(self, p: Array, work: Array, coefficients: Array | None = None) -> Array:
        """Time of one unit of work, for each row of coefficients; infinite rates are time 0."""
        c = self.coefficients if coefficients is None else coefficients
        found = c @ self.law.design(p, work).T
        with np.errstate(divide="ignore"):
            times: Array = np.maximum(found, 0) if self.law.linear == "time" else 1 / found
        return times * self.unit

    @cached_property
    def _drawn_sd(self) -> Array | None:
        """Residual standard deviations drawn, as far as the degrees of freedom determine them."""
        if self.sd is None:
            return None
        chi2 = np.random.default_rng(SEED).chisquare(self.freedom, (DRAWS, 1))
        return self.sd * np.sqrt(self.freedom / chi2)

    @cached_property
    def drawn(self) -> Array | None:
        """Coefficients drawn by the linearised law, brought within its signs: a row each."""
        if self._drawn_sd is None:
            return None
        normal = np.random.default_rng(SEED + 1).standard_normal((DRAWS, self.law.size))
        draws: Array = self.free + self._drawn_sd * np.linalg.solve(self.root, normal.T).T
        signed = np.asarray(self.law.signed)
        for at in np.flatnonzero((draws[:, ~signed] < 0).any(axis=1)):
            draws[at] = _least_squares(self.root, self.root @ draws[at], self.law.signed)
        return draws

    def predict(self, p: Array, work: Array) -> Array | None:
        """Draw the times of a unit of work that a new level would show: a row for each draw."""
        if self.drawn is None or self._drawn_sd is None:
            return None
        times = self.unit_times(p, work, self.drawn)
        # The same noise for each level: a prediction must not depend on what else is asked for.
        noise = self._drawn_sd * np.random.default_rng(SEED + 2).standard_normal((DRAWS, 1))
        if self.law.loss == "time":
            return np.maximum(times + noise * self.unit / work, 0)
        with np.errstate(divide="ignore"):
            rates = 1 / times + noise / self.unit
        return np.where(rates > 0, 1 / np.maximum(rates, np.finfo(float).tiny), np.inf)

    def parameters(self) -> dict[str, Estimate]:
        """Return the law's parameters with intervals.

        Student's by the delta method; quantiles of draws where a coefficient is at its limit of 0.
        """
        parameters = {}
        with np.errstate(divide="ignore", invalid="ignore"):
            for name, value in self.law.parameters(self.coefficients).items():
                ends = (None, None) if self.sd is None else self._ends(name, float(value), self.sd)
                point, low, high = (_finite(one, self._scale(name)) for one in (value, *ends))
                parameters[name] = Estimate(
                    value=point, low=low, high=high, level=LEVEL, n=self.levels_count,
                    method="least squares, delta" if self.interior else DRAWN,
                )  # fmt: skip
        return parameters

    @property
    def levels_count(self) -> int:
        """Levels that it was fitted to."""
        return self.freedom + self.law.size

    @property
    def interior(self) -> bool:
        """Whether no coefficient is held at zero by its sign."""
        return bool(np.allclose(self.coefficients, self.free, rtol=1e-6, atol=1e-9))

    def _ends(self, name: str, value: float, sd: float) -> tuple[float, float]:
        if not self.interior and self.drawn is not None:
            low, high = np.quantile(self.law.parameters(self.drawn)[name], TAILS, method="lower")
            return float(low), float(high)
        half = self._half(name, sd)
        least, most = BOUNDS.get(name, (-math.inf, math.inf))
        return max(least, value - half), min(most, value + half)

    def _scale(self, name: str) -> float:
        # Coefficients are in units of time; rates in its reciprocal; the others are ratios.
        if name == "gamma":
            return 1 / self.unit
        return self.unit if self.law.loss == "time" else 1.0

    def _half(self, name: str, sd: float) -> float:
        steps = np.diag(1e-6 * np.maximum(np.abs(self.free), 1e-3))
        ends = [self.law.parameters(self.free + side * steps)[name] for side in (1, -1)]
        slope = (ends[0] - ends[1]) / (2 * np.diag(steps))
        error = sd * float(np.linalg.norm(np.linalg.solve(self.root.T, slope)))
        return float(t_quantile((1 + LEVEL) / 2, self.freedom)) * error


def fit(law: Law, levels: Sequence[Level]) -> Fitted | str:
    """Fit a law by least squares; say why not, where it cannot be.

    Where a law is linear in time and its squares are summed in throughput, linear fits are
    repeated (Gauss and Newton).
    """
    if len(levels) < law.size:
        return f"{law.size} levels are needed, there are {len(levels)}"
    p, work = (np.array([getattr(one, name) for one in levels], float) for name in ("p", "work"))
    times = np.array([one.unit_time for one in levels])
    unit = float(np.exp(np.log(times).mean()))
    rows, counts = law.design(p, work), np.array([one.n for one in levels], float)
    if np.linalg.matrix_rank(rows) < law.size:
        return "the levels do not determine its coefficients"
    # A weight of one is that of a level with the mean number of runs.
    counts, times = counts / counts.mean(), times / unit
    wanted = times if law.linear == "time" else 1 / times
    weights = counts * work**2 if law.loss == "time" else counts / wanted**2
    coefficients = _least_squares(rows * _root(weights), wanted * _root(weights)[:, 0], law.signed)
    if law.linear == law.loss == "rate":
        weights = counts
    for _ in range(STEPS):
        if law.linear != law.loss:
            found = np.maximum(rows @ coefficients, 1e-9)
            weights = counts / found**4
            wanted = found + (1 / found - 1 / times) * found**2
        scale = _root(weights)
        old = coefficients
        coefficients = _least_squares(rows * scale, wanted * scale[:, 0], law.signed)
        if np.allclose(coefficients, old, rtol=TOLERANCE, atol=TOLERANCE):
            break
    q, root = np.linalg.qr(rows * scale)
    free = np.linalg.solve(root, q.T @ (wanted * scale[:, 0]))
    freedom = len(levels) - law.size
    rest = (wanted - rows @ free) * scale[:, 0]
    sd = math.sqrt(float(rest @ rest) / freedom) if freedom else None
    return Fitted(law, coefficients, free, root, sd, freedom, unit)


def _finite(value: float | Array | None, scale: float) -> float | None:
    known = value is not None and np.isfinite(value)
    return float(value) * scale if known else None  # type: ignore[arg-type]


def _root(weights: Array) -> Array:
    roots: Array = np.sqrt(weights)[:, None]
    return roots


def _least_squares(rows: Array, wanted: Array, signed: Sequence[bool]) -> Array:
    """Solve with coefficients that are not negative, except the signed ones."""
    # A coefficient of either sign is the difference of two that are not negative.
    from scipy import optimize

    both = np.flatnonzero(signed)
    found, _ = optimize.nnls(np.hstack([rows, -rows[:, both]]), wanted)
    coefficients: Array = found[: rows.shape[1]].copy()
    coefficients[both] -= found[rows.shape[1] :]
    return coefficients
