"""Waits of tasks for memory, by the kernel's delay accounting."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console
from tests.support.tables import HOST, MS, PID, StageSpec, World, mono

from pyrometer.accounts.memory_waits import MemoryWaits
from pyrometer.accounts.terminal import memory_lines
from pyrometer.store import Run
from pyrometer.summary.summary import summary

KINDS = ("swapin", "freepages", "thrashing", "compact")


@pytest.fixture
def world() -> World:
    """Make two stages, of which each has a task on each of two threads."""
    made = World([StageSpec([40, 40]), StageSpec([40, 40])])
    for kind in KINDS:
        read(made, None, kind, (0, 0), (made.end_ms, 0))
    return made


def read(made: World, tid: int | None, kind: str, *readings: tuple[int, int]) -> None:
    """Write readings of ms of waits; their number is that of the ms."""
    for at, waited in readings:
        made.add("delays", host=HOST, t_mono_ns=mono(at), pid=PID, tid=tid, kind=kind,
                 count=waited, total_ns=waited * MS)  # fmt: skip


def span(made: World, stage: int) -> tuple[int, int, int]:
    """Give thread, begin and end (ms) of the first task of a stage."""
    one = next(row for row in made.rows["spans"] if row["stage_id"] == stage)
    return one["tid"], *((one[f"{end}_mono_ns"] - mono(0)) // MS for end in ("start", "end"))


def waits(made: World, folder: Path) -> MemoryWaits:
    with Run.open(made.write(folder)) as run:
        return summary(run).memory.waits


def test_growth_within_a_task_is_the_task_s_and_at_its_end_has_bounds(
    world: World, tmp_path: Path
) -> None:
    tid, start, end = span(world, 0)
    # 12 ms within the task, and 10 ms in a step of 20 ms of which it has the half.
    read(world, tid, "freepages", (start, 0), (start + 20, 12), (end - 10, 12), (end + 10, 22))
    later, start, _ = span(world, 1)
    read(world, later, "freepages", (start, 22), (start + 20, 25))
    world.rows["delays"] = [
        row for row in world.rows["delays"] if (row["tid"], row["kind"]) != (None, "freepages")
    ]
    read(world, None, "freepages", (0, 0), (world.end_ms, 30))
    found = waits(world, tmp_path)
    reclaim = next(one for one in found.kinds if one.kind == "reclaim")
    assert reclaim.time_ns is not None
    time = reclaim.time_ns
    assert (time.value, time.low, time.high) == (20 * MS, 15 * MS, 25 * MS)
    assert reclaim.share == pytest.approx(20 / (4 * 41), rel=0.1)
    assert (reclaim.processes_ns, reclaim.processes_count) == (30 * MS, 30)
    by_stage = {one.stage_id: one.waits[0].time_ns.value for one in found.stages}
    assert by_stage == {0: 17 * MS, 1: 3 * MS}
    assert [one.waits[0].time_ns.value for one in found.tasks] == [17 * MS, 3 * MS]
    others = [one.time_ns.value for one in found.kinds if one.time_ns and one is not reclaim]
    assert others == [0, 0, 0]


def test_a_wait_longer_than_its_step_began_before_it(world: World, tmp_path: Path) -> None:
    tid, start, _ = span(world, 0)
    read(world, tid, "swapin", (start + 25, 0), (start + 30, 20))
    found = waits(world, tmp_path)
    time = next(one for one in found.kinds if one.kind == "swap_in").time_ns
    assert time is not None
    assert (time.value, time.low, time.high) == (20 * MS, 20 * MS, 20 * MS)


def test_what_cannot_be_told_is_missing_and_has_a_reason(world: World, tmp_path: Path) -> None:
    tid, _, end = span(world, 0)
    world.rows["delays"] = [
        row for row in world.rows["delays"] if row["kind"] not in ("compact", "thrashing")
    ]
    read(world, None, "thrashing", (0, 0), (world.end_ms, 9))
    read(world, tid, "thrashing", (end, 9))
    found = waits(world, tmp_path / "old")
    assert "only at their end" in str(found.reason)
    assert {one.time_ns for one in found.kinds} == {None}
    kinds = {one.kind: one for one in found.kinds}
    assert kinds["thrashing"].processes_count == 9
    assert kinds["compaction"].reason == "this kernel does not count it"
    assert kinds["compaction"].processes_ns is None
    del world.rows["delays"]
    assert "probe" in str(waits(world, tmp_path / "none").reason)


def test_a_probe_that_may_not_ask_the_kernel_says_so(world: World, tmp_path: Path) -> None:
    del world.rows["delays"]
    root = world.write(tmp_path)
    report = {"taskstats": {"available": False, "switched_on": False,
                            "reason": "taskstats: Operation not permitted"}}  # fmt: skip
    (root / "raw").mkdir(exist_ok=True)
    (root / "raw" / f"probe-{HOST}.report.json").write_text(json.dumps(report))
    with Run.open(root) as run:
        reason = str(summary(run).memory.waits.reason)
    assert "Operation not permitted" in reason
    assert "CAP_NET_ADMIN" in reason


def test_the_summary_prints_what_tasks_waited(world: World, tmp_path: Path) -> None:
    for stage, waited in ((0, 8), (1, 16)):
        tid, start, _ = span(world, stage)
        read(world, tid, "freepages", (start, 0), (start + 20, waited))
    with Run.open(world.write(tmp_path)) as run:
        found = summary(run)
    told = io.StringIO()
    for line in memory_lines(found.memory):
        Console(file=told, width=200).print(line)
    text = told.getvalue()
    assert "tasks were in direct reclaim for 24.0 ms (24.0 ms – 24.0 ms)" in text
    assert "16.0 ms of it in stage 1" in text
