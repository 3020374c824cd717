from pathlib import Path

from tests.support.explain.explained import Job, saves

from pyrometer.explain.catalogue.parallelism.straggler_tail import RULE

SHORT = [1_000, 1_010, 990, 1_000] * 4


def test_a_long_task_that_comes_last(tmp_path: Path) -> None:
    job = Job()
    job.stage([*SHORT, 4_000])
    (found,) = job.found(tmp_path, RULE)
    assert found.place.stage_id == 0
    # 4 s and then 4 s, where 20 s of work end at about 5 s.
    assert saves(found, 8_000 - 5_000)


def test_the_same_task_first(tmp_path: Path) -> None:
    job = Job()
    job.stage([4_000, *SHORT])
    assert not job.found(tmp_path, RULE)


def test_tasks_alike(tmp_path: Path) -> None:
    job = Job()
    job.stage(SHORT)
    assert not job.found(tmp_path, RULE)
