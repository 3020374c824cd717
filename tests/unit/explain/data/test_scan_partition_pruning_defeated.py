"""Filters that compute something of a partition column: partitions that are read in vain."""

from __future__ import annotations

import json
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


BY_EITHER = "((coalesce(day#2, text#1) >= 3) AND (coalesce(day#2, text#1) <= 4))"


def test_what_comes_after_the_partition_column_counts_where_it_has_no_value(tmp_path: Path) -> None:
    (one,) = found(tmp_path, BY_EITHER)
    assert one.shown
    assert holds(one, 4 / 2 * 0.95)
    assert holds(one, 8 / 2 * 0.95)


@pytest.mark.parametrize(
    ("condition", "columns"),
    [
        ("(coalesce(text#1, day#2) = 3)", "day#2"),
        ("(coalesce(day#2, text#1) = 3)", "day#2, hour#3"),
        ("((coalesce(day#2, text#1) = 3) AND (id#0L = 7))", "day#2"),
    ],
    ids=["the column of the files first", "two partition columns", "another condition"],
)
def test_near_miss_other_columns_decide(tmp_path: Path, condition: str, columns: str) -> None:
    (one,) = found(tmp_path, condition, columns=f"id#0L, text#1, {columns}")
    assert not one.shown
    assert (one.saving.elapsed_ns.low or 0) <= 0


def test_near_miss_the_only_partition_may_be_the_one_without_a_value(tmp_path: Path) -> None:
    (one,) = found(tmp_path, BY_EITHER, number_of_partitions_read=1)
    assert not one.shown


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


TUPLES = "named_struct(day, day#2, text, text#1) IN ([3,a],[3,b],[3,c])"


@pytest.mark.parametrize(
    "condition",
    [
        TUPLES,
        "named_struct(text, text#1, day, day#2) INSET [a,3], [b,3]",
        "(named_struct(day, day#2, text, text#1) = [3,a])",
        "struct(day, day#2, text, text#1) IN ([3,a])",
        f"({TUPLES} AND (id#0L = 7))",
    ],
)
def test_tuples_name_one_of_twenty_partitions(tmp_path: Path, condition: str) -> None:
    (one,) = found(tmp_path, condition, out=1000)
    assert one.shown
    assert holds(one, 4 / 2 * 0.95)
    assert holds(one, 8 / 2 * 0.95)
    assert one.mechanism.endswith("It names 1 partition.")
    assert (
        one.remedies[0].after
        == "df.where(\"day IN (3, 4) AND (day, kind) IN ((3, 'a'), (4, 'b'))\")"
    )


@pytest.mark.parametrize(
    ("condition", "columns"),
    [
        (TUPLES.replace("[3,c])", "... 9 more fields)"), "day#2"),
        (TUPLES.replace("[3,c]", "[3,c,d]"), "day#2"),
        (TUPLES.replace("day#2", "cast(day#2 as int)"), "day#2"),
        (TUPLES, "day#2, hour#3"),
        (f"NOT {TUPLES}", "day#2"),
        (TUPLES.replace("3,b", "4,b"), "day#2"),
    ],
    ids=["cut", "a comma in a text", "a function", "hours are open", "others", "no more are read"],
)
def test_near_miss_tuples_that_may_name_all_partitions(
    tmp_path: Path, condition: str, columns: str
) -> None:
    many = 2 if "4,b" in condition else 20
    (one,) = found(tmp_path, condition, columns=f"id#0L, text#1, {columns}",
                   number_of_partitions_read=many)  # fmt: skip
    assert not one.shown
    assert (one.saving.elapsed_ns.low or 0) <= 0


def test_healthy_tuples_beside_the_partition_column(tmp_path: Path) -> None:
    assert not found(tmp_path, TUPLES, partition="isnotnull(day#2), (day#2 = 3)")


def test_near_miss_tuples_of_columns_of_the_files(tmp_path: Path) -> None:
    assert not found(tmp_path, TUPLES.replace("day", "id"))


def test_what_the_text_cuts_off_the_log_holds_in_full(tmp_path: Path) -> None:
    world = job()
    cut = scan(2, 1, columns="id#0L, text#1, day#2", schema="id:bigint,te...", partition="isn...",
               number_of_output_rows=1_000_000, scan_time=4000)  # fmt: skip
    metadata = {
        "ReadSchema": "struct<id:bigint,text:string>",
        "PartitionFilters": "[isnotnull(day#2)]",
    }
    change: Any = plan(
        above(0, "Filter", None, UDF, number_of_output_rows=50_000),
        above(1, "BatchEvalPython", 0, PYTHON), cut,
    )  # fmt: skip
    assert not judged_with(tmp_path / "cut", world, RULE, change).findings
    row = next(one for one in world.rows["plan_nodes"] if one["node_id"] == 2)
    row.update(simple_string=cut.simple_string, metadata=json.dumps(metadata))
    (one,) = judged_with(tmp_path / "whole", world, RULE, change).findings
    assert one.shown
    metadata["PartitionFilters"] = "[isnotnull(day#2), (day#2 = 3)]"
    row["metadata"] = json.dumps(metadata)
    assert not judged_with(tmp_path / "pruned", world, RULE, change).findings
    for damaged in ('{"ReadSchema": "struct<', '{"PartitionFilters": 7}'):
        row["metadata"] = damaged
        found = judged_with(tmp_path / str(len(damaged)), world, RULE, change)
        assert not found.findings


def met(
    folder: Path, keys: str = "[day#2], [day#7]", out: int = 50_000, kind: str = "Inner",
    partition: str = "isnotnull(day#2)", conf: str = "{}",
) -> list[Finding]:  # fmt: skip
    change: Any = plan(
        above(0, "BroadcastHashJoin", None, f"{keys}, {kind}, BuildRight, false, false",
              number_of_output_rows=out),
        above(1, "ColumnarToRow", 0, ""),
        scan(2, 1, columns="id#0L, text#1, day#2", number_of_output_rows=1_000_000, scan_time=4000,
             number_of_partitions_read=20, partition=partition),
    )  # fmt: skip
    world = job()
    world.rows["apps"][0]["spark_conf"] = conf
    return list(judged_with(folder, world, RULE, change).findings)


def test_a_join_keeps_one_of_twenty_partitions(tmp_path: Path) -> None:
    (one,) = met(tmp_path)
    assert one.shown
    assert holds(one, 4 / 2 * 0.95)
    assert holds(one, 8 / 2 * 0.95)
    assert "BroadcastHashJoin by day keeps 50 000" in one.mechanism
    assert [each.kind for each in one.remedies] == ["code"]


def test_a_join_by_other_keys_too_may_have_dropped_the_rows_by_them(tmp_path: Path) -> None:
    (one,) = met(tmp_path, keys="[day#2, id#0L], [day#7, id#8L]")
    assert not one.shown


@pytest.mark.parametrize(
    "other",
    [
        {"keys": "[id#0L], [id#8L]"},
        {"kind": "LeftOuter"},
        {"out": 1_000_000},
        {"partition": "isnotnull(day#2), dynamicpruningexpression(day#2 IN dynamicpruning#9)"},
    ],
)
def test_joins_that_drop_no_partition_or_prune(tmp_path: Path, other: dict[str, Any]) -> None:
    assert not met(tmp_path, **other)


def test_dynamic_pruning_that_is_off_can_be_put_on(tmp_path: Path) -> None:
    name = "spark.sql.optimizer.dynamicPartitionPruning.enabled"
    (one,) = met(tmp_path, conf=json.dumps({name: "false"}))
    assert (one.remedies[0].factor, one.remedies[0].level) == (name, "true")
    assert "dynamic pruning is off" in one.mechanism
