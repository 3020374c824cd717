from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.explain.planted import (
    S,
    holds,
    in_a_row,
    job,
    judged,
    only,
    settings,
    waiting_for_workers,
    workers,
)
from tests.support.tables import MS, World

from pyrometer.accounts.window import open_scope
from pyrometer.explain.catalogue.cpu import python_instead_of_builtin
from pyrometer.explain.catalogue.cpu.python_worker_start import RULE
from pyrometer.explain.evidence.python.starts import RUN, STARTS
from pyrometer.explain.findings import explained
from pyrometer.store import Run
from pyrometer.summary.summary import summarise


def started(world: World, ms: int, ran_ms: int = 0, stage: int = 0) -> None:
    times = {**dict.fromkeys(STARTS, ms), RUN: ran_ms}
    for number, (metric, value) in enumerate(times.items()):
        world.add(
            "node_metrics", app_index=0, sql_id=0, plan_version=0, node_id=3, metric=metric,
            accumulator_id=10 * stage + number, metric_type="timing", stage_id=stage,
            stage_attempt=0, updates_count=8, value_sum=value,
        )  # fmt: skip


def test_each_task_starts_a_worker(tmp_path: Path) -> None:
    world = job()
    started(world, 1600)
    settings(world, spark__python__worker__reuse="false")
    found = only(world.write(tmp_path), RULE)
    # 3.2 s on two slots, of which two of eight starts stay.
    assert holds(found, 1.6 * 0.75)
    assert found.remedies[0].factor == "spark.python.worker.reuse"


@pytest.mark.parametrize(("apart_ms", "again"), [(20, 3 * 1.6 - 0.4), (61_000, 3 * 1.2)])
def test_a_worker_stays_for_the_next_stage(tmp_path: Path, apart_ms: int, again: float) -> None:
    world = in_a_row(3, apart_ms)
    for stage in range(3):
        started(world, 1600, stage=stage)
    settings(world, spark__python__worker__reuse="false")
    (found,) = judged(world.write(tmp_path), RULE).findings
    # Two of eight starts stay, of the first stage alone or, after a minute without a task, of each.
    assert found.saving.elapsed_ns.value == pytest.approx(again * S, rel=0.01)


def test_what_starts_cost_is_not_the_functions(tmp_path: Path) -> None:
    world = waiting_for_workers()
    workers(world, serialisation=6000, function=400)
    started(world, 2800, ran_ms=7000)
    settings(world, spark__python__worker__reuse="false")
    with Run.open(world.write(tmp_path)) as run:
        scope = open_scope(run, None)
        rules = [python_instead_of_builtin.RULE, RULE]
        start, function = explained(scope, summarise(scope), rules=rules).findings
    assert (start.code, function.code) == (RULE.code, "python.instead-of-builtin")
    assert start.shown
    assert holds(start, 2.8 * 0.75)
    # Six of eight starts take 60 % of what workers do; 40 % of it the function has, at most.
    assert (function.saving.elapsed_ns.high or 0) < 4 * 0.4 * 1.05 * S
    assert "60.0 % of the workers' is their start in each task" in function.mechanism


def test_near_miss_workers_that_another_application_starts(tmp_path: Path) -> None:
    world = job()
    started(world, 1600)
    for row in world.rows["node_metrics"]:
        row["app_index"] = 1
    settings(world, spark__python__worker__reuse="false")
    assert judged(world.write(tmp_path), RULE).findings == []


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
    spent = found.evidence[0].estimate
    assert spent.n * 10 * MS == spent.value  # a sample each 10 ms, those of the function left out


def test_healthy_twin(tmp_path: Path) -> None:
    world = job()
    settings(world, spark__python__worker__reuse="false")
    assert judged(world.write(tmp_path), RULE).findings == []
