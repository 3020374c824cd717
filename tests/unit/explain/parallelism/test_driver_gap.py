from pathlib import Path

from tests.support.explain.explained import Job, saves

from pyrometer.explain.catalogue.parallelism.driver_gap import RULE


def _job(gap_ms: int) -> Job:
    job = Job()
    job.stage([1_000] * 8, name="count at a.py:3")
    job.stage([1_000] * 8, gap_ms=gap_ms, name="count at a.py:9")
    return job


def test_the_drivers_code_between_two_lines(tmp_path: Path) -> None:
    (found,) = _job(5_000).found(tmp_path, RULE)
    assert found.place.source == "between count at a.py:3 and count at a.py:9"
    assert saves(found, 4_500)


def test_a_query_that_is_being_planned_is_no_code_of_the_user(tmp_path: Path) -> None:
    job = Job()
    job.stage([1_000] * 8)
    sql = job.query(2_010, 9_010)
    job.stage([1_000] * 8, gap_ms=5_000, sql=sql)
    assert not job.found(tmp_path, RULE)


def test_jobs_one_upon_the_other(tmp_path: Path) -> None:
    assert not _job(100).found(tmp_path, RULE)
