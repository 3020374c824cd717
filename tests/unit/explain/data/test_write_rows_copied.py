from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.explain.planned import node, plan
from tests.support.explain.planted import holds, in_a_row, job, judged_with
from tests.support.tables import World, wall

from pyrometer.accounts.plan_schema import Node
from pyrometer.explain.catalogue.data.write_rows_copied import RULE
from pyrometer.explain.schema import Finding
from pyrometer.summary.schema import Summary

DELTA = "Execute MergeIntoCommand"
ICEBERG = "MergeRows"
SPARK_TEXT = "number of target rows copied unmodified because they did not match any action"


def merged(world: World, writes: bool = True) -> World:
    for row in world.rows["tasks"]:
        row["output_bytes"] = 1 << 20 if writes else None
    return world


def found(
    folder: Path, name: str, *, writes: bool = True, ends: bool = True, **metrics: int
) -> list[Finding]:
    return said_of(folder, [node(0, name, None, [], **metrics)], merged(job(), writes), ends)


def said_of(folder: Path, nodes: Sequence[Node], world: World, ends: bool = True) -> list[Finding]:
    def change(summary: Summary) -> None:
        plan(*nodes)(summary)
        summary.sql[0].start_wall_ns = wall(0)
        summary.sql[0].end_wall_ns = wall(world.end_ms) if ends else wall(1)

    return judged_with(folder, world, RULE, change).findings


@pytest.mark.parametrize(
    ("name", "metrics"),
    [
        (DELTA, {"number_of_target_rows_rewritten_unmodified": 900, "number_of_updated_rows": 60,
                 "number_of_inserted_rows": 40}),
        (ICEBERG, {SPARK_TEXT.replace(" ", "_"): 900, "number_of_target_rows_updated": 100}),
        ("Execute UpdateCommand", {"number_of_rows_copied.": 900, "number_of_rows_updated.": 100}),
        ("ReplaceData", {"number_of_copied_rows": 900, "number_of_updated_rows": 100}),
    ],
    ids=["delta", "spark", "update", "spark update"],
)  # fmt: skip
def test_nine_of_ten_rows_are_written_again(
    tmp_path: Path, name: str, metrics: dict[str, int]
) -> None:
    (one,) = found(tmp_path, name, **metrics)
    # 4 s of tasks on two slots, of which nine tenths go with copied rows.
    assert one.shown
    assert holds(one, 4 * 0.9 * 0.6)
    assert one.place.operator == name


def test_near_miss_the_files_were_written_by_another_query(tmp_path: Path) -> None:
    copied = {"number_of_target_rows_rewritten_unmodified": 900}
    assert found(tmp_path / "later", DELTA, ends=False, **copied) == []
    assert found(tmp_path / "none", DELTA, writes=False, **copied) == []


def test_healthy_every_row_written_is_new(tmp_path: Path) -> None:
    metrics = {"number_of_target_rows_rewritten_unmodified": 0, "number_of_inserted_rows": 1_000}
    assert found(tmp_path, DELTA, **metrics) == []


def rewritten(
    read: int, changed: int | None, operator: str, left: int, stages: tuple[int, int] = (0, 0)
) -> list[Node]:
    """Give a command of Spark 3.5 on a table with copy-on-write: it counts no row that it copies.

    Parameters
    ----------
    read, changed, left : int
        Rows of the files that are written again; those of them that a search for these files found,
        if there was one; rows that the operator above the scan hands on.
    stages : tuple of int
        Stage of the write, and that of the scan.
    """
    text = "BatchScan lake.db.t[id#1L, v#2, _file#3] lake.db.t (branch=null) [filters=, groupedBy=]"
    scan = node(2, "BatchScan lake.db.t", 1, [stages[1]], number_of_output_rows=read)
    nodes = [
        node(0, "ReplaceData", None, [stages[0]]),
        node(1, operator, 0, [stages[0]], number_of_output_rows=left),
        replace(scan, simple_string=text),
    ]
    if changed is not None:
        search = node(6, "Filter", 5, [], number_of_output_rows=changed)
        nodes += [
            node(3, "Subquery", 2, []), node(4, "HashAggregate", 3, []),
            node(5, "HashAggregate", 4, []), search,
            replace(scan, node_id=7, parent_node_id=6, simple_string=text),
        ]  # fmt: skip
    return nodes


@pytest.mark.parametrize(
    "nodes",
    [
        rewritten(1_000, 100, "Sort", 0),
        rewritten(1_000, 100, "MergeRows", 1_000),
        rewritten(1_000, 100, "Filter", 900),
        rewritten(1_000, None, "Filter", 900),
    ],
    ids=["update", "merge", "delete", "delete without a search"],
)
def test_rows_copied_follow_from_a_plan_that_does_not_count_them(
    tmp_path: Path, nodes: list[Node]
) -> None:
    world = merged(job())
    for row in world.rows["tasks"]:
        row["output_records_count"] = 125
    (one,) = said_of(tmp_path, nodes, world)
    assert one.shown
    assert holds(one, 4 * 0.9 * 0.6)
    assert one.mechanism.startswith("ReplaceData wrote 900 rows again")


def test_files_that_are_read_again_only_to_be_copied_count(tmp_path: Path) -> None:
    world = in_a_row(2)
    for row in merged(world).rows["tasks"]:
        if row["stage_id"] == 0:
            row["output_bytes"] = None
        row["output_records_count"] = 125
    (again,) = said_of(tmp_path / "again", rewritten(1_000, 100, "Sort", 0, (1, 0)), world)
    assert holds(again, 8 * 0.9 * 0.6)
    (once,) = said_of(tmp_path / "once", rewritten(1_000, None, "Filter", 900, (1, 0)), world)
    assert holds(once, 4 * 0.9 * 0.6)


@pytest.mark.parametrize(
    "nodes",
    [
        rewritten(1_000, None, "Sort", 0),
        rewritten(1_000, None, "MergeRows", 900),
        rewritten(1_000, 1_000, "Sort", 0),
    ],
    ids=["what changed is not known", "rows of a merge", "every row changes"],
)
def test_near_miss_of_files_written_again(tmp_path: Path, nodes: list[Node]) -> None:
    assert said_of(tmp_path, nodes, merged(job())) == []
