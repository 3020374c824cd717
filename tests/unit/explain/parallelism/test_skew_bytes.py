from pathlib import Path

import pytest
from tests.support.explain.explained import Job, saves

from pyrometer.explain.catalogue.parallelism.skew_bytes import RULE

MB = 1_000_000


def _job(lengths: list[int], megabytes: list[int]) -> Job:
    job = Job()
    job.stage(lengths, columns=lambda n: {"shuffle_read_local_bytes": megabytes[n] * MB})
    return job


def test_the_task_that_read_most_is_why_the_stage_is_long(tmp_path: Path) -> None:
    lengths = [*[1_000, 1_010, 990, 1_000, 1_005] * 3, 12_000]
    found = _job(lengths, [*[10] * 15, 120]).found(tmp_path, RULE)
    assert [one.place.stage_id for one in found] == [0]
    # Measured: 3 s and 12 s; spread evenly: 27 s of work on 4 slots.
    assert saves(found[0], 15_000 - 27_015 / 4)


def test_a_long_task_that_read_no_more_is_another_cause(tmp_path: Path) -> None:
    lengths = [*[1_000, 1_010, 990, 1_000, 1_005] * 3, 12_000]
    megabytes = [*[10, 11, 9, 10, 11] * 3, 10]
    assert not _job(lengths, megabytes).found(tmp_path, RULE)


def test_even_tasks(tmp_path: Path) -> None:
    lengths = [1_000, 1_010, 990, 1_000] * 4
    assert not _job(lengths, [10, 11, 9, 10] * 4).found(tmp_path, RULE)


def test_tasks_of_a_size_in_a_last_round_of_their_own_are_not_skewed(tmp_path: Path) -> None:
    assert not _job([1_000, 1_001, 999, 1_000, 1_002], [10, 11, 9, 10, 12]).found(tmp_path, RULE)


@pytest.mark.parametrize(("median", "level"), [(10, str(20 * MB)), (100, None)])
def test_parts_are_as_small_as_what_is_split(
    tmp_path: Path, median: int, level: str | None
) -> None:
    lengths = [*[1_000, 1_010, 990, 1_000, 1_005] * 3, 12_000]
    (found,) = _job(lengths, [*[median] * 15, 12 * median]).found(tmp_path, RULE)
    levels = found.remedies[0].levels
    assert levels.get("spark.sql.adaptive.advisoryPartitionSizeInBytes") == level
