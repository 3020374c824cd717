"""Lines of canaries: any bytes are a line or none, and what agents write is read as it was."""

from __future__ import annotations

import json
import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pyrometer.store.services.canaries import MEASURES, SCHEMA, STATES, before, parse_canary
from pyrometer.store.services.executors import Found

times = st.integers(0, (1 << 62) - 1)
repetitions = st.lists(st.floats(1e-3, 1e12), min_size=1, max_size=64)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


@st.composite
def lines(draw: st.DrawFn) -> dict[str, Any]:
    begin, end = sorted((draw(times), draw(times)))
    said: dict[str, Any] = {
        "schema": SCHEMA, "state": draw(st.sampled_from(STATES)),
        "begin_wall_ns": begin, "begin_mono_ns": begin, "end_wall_ns": end, "end_mono_ns": end,
        "reason": draw(st.none() | st.text(max_size=300)),
    }  # fmt: skip
    if said["state"] == "measured":
        said |= {name: draw(repetitions) for name in MEASURES}
    return said


@given(lines())
def test_what_was_written_is_read(said: dict[str, Any]) -> None:
    found = parse_canary(json.dumps(said).encode())
    assert found is not None
    assert found.state == said["state"]
    assert (found.begin_mono_ns, found.end_wall_ns) == (said["begin_mono_ns"], said["end_wall_ns"])
    measured = found.state == "measured"
    assert found.repetitions == ({n: tuple(said[n]) for n in MEASURES} if measured else {})
    for name, middle in found.medians.items():
        assert min(said[name]) <= middle <= max(said[name])
    assert found.reason is None or found.reason.isprintable()


@given(lines(), st.sampled_from((*MEASURES, "state", "end_mono_ns", "reason", "schema")), values)
def test_a_damaged_line_is_sound_or_none(said: dict[str, Any], name: str, value: object) -> None:
    found = parse_canary(json.dumps({**said, name: value}).encode())
    for ones in found.repetitions.values() if found else ():
        assert all(math.isfinite(one) and one > 0 for one in ones)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_line_or_none(data: bytes) -> None:
    assert parse_canary(data) is None


@given(st.lists(lines(), max_size=6), times, st.none() | st.integers(1, 1 << 62))
def test_none_that_ended_later_is_taken_and_ages_are_never_below_zero(
    said: list[dict[str, Any]], seen_ns: int, start_ns: int | None
) -> None:
    read = [found for one in said if (found := parse_canary(json.dumps(one).encode()))]
    one = Found("app", "1", "executor", 7, 7, start_ns, seen_wall_ns=seen_ns)
    chosen = before(read, [one])
    earlier = [o for o in read if o.state == "measured" and o.end_wall_ns <= seen_ns]
    if not earlier:
        assert chosen.line is None
        assert chosen.age_s is None
        assert chosen.reason
        return
    assert chosen.line is not None
    assert chosen.line.end_wall_ns == max(o.end_wall_ns for o in earlier)
    assert chosen.age_s is not None
    assert chosen.age_s >= 0
    assert chosen.reason is None
