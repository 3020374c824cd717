"""Partitions that were computed again because a fetch failed."""

from pathlib import Path

from tests.support.explain.explained import Job, saves

from pyrometer.explain.catalogue.parallelism.retries_fetch_failed import RULE


def _again() -> Job:
    """One job: a stage of 8 tasks, and a second attempt of it that runs all of them again."""
    job = Job()
    job.stage([1_000] * 8)
    job.log.rows["stages"][-1]["planned_tasks_count"] = 8
    job.stage([2_000] * 8)
    stage = job.log.rows["stages"][-1]
    stage.update(stage_id=0, stage_attempt=1, planned_tasks_count=8)
    for task in job.log.rows["tasks"]:
        if task["stage_id"] == 1:
            task.update(stage_id=0, stage_attempt=1)
    last = job.log.rows["jobs"].pop()
    job.log.rows["jobs"][0]["end_wall_ns"] = last["end_wall_ns"]
    job.log.rows["stages"][0]["status"] = "failed"
    return job


def test_partitions_that_were_computed_again(tmp_path: Path) -> None:
    (found,) = _again().found(tmp_path, RULE)
    assert (found.place.stage_id, found.place.stage_attempt) == (0, 1)
    assert saves(found, 4_000)


def test_partitions_that_had_not_run_before(tmp_path: Path) -> None:
    job = _again()
    job.log.rows["stages"][0]["planned_tasks_count"] = 16
    job.log.rows["stages"][1]["planned_tasks_count"] = 16
    assert not job.all_found(tmp_path, RULE)


def test_a_job_without_failures(tmp_path: Path) -> None:
    job = Job()
    job.stage([2_000] * 8)
    assert not job.all_found(tmp_path, RULE)
