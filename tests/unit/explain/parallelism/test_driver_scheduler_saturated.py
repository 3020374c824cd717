from pathlib import Path
from typing import Any

from tests.support.explain.explained import Job, saves
from tests.support.tables import MS

from pyrometer.explain.catalogue.parallelism.driver_scheduler_saturated import RULE


def _run(ms: int) -> dict[str, Any]:
    return {"executor_run_time_ns": ms * MS}


def test_tasks_that_wait_longer_the_more_there_are(tmp_path: Path) -> None:
    job = Job()
    # A fifth wait 2 ms, the others 52 ms.
    lengths = [12 if n % 5 == 0 else 62 for n in range(400)]
    job.stage(lengths, columns=lambda n: _run(10))
    (found,) = job.found(tmp_path, RULE)
    assert found.place.layer == "driver"
    assert saves(found, 320 * 50 / 4 * 0.99)


def test_of_many_stages_that_just_fill_the_slots_none_has_too_many_tasks(tmp_path: Path) -> None:
    job = Job()
    for _ in range(40):
        job.stage([12 if n % 5 == 0 else 62 for n in range(10)], columns=lambda n: _run(10))
    (found,) = job.found(tmp_path, RULE)
    assert [one.factor for one in found.remedies] == ["spark.driver.cores"]


def test_a_delay_that_every_task_has(tmp_path: Path) -> None:
    job = Job()
    job.stage([15] * 400, columns=lambda n: _run(10))
    assert not job.found(tmp_path, RULE)


def test_tasks_that_run_all_the_time(tmp_path: Path) -> None:
    job = Job()
    job.stage([60] * 400)
    assert not job.found(tmp_path, RULE)


def test_partitions_of_a_shuffle_do_not_divide_files(tmp_path: Path) -> None:
    job = Job()
    query = job.query(0, 10_000)
    lengths = [12 if n % 5 == 0 else 62 for n in range(400)]
    job.stage(lengths, sql=query, columns=lambda n: {**_run(10), "input_bytes": 1_000})
    (found,) = job.found(tmp_path, RULE)
    assert "read the files in about 12 parts" in found.remedies[0].text
