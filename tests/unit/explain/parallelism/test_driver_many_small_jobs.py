from pathlib import Path

from tests.support.explain.explained import Job, saves

from pyrometer.explain.catalogue.parallelism.driver_many_small_jobs import RULE


def test_a_loop_of_twenty_jobs(tmp_path: Path) -> None:
    job = Job()
    for _ in range(20):
        job.stage([100] * 4, gap_ms=300, name="count at loop.py:7")
    (found,) = job.found(tmp_path, RULE)
    assert found.place.source == "count at loop.py:7"
    assert saves(found, 19 * 300)


def test_as_many_jobs_of_different_lines(tmp_path: Path) -> None:
    job = Job()
    for number in range(20):
        job.stage([100] * 4, gap_ms=300, name=f"count at once.py:{number}")
    assert not job.all_found(tmp_path, RULE)


def test_rounds_without_a_pause(tmp_path: Path) -> None:
    job = Job()
    for _ in range(20):
        job.stage([1_000] * 4, gap_ms=1, name="count at loop.py:7")
    assert not job.found(tmp_path, RULE)
