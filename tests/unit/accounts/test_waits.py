"""Time off the CPU and latencies of I/O of an invented run, known to the nanosecond."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console
from tests.support.simulation.scheduler import WAKERS, add_events
from tests.support.tables import HOST, MS, StageSpec, World

from pyrometer.accounts.io import io_latency
from pyrometer.accounts.waits.off_cpu import waits
from pyrometer.accounts.waits.schema import LatencyBucket
from pyrometer.accounts.waits.terminal import latency_lines, wait_lines
from pyrometer.accounts.window import open_scope
from pyrometer.store import Run
from pyrometer.terminal.drawing import Look, put


def _world(by_second: bool = False) -> World:
    world = World(stages=[StageSpec(task_ms=[100, 200, 300, 400])])
    add_events(world, by_second)
    return world


def _latencies(world: World, begin: int, end: int) -> None:
    for low, count, total in ((1 << 16, 90, 90 * 100_000), (1 << 20, 10, 10 * 1_500_000)):
        for kind in ("block", "queue"):
            world.add(
                "io_latency", host=HOST, begin_mono_ns=begin, end_mono_ns=end, kind=kind,
                device="vda", pid=4242, operation="read", low_ns=low, count=count, sum_ns=total,
                bytes=count * 4096,
            )  # fmt: skip


@pytest.mark.parametrize("by_second", [False, True])
def test_time_off_the_cpu_is_that_of_the_events(tmp_path: Path, by_second: bool) -> None:
    world = _world(by_second)
    world.write(tmp_path)
    with Run.open(tmp_path) as run:
        found = waits(open_scope(run, "application"))
    rows = world.rows["off_cpu"]
    off = sum(row["off_ns"] for row in rows)
    queued = sum(row["run_queue_ns"] for row in rows)
    # Sums over a second reach beyond the window where the application began within it.
    within = 0.0 if not by_second else 0.5
    assert found.off_ns == pytest.approx(off, rel=within or 1e-9)
    assert found.run_queue_ns == pytest.approx(queued, rel=within or 1e-9)
    [task] = [role for role in found.roles if role.role == "task"]
    assert task.off_ns == found.off_ns
    ended = {end.ended_by: end.count for end in found.ended_by}
    assert len(ended) == len({tuple(sorted(waker.items())) for waker in WAKERS[: len(rows)]})
    assert ended["gc"] >= 1
    assert sum(end.share for end in found.ended_by) == pytest.approx(1)
    text = "".join(map(str, wait_lines(found, Look(False, 40, 120))))
    assert text


def test_without_events_there_is_a_reason(tmp_path: Path) -> None:
    World(stages=[StageSpec(task_ms=[100])]).write(tmp_path)
    with Run.open(tmp_path) as run:
        scope = open_scope(run, "application")
        found = waits(scope)
        assert found.off_ns is None
        assert found.reason is not None
        assert "T0" in found.reason
        assert io_latency(scope) == []
    assert list(wait_lines(found, Look(False, 40, 120))) == []


def test_latencies_are_added_up_by_device_and_operation(tmp_path: Path) -> None:
    world = _world()
    begin = min(row["start_mono_ns"] for row in world.rows["spans"])
    _latencies(world, begin, begin + 50 * MS)
    _latencies(world, begin + 50 * MS, begin + 90 * MS)
    world.write(tmp_path)
    with Run.open(tmp_path) as run:
        block, queue = io_latency(open_scope(run, "application"))
    assert (block.kind, queue.kind, block.device, block.operation) == (
        "block", "queue", "vda", "read",
    )  # fmt: skip
    assert (block.count, block.bytes) == (200, 200 * 4096)
    assert block.mean_ns == pytest.approx((180 * 100_000 + 20 * 1_500_000) / 200)
    assert block.buckets == [
        LatencyBucket(low_ns=1 << 16, count=180, sum_ns=180 * 100_000),
        LatencyBucket(low_ns=1 << 20, count=20, sum_ns=20 * 1_500_000),
    ]
    assert (block.p50_ns.low, block.p50_ns.high, block.p50_ns.n) == (1 << 16, 1 << 17, 200)
    assert (block.p99_ns.low, block.p99_ns.high) == (1 << 20, 1 << 21)
    assert [process.count for process in block.processes] == [200]
    console = Console(width=120, record=True, file=io.StringIO())
    put(console, latency_lines([block, queue], Look(False, 40, 120)))
    text = console.export_text()
    # Four powers of two from the first bucket to the last, of which two are empty.
    assert re.search(r"vda read, at the device +65\.5 µs +█   ▃ +2\.10 ms", text)
    assert "process not known 4242 100 %" in text


def test_of_a_period_cut_by_the_window_the_buckets_hold_what_is_left(tmp_path: Path) -> None:
    world = _world()
    begin = min(row["start_mono_ns"] for row in world.rows["spans"])
    # Two thirds of the period lie before the application; a third of each of three is one.
    since = begin - 2 * (end := 600 * MS)
    for low in (1 << 12, 1 << 14, 1 << 16):
        world.add(
            "io_latency", host=HOST, begin_mono_ns=since, end_mono_ns=begin + end, kind="read",
            device=None, pid=4242, operation="read", low_ns=low, count=1, sum_ns=low, bytes=4096,
        )  # fmt: skip
    world.write(tmp_path)
    with Run.open(tmp_path) as run:
        (found,) = io_latency(open_scope(run, "application"))
    assert found.count == 1 == sum(bucket.count for bucket in found.buckets)
    put(Console(file=io.StringIO()), latency_lines([found], Look(False, 40, 120)))
