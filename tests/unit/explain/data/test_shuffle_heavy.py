"""Shuffles of far more than their input: what exceeds it goes, and no more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.explain.explained import Job, saves
from tests.support.explain.planned import node, plan
from tests.support.explain.planted import judged_with
from tests.support.tables import MS, StageSpec, World

from pyrometer.explain.catalogue.data.shuffle_fetch_wait import RULE as FETCH
from pyrometer.explain.catalogue.data.shuffle_heavy import RULE
from pyrometer.explain.catalogue.plan.join_explodes import RULE as EXPLODES
from pyrometer.explain.judge import explains

MB = 1_000_000


def written(times: float, rows: float, first_ms: int = 2000, read_mb: int = 10) -> Job:
    """Four tasks of 2 s multiply what they read, and wait 1 s to write it; four read it."""
    job = Job()
    size = round(times * 10 * MB)
    job.stage(
        [first_ms, 2000, 2000, 2000],
        columns=lambda _: {
            "input_bytes": read_mb * MB, "input_records_count": 1000,
            "shuffle_written_bytes": size, "shuffle_written_records_count": round(1000 * rows),
            "shuffle_write_time_ns": 1000 * MS, "executor_cpu_time_ns": 1000 * MS,
        },
    )  # fmt: skip
    job.stage(
        [2000] * 4,
        columns=lambda _: {
            "shuffle_read_local_bytes": size, "shuffle_fetch_wait_time_ns": 800 * MS,
            "executor_cpu_time_ns": 1200 * MS,
        },
    )  # fmt: skip
    job.log.rows["stages"][-1]["parent_ids"] = [0]
    return job


def test_rows_are_multiplied_before_the_exchange(tmp_path: Path) -> None:
    (found,) = written(times=20, rows=40).found(tmp_path, RULE)
    # 1.8 s of waits and, at 5 ns a byte on each side, 2 s of CPU, by 95 %.
    assert saves(found, 0.95 * (1800 + 2000))
    assert saves(found, 0.85 * (1800 + 540))
    assert (found.place.layer, found.place.stage_id) == ("data", 0)


def test_near_miss_twice_the_input_may_be_needed(tmp_path: Path) -> None:
    assert not written(times=2.5, rows=3).found(tmp_path, RULE)


def test_near_miss_files_are_packed_more_tightly_than_rows(tmp_path: Path) -> None:
    (found,) = written(times=20, rows=1).all_found(tmp_path, RULE)
    assert not found.shown


def test_a_longer_task_beside_it_hides_the_writing(tmp_path: Path) -> None:
    assert written(20, 40, first_ms=2000).found(tmp_path / "alike", RULE)
    job = written(20, 40, first_ms=9000)
    for row in job.log.rows["tasks"]:
        row["shuffle_fetch_wait_time_ns"] = 0
        if row["stage_id"] == 0 and row["task_index"] == 0:
            row["shuffle_written_bytes"] = row["shuffle_write_time_ns"] = 0
        if row["stage_id"] == 1:
            row["executor_cpu_time_ns"] = 0
    for found in job.all_found(tmp_path, RULE):
        assert not found.shown


def test_healthy_twin_writes_what_it_read(tmp_path: Path) -> None:
    assert written(times=1, rows=1).all_found(tmp_path, RULE) == []


def test_input_without_bytes_is_not_looked_at(tmp_path: Path) -> None:
    assert written(times=20, rows=40, read_mb=0).all_found(tmp_path, RULE) == []


def _planned(folder: Path, *nodes: Any) -> Any:
    world = World([StageSpec([1000] * 4), StageSpec([1000] * 4)])
    world.rows["stages"][1]["parent_ids"] = [0]
    for row in world.rows["tasks"]:
        if row["stage_id"] == 0:
            row.update(shuffle_written_bytes=60 * MB, shuffle_written_records_count=800_000,
                       shuffle_write_time_ns=500 * MS)  # fmt: skip
        else:
            row.update(shuffle_read_local_bytes=60 * MB, shuffle_written_bytes=0)
    change: Any = plan(*nodes)
    return judged_with(folder, world, RULE, change).findings


def test_the_exchange_is_the_place(tmp_path: Path) -> None:
    exchange = node(0, "Exchange", None, [0, 1], shuffle_bytes_written=240 * MB)
    (found,) = _planned(tmp_path, exchange)
    assert (found.place.operator, found.place.node_id, found.place.sql_id) == ("Exchange", 0, 0)
    assert found.place.stage_id == 0
    assert found.shown
    # Two slots write for 1 s, and move 120 MB each at 2.7 to 20 ns a byte.
    assert saves(found, 1000 + 0.12 * 10_000)


def test_files_of_the_scan_count_where_the_counter_misses_bytes(tmp_path: Path) -> None:
    exchange = node(0, "Exchange", None, [0, 1], shuffle_bytes_written=240 * MB)
    scan = node(1, "Scan parquet", 0, [0], size_of_files_read=300 * MB)
    assert _planned(tmp_path, exchange, scan) == []


def test_what_explains_what() -> None:
    assert explains(RULE, FETCH.code)
    assert explains(EXPLODES, RULE.code)
