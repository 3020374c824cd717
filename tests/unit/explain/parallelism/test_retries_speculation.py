"""Copies in vain."""

from pathlib import Path

from tests.support.explain.explained import Job, ended, saves

from pyrometer.explain.catalogue.parallelism.retries_speculation import RULE


def test_copies_in_vain_hold_slots(tmp_path: Path) -> None:
    job = ended("TaskKilled", "killed", speculative=True)
    (found,) = job.found(tmp_path, RULE)
    assert found.place.setting == "spark.speculation"
    assert saves(found, 3_000)


def test_a_copy_that_won_was_not_in_vain(tmp_path: Path) -> None:
    job = Job()
    job.stage([3_000] * 8, columns=lambda n: {"speculative": n == 7})
    assert not job.all_found(tmp_path, RULE)


def test_a_job_without_failures(tmp_path: Path) -> None:
    job = Job()
    job.stage([2_000] * 8)
    assert not job.all_found(tmp_path, RULE)
