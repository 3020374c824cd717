"""Several exact counts of distinct values: what their expanded rows cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.explain.planned import node, operator, plan
from tests.support.explain.planted import holds, job, judged_with

from pyrometer.explain.catalogue.plan.join_distinct_blow_up import RULE
from pyrometer.explain.schema import Finding

DISTINCT = "Expand [[k#1, a#2, null, 1], [k#1, null, b#3, 2]], [k#1, a#9, b#10, gid#8]"
CUBE = "Expand [[k#1, 0], [null, 1]], [k#7, spark_grouping_id#8L]"


def found(
    folder: Path, text: str = DISTINCT, out: int = 3_000_000, seconds: float = 2.1
) -> list[Finding]:
    expand = node(4, "Expand", 3, [0], number_of_output_rows=out)
    expand.simple_string = text
    change: Any = plan(
        node(0, "HashAggregate", None, [0], number_of_output_rows=50),
        node(1, "HashAggregate", 0, [0], number_of_output_rows=900_000),
        node(2, "Exchange", 1, [0]),
        node(3, "HashAggregate", 2, [0], number_of_output_rows=900_000),
        expand,
        node(5, "Scan parquet", 4, [0], number_of_output_rows=1_000_000),
        operators=(
            operator("HashAggregate", 3, seconds),
            operator("Expand", 4, seconds),
            operator("HashAggregate", 0, 0.7),
        ),
    )
    return [one for one in judged_with(folder, job(), RULE, change).findings if one.shown]


def test_rows_are_expanded_for_each_count(tmp_path: Path) -> None:
    # 4.2 of 5.6 s of CPU, with its waits 4.8 of 6.4 s on two slots; sketches take a quarter.
    (one,) = found(tmp_path)
    assert holds(one, 4.8 / 2 * 3 / 4)
    saving = one.saving.elapsed_ns
    assert saving.high is not None
    assert saving.high < 2.6e9
    assert (one.place.node_id, one.place.operator) == (4, "Expand")


def test_near_miss_a_cube_wants_its_rows(tmp_path: Path) -> None:
    assert not found(tmp_path, CUBE)


def test_near_miss_rows_that_stay_as_they_are(tmp_path: Path) -> None:
    assert not found(tmp_path, out=1_000_000)


def test_healthy_expanding_takes_no_time(tmp_path: Path) -> None:
    assert not found(tmp_path, seconds=0.001)
