"""Verdicts survive any cut and any order; what a record says of them holds for all."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.explain.tried_findings import S, estimate

from pyrometer.verification.record import Verdict, keep, read, records, upper

SECONDS = st.floats(0.001, 1e6)


@st.composite
def verdicts(draw, number=None):
    """Any verdict, with a time that it was given at."""
    at = draw(st.integers(0, 99)) if number is None else number
    return Verdict(
        id=f"{at:016x}", code=draw(st.sampled_from(["gc.heap-too-small", "skew.bytes"])),
        place=draw(st.sampled_from(["stage 1", "Zeile „ü“\n2"])), run_id="run", workload="w",
        verdict=draw(st.sampled_from(["proven", "refuted", "no_difference", "not_testable"])),
        predicted_ns=estimate(draw(SECONDS) * S),
        measured_ns=draw(st.none() | st.builds(lambda s: estimate(s * S), st.floats(-1e6, 1e6))),
        of_run=draw(st.booleans()), experiment=draw(st.sampled_from(["/x", "/y"])), wall_ns=at,
        pyrometer_version="0",
    )  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(st.lists(verdicts(), min_size=1, max_size=5), st.data())
def test_a_file_cut_anywhere_keeps_what_was_whole_and_takes_what_comes(written, data):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kept = [one for one in written if keep(folder, one)]
        assert {one.id for one in kept} == {one.id for one in written}
        (path,) = folder.glob("*.ndjson")
        text = path.read_bytes()
        cut = data.draw(st.integers(0, len(text)))
        path.write_bytes(text[:cut])
        last = kept[0].model_copy(update={"id": "f" * 16, "wall_ns": 1000})
        assert keep(folder, last)
        found = read(folder)
        lines = text.split(b"\n")
        *whole, torn = text[:cut].split(b"\n")
        # A line that lost nothing but its end is whole.
        count = len(whole) + (torn != b"" and torn == lines[len(whole)])
        expected = {one.id: one for one in [*kept[:count], last]}
        assert {one.id: one for one in found.verdicts} == expected
        assert len(found.unread) == (torn != b"" and count == len(whole))


@given(st.lists(verdicts(), max_size=20, unique_by=lambda one: one.id), st.randoms())
def test_a_record_does_not_depend_on_the_order(given_, random):
    shuffled = list(given_)
    random.shuffle(shuffled)
    assert records(given_) == records(shuffled)


@given(st.lists(verdicts(), max_size=20, unique_by=lambda one: one.id))
def test_counts_and_errors_are_possible(given_):
    found = records(given_)
    ordered = sorted(given_, key=lambda one: one.wall_ns)
    last = {(one.experiment, one.code, one.place): one.verdict for one in ordered}
    tried = [one for one in last.values() if one != "not_testable"]
    assert sum(one.tried_count for one in found.values()) == len(tried)
    for one in found.values():
        assert 0 <= one.proven_count <= one.tried_count
        assert one.error_ratio is None or one.error_ratio >= 0


@given(st.lists(st.floats(0, 100), min_size=2, max_size=60))
def test_one_error_in_ten_lies_beyond_what_the_others_give(errors):
    beyond = sum(one > upper(errors[:at] + errors[at + 1 :]) for at, one in enumerate(errors))
    assert beyond <= max(1, len(errors) // 10)


@given(SECONDS, SECONDS)
def test_the_error_is_of_what_was_predicted(predicted, measured):
    one = Verdict(
        id="1", code="c.x", place="p", run_id="r", workload="w", verdict="proven",
        predicted_ns=estimate(predicted), measured_ns=estimate(measured), experiment="/x",
        wall_ns=1, pyrometer_version="0",
    )  # fmt: skip
    assert one.error_ratio == abs(predicted - measured) / predicted
    for how in ("refuted", "no_difference"):
        other = one.model_copy(update={"verdict": how})
        assert other.error_ratio == one.error_ratio
        assert other.model_copy(update={"measured_ns": None}).error_ratio == 1
    assert one.model_copy(update={"verdict": "not_testable"}).error_ratio is None
