from pathlib import Path

from tests.support.explain.explained import Job, saves

from pyrometer.explain.catalogue.parallelism.driver_executors_late import RULE
from pyrometer.explain.schema import Finding


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


def test_without_settings_the_smaller_saving_counts(tmp_path: Path) -> None:
    def late(conf: str | None, name: str) -> Finding:
        job = Job(add_ms=10_000, **{"spark.dynamicAllocation.enabled": "true"})
        job.log.executor("3", 2, 20_000)
        job.stage([2_000] * 40)
        if conf is not None:
            job.log.rows["apps"][0]["spark_conf"] = conf
        (found,) = job.all_found(tmp_path / name, RULE)
        return found

    known, lost = late(None, "known"), late("{}", "lost")
    assert lost.saving.elapsed_ns == known.saving.elapsed_ns
    assert "whether dynamic allocation was on is not known" in lost.mechanism
    assert [one.kind for one in lost.remedies] == ["factor", "machine"]
    assert [one.kind for one in known.remedies] == ["factor"]
