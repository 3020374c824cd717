"""The first slower level, found in simulated trials: right as often as stated, in few trials."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pyrometer.statistics.bisection import Bisection

LEVELS = 16


def searched(first, change=0.1, noise=0.03, drift=0.0, seed=0, most=400, **more):
    """Search among simulated levels; `first` 0: none is slower."""
    draw = np.random.default_rng(seed)
    search = Bisection(LEVELS, **more)
    seen, state = [], 0.0
    while len(seen) < most:
        belief = search.belief(seen)
        if search.decided(belief):
            break
        level = search.pending(belief)
        if level is None:
            found = belief.candidates()
            level = found[int(draw.integers(len(found)))]
        state += draw.normal(0, drift * noise)
        step = math.log1p(change) if first and level >= first else 0.0
        seen.append((level, 10 * math.exp(state + step + draw.normal(0, noise))))
    return search, search.belief(seen), seen


def right(first, **more):
    search, belief, seen = searched(first, **more)
    return search.decided(belief) and belief.best.levels == ((first,) if first else ()), len(seen)


@pytest.mark.slow
@pytest.mark.parametrize("drift", [0.0, 0.3])
def test_of_sixteen_levels_the_first_slower_one_is_found_in_few_trials(drift):
    found = [right(1 + seed % 15, drift=drift, seed=seed) for seed in range(20)]
    assert sum(ok for ok, _ in found) >= 19
    # Four halvings, of which each needs a pair at least, and both sides of the step run twice.
    assert np.median([trials for _, trials in found]) <= 20


def test_where_no_level_is_slower_that_is_said():
    found = [right(0, seed=seed) for seed in range(12)]
    assert sum(ok for ok, _ in found) >= 11


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "noise", "drift"),
    [(0.1, 0.03, 0.0), (0.1, 0.03, 0.3), (0.05, 0.03, 0.0), (0.03, 0.03, 0.0), (0.3, 0.1, 0.0)],
)
def test_stated_errors_are_kept_and_intervals_hold_where_it_stopped(change, noise, drift):
    ok = covered = 0
    for seed in range(60):
        first = 1 + seed % 15
        search, belief, _ = searched(first, change, noise, drift, seed)
        ok += search.decided(belief) and belief.best.levels == (first,)
        low, high = belief.change.low, belief.change.high
        covered += low is not None and low <= change <= high
    assert ok >= 57 - 2
    assert covered >= 57 - 5


def test_a_smaller_error_takes_more_trials():
    usual, strict = (
        sum(right(7, change=0.05, error=error, seed=seed)[1] for seed in range(6))
        for error in (0.2, 0.01)
    )
    assert strict > usual


def test_a_level_that_cannot_run_is_not_told_apart_from_the_next():
    search, belief, seen = searched(9, out=frozenset({8, 9}))
    assert belief.best.levels == (8, 9, 10)
    assert search.decided(belief)
    assert not {8, 9} & {level for level, _ in seen}
    search, belief, _ = searched(15, out=frozenset({15}))
    assert belief.best.levels == ()


def test_nothing_is_said_before_both_sides_were_run_twice():
    search = Bisection(3)
    seen = [(0, 10.0), (2, 30.0), (0, 10.0), (2, 30.0), (1, 10.0)]
    belief = search.belief(seen)
    assert belief.best.levels == (2,)
    assert belief.best.probability > 0.95
    assert not search.decided(belief)
    assert search.pending(belief) == 1
    assert search.decided(search.belief([*seen, (1, 10.1)]))


def test_probabilities_add_up_and_times_in_other_units_change_nothing():
    _, belief, seen = searched(5, seed=3)
    assert sum(one.probability for one in belief.hypotheses) == pytest.approx(1)
    other = Bisection(LEVELS).belief([(level, 1000 * seconds) for level, seconds in seen])
    assert [one.levels for one in other.hypotheses] == [one.levels for one in belief.hypotheses]
    assert other.change.value == pytest.approx(belief.change.value)
    assert belief.change.low < 0.1 < belief.change.high


@pytest.mark.parametrize(
    ("change", "noise"), [(2.0, 0.0005), (0.5, 0.002), (9.0, 0.03), (40.0, 0.03)]
)
def test_a_step_far_larger_than_the_noise_is_found_as_well(change, noise):
    trials = []
    for seed in range(8):
        first = 1 + seed % 15
        search, belief, seen = searched(first, change, noise, seed=seed)
        assert search.decided(belief)
        assert belief.best.levels == (first,)
        assert belief.change.low <= change <= belief.change.high
        assert belief.noise < 0.1
        trials.append(len(seen))
    assert np.median(trials) <= 14


def test_several_steps_are_noticed():
    levels = [0, 5, 1, 2, 5, 3, 4, 0, 2, 4, 1, 3, 5, 0]
    noise = np.random.default_rng(1).normal(0, 0.01, len(levels))
    places = list(zip(levels, noise, strict=True))
    one = Bisection(6).belief([(at, math.exp(0.2 * (at > 2) + e)) for at, e in places])
    assert one.best.levels == (3,)
    assert one.misfit_p > 0.05
    slope = Bisection(6).belief([(at, math.exp(0.1 * at + e)) for at, e in places])
    assert slope.misfit_p < 0.01


def test_searches_that_compare_nothing_are_refused():
    for search in ({"levels": 1}, {"levels": 3, "out": frozenset({0})}):
        with pytest.raises(ValueError, match="first level and another"):
            Bisection(**search)
    with pytest.raises(ValueError, match="positive"):
        Bisection(3).belief([(0, 1.0), (1, -1.0)])
