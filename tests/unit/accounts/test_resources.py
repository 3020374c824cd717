"""What a summary says about memory, page faults, swap and compiled code."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.support.tables import HOST, PID, StageSpec, World, mono

from pyrometer.accounts.terminal import memory_lines
from pyrometer.collect.host.card import this_host
from pyrometer.collect.launch.record import new_manifest
from pyrometer.store import Run
from pyrometer.store.manifest import write_manifest
from pyrometer.summary import terminal
from pyrometer.summary.schema import Summary
from pyrometer.summary.summary import summary
from pyrometer.trial.trial import Trial

MIB = 1 << 20
CHILD, PROBE = PID + 1, PID + 2


@pytest.fixture
def world() -> World:
    """Make two iterations of two tasks each; the first runs from 100 ms on."""
    return World([StageSpec([40, 30], iteration=0), StageSpec([40, 40], iteration=1)])


def shown(made: World, folder: Path, window: str = "application") -> Summary:
    with Run.open(made.write(folder)) as run:
        return summary(run, window)


def read(made: World, scope: str, name: str, *levels: tuple[int, int]) -> None:
    for at, value in levels:
        made.add("os_series", host=HOST, t_mono_ns=mono(at), scope=scope, name=name, value=value)


def test_allocation_of_tasks_is_added_up_and_silent_tasks_are_told(world, tmp_path):
    spans = world.rows["spans"]
    for span in spans[:3]:
        span["allocated_bytes"] = 8 * MIB
    found = shown(world, tmp_path / "all").memory.allocation
    assert found.allocated_bytes == 24 * MIB
    assert found.reason == "without 1 task(s) that did not report it"
    first = shown(world, tmp_path / "first", "iteration/0")
    assert first.memory.allocation.allocated_bytes == 16 * MIB
    assert first.memory.allocation.bytes_per_s == 16 * MIB * 1e9 / first.window.length_ns
    assert first.memory.allocation.reason is None


def test_page_faults_are_those_of_the_application(world, tmp_path):
    for pid, faults in ((PID, 3000), (CHILD, 40), (PROBE, 500)):
        scope = f"process/{pid}"
        read(world, scope, "start_time_mono_ns", (0, mono(0)))
        read(world, scope, "minor_faults_count", (20, 0), (world.end_ms, faults))
    read(world, f"process/{PID}", "major_faults_count", (20, 0), (world.end_ms, 7))
    world.add(
        "thread_counters", host=HOST, pid=PROBE, tid=PROBE, t_mono_ns=mono(50), comm="pyro-probe",
        run_ns=0, run_delay_ns=0, timeslices_count=1, first=True, last=False,
    )  # fmt: skip
    found = shown(world, tmp_path).memory.faults
    assert (found.minor_count, found.major_count, found.reason) == (3040, 7, None)


def test_swap_is_the_most_at_once(world, tmp_path):
    read(world, f"process/{PID}", "swap_bytes", (60, 0), (110, 100), (130, 30), (400, 30))
    read(world, f"process/{CHILD}", "swap_bytes", (120, 20), (125, 0), (128, 60), (160, 60))
    read(world, "host", "swapped_in_bytes", (0, 0), (world.end_ms, 4096))
    read(world, "host", "swapped_out_bytes", (0, 0), (world.end_ms, 8192))
    found = shown(world, tmp_path / "all").memory.swap
    assert found.peak_bytes == 160
    assert (found.host_read_bytes, found.host_written_bytes) == (4096, 8192)
    # The child, and what it had in swap, is gone by the second iteration.
    later = shown(world, tmp_path / "later", "iteration/1").memory.swap
    assert later.peak_bytes == 30


def test_memory_is_told_by_node_where_the_run_was_about_nodes(world, tmp_path):
    root = world.write(tmp_path)
    manifest = new_manifest(Trial(name="x"), this_host(with_card=False), [], [])
    manifest.numa = {
        "nodes": [
            {"node": 0, "numa_hit_pages_count": 900, "numa_miss_pages_count": 100,
             "other_node_pages_count": 7, "interleave_hit_pages_count": 1},
            {"node": 1, "numa_hit_pages_count": None},
        ],
        "executors": [
            {"pid": 7, "bytes_by_node": {"0": 3 * MIB, "1": MIB}, "bound_ratio": 0.75},
            {"pid": 8, "bytes_by_node": {"0": MIB}, "bound_ratio": None},
        ],
        "bound_ratio": 0.75, "reason": None,
    }  # fmt: skip
    write_manifest(root, manifest)
    with Run.open(root) as run:
        found = summary(run)
    assert found.memory.numa is not None
    near, far = found.memory.numa.nodes
    assert (near.executors_bytes, far.executors_bytes) == (4 * MIB, MIB)
    assert (near.given_pages_count, near.other_node_pages_count) == (1000, 7)
    assert far.given_pages_count is None
    console = Console(file=io.StringIO(), width=200)
    for line in memory_lines(found.memory):
        console.print(line)
    text = console.file.getvalue()
    assert "node 0 4.00 MiB, node 1 1.00 MiB; 75.0 % of the executor with the least" in text
    assert "node 0 1 000 (7 to programs on another)" in text


def test_a_damaged_record_of_nodes_is_said(world, tmp_path):
    root = world.write(tmp_path)
    manifest = new_manifest(Trial(name="x"), this_host(with_card=False), [], [])
    manifest.numa = {"nodes": "two"}
    write_manifest(root, manifest)
    with Run.open(root) as run:
        found = summary(run)
    console = Console(file=io.StringIO(), width=200)
    for line in memory_lines(found.memory):
        console.print(line)
    assert "the manifest's record of nodes is damaged" in console.file.getvalue()


def test_what_was_not_read_has_a_reason(world, tmp_path):
    found = shown(world, tmp_path / "unread")
    assert found.memory.allocation.reason == "no task of this window reported what it allocated"
    assert found.memory.faults.reason == "the kernel did not give the probe minor_faults_count"
    assert found.memory.swap.reason == "the kernel did not give the probe swap_bytes"
    assert "no stack" in str(found.code.reason)
    world.rows = {k: v for k, v in world.rows.items() if k not in ("spans", "os_series", "samples")}
    found = shown(world, tmp_path / "log")
    assert "no plugin" in str(found.memory.allocation.reason)
    assert "probe delivered nothing" in str(found.memory.faults.reason)
    assert "no CPU samples" in str(found.code.reason)
    allocation = found.memory.allocation.model_dump(exclude={"sampled"})
    values = {**allocation, **found.memory.faults.model_dump()}
    assert {value for name, value in values.items() if name != "reason"} == {None}


def test_code_is_that_of_the_innermost_frame_that_is_not_inlined(world, tmp_path):
    def frame(number: int, kind: str, **more: Any) -> None:
        world.add("frames", frame_id=number, method=f"m{number}", kind=kind, **more)

    for number, kind in enumerate(("interpreted", "c1", "c2", "inlined")):
        frame(number, kind, class_name="a.B")
    frame(4, "kernel")
    # Root first: inlined into c2; native code that interpreted code called; c1; no Java at all.
    stacks = ([0, 1, 2, 3, 3], [2, 0, 4], [0, 1], [4, 4])
    for number, frames in enumerate(stacks):
        world.add("stacks", stack_id=number, frame_ids=frames, truncated=False)
    cpu = [s for s in world.rows["samples"] if s["event"] == "cpu"]
    for number, sample in enumerate(cpu):
        sample["java_stack"] = min(number % 8, 3)
    made = shown(world, tmp_path)
    hits = {kind: sum(min(i % 8, 3) == n for i in range(len(cpu))) for n, kind in enumerate(
        ("c2", "interpreted", "c1", "no_java_frame"))}  # fmt: skip
    assert {one.kind: one.share for one in made.code.kinds} == {
        kind: n / len(cpu) for kind, n in hits.items()
    }
    task_cpu = sum(span["cpu_ns"] for span in world.rows["spans"])
    for one in made.code.kinds:
        assert one.on_cpu_ns == pytest.approx(task_cpu * one.share)
        assert one.estimate.low <= one.on_cpu_ns <= one.estimate.high
    assert sum(one.on_cpu_ns for one in made.code.kinds) == pytest.approx(task_cpu, abs=2)


def test_the_terminal_shows_them(world, tmp_path):
    for span in world.rows["spans"]:
        span["allocated_bytes"] = MIB
    read(world, f"process/{PID}", "minor_faults_count", (0, 0), (world.end_ms, 1234))
    read(world, f"process/{PID}", "swap_bytes", (110, 3 * MIB), (130, 0))
    console = Console(file=io.StringIO(), width=80)
    terminal.show_sections(console, shown(world, tmp_path), ["memory"])
    lines = console.file.getvalue().split("Memory ──")[1].splitlines()
    told = [" ".join(line.split()) for line in lines[1:4]]
    assert told[0].startswith("tasks allocated 4.00 MiB, 15.5 MiB a second")
    assert told[1:] == [
        "page faults of its processes: 1 234 minor, 0 major",
        "its processes had at most 3.00 MiB in swap",
    ]
