from __future__ import annotations

from pathlib import Path

from tests.support.explain.planted import beside, holds, job, judged, only
from tests.support.hosts.two_hosts import WEST, one_waits
from tests.support.tables import HOST, MS, PID, World, mono

from pyrometer.explain.catalogue.machine.disk_write_back_stall import RULE


def stopped(symbols: str) -> World:
    world = job()
    world.add("kernel_stacks", host=HOST, stack_id=0, symbols=symbols)
    for number in range(100):
        at = mono(150) + number * 20 * MS
        world.add(
            "thread_states", host=HOST, pid=PID, tid=100, begin_mono_ns=at,
            end_mono_ns=at + 10 * MS, passes_count=4, weight_ns=20 * MS, state="disk",
            io_wait=True, switches_count=number, kernel_stack=0, stage_id=0, stage_attempt=0,
            task_attempt_id=0, sql_id=0,
        )  # fmt: skip
    return world


def test_writers_are_stopped_for_two_seconds(tmp_path: Path) -> None:
    found = only(stopped("vfs_write;balance_dirty_pages;io_schedule").write(tmp_path), RULE)
    assert holds(found, 2 / 2 * 0.65)
    assert found.place.stage_id == 0
    assert found.remedies[0].factor == "spark.local.dir"


def test_writers_on_one_host_of_two(tmp_path: Path) -> None:
    two = one_waits()
    two.add("kernel_stacks", host=WEST, stack_id=0, symbols="vfs_write;balance_dirty_pages")
    span = next(row for row in two.rows["spans"] if row["host"] == WEST)
    for number in range(40):
        at = span["start_mono_ns"] + number * 20 * MS
        two.add(
            "thread_states", host=WEST, pid=span["pid"], tid=span["tid"], begin_mono_ns=at,
            end_mono_ns=at + 10 * MS, passes_count=4, weight_ns=20 * MS, state="disk",
            io_wait=True, switches_count=number, kernel_stack=0, stage_id=0, stage_attempt=0,
            task_attempt_id=span["task_attempt_id"], sql_id=0,
        )  # fmt: skip
    found = only(two.write(tmp_path), RULE)
    assert holds(found, 0.8 / 2 * 0.65)
    assert (found.place.host, found.place.stage_id) == (WEST, 0)


def test_reads_are_no_write_back(tmp_path: Path) -> None:
    assert judged(stopped("vfs_read;filemap_read;io_schedule").write(tmp_path), RULE).findings == []


def test_writers_of_another_application(tmp_path: Path) -> None:
    world = beside(
        stopped("vfs_write;balance_dirty_pages;io_schedule"), "thread_states", state="disk"
    )
    assert judged(world.write(tmp_path), RULE).findings == []


def test_healthy_twin(tmp_path: Path) -> None:
    found = judged(job().write(tmp_path), RULE)
    assert found.findings == []
    assert [one.code for one in found.unjudged] == [RULE.code]
