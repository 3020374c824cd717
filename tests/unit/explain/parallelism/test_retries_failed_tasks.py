"""Attempts of tasks that failed and were run again."""

from pathlib import Path

from tests.support.explain.explained import Job, ended, saves

from pyrometer.explain.catalogue.parallelism.retries_failed_tasks import RULE


def test_attempts_that_failed_and_were_run_again(tmp_path: Path) -> None:
    (found,) = ended("ExceptionFailure").found(tmp_path, RULE)
    assert found.place.stage_id == 0
    assert "no such file" in found.mechanism
    assert saves(found, 3_000)


def test_the_loss_of_an_executor_is_no_failure_of_its_tasks(tmp_path: Path) -> None:
    assert not ended("ExecutorLostFailure").all_found(tmp_path, RULE)


def test_a_job_without_failures(tmp_path: Path) -> None:
    job = Job()
    job.stage([2_000] * 8)
    assert not job.all_found(tmp_path, RULE)
