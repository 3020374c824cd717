"""Event logs of real applications: each is scheduled as measured, from lengths and ids."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from tests.support import needs
from tests.support.eventlog.recorded import RECORDED, others, recorded
from tests.support.simulation.simulated import simulated

from pyrometer.core.errors import UsageError
from pyrometer.statistics.shares import wilson
from pyrometer.store import ingest_eventlogs

# Dynamic allocation, executors that were lost, or both.
MOVING = [
    "recorded/executors-3.5.9.zstd",
    "recorded/executors-4.3.0.zstd",
    "delight/example_spark_event_log.txt",
    "rapids-tools/eventlog_3nodes_12cores_exec_removed",
    "rapids-tools/eventlog_4nodes_8cores_dynamic_alloc.zstd",
    "rapids-tools/malformed_json_eventlog.zstd",
    "rapids-tools/nds_q88_photon_db_13_3.zstd",
    "rapids-tools/rp_nosql_eventlog",
    "rapids-tools/rp_sql_eventlog.zstd",
]
# No stage with all of its tasks was completed in them.
EMPTY = {
    "empty_eventlog",
    "app-20231025121456-0004-eventLog-running-incomplete",
    "app-20231122115433-0000-eventLog-corrupted-events",
    "app-20231122115433-0000-eventLog-finished-stages",
}


def log(name: str) -> Path:
    """Find one of others' logs, or of our own."""
    if name.startswith("recorded/"):
        return RECORDED / name.removeprefix("recorded/")
    return needs.corpus() / "eventlogs" / name


def slow_if_others(names: list[str]) -> list[Any]:
    """Mark the logs of others, which are larger."""
    return [
        name if name.startswith("recorded/") else pytest.param(name, marks=pytest.mark.slow)
        for name in names
    ]


def tables_of(log: Path, folder: Path) -> Path:
    ingest_eventlogs([log], folder)
    return folder


def shuffled(folder: Path, target: Path, seed: int) -> Path:
    """Give the launches of all tasks to other tasks; lengths and ids stay.

    Attempts that were lost with their executor stay, too: they say when it was gone.
    """
    shutil.copytree(folder, target)
    path = target / "tables" / "tasks.parquet"
    tasks = pq.read_table(path)
    launch = tasks["launch_wall_ns"].to_numpy()
    moves = tasks["reason"].to_numpy(zero_copy_only=False) != "ExecutorLostFailure"
    moved = launch.copy()
    moved[moves] = random.Random(seed).sample(launch[moves].tolist(), int(moves.sum()))
    by = pa.array(moved - launch)
    for name in ("launch_wall_ns", "finish_wall_ns", "getting_result_wall_ns"):
        column = tasks.schema.get_field_index(name)
        tasks = tasks.set_column(column, tasks.schema.field(column), pc.add(tasks[name], by))
    pq.write_table(tasks, path)
    return target


@pytest.mark.parametrize("name", slow_if_others(MOVING))
def test_executors_that_come_and_go_are_within_five_per_cent(name: str, tmp_path: Path) -> None:
    report = simulated(tables_of(log(name), tmp_path / "log"), percents=[100])
    assert abs(report.accuracy.error_ratio) < 0.05, report.accuracy


@pytest.mark.parametrize(
    "name", slow_if_others([name for name in MOVING if "exec_removed" not in name])
)
def test_shuffled_start_times_change_nothing(name: str, tmp_path: Path) -> None:
    # In the log that is left out no executor of the window tells its cores.
    folder = tables_of(log(name), tmp_path / "log")
    before = simulated(folder, percents=[50, 100])
    assert simulated(shuffled(folder, tmp_path / "other", 7), percents=[50, 100]) == before


@pytest.mark.parametrize(
    ("name", "stage_id"),
    [
        ("recorded/scan-3.5.9.zstd", 1),
        ("recorded/scan-4.3.0.zstd", 1),
        ("delight/example_spark_event_log.txt", 1),
        pytest.param(MOVING[4], 9, marks=pytest.mark.slow),
        pytest.param(MOVING[6], 38, marks=pytest.mark.slow),
    ],
)
def test_a_critical_stage_twice_as_long(name: str, stage_id: int, tmp_path: Path) -> None:
    """It runs alone, and waits for no executor: the end moves by its length."""
    folder = tables_of(log(name), tmp_path / "log")
    once = simulated(folder, percents=[100])
    twice = simulated(folder, percents=[100], stretch={stage_id: 2.0})
    assert stage_id in once.bounds.critical_stage_ids
    length = next(s for s in once.stages if s.stage_id == stage_id).simulated_ns.value
    moved = (twice.levels[0].elapsed_ns.value or 0) - (once.levels[0].elapsed_ns.value or 0)
    assert moved == pytest.approx(length, rel=0.01)


def judged(logs: list[Path], tmp_path: Path) -> tuple[set[str], dict[str, float], int, int]:
    """Simulate logs: those refused, those more than 5 % off, stages within their intervals, all."""
    refused, far, inside, judged = set(), {}, 0, 0
    for number, one in enumerate(logs):
        folder = tables_of(one, tmp_path / str(number))
        try:
            report = simulated(folder, percents=[10, 100, 500])
        except UsageError:
            refused.add(one.name)
            continue
        accuracy = report.accuracy
        if abs(accuracy.error_ratio) >= 0.05:
            far[one.name] = accuracy.error_ratio
        covered = accuracy.coverage
        if covered.value is not None:
            inside += round(covered.value * covered.n)
            judged += covered.n
        assert sum(row.share for row in report.waste) == pytest.approx(1)
        small, own, large = (level.elapsed_ns.value or 0 for level in report.levels)
        assert small >= own * 0.99
        assert own >= report.bounds.critical_path_ns * 0.99
        assert large > 0  # not bounded by that path: input is split for the slots there are
    return refused, far, inside, judged


def test_each_of_our_logs_is_simulated(tmp_path: Path) -> None:
    refused, far, _, _ = judged(recorded(), tmp_path)
    assert refused == set()
    # Tasks of one job were killed, and those of another failed: what follows them is not planned.
    assert set(far) <= {"failures-3.5.9.zstd", "failures-4.3.0.zstd"}


@pytest.mark.slow
def test_every_log_is_simulated_or_says_why_not(tmp_path: Path) -> None:
    needs.corpus()
    refused, far, inside, stages = judged(others(), tmp_path)
    assert refused == EMPTY
    # An application that failed: attempts that were cut with it are not all in the log.
    assert set(far) <= {"gpu_oom_eventlog.zstd"}, far
    low, high = wilson(inside, stages)
    assert low <= 0.9 <= high, f"{inside} of {stages}"
