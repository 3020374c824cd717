"""What a run measured of a declared truth: paths, shares, zeros and absences."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pyrometer.testing.truth.measured import look_up, measured
from pyrometer.workloads.values import Truth

FULL = Path(__file__).parents[2] / "golden" / "show" / "full.json"
SLOTS = "ledger.slot_view.rows[path=%s].value_ns"
SAMPLED = {"parent": "task/waiting", "method": "sampled"}


@pytest.fixture(scope="module")
def shown():
    return json.loads(FULL.read_text(encoding="utf-8"))


def share(path: str, of: str) -> Truth:
    return Truth("share", "somewhere", 0.5, "share", 0.05, SLOTS % path, SLOTS % of)


def test_share_is_the_part_of_the_whole(shown):
    rows = {row["path"]: row["value_ns"] for row in shown["ledger"]["slot_view"]["rows"]}
    found = measured(share("task/on_cpu/cast", "task/on_cpu"), shown)
    assert found.value == rows["task/on_cpu/cast"] / rows["task/on_cpu"] > 0
    assert found.reason is None


def test_category_without_a_sample_is_zero_where_others_have_some(shown):
    assert measured(share("task/on_cpu/udf", "task"), shown).value == 0


def test_row_that_was_not_sampled_is_not_zero(shown):
    found = measured(share("no_such_row", "task"), shown)
    assert found.value is None
    assert "no row of rows has path 'no_such_row'" in str(found.reason)


def test_wait_class_is_zero_where_nothing_was_found_asleep():
    rows = [{"path": "task/waiting", "parent": "task", "method": "sampled", "value_ns": 0}]
    shown = {"ledger": {"slot_view": {"rows": rows}}}
    assert look_up(shown, SLOTS % "task/waiting/timed_sleep").value == 0
    rows[0]["value_ns"] = 5
    assert look_up(shown, SLOTS % "task/waiting/timed_sleep").value is None


def test_waiting_is_unknown_without_wall_samples():
    rows = [{"path": "task/run_queue", "parent": "task", "method": "sampled", "value_ns": 5}]
    shown = {"ledger": {"slot_view": {"rows": rows}}}
    assert look_up(shown, SLOTS % "task/waiting").value is None


def test_exact_neighbours_do_not_make_a_zero():
    rows = [{"path": "idle", "parent": None}, {"path": "idle/driver", "parent": "idle"}]
    found = look_up({"ledger": {"slot_view": {"rows": rows}}}, SLOTS % "idle/stage_tail")
    assert found.value is None


def test_unavailable_row_says_why():
    row = {**SAMPLED, "path": "task/run_queue", "method": "unavailable", "value_ns": None}
    rows = [{**row, "source": "no probe: not read"}]
    found = look_up({"ledger": {"slot_view": {"rows": rows}}}, SLOTS % "task/run_queue")
    assert found.value is None
    assert str(found.reason).endswith("no probe: not read")


def test_a_list_without_rows_says_why():
    path = "code.kinds[kind=interpreted].on_cpu_ns"
    found = look_up({"code": {"kinds": [], "reason": "no CPU samples"}}, path)
    assert (found.value, found.reason) == (None, f"{path}: no CPU samples")


def test_what_a_plan_has_no_operator_for_is_zero():
    path = "sql[app_index=0].nodes[name=CartesianProduct].metrics[metric=rows].value_sum"
    metrics = [{"metric": "rows", "value_sum": 9}]
    for name, value in (("CartesianProduct", 9), ("Project", 0)):
        nodes = [{"name": name, "metrics": metrics}]
        assert look_up({"sql": [{"app_index": 0, "nodes": nodes}]}, path).value == value
    assert look_up({"sql": [{"app_index": 0, "nodes": []}]}, path).value is None


def test_missing_part_says_the_reason_that_stands_beside_it():
    found = look_up({"gc": {"pauses_count": None, "reason": "no GC log"}}, "gc.pauses_count")
    assert (found.value, found.reason) == (None, "gc.pauses_count: no GC log")


def test_share_of_nothing_is_no_share():
    rows = [{"path": "task", "value_ns": 0}, {"path": "task/x", "value_ns": 0}]
    found = measured(share("task/x", "task"), {"ledger": {"slot_view": {"rows": rows}}})
    assert found.value is None
    assert "no share" in str(found.reason)


def test_truth_without_instrument_gives_its_reason():
    truth = Truth("locks", "task threads", 0.5, "share", 0.1, reason="no owner is recorded")
    assert measured(truth, {}).reason == "no owner is recorded"


def test_words_are_no_numbers_and_broken_paths_are_errors(shown):
    assert look_up(shown, "schema").value is None
    with pytest.raises(ValueError, match="cannot be read"):
        look_up(shown, "ledger.[path=x]")


def test_rate_is_so_much_for_each_of_another_thing():
    truth = Truth("spilled", "sort", 28, "bytes per row", 0.1, "totals.spilled", "totals.rows")
    assert measured(truth, {"totals": {"spilled": 560, "rows": 20}}).value == 28
    with pytest.raises(ValueError, match="names what it is taken of"):
        Truth("spilled", "sort", 28, "bytes per row", 0.1, "totals.spilled")


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"measured_by": "gc.pauses_count", "reason": "both"},
        {"measured_by": "gc.pauses_count", "of": None},
    ],
)
def test_truth_needs_a_path_or_a_reason_and_a_share_its_whole(more):
    with pytest.raises(ValueError):
        Truth("q", "w", 0.5, "share", 0.1, **more)
