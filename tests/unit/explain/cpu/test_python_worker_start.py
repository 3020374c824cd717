from __future__ import annotations

from pathlib import Path

from tests.support.explain.planted import (
    holds,
    job,
    judged,
    only,
    settings,
    waiting_for_workers,
    workers,
)
from tests.support.tables import World

from pyrometer.explain.catalogue.cpu.python_worker_start import RULE, STARTS


def started(world: World, ms: int) -> None:
    for number, metric in enumerate(STARTS):
        world.add(
            "node_metrics", app_index=0, sql_id=0, plan_version=0, node_id=3, metric=metric,
            accumulator_id=number, metric_type="timing", stage_id=0, stage_attempt=0,
            updates_count=8, value_sum=ms,
        )  # fmt: skip


def test_each_task_starts_a_worker(tmp_path: Path) -> None:
    world = job()
    started(world, 1600)
    settings(world, spark__python__worker__reuse="false")
    found = only(world.write(tmp_path), RULE)
    # 3.2 s on two slots, of which two of eight starts stay.
    assert holds(found, 1.6 * 0.75)
    assert found.remedies[0].factor == "spark.python.worker.reuse"


def test_workers_are_kept(tmp_path: Path) -> None:
    world = job()
    started(world, 1600)
    assert judged(world.write(tmp_path), RULE).findings == []


def test_imports_of_workers_that_are_kept(tmp_path: Path) -> None:
    world = waiting_for_workers()
    workers(world, imports=3200, function=3200)
    (found,) = judged(world.write(tmp_path), RULE).findings
    # Half of the wait and the queue, and a leaner module leaves out 0.1 to 0.8 of it.
    assert holds(found, 4 * 0.85 * 0.5 * 0.45)


def test_healthy_twin(tmp_path: Path) -> None:
    world = job()
    settings(world, spark__python__worker__reuse="false")
    assert judged(world.write(tmp_path), RULE).findings == []
