"""Many small files written: what each costs its task and the commit, and not what rows do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.explain.planned import node, plan
from tests.support.explain.planted import holds, judged_with, settings
from tests.support.tables import StageSpec, World, wall

from pyrometer.explain.catalogue.data.scan_small_files_written import RULE
from pyrometer.explain.schema import Finding

KIB, MIB = 1 << 10, 1 << 20
WRITE = "Execute InsertIntoHadoopFsRelationCommand"


def found(
    folder: Path, commit_ms: int = 0, output: int = MIB, conf: str | None = None, **metrics: int
) -> list[Finding]:
    """Eight tasks of 1 s on two slots write, and the query ends so long after the last."""
    world = World([StageSpec([1000] * 8)], tail_ms=commit_ms + 30)
    for row in world.rows["tasks"]:
        row["output_bytes"] = output
    world.rows["sql_executions"][0]["end_wall_ns"] = wall(world.now_ms + commit_ms)
    world.add("jobs", app_index=0, job_id=0, sql_id=0, stage_ids=[0], status="succeeded",
              submit_wall_ns=wall(120), end_wall_ns=wall(world.now_ms))  # fmt: skip
    if conf:
        settings(world, spark__sql__files__maxRecordsPerFile=conf)
    change: Any = plan(node(0, WRITE, None, [], **metrics))
    return [one for one in judged_with(folder, world, RULE, change).findings if one.shown]


def test_four_hundred_files_of_a_kilobyte(tmp_path: Path) -> None:
    # 398 of 400 go: 10 ms each are 4 s of tasks, 2 s of two slots.
    (one,) = found(tmp_path, number_of_written_files=400, written_output=400 * KIB)
    assert holds(one, 398 * 0.010 / 2)
    assert (one.place.stage_id, one.place.operator, one.place.layer) == (0, WRITE, "data")
    assert one.remedies[0].after == "df.repartition(2).write.parquet(path)"


def test_the_commit_of_the_files_goes_too(tmp_path: Path) -> None:
    (one,) = found(tmp_path, 5000, number_of_written_files=400, written_output=400 * KIB,
                   job_commit_time=5000)  # fmt: skip
    (less,) = found(tmp_path / "quick", 5000, number_of_written_files=400,
                    written_output=400 * KIB, job_commit_time=50)  # fmt: skip
    assert holds(one, 2 + 4.5)
    assert one.saving.elapsed_ns.value is not None
    assert less.saving.elapsed_ns.value is not None
    assert 4.2e9 < one.saving.elapsed_ns.value - less.saving.elapsed_ns.value < 4.8e9


def test_a_setting_that_splits_files(tmp_path: Path) -> None:
    (one,) = found(tmp_path, conf="20", number_of_written_files=400, written_output=400 * KIB)
    assert (one.remedies[0].factor, one.remedies[0].level) == (
        "spark.sql.files.maxRecordsPerFile", "0",
    )  # fmt: skip


def test_near_miss_a_file_for_each_partition_value(tmp_path: Path) -> None:
    assert not found(tmp_path, number_of_written_files=400, written_output=400 * KIB,
                     number_of_dynamic_part=400)  # fmt: skip


def test_near_miss_four_files_cannot_cost_so_much(tmp_path: Path) -> None:
    assert not found(tmp_path, number_of_written_files=4, written_output=4 * KIB)


def test_healthy_twin_files_of_the_wanted_size(tmp_path: Path) -> None:
    assert not found(tmp_path, 5000, number_of_written_files=400, written_output=400 * 128 * MIB,
                     job_commit_time=5000)  # fmt: skip


def test_a_plan_whose_tasks_wrote_nothing(tmp_path: Path) -> None:
    assert not found(tmp_path, output=0, number_of_written_files=400, written_output=400 * KIB)
