"""Nothing closes by construction: what is taken from one source is missing from the sum."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.examples import examples
from tests.support.tables import HOST, MS, Rows, StageSpec, World, mono, write_tables

from pyrometer.accounts.ledger.report import ledger_report
from pyrometer.accounts.ledger.rows import addends
from pyrometer.accounts.ledger.schema import LedgerReport, View
from pyrometer.store import Run, Tables, write_rows
from pyrometer.summary.summary import ledger_tables, summary

STAGES = [
    StageSpec([400, 300, 500, 200, 350, 450, 250, 300, 410, 390], iteration=None),
    StageSpec([300, 300, 300, 300, 300], iteration=None),
]


def account(rows: Rows, window: str | None = None) -> LedgerReport:
    with tempfile.TemporaryDirectory() as folder, Run.open(_write(folder, rows)) as run:
        return ledger_report(run, window)


@cache
def intact() -> LedgerReport:
    """Give the ledger of `STAGES` of which nothing is lost, made once."""
    return account(World(STAGES).rows)


def _write(folder: str, rows: Rows) -> Path:
    return write_tables(Path(folder), rows)


def gap_ns(view: View) -> float:
    assert view.closure_ratio is not None
    assert view.total_ns is not None
    return view.closure_ratio * view.total_ns


def value(view: View, path: str) -> int:
    found = next(row for row in view.rows if row.path == path)
    assert found.value_ns is not None
    return found.value_ns


@given(
    tasks=st.lists(st.lists(st.integers(20, 300), min_size=1, max_size=6), min_size=1, max_size=4),
    slots=st.integers(1, 4),
    on_cpu=st.sampled_from([0.1, 0.5, 0.8]),
    gap=st.integers(0, 60),
)
@settings(max_examples=examples(6, 15), deadline=None)
def test_consistent_sources_close_within_their_resolution(
    tasks: list[list[int]], slots: int, on_cpu: float, gap: int
) -> None:
    world = World([StageSpec(t, gap_ms=gap) for t in tasks], slots=slots, on_cpu=on_cpu)
    view = account(world.rows).slot_view
    span = value(view, "task")
    assert span == sum(sum(t) for t in tasks) * MS
    assert value(view, "task/on_cpu") == pytest.approx(span * on_cpu, abs=10)
    # Sleep is known by wall samples of 5 ms at fixed phase: one period for each task at most.
    waiting = next(r for r in view.rows if r.path == "task/waiting")
    assert waiting.value_ns == pytest.approx(
        span * (0.9 - on_cpu), abs=5 * MS * sum(map(len, tasks)) + 0.02 * span
    )
    rest = gap_ns(view) - ((waiting.value_ns or 0) - span * (0.9 - on_cpu))
    assert abs(rest) <= 1000 * world.task_id


def test_losing_run_queue_readings_moves_closure_by_that_time() -> None:
    world = World(STAGES)
    before = intact().slot_view
    lost = [row for row in world.rows["thread_counters"] if row["tid"] == 100]
    kept = [row for row in world.rows["thread_counters"] if row["tid"] != 100]
    after = account({**world.rows, "thread_counters": kept}).slot_view
    delay = max(row["run_delay_ns"] for row in lost)
    assert delay > 100 * MS
    assert gap_ns(before) - gap_ns(after) == pytest.approx(delay, rel=1e-6)
    assert value(after, "task/on_cpu") == value(before, "task/on_cpu")


def test_losing_a_fifth_of_the_spans_moves_closure_by_their_time() -> None:
    world = World(STAGES)
    before = intact().slot_view
    kept = [row for i, row in enumerate(world.rows["spans"]) if i % 5]
    lost = [row for i, row in enumerate(world.rows["spans"]) if not i % 5]
    after = account({**world.rows, "spans": kept}).slot_view
    wall = sum(row["end_mono_ns"] - row["start_mono_ns"] for row in lost)
    moved = gap_ns(before) - gap_ns(after)
    # Their CPU and run queue are gone exactly, their sleep by the share that samples give.
    assert moved == pytest.approx(wall, rel=0.01)
    cpu = value(before, "task/on_cpu") - value(after, "task/on_cpu")
    assert cpu == sum(row["cpu_ns"] for row in lost)


def test_losing_a_fifth_of_the_sleeping_samples_moves_closure_by_that_share() -> None:
    world = World(STAGES)
    before = intact().slot_view
    asleep = [i for i, row in enumerate(world.rows["samples"]) if row.get("state") == "sleeping"]
    gone = set(asleep[::5])
    kept = [row for i, row in enumerate(world.rows["samples"]) if i not in gone]
    after = account({**world.rows, "samples": kept}).slot_view
    moved = gap_ns(before) - gap_ns(after)
    assert moved == value(before, "task/waiting") - value(after, "task/waiting")
    n = sum(row["event"] == "wall" for row in world.rows["samples"])
    expected = len(asleep) / n - (len(asleep) - len(gone)) / (n - len(gone))
    assert moved == pytest.approx(expected * value(before, "task"), rel=1e-3)


def test_losing_a_fifth_of_the_attempts_moves_closure_by_their_run_time() -> None:
    world = World(STAGES)
    before = intact().slot_view
    kept = [row for i, row in enumerate(world.rows["tasks"]) if i % 5]
    lost = [row for i, row in enumerate(world.rows["tasks"]) if not i % 5]
    after = account({**world.rows, "tasks": kept}).slot_view
    moved = gap_ns(after) - gap_ns(before)
    # Their slots now look idle, while plugin and probe still count their work.
    assert moved == pytest.approx(sum(row["executor_run_time_ns"] for row in lost), abs=10)


def test_losing_an_executor_s_registration_moves_closure_by_its_slots() -> None:
    world = World(STAGES)
    late = [{**row, "add_wall_ns": row["add_wall_ns"] + 30 * MS} for row in world.rows["executors"]]
    before = intact().slot_view
    after = account({**world.rows, "executors": late}).slot_view
    assert before.total_ns - after.total_ns == 30 * MS * world.slots  # type: ignore[operator]


@pytest.mark.parametrize("comm", ["Executor task l", "GC Thread#0", "C2 CompilerThre"])
def test_losing_a_thread_s_readings_moves_the_core_view_by_its_cpu(comm: str) -> None:
    world = World(STAGES)
    before = intact().core_view
    kept = [row for row in world.rows["thread_counters"] if row["comm"] != comm]
    lost = [row for row in world.rows["thread_counters"] if row["comm"] == comm]
    after = account({**world.rows, "thread_counters": kept}).core_view
    used = sum(
        max(r["run_ns"] for r in lost if r["tid"] == tid) for tid in {r["tid"] for r in lost}
    )
    assert used > 0
    assert gap_ns(before) - gap_ns(after) == pytest.approx(used, rel=1e-6)
    assert value(after, "exited_threads") - value(before, "exited_threads") == pytest.approx(used)


def test_threads_of_the_kernel_are_told_by_name_and_taken_from_the_other_processes() -> None:
    world = World(STAGES)
    before = intact().core_view
    rows = {row.path: row for row in before.rows}
    assert rows["kernel_threads"].method == "unavailable"
    used = {"kernel/kswapd": 3 * MS, "kernel/kworker": 2 * MS, "kernel/jbd2": 0}
    for scope, ns in used.items():
        for at, seen in ((0, 0), (world.end_ms, ns)):
            world.add(
                "os_series", host=HOST, t_mono_ns=mono(at), scope=scope, name="cpu_ns", value=seen
            )
    after = account(world.rows).core_view
    assert value(after, "kernel_threads") == pytest.approx(5 * MS, rel=1e-3)
    assert value(after, "kernel_threads/kswapd") == pytest.approx(3 * MS, rel=1e-3)
    assert "kernel_threads/jbd2" not in {row.path for row in after.rows}
    moved = value(before, "other_processes") - value(after, "other_processes")
    assert moved == value(after, "kernel_threads")
    assert gap_ns(after) == pytest.approx(gap_ns(before), abs=10)


def test_soft_interrupts_of_a_thread_of_the_kernel_count_once() -> None:
    world = World(STAGES)

    def series(scope: str, name: str, used: int) -> None:
        for at, seen in ((0, 0), (world.end_ms, used)):
            world.add(
                "os_series", host=HOST, t_mono_ns=mono(at), scope=scope, name=name, value=seen
            )

    # A kernel that accounts interrupts apart has their pressure.
    series("host", "psi_irq_full_ns", MS)
    series("host", "cpu_softirq_ns", 10 * MS)
    before = account(world.rows).core_view
    series("kernel/ksoftirqd", "cpu_ns", 2 * MS)
    after = account(world.rows).core_view
    assert value(after, "kernel_threads/ksoftirqd") == pytest.approx(2 * MS, rel=1e-3)
    assert value(after, "softirq") == pytest.approx(8 * MS, rel=1e-3)
    assert value(after, "other_processes") == pytest.approx(value(before, "other_processes"))
    assert gap_ns(after) == pytest.approx(gap_ns(before), abs=10)


@pytest.mark.parametrize("name", ["cpu_idle_ns", "cpu_user_ns"])
def test_losing_host_time_moves_the_core_view_by_that_time(name: str) -> None:
    world = World(STAGES)
    before = intact().core_view
    rows = [
        {**row, "value": round(row["value"] * 0.8)}
        if row["scope"] == "host" and row["name"] == name
        else row
        for row in world.rows["os_series"]
    ]
    whole = next(
        row["value"]
        for row in world.rows["os_series"]
        if row["scope"] == "host" and row["name"] == name and row["value"]
    )
    after = account({**world.rows, "os_series": rows}).core_view
    assert gap_ns(before) - gap_ns(after) == pytest.approx(0.2 * whole, rel=1e-6)


def test_threads_counted_to_the_nanosecond_go_before_ticks() -> None:
    world = World(STAGES)
    before = intact().core_view
    missed = 7 * MS
    whole = world.task_cpu + world.other_cpu + world.elsewhere + missed
    rows = list(world.rows["os_series"])
    for at, seen in ((0, 0), (world.end_ms, whole)):
        world.add(
            "os_series",
            host=HOST,
            t_mono_ns=mono(at),
            scope="host",
            name="cpu_threads_ns",
            value=seen,
        )
    after = account(world.rows).core_view
    moved = value(after, "other_processes") - value(before, "other_processes")
    assert moved == pytest.approx(missed, rel=1e-3)
    assert gap_ns(after) - gap_ns(before) == pytest.approx(missed, rel=1e-3)
    lost = [
        {**row, "value": round(row["value"] * 0.8)} if row["name"] == "cpu_threads_ns" else row
        for row in world.rows["os_series"]
    ]
    assert len(lost) == len(rows) + 2
    without = account({**world.rows, "os_series": lost}).core_view
    assert gap_ns(after) - gap_ns(without) == pytest.approx(0.2 * whole, rel=1e-6)


def test_a_guest_that_missed_ticks_is_accounted_by_the_scheduler_s_clock() -> None:
    before = intact().core_view
    world = World(STAGES)
    busy = ("cpu_user_ns", "cpu_system_ns")
    missing = [
        {**row, "value": row["value"] // 2} if row["name"] in busy else row
        for row in world.rows["os_series"]
    ]
    open_view = account({**world.rows, "os_series": missing}).core_view
    assert abs(gap_ns(open_view)) > 0.05 * world.task_cpu
    whole = world.task_cpu + world.other_cpu + world.elsewhere
    told = [
        {**missing[0], "scope": "host", "name": "cpu_switched_ns", "t_mono_ns": mono(at),
         "value": seen}
        for at, seen in ((0, 0), (world.end_ms, whole))
    ]  # fmt: skip
    report = account({**world.rows, "os_series": missing + told})
    after = report.core_view
    moved = value(after, "other_processes") - value(before, "other_processes")
    assert moved == pytest.approx(0, abs=0.01 * whole)
    assert gap_ns(after) == pytest.approx(gap_ns(before), abs=0.01 * whole)
    row = next(row for row in after.rows if row.path == "other_processes")
    assert "missed" in row.source
    assert "host: ticks and the scheduler" in [check.name for check in report.checks]
    # With all ticks there, what lags behind is not used.
    late = [{**row, "value": row["value"] // 2} for row in told]
    complete = account({**world.rows, "os_series": [*world.rows["os_series"], *late]}).core_view
    assert value(complete, "other_processes") == value(before, "other_processes")


def test_every_sum_of_children_stays_within_its_parent_s_samples() -> None:
    report = intact()
    for view in (report.slot_view, report.core_view):
        paths = {row.path for row in view.rows}
        assert len(paths) == len(view.rows)
        assert {row.parent for row in view.rows if row.parent} <= paths
        for row in view.rows:
            if row.method == "sampled":
                assert row.low_ns is not None
                assert row.high_ns is not None
                assert row.low_ns <= (row.value_ns or 0) <= row.high_ns
        assert sum(addends(view.rows).values()) - (view.total_ns or 0) == pytest.approx(
            gap_ns(view), abs=2
        )


def test_the_ledger_is_kept_as_tables(tmp_path: Path) -> None:
    with Run.open(World(STAGES).write(tmp_path)) as run:
        made = summary(run)
    made.run.host = {"hostname": "lab"}
    tables = ledger_tables(made)
    for name, view in (
        ("ledger_slot", made.ledger.slot_view),
        ("ledger_core", made.ledger.core_view),
    ):
        write_rows(tmp_path / "tables", name, tables[name])
        with Tables(tmp_path / "tables") as kept:
            rows = kept.query(f'SELECT path, value_ns, method, "window" FROM {name}')
        assert rows == [(r.path, r.value_ns, r.method, "application") for r in view.rows]


def test_with_an_event_log_alone_the_slot_view_is_coarse_and_says_so() -> None:
    world = World(STAGES)
    only = {"apps", "executors", "stages", "tasks", "sql_executions", "plan_nodes", "node_metrics"}
    report = account({k: v for k, v in world.rows.items() if k in only})
    view = report.slot_view
    assert view.resolution_ns == len(world.rows["tasks"]) * MS
    assert value(view, "task/on_cpu") == sum(r["executor_cpu_time_ns"] for r in world.rows["tasks"])
    assert next(r for r in view.rows if r.path == "task/off_cpu").method == "by_complement"
    assert abs(gap_ns(view)) <= view.resolution_ns
    assert report.core_view.total_ns is None
    assert report.core_view.reason


def test_stolen_time_is_a_row_of_its_own_in_proportion_to_task_cpu() -> None:
    world = World(STAGES)
    stolen = 400 * MS
    before = intact()
    rows = [
        {**row, "value": stolen}
        if row["name"] == "cpu_steal_ns" and row["value"] == 0 and row["t_mono_ns"] == last(world)
        else row
        for row in world.rows["os_series"]
    ]
    after = account({**world.rows, "os_series": rows})
    busy = world.task_cpu + world.other_cpu + world.elsewhere
    expected = stolen * value(after.slot_view, "task/on_cpu") / busy
    steal = next(row for row in after.slot_view.rows if row.path == "task/steal")
    assert steal.value_ns == pytest.approx(expected, rel=1e-6)
    assert steal.method == "apportioned"
    assert gap_ns(after.slot_view) - gap_ns(before.slot_view) == pytest.approx(expected, rel=1e-6)
    assert all(row.path != "task/steal" for row in before.slot_view.rows)


def last(world: World) -> int:
    """Moment of the last reading of the host."""
    return max(r["t_mono_ns"] for r in world.rows["os_series"] if r["scope"] == "host")
