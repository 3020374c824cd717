"""Joins in an order in which the first works on rows that the second drops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.explain.planned import node, operator, plan
from tests.support.explain.planted import holds, job, judged_with

from pyrometer.explain.catalogue.plan.join_order import RULE
from pyrometer.explain.schema import Finding

UPPER = "BroadcastHashJoin [v#2], [v#9], Inner, BuildRight, false"


def found(
    folder: Path, kept: int = 10_000, upper: str = UPPER, seconds: float = 2.1,
    first: int = 1_000_000, later: float = 0.1, scans: str = "Scan parquet spark_catalog.shop.{}",
) -> list[Finding]:  # fmt: skip
    nodes = [
        node(0, "BroadcastHashJoin", None, [0], number_of_output_rows=kept),
        node(1, "SortMergeJoin", 0, [0], number_of_output_rows=first),
        node(2, "Sort", 1, [0]),
        node(3, scans.format("a"), 2, [0], number_of_output_rows=1_000_000),
        node(4, "Sort", 1, [0]),
        node(5, scans.format("b"), 4, [0], number_of_output_rows=500_000),
        node(6, "BroadcastExchange", 0, [0], number_of_output_rows=100),
    ]
    texts = [upper, "SortMergeJoin [k#1], [k#5], Inner", "Sort [k#1 ASC NULLS FIRST], false, 0",
             "FileScan [k#1,v#2]", "Sort [k#5 ASC NULLS FIRST], false, 0", "FileScan [k#5,w#6]",
             "BroadcastExchange HashedRelation"]  # fmt: skip
    for one, text in zip(nodes, texts, strict=True):
        one.simple_string = text
    change: Any = plan(
        *nodes,
        operators=(
            operator("SortMergeJoin", 1, seconds),
            operator("Sort", 2, seconds),
            operator("BroadcastHashJoin", 0, later),
        ),
    )
    return [one for one in judged_with(folder, job(), RULE, change).findings if one.shown]


def test_the_join_that_keeps_few_rows_comes_first(tmp_path: Path) -> None:
    # 4.2 of 5.6 s of CPU, with its waits 4.8 of 6.4 s on two slots; one row of 100 stays.
    (one,) = found(tmp_path)
    assert holds(one, 4.8 / 2 * 0.99 * 0.75)
    assert (one.place.node_id, one.place.operator) == (1, "SortMergeJoin")
    assert one.remedies[0].levels == {"spark.sql.cbo.enabled": "true"}


def test_spark_reorders_no_files_that_are_read_by_their_path(tmp_path: Path) -> None:
    (one,) = found(tmp_path, scans="Scan parquet ")
    assert [each.kind for each in one.remedies] == ["code"]


def test_near_miss_the_key_is_of_both_inputs(tmp_path: Path) -> None:
    upper = "BroadcastHashJoin [v#2, w#6], [v#9, w#8], Inner, BuildRight"
    assert not found(tmp_path, upper=upper)


def test_near_miss_an_outer_join_does_not_commute(tmp_path: Path) -> None:
    assert not found(tmp_path, upper=UPPER.replace("Inner", "LeftOuter"))


def test_near_miss_the_first_join_keeps_fewer_rows_itself(tmp_path: Path) -> None:
    # The second join would work on 100 times the rows, which costs more than the first does.
    assert not found(tmp_path, first=10_000, kept=5_000)


def test_healthy_the_last_join_keeps_all_rows(tmp_path: Path) -> None:
    assert not found(tmp_path, kept=1_000_000)


def test_healthy_the_first_join_takes_no_time(tmp_path: Path) -> None:
    assert not found(tmp_path, seconds=0.001)
