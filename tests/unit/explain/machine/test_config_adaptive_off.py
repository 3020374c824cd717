from __future__ import annotations

from pathlib import Path

from tests.support.explain.planted import holds, judged, only
from tests.support.simulation.simulated import Log
from tests.support.tables import MS

from pyrometer.explain.catalogue.machine.config_adaptive_off import RULE

SETTING = "spark.sql.adaptive.enabled"


def log(read_bytes: int, run_ms: int = 1, version: str = "3.1.2", on: bool = False) -> Log:
    """A shuffle's 200 partitions, a task of 50 ms for each, on four slots."""
    made = Log(3000, **({SETTING: "true"} if on else {}))
    made.rows["apps"][0]["spark_version"] = version
    made.executor("1", 4)
    made.job(0, 0, 2600, [0])
    made.stage(0, 0, 2600, [])
    made.rows["stages"][0]["sql_id"] = 0
    for task in range(200):
        made.task(
            0, 50 * (task // 4), 50, has_metrics=True, executor_run_time_ns=run_ms * MS,
            shuffle_read_local_bytes=read_bytes, shuffle_read_records_count=1,
        )  # fmt: skip
    made.rows["sql_executions"] = [
        {"app_index": 0, "sql_id": 0, "plan_versions_count": 1, "start_wall_ns": 0}
    ]
    made.rows["plan_nodes"] = [
        {"app_index": 0, "sql_id": 0, "plan_version": 0, "is_final": True, "node_id": 0,
         "depth": 0, "name": "Exchange"}
    ]  # fmt: skip
    return made


def test_two_hundred_tasks_for_two_hundred_kilobytes(tmp_path: Path) -> None:
    found = only(log(1000).write(tmp_path), RULE)
    # 2.5 s of tasks; joined into one they need 0.2 s, and what one task costs.
    assert holds(found, 2.5 - 0.25)
    assert (found.place.stage_id, found.place.setting) == (0, SETTING)
    assert found.remedies[0].level == "true"


def test_partitions_of_a_hundred_megabytes(tmp_path: Path) -> None:
    assert judged(log(100 << 20, 49).write(tmp_path), RULE).findings == []


def test_tasks_alike_that_work(tmp_path: Path) -> None:
    found = judged(log(1000, 49).write(tmp_path), RULE).findings
    assert not any(one.shown for one in found)


def test_healthy_twin(tmp_path: Path) -> None:
    assert judged(log(1000, on=True).write(tmp_path / "set"), RULE).findings == []
    later = log(1000, version="3.5.0").write(tmp_path / "later")
    assert judged(later, RULE).findings == []
