"""Profiles as pprof reads them."""

from __future__ import annotations

import io

import pytest
from tests.support.profile_proto import read_profile

from pyrometer.export.pprof import PprofWriter, ValueType

DELAY = [ValueType("contentions", "count"), ValueType("delay", "nanoseconds")]


def test_reads_back_what_was_written() -> None:
    out = io.BytesIO()
    profile = PprofWriter(
        out, DELAY, ValueType("mutex", "count"), 1, time_ns=1_795_296_954_794_801_000,
        duration_ns=10_013_044_000, comments=["a comment"],
    )  # fmt: skip
    run = profile.location("Täsk.run", "libjvm.so", 1 << 20)
    main = profile.location("Täsk.main")
    profile.sample([run, main], [3, 1 << 62], {"stage": "7", "operator": "Sort"})
    profile.sample([main], [0, -5])
    read = read_profile(out.getvalue())
    assert read.sample_types == DELAY
    assert read.period_type == ("mutex", "count")
    assert (read.period, read.time_ns) == (1, 1_795_296_954_794_801_000)
    assert read.duration_ns == 10_013_044_000
    leaf, root = ("Täsk.run", "libjvm.so", 1 << 20), ("Täsk.main", "", 0)
    assert read.samples == [
        ([leaf, root], [3, 1 << 62], {"stage": "7", "operator": "Sort"}),
        ([root], [0, -5], {}),
    ]
    assert profile.bytes_count == len(out.getvalue())


def test_same_frame_is_written_once() -> None:
    out = io.BytesIO()
    profile = PprofWriter(out, DELAY)
    ids = {profile.location("a", "f", 1) for _ in range(3)}
    assert len(ids) == 1
    before = profile.bytes_count
    assert profile.location("a", "f", 2) not in ids
    assert profile.bytes_count - before < 16  # the function is not written again


def test_values_must_match_their_types() -> None:
    profile = PprofWriter(io.BytesIO(), DELAY)
    with pytest.raises(ValueError, match="1 values for 2"):
        profile.sample([profile.location("a")], [1])
