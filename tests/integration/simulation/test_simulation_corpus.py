"""Real event logs of other people: each is scheduled as it was measured, from lengths and ids."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from tests.support.simulated import simulated

from pyrometer.core.errors import UsageError
from pyrometer.statistics.shares import wilson
from pyrometer.store import ingest_eventlogs

CORPUS = os.environ.get("PYROMETER_CORPUS")
pytestmark = pytest.mark.skipif(
    not CORPUS, reason="PYROMETER_CORPUS is unset: no corpus of event logs on this machine"
)
# Dynamic allocation, executors that were lost, or both.
MOVING = [
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


def logs() -> list[Path]:
    return sorted(Path(CORPUS, "eventlogs").glob("*/*")) if CORPUS else []


def tables_of(log: Path, folder: Path) -> Path:
    ingest_eventlogs([log], folder)
    return folder


def shuffled(folder: Path, target: Path, seed: int) -> Path:
    """Give the launches of all tasks to other tasks; lengths and ids stay."""
    shutil.copytree(folder, target)
    path = target / "tables" / "tasks.parquet"
    tasks = pq.read_table(path)
    launch = tasks["launch_wall_ns"].to_numpy()
    moved = np.array(random.Random(seed).sample(launch.tolist(), len(launch)))
    by = pa.array(moved - launch)
    for name in ("launch_wall_ns", "finish_wall_ns", "getting_result_wall_ns"):
        column = tasks.schema.get_field_index(name)
        tasks = tasks.set_column(column, tasks.schema.field(column), pc.add(tasks[name], by))
    pq.write_table(tasks, path)
    return target


@pytest.mark.slow
@pytest.mark.parametrize("name", MOVING)
def test_executors_that_come_and_go_are_within_five_per_cent(name: str, tmp_path: Path) -> None:
    assert CORPUS
    report = simulated(tables_of(Path(CORPUS, "eventlogs", name), tmp_path / "log"), percents=[100])
    assert abs(report.accuracy.error_ratio) < 0.05, report.accuracy


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in MOVING if "exec_removed" not in name])
def test_shuffled_start_times_change_nothing(name: str, tmp_path: Path) -> None:
    # In the log that is left out no executor of the window tells its cores.
    assert CORPUS
    folder = tables_of(Path(CORPUS, "eventlogs", name), tmp_path / "log")
    before = simulated(folder, percents=[50, 100])
    assert simulated(shuffled(folder, tmp_path / "other", 7), percents=[50, 100]) == before


@pytest.mark.parametrize(
    ("name", "stage_id"),
    [
        (MOVING[0], 1),
        pytest.param(MOVING[2], 9, marks=pytest.mark.slow),
        pytest.param(MOVING[4], 38, marks=pytest.mark.slow),
    ],
)
def test_a_critical_stage_twice_as_long(name: str, stage_id: int, tmp_path: Path) -> None:
    """It runs alone, and waits for no executor: the end moves by its length."""
    assert CORPUS
    folder = tables_of(Path(CORPUS, "eventlogs", name), tmp_path / "log")
    once = simulated(folder, percents=[100])
    twice = simulated(folder, percents=[100], stretch={stage_id: 2.0})
    assert stage_id in once.bounds.critical_stage_ids
    length = next(s for s in once.stages if s.stage_id == stage_id).simulated_ns.value
    moved = (twice.levels[0].elapsed_ns.value or 0) - (once.levels[0].elapsed_ns.value or 0)
    assert moved == pytest.approx(length, rel=0.01)


@pytest.mark.slow
def test_every_log_is_simulated_or_says_why_not(tmp_path: Path) -> None:
    refused, far, inside, judged = set(), {}, 0, 0
    for number, log in enumerate(logs()):
        folder = tables_of(log, tmp_path / str(number))
        try:
            report = simulated(folder, percents=[10, 100, 500])
        except UsageError:
            refused.add(log.name)
            continue
        accuracy = report.accuracy
        if abs(accuracy.error_ratio) >= 0.05:
            far[log.name] = accuracy.error_ratio
        covered = accuracy.coverage
        if covered.value is not None:
            inside += round(covered.value * covered.n)
            judged += covered.n
        assert sum(row.share for row in report.waste) == pytest.approx(1)
        small, own, large = (level.elapsed_ns.value or 0 for level in report.levels)
        assert small >= own * 0.99
        assert own >= report.bounds.critical_path_ns * 0.99
        assert large > 0  # not bounded by that path: input is split for the slots there are
    assert refused == EMPTY
    # An application that failed: attempts that were cut with it are not all in the log.
    assert set(far) <= {"gpu_oom_eventlog.zstd"}, far
    low, high = wilson(inside, judged)
    assert low <= 0.9 <= high, f"{inside} of {judged}"
