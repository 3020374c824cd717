from pathlib import Path
from typing import Any

from tests.support.explain.explained import Job, saves
from tests.support.tables import MS, wall

from pyrometer.explain.catalogue.parallelism.partitioning_locality_wait import RULE


def _job(wait: str) -> Job:
    """Eight tasks whose data are on one host; on the other they begin when the wait is over."""
    conf: dict[str, Any] = {"spark.locality.wait": wait}
    job = Job(**conf)
    held = 0 if wait == "0s" else 3_000
    done = 0
    for number in range(8):
        near = number % 4 < 2
        start = (number // 4) * 2_000 if near else held + (number // 4) * 2_000
        executor = "1" if near else "2"
        job.log.task(
            0, start, 2_000, executor_id=executor, host=f"host-{executor}", has_metrics=True,
            task_index=number, executor_run_time_ns=2_000 * MS,
            locality="NODE_LOCAL" if near else "ANY",
        )  # fmt: skip
        done = max(done, start + 2_000)
    job.log.stage(0, 0, done, [])
    job.log.job(0, 0, done, [0])
    job.log.rows["stages"][-1].update(job_id=0, planned_tasks_count=8)
    job.now_ms = done
    assert job.log.rows["stages"][-1]["complete_wall_ns"] == wall(done)
    return job


def test_slots_stand_idle_for_three_seconds(tmp_path: Path) -> None:
    (found,) = _job("3s").found(tmp_path, RULE)
    assert found.place.setting == "spark.locality.wait"
    assert saves(found, 3_000)


def test_no_wait_is_set(tmp_path: Path) -> None:
    assert not _job("0s").all_found(tmp_path, RULE)


def test_data_on_all_hosts(tmp_path: Path) -> None:
    job = Job()
    job.stage([2_000] * 8, columns=lambda n: {"locality": "NODE_LOCAL"})
    assert not job.found(tmp_path, RULE)
