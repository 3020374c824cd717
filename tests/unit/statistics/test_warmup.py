"""Detection of the steady part, on series whose answer is known."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrometer.statistics.warmup import detect, mean_estimate


def noisy(levels, relative=0.01, seed=1):
    rng = random.Random(seed)
    return [level * rng.gauss(1, relative) for level in levels]


@pytest.mark.parametrize("seed", range(20))
def test_a_slow_first_iteration_is_warm_up(seed):
    found = detect(noisy([2, 1, 1, 1, 1, 1], seed=seed))
    assert (found.shape, found.steady_from) == ("warm-up", 1)


@pytest.mark.parametrize("seed", range(20))
def test_two_levels_of_warm_up(seed):
    found = detect(noisy([5, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1], seed=seed))
    assert (found.shape, found.steady_from) == ("warm-up", 4)


@pytest.mark.parametrize("seed", range(20))
def test_what_becomes_slower_is_a_slowdown(seed):
    found = detect(noisy([1] * 6 + [1.5] * 6, seed=seed))
    assert (found.shape, found.steady_from) == ("slowdown", 6)


def test_noise_alone_is_flat_nearly_always():
    shapes = [detect(noisy([1] * 10, 0.05, seed)).shape for seed in range(200)]
    assert shapes.count("flat") >= 175


@pytest.mark.parametrize("factor", [0.75, 0.9, 1.2])
def test_what_still_changes_is_not_steady(factor):
    found = detect([10 * factor**i for i in range(8)])
    assert (found.shape, found.steady_from) == ("not steady", None)


def test_a_change_at_the_end_is_not_steady():
    assert detect([1, 1.01, 0.99, 1, 1.01, 3]).shape == "not steady"


@pytest.mark.parametrize("times", [[], [1.0], [2.0, 1.0, 1.0]])
def test_few_iterations_tell_nothing(times):
    found = detect(times)
    assert (found.shape, found.steady_from) == ("too short", None)


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf")])
def test_a_time_is_positive(bad):
    with pytest.raises(ValueError, match="positive"):
        detect([1.0, bad, 1.0, 1.0])


@given(st.lists(st.floats(0.01, 1000), min_size=4, max_size=30))
def test_the_steady_part_is_whole_segments(times):
    found = detect(times)
    assert found.starts[0] == 0
    assert list(found.starts) == sorted(set(found.starts))
    assert (found.steady_from is None) == (found.shape == "not steady")
    assert found.steady_from is None or found.steady_from in found.starts


@pytest.mark.parametrize("unit", [1e-3, 1e9])
def test_the_unit_of_time_does_not_matter(unit):
    times = noisy([5, 2, 1, 1, 1, 1])
    assert detect([time * unit for time in times]) == detect(times)


def test_the_mean_has_students_interval():
    found = mean_estimate([1.0, 2.0, 3.0])
    assert found.value == 2.0
    # t(0.975, 2) = 4.302653 (table), s = 1, sqrt 3
    assert found.high == pytest.approx(2 + 4.302653 / 3**0.5, rel=1e-6)
    assert mean_estimate([4.0]).low is None
    assert mean_estimate([]).value is None
