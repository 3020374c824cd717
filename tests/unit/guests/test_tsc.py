"""The rate of the time stamp counter, which an emulated machine is told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pyrometer.guests.tsc import LONGEST_LOOK_NS, khz, tsc_khz


@pytest.mark.parametrize(
    ("first", "last"),
    [
        ((LONGEST_LOOK_NS + 1, 0, 0), (1, 10, 10)),
        ((1, 0, 0), (LONGEST_LOOK_NS + 1, 10, 10)),
        ((1, 10, 0), (1, 9, 10)),
        ((1, 0, 10), (1, 10, 10)),
    ],
)
def test_looks_that_were_interrupted_say_nothing(
    first: tuple[int, int, int], last: tuple[int, int, int]
) -> None:
    assert khz(first, last) is None


def test_two_measurements_of_this_host_agree() -> None:
    found = [rate for rate in (tsc_khz() for _ in range(5)) if rate is not None]
    if len(found) < 2:
        pytest.skip("no counter that could be read undisturbed")
    assert max(found) < 1.001 * min(found)
    flags = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    if flags and "constant_tsc" in flags[1].split():
        assert 400_000 < found[0] < 10_000_000
