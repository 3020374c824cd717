from pathlib import Path

from tests.support.explain.explained import Job, saves
from tests.support.tables import MS

from pyrometer.explain.catalogue.parallelism.skew_rows import RULE as ROWS
from pyrometer.explain.catalogue.parallelism.skew_time import RULE

LENGTHS = [*[1_000, 1_010, 990, 1_000, 1_005] * 3, 12_000]


def _job(lengths: list[int], cpu_ms: list[int], rows: list[int]) -> Job:
    job = Job()
    job.stage(
        lengths,
        sql=job.query(0, 15_000),
        columns=lambda n: {
            "executor_cpu_time_ns": cpu_ms[n] * MS,
            "shuffle_read_records_count": rows[n],
        },
    )
    return job


def test_a_task_of_as_many_rows_that_used_far_more_cpu(tmp_path: Path) -> None:
    (found,) = _job(LENGTHS, LENGTHS, [*[100, 101, 99] * 5, 100]).found(tmp_path, RULE)
    assert found.place.stage_id == 0
    assert saves(found, 15_000 - 27_015 / 4)


def test_a_few_rows_more_do_not_make_a_task_so_long(tmp_path: Path) -> None:
    job = _job(LENGTHS, LENGTHS, [*[100, 101, 99] * 5, 106])
    (found,) = job.found(tmp_path, RULE)
    assert saves(found, 15_000 - 27_015 / 4)
    assert not job.found(tmp_path, ROWS)


def test_more_partitions_are_not_to_be_joined_again(tmp_path: Path) -> None:
    (found,) = _job(LENGTHS, LENGTHS, [*[100, 101, 99] * 5, 100]).found(tmp_path, RULE)
    remedy = found.remedies[0]
    assert (remedy.factor, remedy.level) == ("spark.sql.shuffle.partitions", "64")
    assert remedy.levels == {"spark.sql.adaptive.coalescePartitions.enabled": "false"}


def test_a_task_that_waited_did_not_work(tmp_path: Path) -> None:
    cpu = [*LENGTHS[:-1], 1_000]
    assert not _job(LENGTHS, cpu, [*[100, 101, 99] * 5, 100]).found(tmp_path, RULE)


def test_more_rows_are_skew_of_rows(tmp_path: Path) -> None:
    assert not _job(LENGTHS, LENGTHS, [*[100] * 15, 1_200]).found(tmp_path, RULE)


def test_even_work(tmp_path: Path) -> None:
    lengths = [1_000, 1_010, 990, 1_000] * 4
    assert not _job(lengths, lengths, [100, 101, 99, 100] * 4).found(tmp_path, RULE)
