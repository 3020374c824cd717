"""Parts of the ledger: they add up to the whole, stay within it, and lose what is taken away."""

from __future__ import annotations

import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.examples import examples
from tests.support.simulation.scheduler import WAKERS, add_events
from tests.support.tables import HOST, MS, PID, Rows, StageSpec, World, mono, write_tables

from pyrometer.accounts.ledger.parts import operators, parts
from pyrometer.accounts.ledger.report import Request, ledger_against, ledger_report
from pyrometer.accounts.ledger.schema import LedgerReport, Row, View
from pyrometer.accounts.ledger.slowest import slowest_task
from pyrometer.accounts.ledger.sums import Only
from pyrometer.accounts.ledger.walk import OPERATORS, TASKS, ledger_walk, walk
from pyrometer.accounts.window import open_scope
from pyrometer.core.errors import UsageError
from pyrometer.store import Run

STAGES = [
    StageSpec([400, 300, 500, 200, 350, 450, 250, 300, 410, 390]),
    StageSpec([300, 300, 300, 300, 900]),
]
LOG_ONLY = {"apps", "executors", "stages", "tasks", "sql_executions", "plan_nodes", "node_metrics"}
# Rows that no other row of the same view is made from: what a partition has to keep.
COUNTED = ("task", "task/on_cpu", "deserialize", "getting_result", "scheduler_delay")


def account(rows: Rows, asked: Request | None = None, window: str | None = None) -> LedgerReport:
    with (
        tempfile.TemporaryDirectory() as folder,
        Run.open(write_tables(Path(folder), rows)) as run,
    ):
        return ledger_report(run, window, asked)


@cache
def base(events: bool = False) -> tuple[World, LedgerReport]:
    """Give a run and its ledger by task, made once; with scheduler events or without."""
    world = World(STAGES)
    for number in range(1, 5):
        for at, used in ((50, 0), (world.end_ms - 10, (number + 1) * 10 * MS)):
            world.add(
                "thread_counters", host=HOST, pid=PID, tid=300 + number, t_mono_ns=mono(at),
                comm=f"GC Thread#{number}", run_ns=used, run_delay_ns=0, timeslices_count=1,
                first=at == 50, last=False,
            )  # fmt: skip
    if events:
        add_events(world)
    return world, account(world.rows, Request(by="task", most=50))


def row(view: View, path: str) -> Row:
    return next(row for row in view.rows if row.path == path)


def value(view: View, path: str) -> int:
    return next((row.value_ns or 0 for row in view.rows if row.path == path), 0)


def gap_ns(view: View) -> float:
    assert view.closure_ratio is not None
    assert view.total_ns is not None
    return view.closure_ratio * view.total_ns


@pytest.mark.slow
@given(
    tasks=st.lists(st.lists(st.integers(20, 300), min_size=1, max_size=5), min_size=1, max_size=4),
    by=st.sampled_from(["stage", "task", "sql"]),
    most=st.integers(1, 6),
)
@settings(max_examples=examples(6, 15), deadline=None)
def test_parts_of_a_partition_add_up_to_the_whole(
    tasks: list[list[int]], by: Any, most: int
) -> None:
    world = World([StageSpec(t, sql_id=i % 2) for i, t in enumerate(tasks)])
    made = account(world.rows, Request(by=by, most=most))
    assert len(made.groups) <= most + 1
    assert sum(group.tasks_count or 0 for group in made.groups) == world.task_id
    for path in (*COUNTED, "task/run_queue"):
        parts = sum(value(group.view, path) for group in made.groups)
        assert parts == pytest.approx(value(made.slot_view, path), abs=2 * len(made.groups)), path
    took = sum(r["finish_wall_ns"] - r["launch_wall_ns"] for r in world.rows["tasks"])
    assert sum(group.view.total_ns or 0 for group in made.groups) == took


def test_tasks_add_up_to_the_window() -> None:
    _, made = base()
    assert made.groups_count == len(made.groups) == 15
    for path in (*COUNTED, "task/run_queue"):
        parts = sum(value(group.view, path) for group in made.groups)
        assert parts == pytest.approx(value(made.slot_view, path), abs=30), path


def test_children_stay_within_their_parents() -> None:
    _, made = base()
    assert made.groups
    for view in (made.slot_view, *(group.view for group in made.groups)):
        children: dict[str, int] = {}
        for one in view.rows:
            if one.parent is not None:
                children[one.parent] = children.get(one.parent, 0) + (one.value_ns or 0)
        assert "task" in children
        # The task row's parts are counted by themselves: their sum is what closure is about.
        for parent, sum_ns in children.items():
            slack = 20 if parent != "task" else 5 * MS * len(made.groups) + gap_ns(view)
            assert sum_ns <= value(view, parent) + abs(slack), (view.window, parent)


def test_a_part_closes_by_itself_and_loses_what_is_taken_from_it() -> None:
    world = World(STAGES)
    asked = Request(only=Only(stage_id=1))
    before = account(world.rows, asked).slot_view
    assert abs(gap_ns(before)) < 0.01 * (before.total_ns or 0)
    mine = [r for r in world.rows["spans"] if r["stage_id"] == 1]
    lost = mine[::5]
    kept = [r for r in world.rows["spans"] if r not in lost]
    after = account({**world.rows, "spans": kept}, asked).slot_view
    wall = sum(r["end_mono_ns"] - r["start_mono_ns"] for r in lost)
    # Spark's own figures take the place of the span in the delay: that part is no loss.
    delay = value(after, "scheduler_delay") - value(before, "scheduler_delay")
    assert gap_ns(before) - gap_ns(after) == pytest.approx(wall - delay, rel=0.02)


def test_losing_a_fifth_of_the_gc_threads_moves_the_core_view_by_their_cpu() -> None:
    world, whole = base()
    before = whole.core_view
    kept = [r for r in world.rows["thread_counters"] if r["comm"] != "GC Thread#4"]
    after = account({**world.rows, "thread_counters": kept}).core_view
    assert gap_ns(before) - gap_ns(after) == pytest.approx(50 * MS, rel=1e-6)
    assert value(before, "gc") - value(after, "gc") == pytest.approx(50 * MS, rel=1e-6)


def test_with_scheduler_events_tasks_close_exactly() -> None:
    world, whole = base(events=True)
    assert len(whole.groups) == 15
    assert all(abs(gap_ns(group.view)) <= 50 for group in whole.groups)
    view = whole.slot_view
    off = sum(r["off_ns"] - r["run_queue_ns"] for r in world.rows["off_cpu"])
    assert row(view, "task/waiting").method == "exact"
    assert value(view, "task/waiting") == pytest.approx(off, abs=50)
    assert value(view, "task/waiting/block_io") == value(view, "task/waiting")


def test_losing_a_fifth_of_the_scheduler_events_moves_closure_by_their_time() -> None:
    world, whole = base(events=True)
    before = whole.slot_view
    lost = world.rows["off_cpu"][::5]
    kept = [r for r in world.rows["off_cpu"] if r not in lost]
    after = account({**world.rows, "off_cpu": kept}).slot_view
    moved = gap_ns(before) - gap_ns(after)
    assert moved == pytest.approx(sum(r["off_ns"] for r in lost), abs=50)
    assert value(after, "task/on_cpu") == value(before, "task/on_cpu")


def test_waits_are_told_again_by_who_ended_them_and_never_added() -> None:
    _, whole = base(events=True)
    view = whole.slot_view
    found = {r.path: r.value_ns for r in view.ended_by}
    assert set(found) == {"gc", "helper", "interrupt", "other_processes"}
    assert sum(v or 0 for v in found.values()) == pytest.approx(value(view, "task/waiting"), abs=50)
    assert not any(r.path.startswith("ended_by") for r in view.rows)


@pytest.mark.slow
def test_sums_over_a_second_leave_open_what_they_cannot_tell() -> None:
    world = World([StageSpec([300, 250, 400, 350, 300, 260])])
    add_events(world, by_second=True)
    made = account(world.rows, Request(by="task"))
    by_task = {g.task_attempt_id: row(g.view, "task/waiting") for g in made.groups}
    assert len(by_task) == len(world.rows["off_cpu"]) == 6
    for number, event in enumerate(world.rows["off_cpu"]):
        found = by_task[number]
        assert found.method == "apportioned"
        assert found.low_ns is not None
        assert found.high_ns is not None
        assert found.low_ns <= event["off_ns"] - event["run_queue_ns"] <= found.high_ns


def test_short_waits_lie_where_the_thread_runs_not_in_the_sleep_between_tasks() -> None:
    world = World([StageSpec([200, 250])], slots=1)
    first, second = sorted(world.rows["spans"], key=lambda span: span["start_mono_ns"])
    begin, end = first["start_mono_ns"] - 300 * MS, second["end_mono_ns"] + 400 * MS
    asleep = [
        (begin, first["start_mono_ns"]),
        (first["end_mono_ns"], second["start_mono_ns"]),
        (second["end_mono_ns"], end),
    ]
    waits = [(low, high, high - low) for low, high in asleep if high > low]
    for low, high, off in [*waits, (begin, end, 45 * MS)]:
        world.add(
            "off_cpu", host=HOST, pid=first["pid"], tid=first["tid"], begin_mono_ns=low,
            end_mono_ns=high, count=1, off_ns=off, run_queue_ns=0, kind="sleeping", io_wait=False,
            **WAKERS[0],
        )  # fmt: skip
    made = account(world.rows, Request(by="task"))
    found = {group.task_attempt_id: value(group.view, "task/waiting") for group in made.groups}
    assert found[first["task_attempt_id"]] == pytest.approx(20 * MS, rel=1e-6)
    assert found[second["task_attempt_id"]] == pytest.approx(25 * MS, rel=1e-6)


@pytest.mark.parametrize("every", [pytest.param(20, marks=pytest.mark.slow), 170])
def test_the_grid_of_readings_is_told_and_holds_the_truth(every: int) -> None:
    """Threads are read on a grid that knows nothing of tasks; tasks wait at their end."""
    world = World([StageSpec([90, 130, 70, 160, 110, 95])], slots=1)
    counted = [r for r in world.rows["thread_counters"] if r["tid"] == 100]
    others = [r for r in world.rows["thread_counters"] if r["tid"] != 100]
    grid = []
    for at in range(100, world.end_ms + every, every):
        run = delay = 0
        for span in world.rows["spans"]:
            length = span["end_mono_ns"] - span["start_mono_ns"]
            waits = round(length * world.run_queue)
            done = mono(at) - span["start_mono_ns"]
            run += max(0, min(done, span["cpu_ns"]))
            delay += max(0, min(done - (length - waits), waits))
        grid.append({**counted[0], "t_mono_ns": mono(at), "run_ns": run, "run_delay_ns": delay})
    series = [r for r in world.rows["os_series"] if r["name"] != "passes_count"]
    passes = [{**series[0], "scope": "probe", "name": "passes_count", "t_mono_ns": r["t_mono_ns"]}
              for r in grid]  # fmt: skip
    rows = {**world.rows, "thread_counters": others + grid, "os_series": series + passes}
    made = account(rows, Request(by="task"))
    truth = {
        r["task_attempt_id"]: round((r["end_mono_ns"] - r["start_mono_ns"]) * world.run_queue)
        for r in world.rows["spans"]
    }
    widths = 0
    assert len(made.groups) == 6
    for group in made.groups:
        assert group.task_attempt_id is not None
        found = row(group.view, "task/run_queue")
        low, high = bounds(found)
        assert low - 1 <= truth[group.task_attempt_id] <= high + 1
        widths += high - low
    low, high = bounds(row(made.slot_view, "task/run_queue"))
    assert low - 1 <= sum(truth.values()) <= high + 1
    # What one task may have had less of its neighbour had more: together they are known better.
    assert high - low < widths


def bounds(found: Row) -> tuple[int, int]:
    known = found.value_ns or 0
    return (
        known if found.low_ns is None else found.low_ns,
        known if found.high_ns is None else found.high_ns,
    )


def test_the_slowest_task_is_told_by_what_it_waited_for() -> None:
    world = World([StageSpec([300, 310, 290, 305, 295, 300, 900])], slots=1)
    slow = world.rows["spans"][-1]
    # It did the work of the others and waited in the run queue for the rest.
    slow["cpu_ns"] = round(300 * MS * world.on_cpu)
    end = next(r for r in reversed(world.rows["thread_counters"]) if r["tid"] == 100)
    end["run_delay_ns"] += 600 * MS
    world.rows["tasks"][-1].update(executor_cpu_time_ns=slow["cpu_ns"], input_bytes=9_000_000)
    found = account(world.rows, Request(slowest=True)).slowest_task
    assert found is not None
    assert found.task.task_attempt_id == 6
    assert found.middle.tasks_count == 2
    inside = [r for r in found.differences if r.parent == "task"]
    assert inside[0].path == "task/run_queue"
    assert inside[0].difference.value == pytest.approx(600 * MS, rel=0.15)
    assert found.why[0].startswith("task 6 of stage 0 took 904 ms, 600 ms more than")
    assert any(text.startswith("run queue: +") for text in found.why)
    assert any(text.startswith("input: 8.58 MiB instead of 977 KiB") for text in found.why)


def test_a_stage_of_one_task_has_nothing_beside_it() -> None:
    with pytest.raises(UsageError, match="others to compare with"):
        account(World([StageSpec([300])]).rows, Request(slowest=True))


def test_operators_are_shares_of_the_tasks_looked_at() -> None:
    world = World(STAGES)
    made = account(world.rows, Request(by="operator", only=Only(stage_id=1)))
    assert {g.operator for g in made.groups} == {"Filter", "Scan", None}
    cpu = sum(value(g.view, "on_cpu") for g in made.groups)
    assert cpu == pytest.approx(value(made.slot_view, "task/on_cpu"), abs=5)
    assert all(g.view.closure_ratio is None and g.view.reason for g in made.groups)


def test_the_page_leads_from_stages_by_operators_to_tasks(tmp_path: Path) -> None:
    with Run.open(write_tables(tmp_path, base(events=True)[0].rows)) as run:
        walked = walk(open_scope(run, None))
    packed = ledger_walk(walked)
    assert [len(below.tasks) for below in walked.below] == [10, 5]
    for below, shown in zip(walked.below, packed["below"], strict=True):
        known = {group.label for group in below.operators}
        for task, drawn in zip(below.tasks, shown["tasks"], strict=True):
            cpu = sum(value(group.view, "on_cpu") for group in task.operators)
            assert cpu == pytest.approx(value(task.view, "task/on_cpu"), abs=5)
            assert set(drawn["operators"]) <= known
            assert drawn["operators"]["Scan"][0][:2] == ["on_cpu", value(
                next(g.view for g in task.operators if g.label == "Scan"), "on_cpu")]  # fmt: skip
        stage = next(g for g in shown["tasks"] if not g["rest"])["view"]
        assert {name for name, *_ in stage["ended_by"]} <= {"gc", "helper", "interrupt",
                                                            "other_processes"}  # fmt: skip
        assert shown["slowest"]["ended_by"]
        assert stage["resolution_ns"] == MS


@given(
    tasks=st.lists(st.lists(st.sampled_from([20, 50, 51, 200]), min_size=1, max_size=14),
                   min_size=1, max_size=4),
    events=st.booleans(),
    log_alone=st.booleans(),
)  # fmt: skip
@settings(max_examples=examples(5, 10), deadline=None)
def test_the_page_shows_what_the_ledger_of_each_stage_shows(
    tasks: list[list[int]], events: bool, log_alone: bool
) -> None:
    world = World([StageSpec(each) for each in tasks])
    if events:
        add_events(world)
    rows = {k: v for k, v in world.rows.items() if not log_alone or k in LOG_ONLY}
    with (
        tempfile.TemporaryDirectory() as folder,
        Run.open(write_tables(Path(folder), rows)) as run,
    ):
        scope = open_scope(run, None)
        walked = walk(scope)
        assert len(walked.below) == len(tasks)
        for below in walked.below:
            only = Only(below.app_index, below.stage_id, below.stage_attempt)
            assert operators(scope, only, OPERATORS) == (below.operators, below.operators_count)
            one_by_one = parts(scope, "task", only, TASKS, OPERATORS)
            assert one_by_one == (below.tasks, below.tasks_count)
            if len(tasks[below.stage_id]) > 1:
                assert slowest_task(scope, below.stage_id) == below.slowest
            else:
                assert below.slowest is None


def test_the_slowest_task_is_one_of_the_application_whose_stage_is_shown(tmp_path: Path) -> None:
    world = World([StageSpec([100, 110, 120, 300])])
    rows = {k: v for k, v in world.rows.items() if k in LOG_ONLY}
    for name, those in list(rows.items()):
        rows[name] = [*those, *({**one, "app_index": 1} for one in those)]
    for one in rows["tasks"]:
        if one["app_index"] == 1 and one["task_index"] == 1:
            one["finish_wall_ns"] += 700 * MS
    with Run.open(write_tables(tmp_path, rows)) as run:
        walked = walk(open_scope(run, "application"))
    found = {one.app_index: one.slowest.task for one in walked.below if one.slowest}
    assert {app: (one.app_index, one.task_attempt_id) for app, one in found.items()} == {
        0: (0, 3), 1: (1, 1),
    }  # fmt: skip


def test_the_slowest_task_is_held_against_who_woke_the_others() -> None:
    found = account(base(events=True)[0].rows, Request(slowest=True)).slowest_task
    assert found is not None
    woken = {row.path: row for row in found.ended_by}
    assert woken
    for path, one in woken.items():
        row_of = {r.path: r.value_ns for r in found.task.view.ended_by}
        assert one.b_ns == row_of.get(path, 0)


def test_an_event_log_gives_stages_and_tasks_with_its_resolution() -> None:
    world = World(STAGES)
    rows = {k: v for k, v in world.rows.items() if k in LOG_ONLY}
    for by, attempts in (("stage", [10, 5]), ("task", [1] * 15)):
        made = account(rows, Request(by=by))  # type: ignore[arg-type]
        found = sorted((g.view.resolution_ns or 0) // MS for g in made.groups)
        assert found == sorted(attempts)
        assert all("event log alone" in (g.view.reason or "") for g in made.groups)


@pytest.mark.slow
def test_iterations_are_windows_with_their_idle_slots() -> None:
    world = World([StageSpec([100, 200], iteration=i) for i in (0, 1, 2)])
    made = account(world.rows, Request(by="iteration"))
    measured = [g for g in made.groups if g.iteration]
    for path in (*COUNTED, "idle", "idle/stage_tail"):
        assert sum(value(g.view, path) for g in measured) == pytest.approx(
            value(made.slot_view, path), abs=4
        )


@pytest.mark.slow
def test_two_groups_of_runs_differ_by_what_one_has_more_of(tmp_path: Path) -> None:
    def side(name: str, more: int) -> list[Path]:
        made = []
        for number in range(2):
            tasks = [100 + number, 200 + more]
            world = World([StageSpec(tasks, iteration=i) for i in (0, 1)])
            made.append(world.write(tmp_path / f"{name}{number}"))
        return made

    found = ledger_against(side("a", 0), side("b", 60)).against
    assert found is not None
    assert (found.unit, found.a.n, found.b.n) == ("run", 2, 2)
    task = next(r for r in found.slot_view if r.path == "task")
    assert task.difference.method == "welch"
    assert task.difference.value == pytest.approx(60 * MS)
    assert task.difference.low is not None
    assert task.difference.low > 0
    gc = next(r for r in found.core_view if r.path == "gc")
    assert gc.difference.low is not None
    assert gc.difference.high is not None
    assert gc.difference.low <= 0 <= gc.difference.high


@pytest.mark.slow
def test_one_window_a_side_has_the_intervals_of_its_samples(tmp_path: Path) -> None:
    a, b = World(STAGES).write(tmp_path / "a"), World(STAGES[:1]).write(tmp_path / "b")
    made = ledger_against([a], [b])
    assert made.against is not None
    assert made.against.unit == "window"
    assert "one_run_each" in {d.code for d in made.doubts}
    rows = {r.path: r for r in made.against.slot_view}
    assert rows["task/on_cpu"].difference.low == rows["task/on_cpu"].difference.high
    decode = rows["task/on_cpu/decode"].difference
    assert decode.method == "intervals of the rows"
    assert decode.low is not None
    assert decode.low < (decode.value or 0)


def test_threads_told_by_their_exit_alone_are_exact_and_count() -> None:
    world, whole = base()
    before, seen = whole.core_view, world.rows["thread_counters"]
    ends = [
        {**seen[0], "tid": 400 + number, "comm": "C2 CompilerThre", "t_mono_ns": mono(700),
         "run_ns": 25 * MS, "run_delay_ns": 0, "first": True, "last": True}
        for number in range(4)
    ]  # fmt: skip
    after = account({**world.rows, "thread_counters": [*seen, *ends]}).core_view
    assert row(before, "exited_threads").method == "by_complement"
    assert row(after, "exited_threads").method == "exact"
    assert value(after, "exited_threads") == 100 * MS == value(after, "exited_threads/jit")
    assert value(after, "jit") == value(before, "jit")
    assert gap_ns(after) - gap_ns(before) == pytest.approx(100 * MS, rel=1e-6)


@pytest.mark.parametrize("apart", [False, True])
def test_interrupts_are_a_row_where_the_kernel_takes_them_out_of_threads(apart: bool) -> None:
    world = World(STAGES)
    for name, used in (("cpu_softirq_ns", 30 * MS), ("psi_irq_full_ns", 10 * MS)):
        if apart or name.startswith("cpu"):
            for at, seen in ((0, 0), (world.end_ms, used)):
                world.add("os_series", host=HOST, t_mono_ns=mono(at), scope="host", name=name,
                          value=seen)  # fmt: skip
    view = account(world.rows).core_view
    rows, memos = {r.path for r in view.rows}, {r.path for r in view.memos}
    assert ("softirq" in rows, "softirq" in memos) == (apart, not apart)
    # Either way those 30 ms of the host are held once: as a row, or as other processes' time.
    assert gap_ns(view) == pytest.approx(30 * MS, rel=0.02)


def test_delays_are_beside_the_ledger_and_held_against_schedstat() -> None:
    world = World(STAGES)
    for tid, total in ((100, 200 * MS), (101, 190 * MS)):
        for at, seen in ((0, 0), (world.end_ms, total)):
            world.add("delays", host=HOST, t_mono_ns=mono(at), pid=PID, tid=tid, kind="cpu",
                      count=9, total_ns=seen)  # fmt: skip
    made = account(world.rows)
    memo = next(r for r in made.slot_view.memos if r.path == "delays/cpu")
    assert memo.value_ns == 390 * MS
    assert not any(r.path.startswith("delays") for r in made.slot_view.rows)
    check = next(c for c in made.checks if c.name.startswith("run queue: schedstat"))
    assert check.right_ns == 390 * MS


@pytest.mark.parametrize("counted", [False, True])
def test_pauses_that_no_bean_of_the_collector_counts_are_left_out_of_the_check(
    counted: bool,
) -> None:
    beans = ["G1 Young Generation", "G1 Old Generation", *["G1 Concurrent GC"] * counted]
    found = {}
    for kinds in (("young",), ("young", "remark")):
        world = World(STAGES)
        [process] = world.rows["processes"]
        process["facts"] = json.dumps(json.loads(process["facts"]) | {"gc_names": beans})
        begin = world.rows["spans"][0]["start_mono_ns"]
        for at, kind in enumerate(kinds):
            world.add("gc_pauses", pid=PID, gc_id=at, start_mono_ns=begin + at * 10 * MS,
                      duration_ns=5 * MS, collector="G1", kind=kind, cause="No cause")  # fmt: skip
        checks = account(world.rows).checks
        [found[kinds]] = [one for one in checks if one.name.startswith("GC: pauses")]
    young, both = found.values()
    assert young.left_ns
    assert both.left_ns
    if counted:
        assert both.left_ns >= young.left_ns + 5 * MS
    else:
        assert both.left_ns == young.left_ns
        assert "remark and cleanup pauses (" in both.explanation
