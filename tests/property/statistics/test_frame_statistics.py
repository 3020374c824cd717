"""Calibration: profiles are drawn from a known truth, and compared."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrometer.statistics.profiles import (
    MIN_SAMPLES,
    Changes,
    Side,
    compare,
    significant,
    spread_of,
)

TICK = 1e7  # ns that a sample stands for
FRAMES = 400


@dataclass(frozen=True)
class Truth:
    """How many iterations each side has, and how they vary: all frames alike, and each alone."""

    a: int
    b: int
    whole: float = 0.0
    alone: float = 0.0

    def draw(self, rng: np.random.Generator, mean: np.ndarray, n: int) -> Side:
        speed = rng.normal(1, self.whole, n).clip(0.3) if self.whole else np.ones(n)
        # Frames differ in how steady they are.
        own = self.alone * np.exp(rng.normal(0, 0.5, mean.size))[:, None]
        alone = rng.gamma(1 / own**2, own**2, (mean.size, n)) if self.alone else 1.0
        counts = rng.poisson(mean[:, None] * speed * alone)
        # The last row is everything.
        counts = np.vstack([counts, counts.sum(axis=0)])
        variance = (counts + 1 / n) * TICK**2
        return Side(counts * TICK, variance, counts[-1] * TICK, counts[-1] * TICK**2, n)


def frames(rng: np.random.Generator, samples: int) -> np.ndarray:
    """Means per iteration as profiles have them: few frames are hot, most are rare."""
    heavy = rng.pareto(1.0, FRAMES) + 0.02
    return heavy * samples / heavy.sum()


def outcome(a: Side, b: Side) -> tuple[np.ndarray, Changes]:
    """Which rows differ significantly, and the changes."""
    apart = (replace(s, time=s.time[:-1], variance=s.variance[:-1]) for s in (a, b))
    changes = compare(a, b, spread_of(*apart))
    tested = (a.time.sum(axis=1) + b.time.sum(axis=1)) / TICK >= MIN_SAMPLES
    found = np.zeros(tested.size, bool)
    found[tested] = significant(changes.p[tested])
    return found, changes


TRUTHS = [
    Truth(1, 1),
    Truth(2, 2, whole=0.03, alone=0.03),
    Truth(3, 3, whole=0.05, alone=0.05),
    Truth(5, 3, whole=0.02, alone=0.1),
]


def false_alarms(truth: Truth, trials: int) -> tuple[float, float]:
    """Share of comparisons of like with like that show a difference, and coverage of intervals."""
    rng = np.random.default_rng(20240229)
    alarms, covered = 0, []
    for _ in range(trials):
        mean = frames(rng, 3000)
        found, changes = outcome(truth.draw(rng, mean, truth.a), truth.draw(rng, mean, truth.b))
        alarms += found.any()
        hot = mean >= MIN_SAMPLES
        covered.append(((changes.low <= 0) & (changes.high >= 0))[:-1][hot].mean())
    return alarms / trials, float(np.mean(covered))


@pytest.mark.parametrize("truth", TRUTHS, ids=str)
def test_like_against_like_shows_a_difference_in_one_of_twenty_at_most(truth):
    trials = 60
    alarms, covered = false_alarms(truth, trials)
    assert alarms <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / trials)
    assert 0.92 <= covered <= 0.985


@pytest.mark.slow
@pytest.mark.parametrize("truth", TRUTHS, ids=str)
def test_like_against_like_over_many_trials(truth):
    trials = 2000
    alarms, _ = false_alarms(truth, trials)
    assert alarms <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / trials)


@pytest.mark.parametrize(
    ("truth", "samples"), [(Truth(1, 1), 3000), (Truth(5, 5, 0.02, 0.03), 1500)], ids=str
)
def test_a_frame_that_takes_a_fifth_longer_is_found(truth, samples):
    rng = np.random.default_rng(7)
    trials, found, covered, elsewhere = 40, 0, 0, 0
    for _ in range(trials):
        mean = frames(rng, 20_000)
        mean[0] = samples
        slower = mean.copy()
        slower[0] *= 1.2
        a, b = truth.draw(rng, mean, truth.a), truth.draw(rng, slower, truth.b)
        rows, changes = outcome(a, b)
        found += rows[0] and changes.change[0] > 0
        covered += changes.low[0] <= 0.2 * samples * TICK <= changes.high[0]
        elsewhere += rows[1:-1].sum() / max(1, rows[:-1].sum())
    assert found >= 0.95 * trials
    assert covered >= 0.85 * trials
    assert elsewhere / trials <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / trials)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 500), min_size=3, max_size=3),
    st.lists(st.integers(0, 500), min_size=3, max_size=3),
)
def test_whatever_was_counted_the_numbers_are_finite_and_turn_with_the_sides(one, other):
    def side(counts: list[int]) -> Side:
        n = np.array(counts, float)[:, None]
        n = np.vstack([n, n.sum(axis=0)])
        return Side(n * TICK, (n + 1) * TICK**2, n[-1] * TICK, n[-1] * TICK**2, 1)

    _, there = outcome(side(one), side(other))
    _, back = outcome(side(other), side(one))
    for name, values in vars(there).items():
        assert np.isfinite(values).all(), name
    assert (there.low <= there.change).all()
    assert (there.change <= there.high).all()
    np.testing.assert_allclose(there.change, -back.change)
    np.testing.assert_allclose(there.low, -back.high)
    np.testing.assert_allclose(there.p, back.p)
