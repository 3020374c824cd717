"""The first slower level of an ordered list, found trial by trial.

What is believed of every level follows from all trials so far (Bayes), and the next trial is at the
level that is expected to say most about the rest (Horstein 1963: bisection with noisy answers).

The logarithm of a trial's time is the machine's state, a step from the first slower level on, and
noise. The machine's state wanders between trials (a random walk), so that a trial is compared with
those near it in time. Size of the step, noise and drift are not known: they are averaged over.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pyrometer.core.estimate import LEVEL, Estimate
from pyrometer.statistics.distributions import f_tail
from pyrometer.statistics.two import MARGIN, logs

Floats = NDArray[np.float64]

DRIFTS = (0.0, 0.01, 0.1, 1.0)
"""Variance of a step of the machine's state over that of a trial's noise."""
NONE = 0.5
"""Belief before the first trial that no level is slower; the others share the rest alike."""
LARGEST = math.log(100.0)
"""Largest step, as the logarithm of a ratio of times."""
SIZES = 200
SMALL = 1.0
"""Belief in a step of a size before the first trial falls with this power of it (per logarithm)."""
NOISE, NOISE_TRIALS = 0.03, 1.0
"""Noise that is expected before the first trial, and as how many trials that counts."""
LEAST = 2
"""Trials at least of the two levels between which the step is said to be."""
NEAR_BEST = 0.9
"""Levels that are expected to say at least this share of what the best says are as good."""
GRID = np.linspace(-5.0, 5.0, 41)
"""Where densities are looked at, in standard deviations from each mean."""
METHOD = "posterior of one step"


@dataclass(frozen=True)
class Hypothesis:
    """Levels of which one is the first slower one; empty: none is slower.

    Several belong together where no trial can tell them apart.
    """

    levels: tuple[int, ...]
    probability: float


@dataclass(frozen=True)
class Belief:
    """What all trials so far say.

    Attributes
    ----------
    hypotheses : tuple of Hypothesis
        Every possible answer, the most probable first; probabilities add up to 1.
    change : Estimate
        Relative change of the time at the step, for the most probable answer; without value where
        that is that no level is slower.
    noise : float or None
        Standard deviation of the logarithm of a trial's time.
    counts : tuple of int
        Trials of each level.
    misfit_p : float or None
        Small if levels differ by more than one step (F test); ``None`` where there are too few
        trials.
    gains : tuple of float
        By level: bits that a trial is expected to say about the answer; below 0 for those that
        cannot run.
    """

    hypotheses: tuple[Hypothesis, ...]
    change: Estimate
    noise: float | None
    counts: tuple[int, ...]
    misfit_p: float | None
    gains: tuple[float, ...]

    @property
    def best(self) -> Hypothesis:
        """The most probable answer."""
        return self.hypotheses[0]

    def candidates(self) -> list[int]:
        """Levels that are worth the next trial, the first level where nothing is known yet."""
        most = max(self.gains)
        if most <= 0:
            return [min(at for at, gain in enumerate(self.gains) if gain >= 0)]
        return [at for at, gain in enumerate(self.gains) if gain >= NEAR_BEST * most]


@dataclass(frozen=True)
class Bisection:
    """A search among levels.

    Attributes
    ----------
    levels : int
        How many there are, in order.
    error : float
        Largest probability of a wrong answer.
    margin : float
        Relative change from which on a level counts as slower.
    out : frozenset of int
        Levels that cannot run.

    Examples
    --------
    >>> search = Bisection(4, error=0.05)
    >>> seen = [(0, 10.0), (3, 12.0), (1, 10.1), (2, 12.1), (1, 9.9), (2, 11.9), (0, 10.1)]
    >>> belief = search.belief(seen)
    >>> belief.best.levels, round(belief.change.value, 2), search.decided(belief)
    ((2,), 0.19, True)
    """

    levels: int
    error: float = 0.05
    margin: float = MARGIN
    out: frozenset[int] = field(default_factory=frozenset)

    def __post_init__(self) -> None:
        if self.levels < 2 or 0 in self.out or len(self.runnable) < 2:
            raise ValueError("the first level and another one must run")

    @property
    def runnable(self) -> list[int]:
        """Levels that can run."""
        return [at for at in range(self.levels) if at not in self.out]

    def answers(self) -> list[tuple[int, ...]]:
        """Possible answers: none, and levels that no trial tells apart from each other.

        Examples
        --------
        >>> Bisection(5, out=frozenset({2, 4})).answers()
        [(), (1,), (2, 3)]
        """
        found: list[tuple[int, ...]] = [()]
        waiting: list[int] = []
        for level in range(1, self.levels):
            waiting.append(level)
            if level not in self.out:
                found.append(tuple(waiting))
                waiting = []
        return found

    def decided(self, belief: Belief) -> bool:
        """Whether the answer is known with the stated error, and both sides of it were run."""
        best = belief.best
        if best.probability < 1 - self.error:
            return False
        runnable = self.runnable
        beyond = best.levels[-1] if best.levels else runnable[-1]
        before = runnable[runnable.index(beyond) - 1] if best.levels else 0
        return min(belief.counts[before], belief.counts[beyond]) >= LEAST

    def pending(self, belief: Belief) -> int | None:
        """Level that must be run once more, though the answer is known well enough."""
        best = belief.best
        if best.probability < 1 - self.error or self.decided(belief):
            return None
        runnable = self.runnable
        beyond = best.levels[-1] if best.levels else runnable[-1]
        before = runnable[runnable.index(beyond) - 1] if best.levels else 0
        return min((before, beyond), key=lambda at: belief.counts[at])

    def belief(self, seen: Sequence[tuple[int, float]]) -> Belief:
        """Say what trials show.

        Parameters
        ----------
        seen : sequence of (int, float)
            Level and time of every trial, in the order of time.

        Raises
        ------
        ValueError
            If a time is not above zero.
        """
        answers = self.answers()
        slow = np.zeros((len(answers), self.levels))
        for row, levels in enumerate(answers):
            if levels:
                slow[row, levels[-1] :] = 1.0
        places = np.array([at for at, _ in seen], dtype=int)
        times = np.asarray(logs([seconds for _, seconds in seen]) if seen else [], float)
        fits = [_filtered(times, slow[:, places], drift) for drift in DRIFTS]
        sizes = np.geomspace(math.log1p(self.margin), LARGEST, SIZES)
        posterior = _posterior(fits, len(seen), sizes, len(answers))
        weights = posterior.sum(axis=(0, 2))
        order = sorted(range(len(answers)), key=lambda at: -weights[at])
        best = order[0]
        counts = np.bincount(places, minlength=self.levels)
        return Belief(
            hypotheses=tuple(Hypothesis(answers[at], float(weights[at])) for at in order),
            change=_change(posterior[:, best], sizes, len(seen), bool(answers[best])),
            noise=_noise(fits, posterior, sizes, len(seen)),
            counts=tuple(int(one) for one in counts),
            misfit_p=_misfit(times, places, slow[best], fits, posterior),
            gains=self._gains(fits, posterior, sizes, slow, len(seen)),
        )

    def _gains(
        self,
        fits: Sequence[_Fit],
        posterior: Floats,
        sizes: Floats,
        slow: Floats,
        n: int,
    ) -> tuple[float, ...]:
        """Bits that a trial at each level is expected to say about the answer.

        What a trial would show under an answer is taken as normal, with the moments that follow
        from what is believed of step, noise and drift.
        """
        if n == 0:
            return tuple(-1.0 if at in self.out else 0.0 for at in range(self.levels))
        weights = posterior.sum(axis=(0, 2))
        gains = np.full(self.levels, -1.0)
        for level in self.runnable:
            mean, square = np.zeros(len(weights)), np.zeros(len(weights))
            for at, fit in enumerate(fits):
                step = slow[:, level] - fit.slow_state
                centre = fit.state + step[:, None] * sizes[None, :]
                spread = fit.next_variance * fit.scales(sizes, n)
                mean += (posterior[at] * centre).sum(axis=1)
                square += (posterior[at] * (centre**2 + spread)).sum(axis=1)
            safe = np.maximum(weights, 1e-300)
            mean /= safe
            gains[level] = _information(weights, mean, square / safe - mean**2)
        return tuple(float(one) for one in gains)


@dataclass(frozen=True)
class _Fit:
    """What a drift makes of the trials: sums of squares of what was not foreseen.

    Attributes
    ----------
    times, crossed, steps : float, array, array
        Of times, of times with steps, of steps: the last two by answer.
    determinant : float
        Logarithm of the product of the variances.
    state, slow_state : float, array
        The machine's state after the last trial, and that of each answer's step.
    next_variance : float
        Variance of the next trial over that of noise.
    """

    times: float
    crossed: Floats
    steps: Floats
    determinant: float
    state: float
    slow_state: Floats
    next_variance: float

    def squares(self, sizes: Floats) -> Floats:
        """Sum of squares by answer and size of the step."""
        crossed, steps = self.crossed[:, None], self.steps[:, None]
        found: Floats = np.maximum(
            self.times - 2 * sizes[None, :] * crossed + sizes[None, :] ** 2 * steps, 0.0
        )
        return found

    def scales(self, sizes: Floats, n: int) -> Floats:
        """Variance of noise by answer and size of the step."""
        found: Floats = (NOISE_TRIALS * NOISE**2 + self.squares(sizes)) / (NOISE_TRIALS + n - 1)
        return found


def _whitened(columns: Floats, drift: float) -> tuple[Floats, float, Floats, float]:
    """Filter rows of a series by a random walk with noise.

    Returns
    -------
    tuple
        What was not foreseen, over its standard deviation; logarithm of the product of variances;
        the state after the last one; variance of the next.
    """
    state = columns[:, 0].copy()
    known, determinant = 1.0, 0.0
    found = np.zeros((columns.shape[0], columns.shape[1] - 1))
    for at in range(1, columns.shape[1]):
        ahead = known + drift
        variance = ahead + 1.0
        missed = columns[:, at] - state
        found[:, at - 1] = missed / math.sqrt(variance)
        determinant += math.log(variance)
        known = ahead / variance
        state += known * missed
    return found, determinant, state, known + drift + 1.0


def _filtered(times: Floats, steps: Floats, drift: float) -> _Fit:
    if times.size == 0:
        nothing = np.zeros(steps.shape[0])
        return _Fit(0.0, nothing, nothing, 0.0, 0.0, nothing, 1.0)
    rows, determinant, state, following = _whitened(np.vstack([times, steps]), drift)
    mine, others = rows[0], rows[1:]
    return _Fit(
        times=float(mine @ mine), crossed=others @ mine, steps=(others**2).sum(axis=1),
        determinant=determinant, state=float(state[0]), slow_state=state[1:],
        next_variance=following,
    )  # fmt: skip


def _posterior(fits: Sequence[_Fit], n: int, sizes: Floats, answers: int) -> Floats:
    """Joint probability by drift, answer and size; that of no step stands at the first size."""
    by_size = sizes**-SMALL / (sizes**-SMALL).sum()
    prior = np.tile(by_size * (1 - NONE) / (answers - 1), (answers, 1))
    prior[0] = 0.0
    prior[0, 0] = NONE
    with np.errstate(divide="ignore"):
        log_prior = np.log(prior)
    if n < 2:
        return np.repeat(prior[None] / len(fits), len(fits), axis=0)
    freedom = NOISE_TRIALS + n - 1
    found = np.empty((len(fits), answers, sizes.size))
    for at, fit in enumerate(fits):
        squares = NOISE_TRIALS * NOISE**2 + fit.squares(sizes)
        found[at] = log_prior - fit.determinant / 2 - freedom / 2 * np.log(squares)
    found = np.exp(found - found.max())
    whole: Floats = found / found.sum()
    return whole


def _information(weights: Floats, means: Floats, variances: Floats) -> float:
    """Bits that an observation says about which of several normal distributions it is from."""
    kept = weights > 1e-9
    w, m, v = weights[kept], means[kept], np.maximum(variances[kept], 1e-18)
    sd = np.sqrt(v)
    # Fine where one of them is: noise may be far smaller than the step.
    grid = np.unique(m[:, None] + sd[:, None] * GRID[None, :])
    density = np.exp(-((grid[None, :] - m[:, None]) ** 2) / (2 * v[:, None])) / (
        sd[:, None] * math.sqrt(2 * math.pi)
    )
    whole = np.maximum(w @ density, 1e-300)
    surprise = -whole * np.log2(whole)
    entropy = float(((surprise[1:] + surprise[:-1]) / 2 * np.diff(grid)).sum())
    own = float((w * np.log2(sd * math.sqrt(2 * math.pi * math.e))).sum())
    gain: float = max(0.0, entropy - own)
    return gain


def _change(posterior: Floats, sizes: Floats, n: int, slower: bool) -> Estimate:
    """Relative change at the step with its central interval."""
    if not slower or n < 2:
        return Estimate(value=None, low=None, high=None, level=LEVEL, n=n, method=METHOD)
    mass = np.cumsum([0.0, *posterior.sum(axis=0)])
    mass /= mass[-1]
    # A size stands for those around it, half the way to its neighbours.
    ends = np.concatenate([sizes[:1], np.sqrt(sizes[:-1] * sizes[1:]), sizes[-1:]])
    tail = (1 - LEVEL) / 2
    low, middle, high = np.interp([tail, 0.5, 1 - tail], mass, ends)
    return Estimate(
        value=math.expm1(middle), low=math.expm1(low), high=math.expm1(high),
        level=LEVEL, n=n, method=METHOD,
    )  # fmt: skip


def _noise(fits: Sequence[_Fit], posterior: Floats, sizes: Floats, n: int) -> float | None:
    if n < 3:
        return None
    variance = sum(
        float((posterior[at] * fit.scales(sizes, n)).sum()) for at, fit in enumerate(fits)
    )
    return math.sqrt(variance)


def _misfit(
    times: Floats, places: NDArray[np.int64], step: Floats, fits: Sequence[_Fit], posterior: Floats
) -> float | None:
    """Test one step against levels that each have a time of their own."""
    levels = sorted(set(places.tolist()))
    freedom = times.size - len(levels)
    if len(levels) < 3 or freedom < 1:
        return None
    drift = DRIFTS[int(np.argmax(posterior.sum(axis=(1, 2))))]
    own = np.array([places == level for level in levels[1:]], dtype=float)
    rows, *_ = _whitened(np.vstack([times, step[places], own]), drift)
    one = _residual(rows[0], rows[1:2])
    each = _residual(rows[0], rows[2:])
    more = len(levels) - 1 - int(step[places].any())
    if more < 1 or each <= 0:
        return None
    return float(f_tail(max(0.0, one - each) / more / (each / freedom), more, freedom))


def _residual(times: Floats, columns: Floats) -> float:
    fit = np.linalg.lstsq(columns.T, times, rcond=None)[0]
    left: Floats = times - fit @ columns
    return float((left**2).sum())
