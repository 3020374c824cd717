from pathlib import Path

from tests.support.explain.explained import Job, saves

from pyrometer.explain.catalogue.parallelism.driver_executors_late import RULE


def test_executors_that_register_after_twenty_seconds(tmp_path: Path) -> None:
    job = Job(add_ms=20_000)
    job.stage([2_000] * 8)
    (found,) = job.found(tmp_path, RULE)
    assert found.place.layer == "cluster"
    assert saves(found, 17_000 * 0.75)


def test_a_jvm_takes_some_seconds_to_start(tmp_path: Path) -> None:
    job = Job(add_ms=2_900)
    job.stage([2_000] * 8)
    assert not job.all_found(tmp_path, RULE)


def test_executors_that_were_there(tmp_path: Path) -> None:
    job = Job()
    job.stage([2_000] * 8)
    assert not job.all_found(tmp_path, RULE)
