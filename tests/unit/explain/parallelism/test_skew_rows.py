from pathlib import Path

from tests.support.explain.explained import Job, saves

from pyrometer.explain.catalogue.parallelism.skew_rows import RULE

MB = 1_000_000
LENGTHS = [*[1_000, 1_010, 990, 1_000, 1_005] * 3, 12_000]


def _job(lengths: list[int], rows: list[int], megabytes: list[int]) -> Job:
    job = Job()
    job.stage(
        lengths,
        columns=lambda n: {
            "shuffle_read_local_bytes": megabytes[n] * MB,
            "shuffle_read_records_count": rows[n],
        },
    )
    return job


def test_the_task_with_most_rows_is_why_the_stage_is_long(tmp_path: Path) -> None:
    job = _job(LENGTHS, [*[1_000] * 15, 12_000], [*[10, 11, 9] * 5, 10])
    (found,) = job.found(tmp_path, RULE)
    assert found.place.stage_id == 0
    assert "12 000 rows" in found.mechanism
    assert saves(found, 15_000 - 27_015 / 4)


def test_rows_of_as_many_bytes_are_skew_of_bytes(tmp_path: Path) -> None:
    job = _job(LENGTHS, [*[1_000] * 15, 12_000], [*[10] * 15, 120])
    assert not job.found(tmp_path, RULE)


def test_even_rows(tmp_path: Path) -> None:
    job = _job([1_000, 1_010, 990, 1_000] * 4, [1_000, 1_010, 990, 1_000] * 4, [10] * 16)
    assert not job.found(tmp_path, RULE)


def test_two_tasks_of_which_one_has_nearly_all_rows(tmp_path: Path) -> None:
    # Partitions that adaptive execution joined: 9 s and 1 s on four slots, at 5 s each if even.
    (found,) = _job([9_000, 1_000], [9_000, 1_000], [10, 10]).found(tmp_path, RULE)
    assert saves(found, 9_000 - 5_000)
    low = found.saving.elapsed_ns.low
    assert low is not None
    assert low < 0.6 * 4e9


def test_two_tasks_of_which_one_is_slow_for_as_many_rows(tmp_path: Path) -> None:
    assert not _job([9_000, 1_000], [5_000, 5_000], [10, 10]).all_found(tmp_path, RULE)
