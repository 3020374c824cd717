"""Lines from knot to knot hold the bound that they say, between knots and where a clock broke."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.hosts.clocks import MS, PPM, PlantedClock, S, delays, times

from pyrometer.hosts.clock import HostClock
from pyrometer.hosts.host_clocks import HostClocks
from pyrometer.hosts.lines import Lines, lines
from pyrometer.hosts.messages import Messages

START = 7_000 * S


def laid(clock: HostClock) -> Lines:
    found = lines(HostClocks("front", {"west": clock}, {}, None), "west")
    assert found is not None
    return found


def planted(seed: int, count: int, rates: list[float], step_s: float) -> tuple[PlantedClock, Lines]:
    draw = np.random.default_rng(seed)
    knots = sorted(draw.uniform(0, 600 * S, len(rates) - 1).tolist())
    steps = ((300.0 * S, step_s * S),) if step_s else ()
    clock = PlantedClock(START, 5_000_000 * S, knots, [rate * PPM for rate in rates], steps)
    ends = [times(draw, count, START, START + 600 * S) for _ in range(2)]
    messages = clock.messages(*((at, delays(draw, count, 0.1 * MS, 1.5)) for at in ends))
    return clock, laid(HostClock(messages))


def excess(clock: PlantedClock, found: Lines, at: np.ndarray) -> np.ndarray:
    line = np.searchsorted(found.from_host_ns, at, "right") - 1
    off = (found.to_driver(at) - at - clock.offset_ns).astype(float)
    return np.abs(off - clock.gained(at)) - np.ma.getdata(found.bound_ns)[line]


@given(
    seed=st.integers(0, 1 << 30),
    count=st.integers(1, 60),
    rates=st.lists(st.sampled_from([-900.0, -200.0, 0.0, 200.0, 900.0]), min_size=1, max_size=4),
    step_s=st.sampled_from([0.0, 0.0, 5.0]),
)
@settings(max_examples=40, deadline=None)
def test_the_truth_is_within_the_bound_of_its_line(
    seed: int, count: int, rates: list[float], step_s: float
) -> None:
    # Where messages are few, a step contradicts none of them, and nobody can see it.
    clock, found = planted(seed, max(count, 60) if step_s else count, rates, step_s)
    draw = np.random.default_rng(seed + 1)
    at = np.concatenate(
        [
            times(draw, 2_000, START - 100 * S, START + 700 * S),
            found.from_host_ns[
                (found.from_host_ns > START) & (found.from_host_ns < START + 600 * S)
            ],
        ]
    )
    if step_s:
        at = at[np.abs(at - START - 300 * S) > 90 * S]
    known = ~np.ma.getmaskarray(found.bound_ns)[
        np.searchsorted(found.from_host_ns, at, "right") - 1
    ]
    assert known.any()
    assert (excess(clock, found, at[known]) <= 0).all()


def test_the_bound_is_hardly_wider_than_that_of_the_messages() -> None:
    clock, found = planted(3, 300, [150.0, -50.0], 0)
    draw = np.random.default_rng(3)
    ends = [times(draw, 300, START, START + 600 * S) for _ in range(2)]
    best = HostClock(clock.messages(*((at, delays(draw, 300, 0.1 * MS, 1.5)) for at in ends)))
    at = START + np.arange(600) * S
    line = np.searchsorted(found.from_host_ns, at, "right") - 1
    assert np.ma.median(found.bound_ns[line]) < 1.3 * np.ma.median(best.to_driver(at).bound_ns)


def test_order_of_times_is_kept() -> None:
    _, found = planted(5, 40, [900.0, -900.0, 900.0], 0)
    at = START + np.arange(0, 600 * S, 10 * MS)
    assert (np.diff(found.to_driver(at)) > 0).all()


def test_messages_in_one_direction_give_times_without_a_bound() -> None:
    at = START + np.arange(10) * S
    clock = HostClock(Messages(at + 17, at, np.empty(0, np.int64), np.empty(0, np.int64)))
    found = laid(clock)
    assert np.ma.getmaskarray(found.bound_ns).all()
    assert found.bound(int(at[0]), int(at[-1])) is None
    assert found.to_driver(at).tolist() == (at + 17).tolist()


@pytest.mark.parametrize("before", [0, 10, 1000])
def test_the_bound_grows_with_the_distance_from_all_messages(before: int) -> None:
    _, found = planted(1, 100, [0.0], 0)
    at = START - before * S
    bound = found.bound(at, at)
    assert bound is not None
    # 1000 ppm on either side, and no more than a quarter beyond it.
    assert 1e-3 * before * S <= bound <= 1.3e-3 * before * S + 20 * MS
