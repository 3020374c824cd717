from pathlib import Path
from typing import Any

from tests.support.explain.explained import Job, saves
from tests.support.tables import MS

from pyrometer.explain.catalogue.parallelism.partitioning_too_many import RULE


def _run(ms: int) -> dict[str, Any]:
    return {"executor_run_time_ns": ms * MS, "shuffle_read_records_count": 10}


def test_half_of_the_time_is_spent_on_starting_tasks(tmp_path: Path) -> None:
    job = Job()
    job.stage([20] * 2_000, columns=lambda n: _run(10))
    (found,) = job.found(tmp_path, RULE)
    # 2 000 times 10 ms on four slots, but for 12 tasks.
    assert saves(found, (2_000 - 12) * 10 / 4)


def test_as_many_tasks_that_work(tmp_path: Path) -> None:
    job = Job()
    job.stage([20] * 2_000, columns=lambda n: _run(20))
    assert not job.found(tmp_path, RULE)


def test_few_tasks_are_started_as_slowly(tmp_path: Path) -> None:
    job = Job()
    job.stage([2_000] * 12, columns=lambda n: _run(1_000))
    assert not job.found(tmp_path, RULE)


def test_stages_behind_shuffles_have_their_number_from_one_setting(tmp_path: Path) -> None:
    job = Job()
    for _ in range(3):
        job.stage([20] * 1_000, columns=lambda n: _run(10))
    (found,) = job.found(tmp_path, RULE)
    assert "3 000 tasks of 3 stages on 4 slots" in found.mechanism
    assert found.place.stages_count == 3
    assert saves(found, 3 * (1_000 - 12) * 10 / 4)


def test_stages_that_read_no_shuffle_are_told_one_by_one(tmp_path: Path) -> None:
    job = Job()
    for _ in range(2):
        job.stage([20] * 1_000, columns=lambda n: {"executor_run_time_ns": 10 * MS})
    assert [one.place.stages_count for one in job.found(tmp_path, RULE)] == [1, 1]
