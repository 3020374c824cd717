"""Filters that compute something of a partition column: partitions that are read in vain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.explain.planned import plan
from tests.support.explain.planted import holds, job, judged_with
from tests.support.explain.scans import above, scan

from pyrometer.explain.catalogue.data.scan_partition_pruning_defeated import RULE
from pyrometer.explain.schema import Finding

PYTHON = "[f(day#2)#4], [pythonUDF0#5]"
UDF = "(pythonUDF0#5 = 3)"
MIXED = "(concat(day#2, text#1) = 3x)"


def found(
    folder: Path, condition: str = UDF, out: int = 50_000, python: str = PYTHON, **parts: Any
) -> list[Finding]:
    known: dict[str, Any] = {
        "columns": "id#0L, text#1, day#2", "number_of_output_rows": 1_000_000, "scan_time": 4000,
        "number_of_partitions_read": 20,
    }  # fmt: skip
    change: Any = plan(
        above(0, "Filter", None, condition, number_of_output_rows=out),
        above(1, "BatchEvalPython", 0, python),
        scan(2, 1, **{**known, **parts}),
    )
    return list(judged_with(folder, job(), RULE, change).findings)


def test_one_of_twenty_partitions_is_wanted(tmp_path: Path) -> None:
    # 8 s of tasks on two slots, 4 s of them in the scan: with the function, up to all of it.
    (one,) = found(tmp_path)
    assert one.shown
    assert holds(one, 4 / 2 * 0.95)
    assert holds(one, 8 / 2 * 0.95)
    assert not holds(one, 4 / 2 * 0.5)
    assert (one.place.node_id, one.place.expression) == (2, "(f(day) = 3)")
    assert "of 20 partitions" in one.mechanism


def test_a_function_without_a_name(tmp_path: Path) -> None:
    (one,) = found(tmp_path, python="[<lambda>(day#2)#4], [pythonUDF0#5], 101")
    assert one.place.expression == "(<lambda>(day) = 3)"


def test_a_null_check_prunes_nothing(tmp_path: Path) -> None:
    assert len(found(tmp_path, partition="isnotnull(day#2)")) == 1


@pytest.mark.parametrize("condition", [MIXED, f"({UDF} AND (id#0L = 7))"])
def test_other_columns_may_have_dropped_the_rows(tmp_path: Path, condition: str) -> None:
    (one,) = found(tmp_path, condition)
    assert not one.shown
    assert (one.saving.elapsed_ns.low or 0) <= 0


def test_near_miss_the_function_is_of_a_column_of_the_files(tmp_path: Path) -> None:
    assert not found(tmp_path, python="[f(text#1)#4], [pythonUDF0#5]")


def test_near_miss_nearly_all_partitions_are_wanted(tmp_path: Path) -> None:
    assert not [one for one in found(tmp_path, out=999_000) if one.shown]


def test_what_is_cut_off_may_be_a_column_of_the_files(tmp_path: Path) -> None:
    assert not found(tmp_path, schema="id:bigint,text:str...")


def test_healthy_twin(tmp_path: Path) -> None:
    assert not found(tmp_path, "(id#0L = 7)", partition="isnotnull(day#2), (day#2 = 3)")


def test_partitions_are_pruned_by_a_function_that_spark_computes(tmp_path: Path) -> None:
    assert not found(tmp_path, MIXED, partition="(cast(day#2 as int) = 3)")
