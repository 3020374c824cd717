"""Clocks with planted offsets, drift, slews and steps: the true time is within every bound."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.support.hosts.clocks import MS, PPM, PlantedClock, S, delays, times

from pyrometer.hosts.clock import HostClock
from pyrometer.hosts.limits import SLEWED, STEADY, Limits
from pyrometer.hosts.messages import Messages

SEEDS = st.integers(0, 2**32 - 1)
OFFSETS = st.sampled_from([0, 50 * MS, -50 * MS, 2 * S, -2 * S, 10**18, -(10**18)])
COUNTS = st.sampled_from([1, 2, 5, 60, 500])
SPANS = st.sampled_from([S, 60 * S, 4 * 3600 * S])
LEAST = st.sampled_from([20_000, 300_000, 40 * MS])
GRAINS = st.sampled_from([1, MS])
SHAPES = st.sampled_from([0.8, 1.5, 4.0])
STEADY_RATE = st.floats(-200, 200)


@st.composite
def exchanges(draw, rates, spans=SPANS):  # type: ignore[no-untyped-def]
    """Draw a clock, its messages, and times at which to ask for it."""
    random = np.random.default_rng(draw(SEEDS))
    span, start = draw(spans), draw(st.sampled_from([0, 7 * 3600 * S, 10**18]))
    drawn = [rate * PPM for rate in draw(rates)]
    knots = sorted(float(knot) for knot in random.uniform(0, span, len(drawn) - 1))
    clock = PlantedClock(start, draw(OFFSETS), knots, drawn)
    # One that joins late; one with a gap in the middle.
    first = draw(st.sampled_from([0.0, 0.7]))
    sides = []
    for count in (draw(COUNTS), draw(COUNTS)):
        at = times(random, count, start + int(first * span), start + span)
        if draw(st.booleans()):
            at = np.where(at < start + span * 0.6, at - span // 3, at)
        sides.append((at, delays(random, count, draw(LEAST), draw(SHAPES))))
    messages = clock.messages(*sides, draw(GRAINS))
    seen = np.concatenate([at for at, _ in sides])
    asked = np.concatenate([seen, times(random, 200, start - span, start + 2 * span)])
    return clock, messages, asked


@settings(max_examples=150)
@given(exchanges(st.lists(st.floats(-1000, 1000), min_size=1, max_size=5)))
def test_slewed_anyhow_the_truth_is_within_the_bound(case) -> None:  # type: ignore[no-untyped-def]
    clock, messages, asked = case
    found = HostClock(messages)
    assert len(found.pieces) == 1
    assert clock.excess(found, asked).max() <= 0


@settings(max_examples=150)
@given(exchanges(STEADY_RATE.map(lambda rate: [rate])))
def test_a_constant_drift_is_within_the_bound_of_steady_clocks(case) -> None:  # type: ignore[no-untyped-def]
    clock, messages, asked = case
    found = HostClock(messages, STEADY)
    (piece,) = found.pieces
    assert clock.excess(found, asked).max() <= 0
    drift = piece.drift_ppm
    assert drift.low is not None
    assert drift.high is not None
    assert drift.low - 1e-6 <= clock.rates[0] / PPM <= drift.high + 1e-6
    anyhow = HostClock(messages).to_driver(asked).bound_ns
    assert (found.to_driver(asked).bound_ns <= anyhow + 1).all()


@settings(max_examples=150)
@given(
    exchanges(
        st.tuples(STEADY_RATE, st.lists(st.floats(-30, 30), min_size=1, max_size=5)).map(
            lambda drawn: [drawn[0] + wander for wander in drawn[1]]
        )
    )
)
def test_a_drift_that_wanders_is_within_the_bound_for_it(case) -> None:  # type: ignore[no-untyped-def]
    clock, messages, asked = case
    found = HostClock(messages, Limits(wander_ppm=30))
    assert len(found.pieces) == 1
    assert clock.excess(found, asked).max() <= 0


@settings(max_examples=60)
@given(
    SEEDS,
    st.sampled_from([2 * S, 3600 * S, -5 * S]),
    STEADY_RATE,
    st.sampled_from([STEADY, SLEWED]),
)
def test_a_host_that_was_suspended_has_two_pieces_and_the_truth_is_in_both(
    seed: int, step: int, rate: float, limits: Limits
) -> None:
    random = np.random.default_rng(seed)
    span = 600 * S
    when = float(random.integers(span // 4, span // 2)) + 0.5
    clock = PlantedClock(5 * S, 2 * S, [], [rate * PPM], ((when, float(step)),))
    sides = [
        (times(random, 400, 5 * S, 5 * S + span), delays(random, 400, 0.2 * MS, 1.2))
        for _ in range(2)
    ]
    found = HostClock(clock.messages(*sides, MS), limits)
    assert len(found.pieces) == 2
    before, after = found.pieces
    assert before.last_host_ns < 5 * S + when < after.first_host_ns
    asked = times(random, 500, -span, 2 * span)
    assert clock.excess(found, asked).max() <= 0
    inside = (before.first_host_ns < asked) & (asked < before.last_host_ns)
    inside |= (after.first_host_ns < asked) & (asked < after.last_host_ns)
    assert np.ma.median(found.to_driver(asked[inside]).bound_ns) < 5 * MS


@settings(max_examples=60)
@given(SEEDS, st.floats(-200, 200), st.floats(300, 500).flatmap(lambda a: st.sampled_from([a, -a])))
def test_a_change_of_drift_splits_steady_clocks_and_the_truth_is_in_both(
    seed: int, rate: float, more: float
) -> None:
    random = np.random.default_rng(seed)
    span = 3600 * S
    clock = PlantedClock(0, -50 * MS, [span * 0.4], [rate * PPM, (rate + more) * PPM])
    sides = [(times(random, 600, 0, span), delays(random, 600, 0.2 * MS, 1.2)) for _ in range(2)]
    messages = clock.messages(*sides)
    found = HostClock(messages, STEADY)
    assert len(found.pieces) == 2
    asked = times(random, 500, -span, 2 * span)
    assert clock.excess(found, asked).max() <= 0
    for piece, true in zip(found.pieces, (rate, rate + more), strict=True):
        assert piece.drift_ppm.low is not None
        assert piece.drift_ppm.high is not None
        assert piece.drift_ppm.low - 1e-6 <= true <= piece.drift_ppm.high + 1e-6
    assert len(HostClock(messages).pieces) == 1


@given(SEEDS, STEADY_RATE, st.sampled_from([STEADY, Limits(wander_ppm=1)]))
def test_the_bound_is_about_half_the_sum_of_the_least_delays(
    seed: int, rate: float, limits: Limits
) -> None:
    random = np.random.default_rng(seed)
    span, least = 600 * S, 0.2 * MS
    clock = PlantedClock(0, 2 * S, [], [rate * PPM])
    sides = [(times(random, 4000, 0, span), delays(random, 4000, least, 1.2)) for _ in range(2)]
    found = HostClock(clock.messages(*sides), limits)
    asked = times(random, 100, span // 10, span - span // 10)
    assert found.to_driver(asked).bound_ns.max() <= 1.25 * least
    assert found.pieces[0].bound_ns is not None
    assert found.pieces[0].bound_ns <= 1.25 * least


@given(SEEDS)
def test_a_round_trip_bounds_as_in_ntp(seed: int) -> None:
    random = np.random.default_rng(seed)
    sent = times(random, 1, 0, 10**12)
    there, back = (int(delay) for delay in random.integers(0, 10 * MS, 2))
    found = HostClock(Messages.of_round_trips(sent, sent + there + 5 * S, sent + there + back))
    bound = found.to_driver(sent + (there + back) // 2).bound_ns
    half, drifted = (there + back) / 2, (there + back) / 2 * 1000 * PPM
    assert half - 1 <= int(bound[0]) <= half + drifted + 2


@settings(max_examples=60)
@given(exchanges(st.lists(st.floats(-1000, 1000), min_size=1, max_size=3)), SEEDS)
def test_times_of_a_host_keep_their_order(case, seed: int) -> None:  # type: ignore[no-untyped-def]
    _, messages, _ = case
    random = np.random.default_rng(seed)
    start = int(messages.received_host_ns.min())
    asked = np.sort(start + random.integers(0, 1000, 200).cumsum())
    driver = HostClock(messages).to_driver(asked).driver_ns
    assert (np.diff(driver) >= 0).all()


@settings(max_examples=60)
@given(
    exchanges(st.lists(st.floats(-300, 300), min_size=1, max_size=3)),
    SEEDS,
    st.integers(-(10**18), 10**18),
)
def test_neither_order_nor_origin_matters(case, seed: int, shift: int) -> None:  # type: ignore[no-untyped-def]
    _, messages, asked = case
    random = np.random.default_rng(seed)
    to_host = random.permutation(len(messages.sent_driver_ns))
    to_driver = random.permutation(len(messages.sent_host_ns))
    moved = Messages(
        messages.sent_driver_ns[to_host] + shift,
        messages.received_host_ns[to_host],
        messages.sent_host_ns[to_driver],
        messages.received_driver_ns[to_driver] + shift,
    )
    one, other = HostClock(messages).to_driver(asked), HostClock(moved).to_driver(asked)
    assert np.abs(one.driver_ns + shift - other.driver_ns).max() <= 1
    assert np.abs(one.bound_ns - other.bound_ns).max() <= 1


@given(
    st.lists(st.tuples(st.integers(0, 10**12), st.integers(0, 10**12)), min_size=1, max_size=60),
    st.lists(st.tuples(st.integers(0, 10**12), st.integers(0, 10**12)), max_size=60),
    st.sampled_from([STEADY, SLEWED, Limits(wander_ppm=20), Limits(drift_ppm=0)]),
)
@example([(0, 0)], [], STEADY)
@example([(0, 5)], [(0, 0)], STEADY)
def test_messages_that_contradict_each_other_make_pieces_that_do_not(
    down: list[tuple[int, int]], up: list[tuple[int, int]], limits: Limits
) -> None:
    messages = Messages(
        *(np.array([pair[end] for pair in down], np.int64) for end in (0, 1)),
        *(np.array([pair[end] for pair in up], np.int64) for end in (0, 1)),
    )
    found = HostClock(messages, limits)
    ends = [(piece.first_host_ns, piece.last_host_ns) for piece in found.pieces]
    assert ends == sorted(ends)
    assert all(first <= last for first, last in ends)
    assert all(a[1] <= b[0] for a, b in pairwise(ends))
    assert sum(piece.messages_count for piece in found.pieces) <= len(messages)
    known = ~np.ma.getmaskarray(found.to_driver(np.arange(0, 10**12, 10**10)).bound_ns)
    assert not up or known.any() or len(found.pieces) > 1
    assert up or not known.any()
