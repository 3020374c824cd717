"""Messages that cannot be: they are refused with a word, and none is none."""

from __future__ import annotations

import numpy as np
import pytest

from pyrometer.hosts.clock import HostClock
from pyrometer.hosts.limits import Limits
from pyrometer.hosts.messages import LONGEST_NS, Messages
from pyrometer.hosts.pieces import MOST
from pyrometer.hosts.wall import WallClock

S = 10**9


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def test_both_ends_of_a_message_have_a_time() -> None:
    with pytest.raises(ValueError, match="to the host"):
        Messages(ints(1, 2), ints(1), ints(), ints())
    with pytest.raises(ValueError, match="to the driver"):
        Messages(ints(), ints(), ints(1), ints())
    with pytest.raises(ValueError, match="whole nanoseconds"):
        Messages(np.array([1.5]), ints(1), ints(), ints())


def test_nothing_says_nothing() -> None:
    with pytest.raises(ValueError, match="no messages"):
        HostClock(Messages.none())
    with pytest.raises(ValueError, match="no pairs"):
        WallClock(ints(), ints())


def test_messages_of_one_direction_bound_one_side() -> None:
    clock = HostClock(Messages(ints(5 * S), ints(2 * S), ints(), ints()))
    aligned = clock.to_driver([2 * S])
    assert aligned.driver_ns.mask.all()
    assert aligned.bound_ns.mask.all()
    (piece,) = clock.pieces
    assert piece.offset_ns is None
    assert piece.bound_ns is None


def test_messages_add_up() -> None:
    one = Messages(ints(5 * S), ints(2 * S), ints(), ints())
    clock = HostClock(
        one + Messages.none() + Messages(ints(), ints(), ints(2 * S), ints(5 * S + 40))
    )
    aligned = clock.to_driver([2 * S])
    assert aligned.driver_ns.tolist() == [5 * S + 20]
    assert aligned.bound_ns.tolist() == [21]
    assert clock.to_driver([]).driver_ns.tolist() == []


@pytest.mark.parametrize("end", [2**63 - 1, -(2**63)])
def test_times_of_damaged_records_are_refused(end: int) -> None:
    with pytest.raises(ValueError, match="104 days"):
        HostClock(Messages(ints(0, end), ints(0, 0), ints(), ints()))
    with pytest.raises(ValueError, match="104 days"):
        HostClock(Messages(ints(0, 0), ints(0, end), ints(), ints()))
    with pytest.raises(ValueError, match="104 days"):
        HostClock(Messages(ints(0), ints(0), ints(), ints())).to_driver([end])
    with pytest.raises(ValueError, match="146 years"):
        HostClock(Messages(ints(end), ints(-1 - end), ints(), ints()))


def test_the_longest_span_is_still_reckoned() -> None:
    far = LONGEST_NS - 1
    clock = HostClock(Messages.of_round_trips(ints(0, far), ints(7, far + 7), ints(10, far)))
    assert clock.to_driver([0]).bound_ns[0] <= 10


def test_what_contradicts_itself_everywhere_says_nothing() -> None:
    at = np.arange(2 * MOST + 2, dtype=np.int64) * S
    # The offset is an hour more with each message.
    driver = at + np.arange(len(at)) * 3600 * S
    with pytest.raises(ValueError, match="contradict"):
        HostClock(Messages.of_round_trips(at, driver, at))


@pytest.mark.parametrize(
    "wrong",
    [
        {"drift_ppm": -1},
        {"drift_ppm": 1e6},
        {"wander_ppm": -1},
        {"drift_ppm": float("nan")},
        {"wander_ppm": float("nan")},
    ],
)
def test_limits_that_no_clock_has_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Limits(**wrong)
