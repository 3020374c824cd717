"""Totals against a straightforward count over the rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.tables import MS, Rows, StageSpec, World, write_tables

from pyrometer.accounts.spark import ORDER
from pyrometer.store import Run
from pyrometer.summary.summary import summary

SUMS = {
    name: name
    for name in ORDER
    if name.endswith(("_ns", "_bytes", "_count"))
    and name
    not in {
        "stages_count", "tasks_count", "elapsed_ns", "stage_duration_ns",
        "result_size_max_bytes", "peak_execution_memory_max_bytes",
        "shuffle_read_total_bytes", "shuffle_blocks_fetched_count",
    }
}  # fmt: skip


def naive(tasks: list[dict[str, Any]], stages: list[dict[str, Any]]) -> dict[str, Any]:
    """Count as a newcomer would."""
    found: dict[str, Any] = {"tasks_count": len(tasks), "stages_count": len(stages)}
    for name, column in SUMS.items():
        values = [t[column] for t in tasks if t.get(column) is not None]
        found[name] = sum(values) if values or not tasks else None
    for name, column in (
        ("result_size_max_bytes", "result_size_bytes"),
        ("peak_execution_memory_max_bytes", "peak_execution_memory_bytes"),
    ):
        found[name] = max((t[column] for t in tasks if t.get(column) is not None), default=0)
    for name, parts in (
        ("shuffle_read_total_bytes", ("shuffle_read_local_bytes", "shuffle_read_remote_bytes")),
        (
            "shuffle_blocks_fetched_count",
            ("shuffle_local_blocks_fetched_count", "shuffle_remote_blocks_fetched_count"),
        ),
    ):
        found[name] = sum(t.get(part) or 0 for t in tasks for part in parts)
    if stages:
        found["elapsed_ns"] = max(s["complete_wall_ns"] for s in stages) - min(
            s["submit_wall_ns"] for s in stages
        )
    else:
        found["elapsed_ns"] = 0
    found["stage_duration_ns"] = sum(s["complete_wall_ns"] - s["submit_wall_ns"] for s in stages)
    return found


@pytest.fixture
def rows() -> Rows:
    world = World([StageSpec([40, 30, 50, 20, 60, 70]), StageSpec([10, 20, 30])])
    tasks = world.rows["tasks"]
    tasks[1].update(status="failed", reason="ExceptionFailure")
    tasks[3].update(status="killed", speculative=True)
    tasks[4].update(speculative=True)
    tasks[5].update(status="running", finish_wall_ns=None)
    tasks[7].update(shuffle_read_remote_bytes=900, shuffle_read_local_bytes=None)
    unfinished = {**world.rows["stages"][1], "stage_id": 9, "complete_wall_ns": None}
    world.rows["stages"].append({**unfinished, "status": "running"})
    world.rows["stages"].append(
        {
            **world.rows["stages"][0],
            "stage_id": 8,
            "status": "failed",
            "submit_wall_ns": world.rows["stages"][0]["submit_wall_ns"] - 5 * MS,
        }
    )
    return world.rows


def test_totals_equal_a_naive_count(rows: Rows, tmp_path: Path) -> None:
    with Run.open(write_tables(tmp_path, rows)) as run:
        made = summary(run)
    done = [s for s in rows["stages"] if s["complete_wall_ns"] is not None]
    ok = [t for t in rows["tasks"] if t["status"] == "success"]
    lost = [t for t in rows["tasks"] if t["status"] in ("failed", "killed")]
    assert tuple(made.totals) == ORDER
    assert made.totals == naive(ok, done)
    assert made.failed.totals == naive(lost, [s for s in done if s["status"] == "failed"])
    assert made.apps[0].totals == made.totals
    assert made.failed.totals["tasks_count"] == 2
    by_stage = {s.stage_id: s for s in made.stages}
    assert by_stage[0].totals["tasks_count"] == 3
    assert (by_stage[0].failed_tasks_count, by_stage[0].killed_tasks_count) == (1, 1)
    assert by_stage[1].totals == naive(
        [t for t in ok if t["stage_id"] == 1], [s for s in done if s["stage_id"] == 1]
    )


def test_a_metric_that_the_log_never_has_is_null_not_zero(tmp_path: Path) -> None:
    world = World([StageSpec([40, 30])])
    for task in world.rows["tasks"]:
        task["executor_cpu_time_ns"] = None
        task["shuffle_written_bytes"] = 0
    with Run.open(world.write(tmp_path, only={"apps", "tasks", "stages", "executors"})) as run:
        made = summary(run)
    assert made.totals["executor_cpu_time_ns"] is None
    assert made.totals["shuffle_written_bytes"] == 0
    assert made.cpu.executor_cpu_time_ns is None
    on_cpu = next(r for r in made.ledger.slot_view.rows if r.path == "task/on_cpu")
    assert (on_cpu.method, on_cpu.value_ns) == ("unavailable", None)


def test_windows_split_the_totals_by_iteration(tmp_path: Path) -> None:
    world = World(
        [
            StageSpec([50, 50], iteration=None),
            StageSpec([40, 30], iteration=0),
            StageSpec([40, 30, 20], iteration=1),
            StageSpec([40, 30, 20, 10], iteration=2),
        ]
    )
    with Run.open(world.write(tmp_path)) as run:
        found = {
            name: summary(run, name).totals["tasks_count"]
            for name in ("measured", "application", "iteration/0", "iteration/2")
        }
        unasked = summary(run)
    assert found == {"measured": 7, "application": 11, "iteration/0": 2, "iteration/2": 4}
    assert unasked.window.name == "measured"
    assert unasked.window.iterations == [1, 2]
    assert [i.totals["tasks_count"] for i in unasked.iterations] == [2, 3, 4]
    assert [i.warmup for i in unasked.iterations] == [True, False, False]


def test_a_bare_command_is_one_iteration_and_its_window_the_application(tmp_path: Path) -> None:
    with Run.open(World([StageSpec([40, 30])]).write(tmp_path)) as run:
        made = summary(run)
    assert made.window.name == "application"
    assert made.windows == ["application"]
    assert [i.iteration for i in made.iterations] == [0]
    assert made.iterations[0].elapsed_ns == made.window.length_ns
