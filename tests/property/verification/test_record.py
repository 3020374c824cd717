"""Verdicts survive any cut and any order; what a record says of them holds for all."""

from __future__ import annotations

import math
import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.explain.tried_findings import S, estimate

from pyrometer.verification.learned import bias_of, error_of, upper
from pyrometer.verification.record import Verdict, keep, read, records

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
def test_a_saving_is_a_share_of_what_was_predicted(predicted, measured):
    one = Verdict(
        id="1", code="c.x", place="p", run_id="r", workload="w", verdict="proven",
        predicted_ns=estimate(predicted), measured_ns=estimate(measured), experiment="/x",
        wall_ns=1, pyrometer_version="0",
    )  # fmt: skip
    assert one.saved_ratio == measured / predicted
    # A prediction that was halved for what was saved before counts as it was before that.
    halved = {"predicted_ns": estimate(predicted / 2), "bias_ratio": 0.5}
    assert one.model_copy(update=halved).saved_ratio == pytest.approx(one.saved_ratio)
    for how in ("refuted", "no_difference"):
        other = one.model_copy(update={"verdict": how})
        assert other.saved_ratio == one.saved_ratio
        assert other.model_copy(update={"measured_ns": None}).saved_ratio == 0
    assert one.model_copy(update={"verdict": "not_testable"}).saved_ratio is None


def halved(count, *jobs):
    """Trials that saved half of what was predicted, of such jobs in turn."""
    return [
        Verdict(
            id=str(at), code="c.x", place="p", run_id="r", workload=jobs[at % len(jobs)],
            verdict="proven", predicted_ns=estimate(2.0), measured_ns=estimate(1.0),
            experiment=f"/{at}", wall_ns=at, pyrometer_version="0",
        )
        for at in range(count)
    ]  # fmt: skip


def test_what_trials_of_many_jobs_saved_is_counted_in_and_of_one_job_it_is_not():
    one = records(halved(20, "a"))["c.x"]
    assert (one.tried_count, one.jobs_count, one.earlier) == (20, 1, (0.5, 1.0, False))
    many = records(halved(20, *"abcdefghij"))["c.x"]
    assert (many.jobs_count, many.earlier) == (10, (0.0, 0.5, True))
    assert records(halved(9, *"abcdefghi"))["c.x"].earlier == (0.5, 1.0, False)


@pytest.mark.parametrize("middle", [1.0, 0.9, 0.5, 1.5])
@pytest.mark.parametrize("spread", [0.02, 0.15, 0.5])
@pytest.mark.parametrize("count", [10, 20, 40])
def test_nine_of_ten_next_savings_lie_within_what_trials_of_as_many_jobs_allow(
    middle, spread, count
):
    draw = random.Random(f"{middle} {spread} {count}")
    inside = 0
    for _ in range(300):
        *past, after = [middle * math.exp(draw.gauss(0, spread)) for _ in range(count + 1)]
        bias = bias_of(past)
        inside += abs(after - bias) <= error_of(past, bias)
    assert inside >= 0.83 * 300  # 0.89 to 0.92 of many; so few vary by 0.017


@given(st.lists(st.floats(-2, 3), min_size=1, max_size=30))
def test_a_bias_lies_among_the_ratios_and_needs_most_of_them_on_one_side(ratios):
    bias = bias_of(ratios)
    assert bias == 1.0 or min(ratios) <= bias <= max(ratios)
    if bias != 1.0:
        below = sum(one < 1.0 for one in ratios)
        assert max(below, len(ratios) - below) > len(ratios) / 2
    assert error_of(ratios, bias) <= max(ratios) - min(ratios) + max(abs(1 - r) for r in ratios)
