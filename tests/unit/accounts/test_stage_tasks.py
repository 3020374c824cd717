"""Tasks of stages: quantiles as Spark's page has them, the slowest, sums by place."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.tables import MS, StageSpec, World

from pyrometer.accounts import stage_tasks
from pyrometer.accounts.schema import Stage
from pyrometer.store import Run
from pyrometer.summary.summary import summary


def stages_of(world: World, folder: Path) -> list[Stage]:
    with Run.open(world.write(folder)) as run:
        return summary(run).stages


@pytest.fixture
def world() -> World:
    made = World([StageSpec([40, 30, 50, 20, 900]), StageSpec([10, 20, 30])])
    for number, task in enumerate(made.rows["tasks"]):
        task |= {"executor_id": str(number % 2), "host": "a"}
    return made


def test_quantiles_are_values_that_tasks_had(world: World, tmp_path: Path) -> None:
    stage = stages_of(world, tmp_path)[0]
    assert stage.tasks is not None
    found = {q.measure: q for q in stage.tasks.quantiles}
    run = found["executor_run_time_ns"]
    assert [run.min, run.p25, run.median, run.p75, run.max] == [
        20 * MS, 30 * MS, 40 * MS, 50 * MS, 900 * MS,
    ]  # fmt: skip
    # Duration less run time and deserialisation: 2 ms before, 1 ms after.
    assert found["scheduler_delay_ns"].median == 3 * MS
    assert "disk_spilled_bytes" not in found, "what is 0 in every task is no row"


def test_the_slowest_tasks_come_with_their_place(world: World, tmp_path: Path) -> None:
    tasks = stages_of(world, tmp_path)[0].tasks
    assert tasks is not None
    first = tasks.slowest[0]
    assert (first.task_index, first.executor_id, first.duration_ns) == (4, "0", 904 * MS)
    assert len(tasks.slowest) == 5


def test_groups_add_up_to_the_stage_and_count_failures(world: World, tmp_path: Path) -> None:
    world.rows["tasks"][1]["status"] = "failed"
    stage = stages_of(world, tmp_path)[0]
    assert stage.tasks is not None
    by = {g.executor_id: g for g in stage.tasks.executors}
    assert (by["0"].tasks_count, by["0"].max_ns, by["0"].failed_tasks_count) == (3, 904 * MS, 0)
    assert (by["1"].tasks_count, by["1"].failed_tasks_count) == (1, 1)
    (host,) = stage.tasks.hosts
    sums = sum(g.executor_run_time_ns or 0 for g in stage.tasks.executors)
    assert sums == host.executor_run_time_ns == stage.totals["executor_run_time_ns"]


def test_only_the_longest_stages_have_tasks_and_groups_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World([StageSpec([10] * 30), StageSpec([5]), StageSpec([50])])
    for number, task in enumerate(world.rows["tasks"]):
        task["executor_id"] = f"x{number}"
    monkeypatch.setattr(stage_tasks, "MAX_STAGES", 2)
    found = {s.stage_id: s.tasks for s in stages_of(world, tmp_path)}
    assert [stage for stage, tasks in found.items() if tasks is None] == [1]
    tasks = found[0]
    assert tasks is not None
    assert (len(tasks.executors), tasks.executors_count) == (stage_tasks.MAX_GROUPS, 30)
