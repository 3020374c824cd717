from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.explain.planned import node, plan
from tests.support.explain.planted import holds, job, judged_with
from tests.support.tables import World, wall

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
    world = merged(job(), writes)

    def change(summary: Summary) -> None:
        plan(node(0, name, None, [], **metrics))(summary)
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
    ],
    ids=["delta", "spark", "update"],
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
