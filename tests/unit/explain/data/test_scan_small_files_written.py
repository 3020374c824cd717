"""Many small files written: what each costs its task and the commit, and not what rows do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.explain.planned import node, plan
from tests.support.explain.planted import holds, judged_with, settings, stack
from tests.support.tables import StageSpec, World, wall

from pyrometer.explain.catalogue.data.scan_small_files_written import RULE
from pyrometer.explain.schema import Finding

KIB, MIB = 1 << 10, 1 << 20
WRITE = "Execute InsertIntoHadoopFsRelationCommand"
BY_DAY = f"{WRITE} file:/out, false, [day#1, event#2], Parquet, [path=file:/out], Overwrite, [v]"
WRITERS = "org.apache.spark.sql.execution.datasources"
RENEWS = f"{WRITERS}.BaseDynamicPartitionDataWriter.renewCurrentWriter"
ROWS = f"{WRITERS}.BaseDynamicPartitionDataWriter.writeRecord"


def found(
    folder: Path,
    commit_ms: int = 0,
    output: int = MIB,
    conf: str | None = None,
    share: float = 0.0,
    code: str = RENEWS,
    ms: int = 1000,
    text: str = WRITE,
    **metrics: int,
) -> list[Finding]:
    """Eight tasks of 1 s on two slots write, and the query ends so long after the last.

    By samples, so much of their time is in some code.
    """
    world = World([StageSpec([ms] * 8)], tail_ms=commit_ms + 30)
    number = stack(world, "java.lang.Thread.run", code)
    for place, row in enumerate(one for one in world.rows["samples"] if one["event"] == "wall"):
        if int((place + 1) * share) > int(place * share):
            row["java_stack"] = number
    for row in world.rows["tasks"]:
        row["output_bytes"] = output
    world.rows["sql_executions"][0]["end_wall_ns"] = wall(world.now_ms + commit_ms)
    world.add("jobs", app_index=0, job_id=0, sql_id=0, stage_ids=[0], status="succeeded",
              submit_wall_ns=wall(120), end_wall_ns=wall(world.now_ms))  # fmt: skip
    if conf:
        settings(world, spark__sql__files__maxRecordsPerFile=conf)
    write = node(0, WRITE, None, [], **metrics)
    write.simple_string = text
    change: Any = plan(write)
    return [one for one in judged_with(folder, world, RULE, change).findings if one.shown]


def test_four_hundred_files_of_a_kilobyte(tmp_path: Path) -> None:
    # 398 of 400 go: 3.3 ms of CPU, and half of 6 ms that no counter explains.
    (one,) = found(tmp_path, number_of_written_files=400, written_output=400 * KIB)
    assert holds(one, 398 * 0.0063 / 2)
    assert (one.place.stage_id, one.place.operator, one.place.layer) == (0, WRITE, "data")
    assert one.remedies[0].after == "df.repartition(2).write.parquet(path)"


def test_the_commit_of_the_files_goes_too(tmp_path: Path) -> None:
    (one,) = found(tmp_path, 5000, number_of_written_files=400, written_output=400 * KIB,
                   job_commit_time=5000)  # fmt: skip
    (less,) = found(tmp_path / "quick", 5000, number_of_written_files=400,
                    written_output=400 * KIB, job_commit_time=50)  # fmt: skip
    assert holds(one, 398 * 0.0063 / 2 + 4.5)
    assert one.saving.elapsed_ns.value is not None
    assert less.saving.elapsed_ns.value is not None
    assert 4.2e9 < one.saving.elapsed_ns.value - less.saving.elapsed_ns.value < 4.8e9


def test_a_setting_that_splits_files(tmp_path: Path) -> None:
    (one,) = found(tmp_path, conf="20", number_of_written_files=400, written_output=400 * KIB)
    assert (one.remedies[0].factor, one.remedies[0].level) == (
        "spark.sql.files.maxRecordsPerFile", "0",
    )  # fmt: skip


def seconds(one: Finding, side: str = "value") -> float:
    return float(getattr(one.saving.elapsed_ns, side)) / 1e9


def test_by_samples_it_is_the_time_that_beginning_and_ending_files_took(tmp_path: Path) -> None:
    (one,) = found(tmp_path, share=0.75, number_of_written_files=400, written_output=400 * KIB)
    # 6 of 8 s, of which 1 s in each slot was the first time.
    assert holds(one, (6 - 2) / 2)
    assert seconds(one) > 1.4
    assert any("beginning and ending files" in each.what for each in one.evidence)


def test_near_miss_by_samples_tasks_write_rows(tmp_path: Path) -> None:
    files = {"number_of_written_files": 400, "written_output": 400 * KIB}
    (rows,) = found(tmp_path / "rows", share=0.75, code=ROWS, **files)
    (none,) = found(tmp_path / "none", **files)
    assert seconds(rows) == seconds(none)


def test_near_miss_by_samples_a_few_files_paid_for_the_first_time(tmp_path: Path) -> None:
    assert not found(tmp_path, share=0.25, number_of_written_files=32, written_output=MIB)


def test_values_alone_are_too_many_for_files_of_a_size(tmp_path: Path) -> None:
    (one,) = found(tmp_path, share=0.75, text=BY_DAY, number_of_written_files=730,
                   written_output=730 * KIB, number_of_dynamic_part=365)  # fmt: skip
    assert holds(one, (6 - 2) / 2)
    assert [each.before for each in one.remedies] == [
        'df.write.partitionBy("day", "event").parquet(path)'
    ] * 2
    assert "coarser" in one.remedies[0].text
    assert "in 365 folders" in one.mechanism
    assert "2 files would hold the same" in one.mechanism


def test_each_task_writes_into_each_of_a_few_folders(tmp_path: Path) -> None:
    (one,) = found(tmp_path, share=0.75, text=BY_DAY, number_of_written_files=400,
                   written_output=400 * KIB, number_of_dynamic_part=50)  # fmt: skip
    assert holds(one, (6 - 2) / 2 * 350 / 400)
    (remedy,) = one.remedies
    assert remedy.after == (
        'df.repartition("day", "event").write.partitionBy("day", "event").parquet(path)'
    )


def test_a_file_for_each_of_many_partition_values(tmp_path: Path) -> None:
    (one,) = found(tmp_path, number_of_written_files=400, written_output=400 * KIB,
                   number_of_dynamic_part=400)  # fmt: skip
    (remedy,) = one.remedies
    assert "coarser" in remedy.text
    # A tenth of the files may stay.
    assert seconds(one, "low") < 360 * 0.0033 / 2


def test_near_miss_partition_values_with_files_of_the_wanted_size(tmp_path: Path) -> None:
    assert not found(tmp_path, 5000, share=0.75, number_of_written_files=400,
                     written_output=400 * 128 * MIB, number_of_dynamic_part=400,
                     job_commit_time=5000)  # fmt: skip


def test_near_miss_few_partition_values(tmp_path: Path) -> None:
    assert not found(tmp_path, number_of_written_files=12, written_output=12 * KIB,
                     number_of_dynamic_part=12)  # fmt: skip


def test_near_miss_four_files_cannot_cost_so_much(tmp_path: Path) -> None:
    assert not found(tmp_path, number_of_written_files=4, written_output=4 * KIB)


def test_healthy_twin_files_of_the_wanted_size(tmp_path: Path) -> None:
    assert not found(tmp_path, 5000, number_of_written_files=400, written_output=400 * 128 * MIB,
                     job_commit_time=5000)  # fmt: skip


def test_a_plan_whose_tasks_wrote_nothing(tmp_path: Path) -> None:
    assert not found(tmp_path, output=0, number_of_written_files=400, written_output=400 * KIB)
