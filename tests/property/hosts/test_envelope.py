"""Envelopes and rates against what the definition says, pair by pair."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from pyrometer.hosts.bounds import Bounds
from pyrometer.hosts.envelope import Envelope, envelope
from pyrometer.hosts.limits import PPM, STEADY, Limits
from pyrometer.hosts.rates import Rates, rates, steepest_needed

POINTS = st.lists(st.tuples(st.integers(0, 400), st.integers(-60, 60)), max_size=12)
BOUNDS = st.tuples(POINTS, POINTS).map(
    lambda sides: Bounds.sorted(
        *(np.array([point[end] for point in side], float) for side in sides for end in (0, 1))
    )
)
# Most of these hold for some clock.
APART = st.tuples(BOUNDS, st.sampled_from((0, 60, 120))).map(
    lambda drawn: Bounds.sorted(
        drawn[0].floor_at,
        drawn[0].floor - drawn[1],
        drawn[0].ceiling_at,
        drawn[0].ceiling + drawn[1],
    )
)
RATES = st.tuples(st.floats(-0.5, 0.5), st.floats(0, 0.5)).map(lambda r: Rates(r[0], r[0] + r[1]))


@given(BOUNDS)
def test_the_steepest_line_is_that_of_all_pairs(bounds: Bounds) -> None:
    lines = [
        (floor - ceiling) / (later - earlier)
        for earlier, ceiling in zip(bounds.ceiling_at, bounds.ceiling, strict=True)
        for later, floor in zip(bounds.floor_at, bounds.floor, strict=True)
        if later > earlier
    ]
    assert np.isclose(steepest_needed(bounds, -0.25), max([-0.25, *lines]))


@given(BOUNDS, RATES)
def test_the_envelope_is_the_nearest_ceiling_by_the_rates(bounds: Bounds, rates: Rates) -> None:
    when = np.arange(-50.0, 450.0, 7.0)
    found = Envelope(bounds, rates)
    highest, lowest = np.full(len(when), np.inf), np.full(len(when), -np.inf)
    for at, value in zip(bounds.ceiling_at, bounds.ceiling, strict=True):
        gone = when - at
        highest = np.minimum(highest, value + np.where(gone > 0, rates.high, rates.low) * gone)
    for at, value in zip(bounds.floor_at, bounds.floor, strict=True):
        gone = when - at
        lowest = np.maximum(lowest, value + np.where(gone > 0, rates.low, rates.high) * gone)
    assert np.allclose(found.high(when), highest)
    assert np.allclose(found.low(when), lowest)


@given(APART, RATES)
def test_both_ends_of_an_envelope_are_clocks_within_all_bounds(
    bounds: Bounds, rates: Rates
) -> None:
    found = envelope(bounds, rates)
    assume(found is not None)
    assert found is not None
    for end in (found.low, found.high):
        assert (end(bounds.floor_at) >= bounds.floor - 1.001).all()
        assert (end(bounds.ceiling_at) <= bounds.ceiling + 1.001).all()
        values = end(np.arange(-50.0, 450.0))
        steps = np.diff(values[np.isfinite(values)])
        assert (steps >= rates.low - 1e-9).all()
        assert (steps <= rates.high + 1e-9).all()


@given(
    POINTS,
    POINTS,
    st.sampled_from([STEADY, Limits(), Limits(3e5, 1e4), Limits(9e5, 0)]),
    st.floats(-0.9, 0.9),
)
def test_what_holds_for_all_bounds_holds_for_a_part(
    down: list[tuple[int, int]], up: list[tuple[int, int]], limits: Limits, share: float
) -> None:
    # They leave room for a clock of a constant rate.
    rate = share * limits.drift_ppm * PPM
    bounds = Bounds.sorted(
        np.array([at for at, _ in down], float),
        np.array([rate * at - abs(delay) for at, delay in down], float),
        np.array([at for at, _ in up], float),
        np.array([rate * at + abs(delay) for at, delay in up], float),
    )
    assume(len(bounds) > 1)
    assert envelope(bounds, rates(bounds, limits)) is not None
    for first, last in ((0, len(bounds) - 1), (1, len(bounds)), (0, 1)):
        part = bounds.cut(first, last)
        assert len(part) == last - first
        assert part.at.tolist() == bounds.at[first:last].tolist()
        assert envelope(part, rates(part, limits)) is not None


@given(st.floats(-0.4, 0.4), st.floats(0, 0.1), POINTS, POINTS)
def test_rates_of_a_clock_that_keeps_within_its_limits_are_found(
    constant: float, wander: float, down: list[tuple[int, int]], up: list[tuple[int, int]]
) -> None:
    # It swings about the constant as far as it may.
    def offset(at: float) -> float:
        whole, rest = divmod(at, 40.0)
        return constant * at + wander * (rest if whole % 2 == 0 else 40.0 - rest)

    bounds = Bounds.sorted(
        np.array([at for at, _ in down], float),
        np.array([offset(at) - abs(delay) for at, delay in down], float),
        np.array([at for at, _ in up], float),
        np.array([offset(at) + abs(delay) for at, delay in up], float),
    )
    assume(len(bounds))
    found = rates(bounds, Limits(0.6 / PPM, wander / PPM))
    assert found is not None
    assert found.low <= constant - wander + 1e-9
    assert found.high >= constant + wander - 1e-9
