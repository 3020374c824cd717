"""The critical path of small applications, and what the elapsed view says of them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.support.eventlog.recorded import each_log
from tests.support.tables import MS, StageSpec, World, wall

from pyrometer.accounts.ledger.elapsed.critical_path import StageTimes, critical_path
from pyrometer.accounts.ledger.elapsed.elapsed_view import MOST_STRETCHES, elapsed
from pyrometer.accounts.ledger.slot_view import slots
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


def with_a_copy(
    folder: Path, *later: dict[str, Any], ended_ms: int = 401, copy_status: str = "success"
) -> Path:
    """Three tasks on three slots; the first has a copy until 400 ms, its original is killed."""
    world = World([StageSpec([100, 100, 900])], slots=3)
    tasks = world.rows["tasks"]
    first = tasks[0]
    copy = {**first, "task_attempt_id": 3, "speculative": True}
    copy |= {"launch_wall_ns": wall(230), "finish_wall_ns": wall(400), "status": copy_status}
    tasks += [copy, *({**copy, **other} for other in later)]
    first |= {"status": "killed", "finish_wall_ns": wall(ended_ms)}
    return world.write(folder)


@pytest.mark.parametrize("ended_ms", [300, 401])
def test_a_task_that_a_copy_finished_waits_for_no_launch(tmp_path: Path, ended_ms: int) -> None:
    with Run.open(with_a_copy(tmp_path, ended_ms=ended_ms)) as run:
        scope = open_scope(run, "application")
        found, idle = elapsed(scope)[0], slots(scope)
    assert set(found.stages[0].causes) == {"slots_busy", "stage_tail"}
    assert idle is not None
    assert idle.idle_ns["waiting_to_launch"] == 0 < idle.idle_ns["stage_tail"]


def test_a_task_waits_for_a_launch_once_its_copy_has_failed_as_well(tmp_path: Path) -> None:
    launched = {"task_attempt_id": 4, "speculative": False, "status": "success"}
    launched |= {"launch_wall_ns": wall(600), "finish_wall_ns": wall(700)}
    folder = with_a_copy(tmp_path, launched, ended_ms=300, copy_status="failed")
    with Run.open(folder) as run:
        idle = slots(open_scope(run, "application"))
    assert idle is not None
    # Two of three slots are free from 400 ms, when the copy ends, to 600 ms.
    assert idle.idle_ns["waiting_to_launch"] == 2 * 200 * MS


def test_a_task_that_a_copy_finished_waits_where_the_output_was_lost(tmp_path: Path) -> None:
    lost = {"status": "failed", "reason": "Resubmitted"}
    launched = {"task_attempt_id": 4, "speculative": False}
    launched |= {"launch_wall_ns": wall(600), "finish_wall_ns": wall(700)}
    with Run.open(with_a_copy(tmp_path, lost, launched)) as run:
        causes = elapsed(open_scope(run, "application"))[0].stages[0].causes
    assert causes["waiting_to_launch"] > 0
    assert causes["stage_tail"] > 400 * MS


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


def test_gaps_in_a_query_that_never_ended_lie_in_it(tmp_path: Path) -> None:
    world = World([StageSpec([40, 30])])
    world.rows["sql_executions"][0]["end_wall_ns"] = None
    with Run.open(world.write(tmp_path)) as run:
        found, view = elapsed(open_scope(run, "application"))
    rows = {row.path: row.value_ns for row in view.rows}
    # 20 ms before its stage, and 30 ms after it until the application's end.
    assert rows["driver/in_query"] == 50 * MS
    assert rows["driver/end"] == rows["driver/between_queries"] == 0
    assert {gap.sql_id for gap in found.gaps if gap.where == "in_query"} == {0}


def test_a_path_of_many_equal_parts_is_drawn_to_its_end(tmp_path: Path) -> None:
    world = World([StageSpec([7]) for _ in range(MOST_STRETCHES)])
    with Run.open(world.write(tmp_path)) as run:
        found, _ = elapsed(open_scope(run, "application"))
    assert len(found.path) == MOST_STRETCHES
    assert (found.path[0].start_ns, found.path[-1].end_ns) == (0, found.total_ns)
    assert all(one.end_ns == after.start_ns for one, after in pairwise(found.path))


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
