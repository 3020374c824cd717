"""Wall clocks that are set at any moment: the monotonic time is within what is given."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.support.hosts.clocks import MS, S

from pyrometer.hosts.wall import WallClock

SETS = st.lists(
    st.tuples(st.floats(1.5, 99.5), st.integers(-5 * S, 5 * S)),
    max_size=4,
    unique_by=lambda s: int(s[0]),
)


@given(SETS, st.integers(-(10**18), 10**18), st.integers(0, 2**32 - 1), st.integers(0, 9000))
def test_the_truth_is_within_also_where_a_clock_is_set(
    sets: list[tuple[float, int]], ahead: int, seed: int, reading: int
) -> None:
    random = np.random.default_rng(seed)

    def wall(mono):  # type: ignore[no-untyped-def]
        shown = mono + ahead
        for when, by in sets:
            shown = shown + by * (mono > when * S)
        return shown

    readings = np.arange(1, 101) * S
    late = random.integers(-reading, reading, len(readings), endpoint=True)
    clock = WallClock(readings, wall(readings) + late)
    mono = random.integers(S, 100 * S, 300)
    assert (clock.earliest_mono(wall(mono)) <= mono).all()
    assert (mono <= clock.latest_mono(wall(mono))).all()
    assert (np.abs(clock.wall(mono) - wall(mono)) <= sum(abs(by) for _, by in sets) + reading).all()


@given(st.integers(0, 2**32 - 1), st.integers(-(10**18), 10**18))
def test_it_is_as_narrow_as_the_readings_where_nobody_sets_it(seed: int, ahead: int) -> None:
    mono = np.random.default_rng(seed).integers(0, 200 * S, 300)
    readings = np.arange(1, 101) * S
    clock = WallClock(readings, readings + ahead)
    width = clock.latest_mono(mono + ahead) - clock.earliest_mono(mono + ahead)
    assert (width <= 2 * clock.reading_ns).all()
    assert (np.abs(clock.wall(mono) - mono - ahead) == 0).all()


def test_a_step_is_as_wide_as_it_is_and_no_wider() -> None:
    readings = np.arange(1, 6) * S
    clock = WallClock(readings, readings + np.array([0, 0, 300, 300, 300]) * MS, 0)
    asked = np.array([1500, 2600, 3800]) * MS
    assert clock.earliest_mono(asked).tolist() == [1500 * MS, 2300 * MS, 3500 * MS]
    assert clock.latest_mono(asked).tolist() == [1500 * MS, 2600 * MS, 3500 * MS]
