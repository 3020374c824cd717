"""The critical path of small applications, and what the elapsed view says of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.eventlogs import each_log
from tests.support.tables import MS, StageSpec, World, wall

from pyrometer.accounts.ledger.elapsed.critical_path import StageTimes, critical_path
from pyrometer.accounts.ledger.elapsed.elapsed_view import elapsed
from pyrometer.accounts.window import open_scope
from pyrometer.store import Run

S = 1_000_000_000


def path(stages: list[StageTimes], end: int) -> list[tuple[int, int, int | None]]:
    found = critical_path(stages, 0, end * S)
    return [(one.start // S, one.end // S, one.stage) for one in found]


def test_of_two_parents_the_later_one_is_on_the_path() -> None:
    quick, slow = StageTimes(0, 4 * S, 0, 4 * S), StageTimes(0, 9 * S, 0, 9 * S)
    child = StageTimes(9 * S, 12 * S, 9 * S, 12 * S, parents=(0, 1))
    assert path([quick, slow, child], 12) == [(0, 9, 1), (9, 12, 2)]


def test_a_stage_of_another_thread_does_not_take_the_place_of_a_parent() -> None:
    parent = StageTimes(0, 4 * S, 0, 4 * S)
    beside = StageTimes(1 * S, 20 * S, 1 * S, 20 * S)
    child = StageTimes(5 * S, 21 * S, 5 * S, 21 * S, parents=(0,))
    assert path([parent, beside, child], 21) == [(0, 4, 0), (4, 5, None), (5, 21, 2)]


def test_a_parent_of_an_earlier_job_was_not_waited_for() -> None:
    kept = StageTimes(0, 2 * S, 0, 2 * S)
    child = StageTimes(8 * S, 9 * S, 8 * S, 9 * S, parents=(0,), job_submit=8 * S)
    assert path([kept, child], 9) == [(0, 2, 0), (2, 8, None), (8, 9, 1)]


def test_time_before_the_first_task_belongs_to_the_stage_that_had_the_slots() -> None:
    holder = StageTimes(0, 8 * S, 0, 8 * S)
    waiter = StageTimes(1 * S, 10 * S, 8 * S, 10 * S)
    assert path([holder, waiter], 10) == [(0, 8, 0), (8, 10, 1)]


def test_what_runs_where_nothing_just_ended_is_on_the_path() -> None:
    beside = StageTimes(0, 10 * S, 0, 10 * S)
    later = StageTimes(5 * S, 12 * S, 5 * S, 12 * S)
    assert path([beside, later], 12) == [(0, 5, 0), (5, 12, 1)]


def two_tasks_on_four_slots(folder: Path) -> Path:
    return World([StageSpec([40, 30]), StageSpec([900, 100])], slots=4).write(folder)


def test_a_stage_of_two_tasks_says_so_and_names_the_last_task(tmp_path: Path) -> None:
    with Run.open(two_tasks_on_four_slots(tmp_path)) as run:
        found, view = elapsed(open_scope(run, None))
    stage = found.stages[0]
    assert stage.stage_id == 1
    assert max(stage.causes, key=lambda cause: stage.causes[cause]) == "too_few_tasks"
    assert (stage.tasks_count, stage.slots_count) == (2, 4)
    assert stage.last_task is not None
    assert stage.last_task.duration_ns >= 900 * MS > 100 * MS
    assert view.closure_ratio == 0


def test_waiting_for_the_first_executor_is_a_row(tmp_path: Path) -> None:
    world = World([StageSpec([40, 30])])
    late = world.rows["stages"][0]["submit_wall_ns"]
    for row in world.rows["executors"]:
        row["add_wall_ns"] = late - 20 * MS
    world.rows["apps"][0]["start_wall_ns"] = wall(0)
    with Run.open(world.write(tmp_path)) as run:
        found, view = elapsed(open_scope(run, "application"))
    rows = {row.path: row.value_ns for row in view.rows}
    assert rows["executors/before_the_first_query"] == late - 20 * MS - wall(0)
    assert found.executors_ns == rows["executors"]


def test_executors_that_idled_away_are_not_waited_for(tmp_path: Path) -> None:
    world = World([StageSpec([40, 30], gap_ms=500)])
    submitted = world.rows["stages"][0]["submit_wall_ns"]
    first = world.rows["executors"][0]
    first["add_wall_ns"], first["remove_wall_ns"] = wall(10), wall(50)
    later = {**first, "executor_id": "2", "add_wall_ns": submitted, "remove_wall_ns": None}
    world.rows["executors"].append(later)
    world.rows["apps"][0]["start_wall_ns"] = wall(0)
    with Run.open(world.write(tmp_path)) as run:
        found, view = elapsed(open_scope(run, "application"))
    rows = {row.path: row.value_ns for row in view.rows}
    assert rows["executors/before_the_first_query"] == 10 * MS
    assert rows["driver/start"] == 90 * MS
    assert [gap.where for gap in found.gaps[:2]] == ["in_query", "start"]


def test_executors_later_than_the_first_task_are_not_believed(tmp_path: Path) -> None:
    world = World([StageSpec([400, 300])])
    for row in world.rows["executors"]:
        row["add_wall_ns"] = world.rows["stages"][0]["complete_wall_ns"]
    with Run.open(world.write(tmp_path)) as run:
        found, view = elapsed(open_scope(run, "application"))
    assert found.executors_ns == 0
    assert set(found.stages[0].causes) == {"running"}
    assert view.closure_ratio == 0


def test_a_log_that_lost_its_tasks_does_not_blame_executors(tmp_path: Path) -> None:
    world = World([StageSpec([400, 300])])
    world.rows["tasks"].clear()
    with Run.open(world.write(tmp_path)) as run:
        found, _ = elapsed(open_scope(run, "application"))
    assert set(found.stages[0].causes) == {"running"}


def test_a_run_without_an_application_says_why(tmp_path: Path) -> None:
    world = World([StageSpec([10])])
    for table in ("apps", "jobs", "stages", "tasks", "sql_executions", "executors"):
        world.rows.pop(table, None)
    with Run.open(world.write(tmp_path)) as run:
        found, view = elapsed(open_scope(run, None))
    assert found.total_ns is None
    assert "no Spark application" in (found.reason or "")
    assert view.reason == found.reason


@pytest.mark.parametrize("log", each_log())
def test_every_recorded_log_closes(log: Path) -> None:
    with Run.open(log) as run:
        scope = open_scope(run, None)
        found, view = elapsed(scope)
        if view.total_ns is None:
            assert view.reason
            return
        assert view.closure_ratio == 0
        assert found.executors_ns + found.stages_ns + found.driver_ns == found.total_ns
        # What no stage ran in is never counted as a stage: held against the sweep over slots.
        assert found.total_ns == scope.window.length_ns
