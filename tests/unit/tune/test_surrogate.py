"""The surrogate: what it learns of noise, blocks, canaries, stopped trials and stand-ins."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from pyrometer.tune.advise.acquire import expected_cost, expected_improvement
from pyrometer.tune.advise.model import Belief, Trials
from pyrometer.tune.advise.surrogate import Surrogate

KNOBS = 5


def _truth(places: np.ndarray) -> np.ndarray:
    return 0.4 * places[:, 0] + 0.8 * (places[:, 1] - 0.6) ** 2


def _trials(count: int, seed: int = 1, noise: float = 0.02) -> Trials:
    rng = np.random.default_rng(seed)
    places = rng.random((count, KNOBS))
    places[::6] = 0.5
    blocks = np.arange(count) // 6
    drift = rng.normal(0, 0.1, count)[blocks]
    values = 23 + _truth(places) + drift + rng.normal(0, noise, count)
    none = np.zeros(count)
    return Trials(places, values, none.astype(bool), blocks, none.astype(int), none)


def _fit(trials: Trials) -> Surrogate:
    return Surrogate(range(KNOBS), trials, [False] * KNOBS)


def _error(found: Surrogate) -> tuple[float, float]:
    """Root mean square error of differences, and how often the interval holds them."""
    rng = np.random.default_rng(99)
    places, base = rng.random((200, KNOBS)), np.full(KNOBS, 0.5)
    belief = found.differences(places, base)
    apart = belief.mean - (_truth(places) - _truth(base[None, :]))
    return float(np.sqrt((apart**2).mean())), float((np.abs(apart) < 2 * belief.sd).mean())


def test_it_learns_a_sum_through_blocks_that_differ_more_than_knobs() -> None:
    error, held = _error(_fit(_trials(48)))
    assert error < 0.04
    assert held > 0.85


def test_more_trials_say_more() -> None:
    assert _error(_fit(_trials(60)))[0] < _error(_fit(_trials(12)))[0]


def test_knobs_that_do_nothing_stay_near_nothing() -> None:
    found = _fit(_trials(60)).parameters
    assert min(found.knobs[:2]) > 4 * max(found.knobs[2:])


def test_noise_and_blocks_are_told_apart() -> None:
    found = _fit(_trials(90)).parameters
    assert 0.01 < math.sqrt(found.noise) < 0.04
    assert 0.05 < math.sqrt(found.block) < 0.2


def test_slopes_are_those_of_the_likelihood() -> None:
    trials = _trials(24)
    mixed = replace(
        trials,
        fidelities=(np.arange(24) % 3 == 0).astype(int),
        canaries=np.linspace(-0.1, 0.1, 24),
    )
    found = _fit(mixed)
    point = found._packed(found.parameters) + np.random.default_rng(0).normal(0, 0.3, KNOBS + 6)
    slope = found._loss(point)[1]
    for at in range(len(point)):
        step = np.zeros(len(point))
        step[at] = 1e-5
        numeric = (found._loss(point + step)[0] - found._loss(point - step)[0]) / 2e-5
        assert slope[at] == pytest.approx(numeric, rel=1e-3, abs=1e-5)


def test_a_stopped_trial_is_believed_to_be_slower_than_its_limit() -> None:
    trials = _trials(48)
    limit = float(np.quantile(trials.values, 0.5))
    stopped = trials.values > limit
    cut = replace(trials, values=np.minimum(trials.values, limit), censored=stopped)
    wrong = replace(cut, censored=np.zeros(48, bool))
    told, taken = _error(_fit(cut))[0], _error(_fit(wrong))[0]
    assert told < taken
    assert (_fit(cut)._values[stopped] >= limit).all()


def test_the_canary_explains_a_slow_machine() -> None:
    trials = _trials(48)
    slow = np.random.default_rng(5).normal(0, 0.15, 48)
    moved = replace(trials, values=trials.values + 0.8 * slow)
    blind, seeing = _fit(moved), _fit(replace(moved, canaries=slow))
    assert seeing.parameters.noise < 0.5 * blind.parameters.noise
    assert _error(seeing)[0] < _error(blind)[0]


def test_one_disturbed_trial_misleads_little() -> None:
    trials = _trials(36)
    values = trials.values.copy()
    values[7] += 0.6
    assert _error(_fit(replace(trials, values=values)))[0] < _error(_fit(trials))[0] + 0.015


def test_a_stand_in_that_agrees_is_worth_something() -> None:
    few, many = _trials(12, seed=2), _trials(60, seed=3)
    joined = Trials(
        np.vstack([few.features, many.features]),
        # Another size: a tenth of the time.
        np.concatenate([few.values, many.values - math.log(10)]),
        np.zeros(72, bool),
        np.concatenate([few.blocks, 100 + many.blocks]),
        np.repeat([0, 1], [12, 60]),
        np.zeros(72),
    )
    found = _fit(joined)
    assert found.parameters.correlations[0] > 0.7
    assert _error(found)[0] < _error(_fit(few))[0]


def test_each_stand_in_has_a_correlation_of_its_own() -> None:
    few, many, wrong = _trials(16, seed=2), _trials(40, seed=3), _trials(40, seed=4)
    rng = np.random.default_rng(5)
    joined = Trials(
        np.vstack([few.features, many.features, wrong.features]),
        # One is a tenth of the job, the other has nothing to do with it.
        np.concatenate([few.values, many.values - 2, rng.permutation(wrong.values) - 3]),
        np.zeros(96, bool),
        np.concatenate([few.blocks, 100 + many.blocks, 200 + wrong.blocks]),
        np.repeat([0, 1, 2], [16, 40, 40]),
        np.zeros(96),
        ("full", "tenth", "noise"),
    )
    found = _fit(joined)
    assert found.correlation("tenth") > 0.75
    assert found.correlation("noise") < found.correlation("tenth") - 0.1
    assert found.correlation("full") == 1.0
    # The one that misleads takes little away from what the other says.
    alone = replace(joined, **{
        name: getattr(joined, name)[:56]
        for name in ("features", "values", "censored", "blocks", "fidelities", "canaries")
    })  # fmt: skip
    assert _error(found)[0] < _error(_fit(alone))[0] + 0.02


def test_choosing_several_a_believed_trial_moves_no_mean_and_narrows() -> None:
    found = _fit(_trials(24))
    places, base = np.random.default_rng(3).random((6, KNOBS)), np.full(KNOBS, 0.5)
    before = found.differences(places, base)
    after = found.with_believed(places[0], -5).differences(places, base)
    assert after.mean == pytest.approx(before.mean, abs=1e-6)
    assert (after.sd <= before.sd + 1e-9).all()
    assert after.sd[0] < before.sd[0]


def test_a_draw_is_one_of_the_belief() -> None:
    found = _fit(_trials(30))
    places, base = np.random.default_rng(4).random((5, KNOBS)), np.full(KNOBS, 0.5)
    drawn = found.draws(np.vstack([places, base]), 4000, np.random.default_rng(0))
    apart = drawn[:, :-1] - drawn[:, -1:]
    belief = found.differences(places, base)
    assert apart.mean(axis=0) == pytest.approx(belief.mean, abs=0.01)
    assert apart.std(axis=0) == pytest.approx(belief.sd, rel=0.1)


def test_gain_is_worth_more_than_uncertainty_alone_and_costs_are_cut() -> None:
    better, unsure, worse = (
        Belief(np.array([mean]), np.array([sd]))
        for mean, sd in ((-0.1, 0.02), (0.0, 0.05), (0.3, 0.02))
    )
    worth = [float(expected_improvement(one)[0]) for one in (better, unsure, worse)]
    assert worth == sorted(worth, reverse=True)
    assert worth[0] == pytest.approx(0.1, abs=0.001)
    assert float(expected_cost(worse, 1.2)[0]) == pytest.approx(1.2, abs=0.001)
