"""The surrogate: a Gaussian process over log values that knows blocks, canaries and fidelities.

The covariance is a sum of one part a knob and one part a pair of knobs (Duvenaud et al. 2011):
what knobs do to log time is mostly a sum, so few trials say much. The variance of a knob's part
has a prior that is small: a knob that shows nothing stays inert. Block effects and the canary are
parts of the covariance (random effects), so they are estimated with everything else, and the noise
is what remains. Censored values are imputed by their expectation beyond the limit, round by round
(Tobit by expectation and maximisation), with the variance that they then still have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize, special

from pyrometer.tune.advise.model import (
    BLOCK,
    CHEAP_NOISE,
    CORRELATION,
    EXPECTED,
    KNOB,
    LEAST,
    NOISE,
    OWN,
    PAIRS,
    Array,
    Belief,
    Parameters,
    Prior,
    Trials,
)

LENGTH = 0.3
"""Length over which a knob's effect changes, of the length of its range."""

OFFSET = 10.0
"""Variance of what all trials of a fidelity have in common: nothing is assumed of it."""

CANARY = 0.25
"""Variance of the exponent by which values follow the canary."""

OUTLIER = 3.5
"""Deviations above what all others say from which on a trial counts as disturbed."""

ROUNDS = 3
SWEEPS = 4
JITTER = 1e-8


class Surrogate:
    """A fitted process; see the module."""

    def __init__(
        self,
        columns: Sequence[int],
        trials: Trials,
        expected: Sequence[bool],
        start: Parameters | None = None,
    ) -> None:
        """Fit it.

        Parameters
        ----------
        columns : sequence of int
            Number of the knob that each feature describes.
        trials : Trials
            At least one.
        expected : sequence of bool
            By knob, whether an effect is expected.
        start : Parameters, optional
            Where the search begins.
        """
        self._columns = np.asarray(columns)
        self._size = len(expected)
        self._others = int(trials.fidelities.max(initial=0))
        self._trials = trials
        self._extra = np.zeros(len(trials.values))
        self._parts = self._knob_parts(trials.features, trials.features)
        self._means = self._prior_means(expected)
        self._sds = self._prior_sds()
        point = self._means if start is None else self._packed(start)
        self._values = trials.values + 0.1 * trials.censored
        for _ in range(ROUNDS):
            point = self._search(point)
            self._solve(point)
            changed = self._impute()
            if not (self._spare_outliers() or changed):
                break
        self.parameters = self._unpacked(point)

    def differences(self, features: Array, base: Array) -> Belief:
        """Believe how configurations differ from a base one in full runs, in log values."""
        every = np.vstack([features, base[None, :]])
        solved = linalg.solve_triangular(self._chol, self._cross(every), lower=True)
        mean = solved.T @ self._white
        prior = self._own(every)
        together = self._between(every[:-1], every[-1:])[:, 0]
        moved = solved[:, :-1] - solved[:, -1:]
        variance = prior[:-1] + prior[-1] - 2 * together - (moved**2).sum(axis=0)
        return Belief(mean[:-1] - mean[-1], np.sqrt(np.maximum(variance, 1e-12)))

    def draws(self, features: Array, number: int, rng: np.random.Generator) -> Array:
        """Draw functions from the belief: a row a draw, a column a configuration."""
        solved = linalg.solve_triangular(self._chol, self._cross(features), lower=True)
        mean = solved.T @ self._white
        covariance = self._between(features, features) - solved.T @ solved
        values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        drawn: Array = mean + rng.standard_normal((number, len(values))) @ root.T
        return drawn

    def correlation(self, fidelity: str) -> float:
        """Give the correlation of a fidelity with the full one; unseen, what is common."""
        known = self._trials.names
        if fidelity not in known:
            return float(special.expit(CORRELATION.mean))
        return float(_alike(self.parameters)[known.index(fidelity)])

    @property
    def features(self) -> Array:
        """Describe the trials that it was fitted to."""
        return self._trials.features

    @property
    def knobs(self) -> int:
        """How many knobs there are."""
        return self._size

    def kernels(self, one: Array, other: Array) -> Array:
        """Give the covariance of each knob's part between features, for a variance of 1."""
        return self._knob_parts(one, other)

    def averages(self, known: Array, among: Array) -> tuple[Array, Array]:
        """Believe averages of the function, by what they have in common with each other.

        Parameters
        ----------
        known : array
            By knob, trial and average: the mean of :meth:`kernels` between the two.
        among : array
            The same between averages.

        Returns
        -------
        tuple of arrays
            Means, which have an unknown constant in common, and covariances.
        """
        found = replace(self.parameters, own=0.0)
        cross = self._follows(found) * self._joined(known, found)
        solved = linalg.solve_triangular(self._chol, cross, lower=True)
        return solved.T @ self._white, self._joined(among, found) - solved.T @ solved

    def with_believed(self, features: Array, block: int) -> Surrogate:
        """Take a trial in that shows just what is believed: for choosing several at once."""
        solved = linalg.solve_triangular(self._chol, self._cross(features[None, :]), lower=True)
        weights = linalg.solve_triangular(self._chol, self._white, lower=True, trans="T")
        # What all trials have in common is part of what one shows.
        mean = float(solved[:, 0] @ self._white)
        mean += OFFSET * float(weights[self._trials.fidelities == 0].sum())
        old = self._trials
        found = object.__new__(Surrogate)
        found.__dict__ |= self.__dict__
        found._trials = Trials(
            np.vstack([old.features, features]),
            np.append(old.values, mean),
            np.append(old.censored, False),
            np.append(old.blocks, block),
            np.append(old.fidelities, 0),
            np.append(old.canaries, 0.0),
            old.names,
        )
        found._values = np.append(self._values, mean)
        found._extra = np.append(self._extra, 0.0)
        found._parts = found._knob_parts(found._trials.features, found._trials.features)
        found._solve(self._packed(self.parameters))
        return found

    # Covariance

    def _knob_parts(self, one: Array, other: Array) -> Array:
        """Covariance of each knob's part for a variance of 1: Matérn's with exponent 5/2."""
        parts = np.empty((self._size, len(one), len(other)))
        for at in range(self._size):
            mine = self._columns == at
            apart = one[:, mine][:, None, :] - other[:, mine][None, :, :]
            r = np.sqrt(5 * (apart**2).sum(axis=2)) / LENGTH
            parts[at] = (1 + r + r**2 / 3) * np.exp(-r)
        return parts

    def _joined(self, parts: Array, found: Parameters) -> Array:
        scaled = found.knobs[:, None, None] * parts
        single = scaled.sum(axis=0)
        joined: Array = single + found.pairs * (single**2 - (scaled**2).sum(axis=0)) / 2
        return joined + found.own * _same(parts)

    def _own(self, features: Array) -> Array:
        found = self.parameters
        single = float(found.knobs.sum())
        value = single + found.pairs * (single**2 - float((found.knobs**2).sum())) / 2
        return np.full(len(features), value + found.own)

    def _between(self, one: Array, other: Array) -> Array:
        return self._joined(self._knob_parts(one, other), self.parameters)

    def _cross(self, features: Array) -> Array:
        found = self._between(self._trials.features, features)
        return self._follows(self.parameters) * found

    def _follows(self, found: Parameters) -> Array:
        """Give how far each trial follows the full run, as a column."""
        column: Array = _alike(found)[self._trials.fidelities][:, None]
        return column

    def _ratio(self, found: Parameters, same: Array) -> Array:
        """Give how far trials follow each other: two stand-ins only by way of the full run."""
        follows = self._follows(found)
        return np.where(same > 0, 1.0, follows * follows.T)

    def _masks(self) -> tuple[Array, Array, Array, NDArray[np.bool_]]:
        trials = self._trials
        same = (trials.fidelities[:, None] == trials.fidelities[None, :]).astype(float)
        block = (trials.blocks[:, None] == trials.blocks[None, :]).astype(float)
        return same, block, np.outer(trials.canaries, trials.canaries), trials.fidelities != 0

    # Fitting

    def _prior_means(self, expected: Sequence[bool]) -> Array:
        knobs = [EXPECTED.mean if one else KNOB.mean for one in expected]
        rest = [one.mean for one in self._rest()]
        return np.array([*knobs, *rest])

    def _prior_sds(self) -> Array:
        rest = [one.sd for one in self._rest()]
        return np.array([*[KNOB.sd] * self._size, *rest])

    def _rest(self) -> Sequence[Prior]:
        return (PAIRS, OWN, NOISE, CHEAP_NOISE, BLOCK, *[CORRELATION] * self._others)

    def _unpacked(self, point: Array) -> Parameters:
        end = len(point) - self._others
        pairs, own, noise, cheap, block = (float(one) for one in np.exp(point[self._size : end]))
        correlations = special.expit(point[end:])
        knobs = np.exp(point[: self._size])
        return Parameters(knobs, pairs, own, noise, cheap, block, correlations)

    def _packed(self, found: Parameters) -> Array:
        rest = np.log([found.pairs, found.own, found.noise, found.cheap_noise, found.block])
        return np.array([*np.log(found.knobs), *rest, *special.logit(found.correlations)])

    def _search(self, start: Array) -> Array:
        lowest = np.where(np.arange(len(start)) < self._size, LEAST, 4.0)
        bounds = [
            (m - down * s, m + 4 * s)
            for m, s, down in zip(self._means, self._sds, lowest, strict=True)
        ]
        found = optimize.minimize(
            self._loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 40}
        )
        best: Array = np.asarray(found.x, float)
        return best

    def _loss(self, point: Array) -> tuple[float, Array]:
        found = self._unpacked(point)
        same, block, canary, cheap = self._masks()
        scaled = found.knobs[:, None, None] * self._parts
        single = scaled.sum(axis=0)
        double = (single**2 - (scaled**2).sum(axis=0)) / 2
        ratio = self._ratio(found, same)
        alike = _same(self._parts)
        joined = single + found.pairs * double + found.own * alike
        noise = np.where(cheap, found.cheap_noise, found.noise)
        whole = ratio * joined + OFFSET * same + found.block * block + CANARY * canary
        whole[np.diag_indices_from(whole)] += noise + self._extra + JITTER
        try:
            factor = linalg.cho_factor(whole, lower=True)
        except linalg.LinAlgError:
            return 1e25, np.zeros_like(point)
        solved = linalg.cho_solve(factor, self._values)
        inverse = linalg.cho_solve(factor, np.eye(len(whole)))
        apart = (point - self._means) / self._sds
        loss = (
            0.5 * float(self._values @ solved)
            + float(np.log(np.diag(factor[0])).sum())
            + 0.5 * float(apart @ apart)
        )
        weight = 0.5 * (inverse - np.outer(solved, solved))
        shared = weight * ratio
        slope = [
            *np.einsum("ij,kij->k", shared * (1 + found.pairs * single), scaled)
            - found.pairs * np.einsum("ij,kij->k", shared, scaled**2),
            found.pairs * float((shared * double).sum()),
            found.own * float((shared * alike).sum()),
            found.noise * float(np.diag(weight)[~cheap].sum()),
            found.cheap_noise * float(np.diag(weight)[cheap].sum()),
            found.block * float((weight * block).sum()),
            *self._slopes(found, weight * joined * (same == 0)),
        ]  # fmt: skip
        return loss, np.array(slope) + apart / self._sds

    def _slopes(self, found: Parameters, weight: Array) -> list[float]:
        """Give the slope of the loss along the logit of each correlation."""
        along = weight @ self._follows(found)[:, 0]
        return [
            2 * one * (1 - one) * float(along[self._trials.fidelities == at].sum())
            for at, one in enumerate(found.correlations, 1)
        ]

    def _solve(self, point: Array) -> None:
        self.parameters = self._unpacked(point)
        same, block, canary, cheap = self._masks()
        found = self.parameters
        ratio = self._ratio(found, same)
        whole = ratio * self._joined(self._parts, found)
        whole += OFFSET * same + found.block * block + CANARY * canary
        noise = np.where(cheap, found.cheap_noise, found.noise)
        whole[np.diag_indices_from(whole)] += noise + self._extra + JITTER
        self._chol = np.linalg.cholesky(whole)
        self._white = linalg.solve_triangular(self._chol, self._values, lower=True)

    def _left_out(self) -> tuple[Array, Array]:
        """Give mean and deviation of each trial as all others say (leave one out)."""
        inverse = linalg.cho_solve((self._chol, True), np.eye(len(self._values)))
        variance = 1 / np.diag(inverse)
        return self._values - (inverse @ self._values) * variance, np.sqrt(variance)

    def _spare_outliers(self) -> bool:
        """Let trials that took far longer than all others say count for little.

        What disturbs a trial makes it longer; the model's noise is that of the undisturbed.
        """
        middle, spread = self._left_out()
        beyond = self._values - middle
        found = (beyond > OUTLIER * spread) & ~self._trials.censored & (self._extra == 0)
        self._extra[found] = beyond[found] ** 2
        if found.any():
            self._solve(self._packed(self.parameters))
        return bool(found.any())

    def _impute(self) -> bool:
        """Put the expectation beyond the limit in place of censored values; whether any are."""
        where = np.flatnonzero(self._trials.censored)
        if not len(where):
            return False
        for _ in range(SWEEPS):
            middle, spread = (one[where] for one in self._left_out())
            limit = (self._trials.values[where] - middle) / spread
            hazard = np.exp(
                -0.5 * limit**2 - 0.5 * math.log(2 * math.pi) - special.log_ndtr(-limit)
            )
            self._values[where] = middle + spread * hazard
            variance = spread**2 * np.clip(1 + limit * hazard - hazard**2, 1e-6, 1.0)
            self._extra[where] = variance
            self._solve(self._packed(self.parameters))
        return True


def _alike(found: Parameters) -> Array:
    """Give correlations with the full run by the number of a fidelity."""
    return np.concatenate([[1.0], found.correlations])


def _same(parts: Array) -> Array:
    """Mark pairs of configurations that are the same one."""
    marked: Array = (parts.min(axis=0) > 1 - 1e-9).astype(float)
    return marked
