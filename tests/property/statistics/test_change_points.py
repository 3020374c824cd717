"""Change points of any series: false alarms, what a change of unit does, and where cuts may lie."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrometer.statistics.change_points import LEAST, change_points

SERIES = st.lists(st.integers(0, 20).map(float), max_size=24)


@settings(max_examples=40, deadline=None)
@given(SERIES, st.integers(0, 3))
def test_cuts_leave_segments_and_are_sure(values: list[float], seed: int) -> None:
    cuts = change_points(values, seed=seed)
    bounds = [0, *(cut.index for cut in cuts), len(values)]
    assert all(b - a >= LEAST for a, b in pairwise(bounds)) or not cuts
    assert all(0 < cut.p <= 0.05 for cut in cuts)
    assert change_points(values, seed=seed) == cuts


@settings(max_examples=12, deadline=None)
@given(SERIES, st.sampled_from([2.0, 0.25]), st.integers(-8, 8).map(float))
def test_neither_unit_nor_origin_matters(values: list[float], factor: float, shift: float) -> None:
    moved = [factor * value + shift for value in values]
    assert [c.index for c in change_points(moved)] == [c.index for c in change_points(values)]


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["normal", "exponential", "standard_t"])
def test_false_alarms_are_as_rare_as_promised(noise: str) -> None:
    draw = np.random.default_rng(7)
    make = getattr(draw, noise)
    alarms = 0
    for seed in range(80):
        values = make(3, 16) if noise == "standard_t" else make(size=16)
        alarms += bool(change_points(list(values), seed=seed))
    # Of 80 at 5 %: more than 9 in one of 100 such tests.
    assert alarms <= 9


@pytest.mark.slow
def test_a_step_of_three_deviations_is_found_where_it_is() -> None:
    draw = np.random.default_rng(8)
    near = 0
    for seed in range(20):
        values = draw.normal(0, 1, 20) + 3.0 * (np.arange(20) >= 12)
        near += any(abs(cut.index - 12) <= 1 for cut in change_points(list(values), seed=seed))
    assert near >= 18
