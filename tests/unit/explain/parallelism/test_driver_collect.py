from pathlib import Path

from tests.support.explain.explained import Job, saves
from tests.support.tables import MS

from pyrometer.explain.catalogue.parallelism.driver_collect import RULE


def _job(after_ms: int, size: int, serialised_ms: int) -> Job:
    job = Job()
    sql = job.query(0, 2_100 + after_ms)
    job.stage(
        [1_000] * 8,
        gap_ms=100,
        sql=sql,
        columns=lambda n: {
            "result_size_bytes": size,
            "result_serialization_time_ns": serialised_ms * MS,
        },
    )
    job.now_ms += after_ms
    return job


def test_results_that_the_driver_decodes_for_three_seconds(tmp_path: Path) -> None:
    (found,) = _job(3_000, 50_000_000, 400).found(tmp_path, RULE)
    assert (found.place.layer, found.place.stage_id) == ("driver", 0)
    # Two rounds of tasks, 0.4 s each, and what the driver did.
    assert saves(found, 3_000 + 800)


def test_a_pause_after_a_few_bytes_is_not_the_result(tmp_path: Path) -> None:
    assert not _job(3_000, 1_000, 0).found(tmp_path, RULE)


def test_small_results(tmp_path: Path) -> None:
    assert not _job(5, 1_000, 1).found(tmp_path, RULE)


def test_parts_that_a_line_fetches_one_after_another_are_one_finding(tmp_path: Path) -> None:
    job = Job()
    for _ in range(6):
        sql = job.query(job.now_ms, job.now_ms + 1_600)
        job.stage([500], gap_ms=100, sql=sql, name="toLocalIterator at report.py:9",
                  columns=lambda _: {"result_size_bytes": 20_000_000})  # fmt: skip
        job.now_ms += 1_000
    (found,) = job.found(tmp_path, RULE)
    assert "114 MiB of results went to the driver in 6 jobs of the line" in found.mechanism
    assert found.place.stages_count == 6
    assert saves(found, 6 * 800)
