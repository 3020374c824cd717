from __future__ import annotations

from pathlib import Path

from tests.support.explain.explained import Job
from tests.support.explain.planted import judged

from pyrometer.explain.catalogue.machine.config_too_many_slots import RULE
from pyrometer.explain.schema import Note


def noted(folder: Path, job: Job, **app: str) -> list[Note]:
    rows = job.log.rows["apps"][0]
    rows.update(app)
    rows["end_wall_ns"] += job.now_ms * 1_000_000
    found = judged(job.log.write(folder), RULE)
    assert found.findings == []
    return found.notes


def job_of(tasks: int, executors: int = 4, cores: int = 2, **conf: str) -> Job:
    job = Job(executors, cores, **conf)
    job.stage([10_000] * tasks)
    return job


def test_three_tasks_on_four_executors(tmp_path: Path) -> None:
    (note,) = noted(tmp_path, job_of(3))
    # Five of eight slots for ten seconds.
    assert "3 of 8 slots" in note.mechanism
    assert "50.0 s" in note.mechanism
    assert (note.remedies[0].factor, note.remedies[0].level) == ("spark.executor.instances", "2")


def test_executors_that_come_and_go_by_themselves(tmp_path: Path) -> None:
    (note,) = noted(tmp_path, job_of(3, **{"spark.dynamicAllocation.enabled": "true"}))
    assert note.remedies[0].factor == "spark.dynamicAllocation.maxExecutors"


def test_less_than_an_executor_is_not_needed(tmp_path: Path) -> None:
    assert noted(tmp_path, job_of(7)) == []


def test_one_executor_with_more_cores_than_tasks(tmp_path: Path) -> None:
    (note,) = noted(tmp_path, job_of(3, executors=1, cores=4))
    assert (note.remedies[0].factor, note.remedies[0].level) == ("spark.executor.cores", "3")


def test_all_slots_once(tmp_path: Path) -> None:
    job = job_of(2)
    job.stage([1_000] * 8)
    assert noted(tmp_path, job) == []


def test_local_mode_reserves_nothing(tmp_path: Path) -> None:
    assert noted(tmp_path, job_of(3), master="local[8]") == []
