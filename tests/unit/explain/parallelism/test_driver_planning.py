from pathlib import Path

from tests.support.explain.explained import Job, saves

from pyrometer.explain.catalogue.parallelism.driver_planning import RULE


def _job(planned_ms: int) -> Job:
    job = Job()
    first = job.query(0, 2_600)
    job.stage([1_000] * 8, gap_ms=500, sql=first)
    second = job.query(2_600, 4_600 + planned_ms, [("Project", "Project")] * 40)
    job.stage([1_000] * 8, gap_ms=planned_ms + 100, sql=second)
    return job


def test_a_query_that_is_planned_for_six_seconds(tmp_path: Path) -> None:
    (found,) = _job(6_000).found(tmp_path, RULE)
    assert found.place.sql_id == 1
    assert "40 operators" in found.mechanism
    assert saves(found, 5_000)


def test_the_first_query_of_a_jvm_loads_classes(tmp_path: Path) -> None:
    job = Job()
    job.stage([1_000] * 8, gap_ms=1_700, sql=job.query(0, 3_700))
    assert not job.found(tmp_path, RULE)


def test_planning_as_usual(tmp_path: Path) -> None:
    assert not _job(600).found(tmp_path, RULE)


def test_a_driver_that_had_no_cpu_does_not_plan(tmp_path: Path) -> None:
    job = _job(6_000)
    job.driver(2_500, 8_600, spark=0.05, waited=0.9)
    assert not job.found(tmp_path, RULE)
