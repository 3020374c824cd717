from pathlib import Path

from tests.support.explain.explained import Job, saves

from pyrometer.explain.catalogue.parallelism.partitioning_too_few import RULE


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
