"""Filters that compute something of a column: what their scan reads in vain, at most."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.explain.planned import plan
from tests.support.explain.planted import holds, job, judged_with
from tests.support.explain.scans import above, scan

from pyrometer.explain.catalogue.data.scan_pushdown_defeated import RULE
from pyrometer.explain.schema import Finding

CAST = "(isnotnull(id#0L) AND (cast(id#0L as string) = 17))"


def found(
    folder: Path, condition: str = CAST, matched: int = 2, out: int = 1000, between: Any = (),
    **parts: Any,
) -> list[Finding]:  # fmt: skip
    world = job()
    world.add(
        "node_metrics", app_index=0, sql_id=0, plan_version=0, node_id=0, accumulator_id=1,
        metric="number of output rows", stage_id=0, stage_attempt=0, updates_count=matched,
        value_sum=out,
    )  # fmt: skip
    known: dict[str, Any] = {"pushed": "IsNotNull(id)", "number_of_output_rows": 1_000_000}
    change: Any = plan(
        above(0, "Filter", None, condition, number_of_output_rows=out),
        *between,
        scan(9, between[-1].node_id if between else 0, **{**known, "scan_time": 4000, **parts}),
    )
    return list(judged_with(folder, world, RULE, change).findings)


def test_rows_that_match_lie_in_two_of_eight_tasks(tmp_path: Path) -> None:
    # 8 s of tasks on two slots, 4 s of them in the scan; three quarters of the tasks matched none.
    (one,) = found(tmp_path)
    assert one.shown
    assert holds(one, 4 / 2 * 0.75)
    assert holds(one, 8 / 2 * 0.97)
    assert not holds(one, 4 / 2 * 0.25)
    assert (one.place.node_id, one.place.expression) == (9, "(cast(id as string) = 17)")


def test_a_python_function_on_the_column(tmp_path: Path) -> None:
    python = above(1, "BatchEvalPython", 0, "[f(id#0L)#4], [pythonUDF0#5]")
    (one,) = found(tmp_path, "(pythonUDF0#5 = 3)", between=[python])
    assert one.place.expression == "(f(id) = 3)"


def test_rows_that_match_in_every_task_promise_nothing(tmp_path: Path) -> None:
    (one,) = found(tmp_path, matched=8)
    assert not one.shown
    assert (one.saving.elapsed_ns.low or 0) <= 0


def test_near_miss_few_rows_leave_tasks_empty_by_chance(tmp_path: Path) -> None:
    (one,) = found(tmp_path, matched=2, out=2)
    assert not one.shown


def test_near_miss_the_filter_drops_little(tmp_path: Path) -> None:
    assert not [one for one in found(tmp_path, out=999_000) if one.shown]


@pytest.mark.parametrize(
    "condition",
    [
        "(id#0L = 17)",
        "StartsWith(text#1, 17)",
        "(isnotnull(id#0L) AND id#0L IN (1,2))",
        "(NOT (id#0L = 17))",
        "(concat(text#1, cast(id#0L as string)) = x)",
    ],
)
def test_near_miss_no_function_on_one_column(tmp_path: Path, condition: str) -> None:
    assert not found(tmp_path, condition)


def test_near_miss_a_function_of_a_partition_column(tmp_path: Path) -> None:
    assert not found(tmp_path, "(upper(day#2) = A)", columns="id#0L, text#1, day#2")


def test_another_comparison_is_pushed(tmp_path: Path) -> None:
    assert not found(tmp_path, pushed="IsNotNull(id), EqualTo(id,17)")


def test_what_is_cut_off_may_have_been_pushed(tmp_path: Path) -> None:
    condition = "((id#0L = 3) AND (upper(text#1) = A))"
    assert not found(tmp_path, condition, pushed="IsNotNull(id), IsNotN...")


def test_text_has_no_statistics(tmp_path: Path) -> None:
    assert not found(tmp_path, form="CSV", scan_time=0)


def test_without_its_time_only_an_upper_bound_is_known(tmp_path: Path) -> None:
    assert not [one for one in found(tmp_path, scan_time=0) if one.shown]


def test_healthy_twin(tmp_path: Path) -> None:
    condition, pushed = "(isnotnull(id#0L) AND (id#0L = 17))", "IsNotNull(id), EqualTo(id,17)"
    assert not found(tmp_path, condition, pushed=pushed, number_of_output_rows=2000)
