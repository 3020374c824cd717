"""Attempts that were lost with their executor."""

from pathlib import Path

import pytest
from tests.support.explain.explained import Job, ended, saves
from tests.support.tables import wall

from pyrometer.explain.catalogue.parallelism.retries_executor_lost import RULE
from pyrometer.store import Run


def test_attempts_that_were_lost_with_their_executor(tmp_path: Path) -> None:
    job = ended("ExecutorLostFailure")
    job.log.rows["executors"][0].update(
        remove_wall_ns=wall(3_000), remove_reason="Container killed by YARN: exit code 137"
    )
    (found,) = job.found(tmp_path, RULE)
    assert "exit code 137" in found.mechanism
    assert found.place.executor == "executor 1"
    # Twice the tenth of 4 GiB that Spark takes.
    assert found.remedies[0].factor == "spark.executor.memoryOverhead"
    assert found.remedies[0].level == "818m"
    assert saves(found, 3_000)


def test_the_place_of_an_executor_is_empty_until_another_has_started(tmp_path: Path) -> None:
    job = Job(executors=2, cores=1)
    gone = {"remove_wall_ns": wall(3_600), "remove_reason": "Command exited with code 137"}
    job.log.rows["executors"][0].update(gone)
    job.log.executor("3", 1, 10_000)
    lost = {"status": "failed", "reason": "ExecutorLostFailure", "has_metrics": False}
    for index, executor, start, took, own in (
        (0, "1", 0, 3_500, lost), (1, "2", 0, 4_000, {}), (2, "2", 4_000, 4_000, {}),
        (3, "2", 8_000, 4_000, {}), (0, "3", 10_000, 4_000, {"attempt": 1}),
    ):  # fmt: skip
        job.log.task(0, start, took, **{
            "task_index": index, "executor_id": executor, "host": f"host-{executor}",
            "has_metrics": True, "executor_run_time_ns": took * 1_000_000, **own,
        })  # fmt: skip
    job.log.stage(0, 0, 14_000, [])
    job.log.job(0, 0, 14_000, [0])
    job.log.rows["stages"][-1].update(job_id=0, planned_tasks_count=4)
    job.now_ms = 14_000
    (found,) = job.found(tmp_path, RULE)
    # Four tasks of 4 s on two slots.
    assert saves(found, 14_000 - 8_000)


@pytest.mark.parametrize(
    ("reason", "remedy"),
    [
        ("Command exited with code 137", "spark.executor.memoryOverhead"),
        (
            "The executor with id 1 exited with exit code 137(SIGKILL)",
            "spark.executor.memoryOverhead",
        ),
        ("spot instance: node terminated", "spark.decommission.enabled"),
        ("Executor heartbeat timed out after 137 s", None),
        ("Executor decommission: its host goes away", "spark.decommission.enabled"),
        ("Java HotSpot(TM) 64-Bit Server VM crashed", None),
    ],
)
def test_the_remedy_fits_the_reason(tmp_path: Path, reason: str, remedy: str | None) -> None:
    job = ended("ExecutorLostFailure")
    job.log.rows["executors"][0].update(remove_wall_ns=wall(3_000), remove_reason=reason)
    given_back = "Executor killed by driver."
    job.log.executor("3", 2, remove_wall_ns=wall(1_000), remove_reason=given_back)
    (found,) = job.found(tmp_path, RULE)
    assert "1 executor was lost" in found.mechanism
    assert found.remedies[0].factor == remedy
    with Run.open(tmp_path) as run:
        assert run.tables.query(found.evidence[1].query or "") == [(1,)]


def test_an_idle_executor_that_was_given_back(tmp_path: Path) -> None:
    job = Job()
    job.stage([2_000] * 8)
    job.log.rows["executors"][0].update(
        remove_wall_ns=wall(3_999), remove_reason="Executor killed by driver."
    )
    assert not job.all_found(tmp_path, RULE)


def test_a_job_without_failures(tmp_path: Path) -> None:
    job = Job()
    job.stage([2_000] * 8)
    assert not job.all_found(tmp_path, RULE)
