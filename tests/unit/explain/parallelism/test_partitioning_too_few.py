from pathlib import Path

import pytest
from tests.support.explain.explained import Job, saves

from pyrometer.explain.catalogue.parallelism.partitioning_too_few import RULE
from pyrometer.explain.catalogue.parallelism.skew_bytes import RULE as BYTES
from pyrometer.explain.catalogue.parallelism.skew_rows import RULE as ROWS
from pyrometer.explain.schema import Remedy

MB = 1_000_000


def _job(lengths: list[int]) -> Job:
    job = Job()
    job.stage([2_000, 2_010] * 8)
    job.stage(lengths)
    return job


def test_two_tasks_for_four_slots(tmp_path: Path) -> None:
    (found,) = _job([10_000, 10_000]).found(tmp_path, RULE)
    assert found.place.stage_id == 1
    # 20 s of work on four slots take 5 s.
    assert saves(found, 10_000 - 5_000)


def test_a_full_round_leaves_nothing_idle(tmp_path: Path) -> None:
    assert not _job([10_000] * 4).found(tmp_path, RULE)


def test_three_tasks_for_each_slot(tmp_path: Path) -> None:
    assert not _job([1_000, 1_010] * 6).found(tmp_path, RULE)


def _shuffled(lengths: list[int], bytes_read: list[int], rows: list[int] | None = None) -> Job:
    job = Job(executors=1)
    job.stage([2_000, 2_010] * 4)
    job.stage(
        lengths,
        columns=lambda n: {
            "shuffle_read_local_bytes": bytes_read[n],
            "shuffle_read_records_count": (rows or bytes_read)[n],
        },
    )  # fmt: skip
    return job


@pytest.mark.parametrize(
    ("bytes_read", "rows", "skew"),
    [
        ([200 * MB, 20 * MB, 22 * MB], None, BYTES),
        ([22 * MB, 20 * MB, 21 * MB], [9_000, 900, 1_000], ROWS),
    ],
)
def test_a_key_that_has_most_rows_is_not_divided_by_more_tasks(
    tmp_path: Path, bytes_read: list[int], rows: list[int] | None, skew: object
) -> None:
    lengths = [10_000, 1_000, 1_100]
    assert not _shuffled(lengths, bytes_read, rows).found(tmp_path / "few", RULE)
    (found,) = _shuffled(lengths, bytes_read, rows).found(tmp_path / "skew", skew)  # type: ignore[arg-type]
    # Split, its rows fill both slots to the end.
    assert saves(found, 10_000 - 12_100 / 2)


def test_the_other_keys_of_its_task_can_go_elsewhere(tmp_path: Path) -> None:
    job = _shuffled([10_000, 3_000], [200 * MB, 60 * MB])
    (found,) = [one for one in job.all_found(tmp_path, RULE) if one.place.stage_id == 1]
    # 7 s are of one key, and the 6 s of all others beside it.
    saving = found.saving.elapsed_ns
    assert saving.high is not None
    assert saving.high < 3.5e9


def test_near_miss_even_tasks_behind_a_shuffle(tmp_path: Path) -> None:
    (found,) = _shuffled([6_000] * 3, [100 * MB] * 3).found(tmp_path, RULE)
    assert saves(found, 12_000 - 9_000)


def test_near_miss_of_two_small_tasks_one_is_the_rest(tmp_path: Path) -> None:
    (found,) = _shuffled([10_000, 1_000], [MB, MB // 10]).found(tmp_path, RULE)
    assert saves(found, 10_000 - 5_500)


def test_near_miss_a_file_can_be_divided(tmp_path: Path) -> None:
    job = Job(executors=1)
    job.stage([10_000, 1_000, 1_100], columns=lambda n: {"input_bytes": [200, 20, 22][n] * MB})
    (found,) = job.found(tmp_path, RULE)
    assert saves(found, 10_000 - 12_100 / 2)


def _of_files(folder: Path, size: int) -> Remedy:
    job = Job(executors=1)
    query = job.query(0, 10_000, [("Scan parquet ", "FileScan parquet [a#1]")])
    stage = job.stage(
        [10_000, 1_000, 1_100], sql=query, columns=lambda n: {"input_bytes": [200, 20, 22][n] * MB}
    )
    job.metric(query, 0, "size of files read", size)
    job.log.rows["node_metrics"][-1]["stage_id"] = stage
    (found,) = job.found(folder, RULE)
    return found.remedies[0]


def test_parts_are_sized_by_the_files_not_by_the_columns_that_are_read(tmp_path: Path) -> None:
    remedy = _of_files(tmp_path, 360 * MB)
    assert remedy.factor == "spark.sql.files.maxPartitionBytes"
    assert remedy.level == str(60 * MB)


@pytest.mark.parametrize("size", [600 * MB, 12_000 * MB])
def test_smaller_parts_do_not_split_files_that_are_read_whole(tmp_path: Path, size: int) -> None:
    remedy = _of_files(tmp_path, size)
    assert (remedy.kind, remedy.factor) == ("data", None)
    assert "these were not split" in remedy.text
