from __future__ import annotations

from pathlib import Path

from tests.support.explain.explained import Job
from tests.support.explain.planted import judged

from pyrometer.explain.catalogue.machine.config_too_many_slots import RULE
from pyrometer.explain.schema import Note
from pyrometer.store import Run


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


def test_a_task_takes_several_cores(tmp_path: Path) -> None:
    (note,) = noted(tmp_path, job_of(3, executors=1, cores=8, **{"spark.task.cpus": "2"}))
    assert "3 of 4 slots" in note.mechanism
    assert (note.remedies[0].factor, note.remedies[0].level) == ("spark.executor.cores", "6")


def _with_a_stage_of_no_tasks(planned: int) -> Job:
    job = job_of(3)
    job.stage([1_000] * 8)
    job.log.rows["tasks"] = [row for row in job.log.rows["tasks"] if row["stage_id"] == 0]
    job.log.rows["stages"][1]["planned_tasks_count"] = planned
    return job


def test_tasks_that_the_log_lost_may_have_used_all_slots(tmp_path: Path) -> None:
    assert noted(tmp_path, _with_a_stage_of_no_tasks(planned=8)) == []


def test_a_stage_that_had_no_tasks_hides_none(tmp_path: Path) -> None:
    (note,) = noted(tmp_path, _with_a_stage_of_no_tasks(planned=0))
    assert "3 of 8 slots" in note.mechanism


def test_evidence_is_of_the_application_that_is_explained(tmp_path: Path) -> None:
    job = job_of(3)
    for rows in job.log.rows.values():
        other = {**rows[0], "app_index": 0}
        for row in rows:
            row["app_index"] = 1
        rows.append(other)
    end = job.log.rows["stages"][0]["complete_wall_ns"]
    job.log.rows["apps"][1].update(app_id="b", end_wall_ns=end)
    (note,) = noted(tmp_path, job)
    with Run.open(tmp_path) as run:
        tasks, executors = (run.tables.query(one.query or "") for one in note.evidence)
    assert (tasks, executors) == ([(3,)], [(8,)])


def test_all_slots_once(tmp_path: Path) -> None:
    job = job_of(2)
    job.stage([1_000] * 8)
    assert noted(tmp_path, job) == []


def test_local_mode_reserves_nothing(tmp_path: Path) -> None:
    assert noted(tmp_path, job_of(3), master="local[8]") == []
