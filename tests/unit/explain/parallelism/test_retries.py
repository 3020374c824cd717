"""Failures of tasks, of fetches and of executors, and copies in vain."""

from pathlib import Path

import pytest
from tests.support.explained import Job, saves
from tests.support.tables import wall

from pyrometer.explain.catalogue.parallelism.retries_executor_lost import RULE as EXECUTOR_LOST
from pyrometer.explain.catalogue.parallelism.retries_failed_tasks import RULE as FAILED
from pyrometer.explain.catalogue.parallelism.retries_fetch_failed import RULE as FETCH_FAILED
from pyrometer.explain.catalogue.parallelism.retries_speculation import RULE as SPECULATION
from pyrometer.explain.rule import Rule

ALL = (FAILED, FETCH_FAILED, EXECUTOR_LOST, SPECULATION)


def _ended(reason: str, status: str = "failed", **columns: object) -> Job:
    """Four tasks fail after 3 s, their partitions are run again for 2 s."""
    job = Job()
    own = {"status": status, "reason": reason, "error": "no such file\nat line 3", **columns}
    job.stage(
        [3_000] * 4 + [2_000] * 4,
        columns=lambda n: {"task_index": n % 4, "attempt": n // 4, **(own if n < 4 else {})},
    )
    job.log.rows["stages"][-1]["planned_tasks_count"] = 4
    return job


def test_attempts_that_failed_and_were_run_again(tmp_path: Path) -> None:
    (found,) = _ended("ExceptionFailure").found(tmp_path, FAILED)
    assert found.place.stage_id == 0
    assert "no such file" in found.mechanism
    assert saves(found, 3_000)


def test_attempts_that_were_lost_with_their_executor(tmp_path: Path) -> None:
    job = _ended("ExecutorLostFailure")
    job.log.rows["executors"][0].update(
        remove_wall_ns=wall(3_000), remove_reason="Container killed by YARN: exit code 137"
    )
    (found,) = job.found(tmp_path, EXECUTOR_LOST)
    assert "exit code 137" in found.mechanism
    assert found.place.executor == "executor 1"
    assert found.remedies[0].factor == "spark.executor.memoryOverheadFactor"
    assert saves(found, 3_000)


def test_the_loss_of_an_executor_is_no_failure_of_its_tasks(tmp_path: Path) -> None:
    assert not _ended("ExecutorLostFailure").all_found(tmp_path, FAILED)


def test_an_idle_executor_that_was_given_back(tmp_path: Path) -> None:
    job = Job()
    job.stage([2_000] * 8)
    job.log.rows["executors"][0].update(
        remove_wall_ns=wall(3_999), remove_reason="Executor killed by driver."
    )
    assert not job.all_found(tmp_path, EXECUTOR_LOST)


def test_copies_in_vain_hold_slots(tmp_path: Path) -> None:
    job = _ended("TaskKilled", "killed", speculative=True)
    (found,) = job.found(tmp_path, SPECULATION)
    assert found.place.setting == "spark.speculation"
    assert saves(found, 3_000)


def test_a_copy_that_won_was_not_in_vain(tmp_path: Path) -> None:
    job = Job()
    job.stage([3_000] * 8, columns=lambda n: {"speculative": n == 7})
    assert not job.all_found(tmp_path, SPECULATION)


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
    (found,) = _again().found(tmp_path, FETCH_FAILED)
    assert (found.place.stage_id, found.place.stage_attempt) == (0, 1)
    assert saves(found, 4_000)


def test_partitions_that_had_not_run_before(tmp_path: Path) -> None:
    job = _again()
    job.log.rows["stages"][0]["planned_tasks_count"] = 16
    job.log.rows["stages"][1]["planned_tasks_count"] = 16
    assert not job.all_found(tmp_path, FETCH_FAILED)


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.code)
def test_a_job_without_failures(tmp_path: Path, rule: Rule) -> None:
    job = Job()
    job.stage([2_000] * 8)
    assert not job.all_found(tmp_path, rule)
