from pathlib import Path

from tests.support.explain.explained import Job, saves
from tests.support.tables import MS

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


def test_rounds_that_read_what_the_first_cached(tmp_path: Path) -> None:
    job = Job()
    for number in range(20):
        rows = 1_000 if number == 0 else 16
        job.stage([100] * 4, gap_ms=100, name="count at loop.py:7",
                  columns=lambda _, rows=rows: {"input_records_count": rows})  # fmt: skip
    (found,) = job.found(tmp_path, RULE)
    assert "Each round read as many rows." in found.mechanism
    # The pauses, and all rounds but the one that fills the cache and one that reads it.
    assert saves(found, 19 * 100 + 18 * 100)


def test_rounds_that_read_other_rows_save_what_each_task_needs_all_the_same(tmp_path: Path) -> None:
    job = Job()
    for number in range(40):
        job.stage([20] * 8, gap_ms=50, name="parquet at loop.py:7",
                  columns=lambda _, rows=number: {"input_records_count": 100 + rows})  # fmt: skip
    (found,) = job.found(tmp_path, RULE)
    assert "as many rows" not in found.mechanism
    saving = found.saving.elapsed_ns
    # 39 pauses of 50 ms, and 38 rounds of two times 20 ms: the first may have filled a cache.
    assert saving.value is not None
    assert saving.value > 39 * 50 * MS
    assert saves(found, 0.95 * (39 * 50 + 38 * 40))
