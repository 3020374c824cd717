"""What perf counters tell: exact on straight lines, scaled only where it is said."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.support.hosts.two_hosts import WEST, TwoHosts
from tests.support.tables import HOST, MS, PID, StageSpec, World, mono

from pyrometer.accounts.hardware.bandwidth import (
    LINE_BYTES,
    NO_CARDS,
    NOT_OF_THE_CARD,
    STOOD_STILL,
)
from pyrometer.accounts.hardware.hardware import breakdown, hardware
from pyrometer.accounts.hardware.schema import Hardware
from pyrometer.accounts.hardware.terminal import hardware_lines
from pyrometer.accounts.window import open_scope
from pyrometer.store import Run
from pyrometer.terminal.drawing import Look

TASK = 100
GIB = 1 << 30


@pytest.fixture
def world() -> World:
    """Make two iterations of two tasks each, side by side on threads 100 and 101."""
    return World([StageSpec([40, 30], iteration=0), StageSpec([40, 40], iteration=1)])


def count(
    made: World, event: str, *levels: tuple[float, int], tid: int | None = TASK,
    scope: str = "thread", running: float = 1.0,
) -> None:  # fmt: skip
    """Write readings (ms, value) of a counter that was on the hardware a part of the time."""
    first = levels[0][0]
    for at, value in levels:
        enabled = round((at - first) * MS)
        made.add(
            "perf_counts", host=HOST, t_mono_ns=mono(0) + round(at * MS), scope=scope,
            pid=PID if tid else None, tid=tid, event=event, value=value,
            enabled_ns=enabled, running_ns=round(enabled * running),
        )  # fmt: skip


def shown(
    made: World | TwoHosts,
    folder: Path,
    window: str = "application",
    manifest: dict[str, Any] | None = None,
) -> Hardware:
    root = made.write(folder)
    if manifest is not None:
        base = {"schema": "pyrometer/manifest/1", "run_id": "r", "created_wall_ns": 0,
                "pyrometer_version": "0", "state": "finished", "workload": {},
                "profile": "light", "host": {}}  # fmt: skip
        (root / "manifest.json").write_text(json.dumps(base | manifest))
    with Run.open(root) as run:
        return hardware(open_scope(run, window))


def spans(made: World) -> list[tuple[float, float]]:
    """Start and end (ms) of each task."""
    return [
        ((row["start_mono_ns"] - mono(0)) / MS, (row["end_mono_ns"] - mono(0)) / MS)
        for row in made.rows["spans"]
    ]


def test_a_run_without_counters_says_why(world, tmp_path):
    events = [{"event": "cycles", "counted": False, "reason": "no PMU for it: No such file",
               "remedy": "bare metal"}]  # fmt: skip
    probe = {"name": "os", "asked": "", "counters": {"events": events}}
    found = shown(world, tmp_path, manifest={"probes": [probe]})
    assert found.reason == "cycles: no PMU for it: No such file (bare metal)"
    assert (found.ipc.ipc, found.ipc.reason, found.cpi.reason) == (None, found.reason, found.reason)
    assert [one.event for one in found.not_counted] == ["cycles"]
    assert found.bandwidth.total_bytes is None
    assert "doctor" in (found.bandwidth.reason or "")


def test_growth_follows_straight_lines_into_windows_and_tasks(world, tmp_path):
    (start, end), *_ = spans(world)
    # Two cycles and three instructions a nanosecond while the task runs, nothing outside of it.
    work = round((end - start) * MS)
    for event, rate in (("cycles", 2), ("instructions", 3)):
        levels = [(start - 10, 0), (start, 0), (end, rate * work), (end + 200, rate * work)]
        count(world, event, *levels)
    found = shown(world, tmp_path / "whole")
    assert found.ipc.cycles_count == pytest.approx(2 * work)
    assert (found.ipc.ipc, found.ipc.running_ratio) == (pytest.approx(1.5), 1.0)
    (task,) = [task for task in found.tasks if task.task_attempt_id == 0]
    assert task.counts == pytest.approx({"cycles": 2 * work, "instructions": 3 * work})
    assert task.counted_ratio == 1.0
    (stage,) = [stage for stage in found.stages if stage.stage_id == 0]
    assert (stage.tasks_count, stage.ipc) == (1, pytest.approx(1.5))
    assert [role.role for role in found.roles] == ["task"]
    second = shown(world, tmp_path / "second", "iteration/1")
    assert second.ipc.cycles_count == pytest.approx(0)


def test_half_a_task_between_two_readings_is_half_its_count(world, tmp_path):
    (start, end), *_ = spans(world)
    middle = (start + end) / 2
    count(world, "cycles", (start, 0), (end, 1000))
    count(world, "instructions", (start, 0), (end, 500))
    count(world, "cycles", (middle, 0), (end, 700), tid=101)
    count(world, "instructions", (middle, 0), (end, 700), tid=101)
    found = shown(world, tmp_path)
    late = next(task for task in found.tasks if task.task_attempt_id == 1)
    length = spans(world)[1][1] - spans(world)[1][0]
    assert late.counted_ratio == pytest.approx((spans(world)[1][1] - middle) / length)


def test_turns_on_the_hardware_are_told_and_scaled_where_it_is_said(world, tmp_path):
    count(world, "cycles", (50, 0), (250, 4000))
    count(world, "branch-misses", (50, 0), (250, 100), running=0.25)
    found = {one.event: one for one in shown(world, tmp_path).counters}
    misses = found["branch-misses"]
    assert (misses.value, misses.running_ratio, misses.scaled) == (100, 0.25, 400)
    assert (found["cycles"].running_ratio, found["cycles"].scaled) == (1.0, 4000)


def test_a_counter_opened_anew_goes_on_from_where_it_was(world, tmp_path):
    count(world, "cycles", (100, 0), (120, 800))
    count(world, "cycles", (130, 0), (150, 300))
    (cycles,) = shown(world, tmp_path).counters
    assert cycles.value == 1100


def test_operators_get_the_ratio_of_the_intervals_in_which_they_were_sampled(world, tmp_path):
    world.rows["samples"] = [row for row in world.rows["samples"] if row["event"] != "cpu"]
    (start, _), *_ = spans(world)
    template = world.rows["samples"][0] | {"event": "cpu", "state": None, "wait_class": None}
    for step in range(10):
        begin = start + 2 * step
        work = ("Filter", 1000) if step % 2 else ("Scan", 3000)
        row = template | {"tid": TASK, "operator": work[0], "weight": MS, "codegen_stage_id": None}
        world.rows["samples"].append(row | {"t_ns": mono(0) + round((begin + 1) * MS)})
    instructions = [sum(1000 if i % 2 else 3000 for i in range(n)) for n in range(11)]
    count(world, "cycles", *[(start + 2 * n, 2000 * n) for n in range(11)])
    count(world, "instructions", *[(start + 2 * n, instructions[n]) for n in range(11)])
    found = {one.operator: one for one in shown(world, tmp_path).operators}
    assert {name: one.ipc.value for name, one in found.items()} == {"Filter": 0.5, "Scan": 1.5}
    assert {one.ipc.n for one in found.values()} == {5}
    assert all(one.ipc.low == one.ipc.value == one.ipc.high for one in found.values())


def test_memory_traffic_by_node_beside_the_host_card(world, tmp_path):
    length = world.end_ms / 1e3
    for node, read, written in ((0, 6 * GIB, 2 * GIB), (1, GIB, 0)):
        for event, moved in (("memory_read_bytes", read), ("memory_written_bytes", written)):
            count(world, event, (0, 0), (world.end_ms, moved), tid=None, scope=f"node/{node}")
    count(world, "link_sent_bytes", (0, 0), (world.end_ms, GIB), tid=None, scope="upi/node/0")
    most = {"value": 18 * GIB / length, "low": 9 * GIB / length, "high": 36 * GIB / length,
            "level": 0.95, "n": 9, "method": "median"}  # fmt: skip
    card = {"read_bytes_per_s": {"1": most | {"value": 1.0}, "4": most}}
    found = shown(world, tmp_path, manifest={"host": {"hostname": HOST, "card": card}}).bandwidth
    assert (found.source, found.lower_bound, found.of) == (
        "memory controllers", False, "the whole machine"
    )  # fmt: skip
    assert (found.read_bytes, found.written_bytes, found.total_bytes) == (7 * GIB, 2 * GIB, 9 * GIB)
    assert [(node.scope, node.total_bytes) for node in found.nodes] == [
        ("node/0", 8 * GIB), ("node/1", GIB)
    ]  # fmt: skip
    assert [(link.scope, link.total_bytes) for link in found.links] == [("upi/node/0", GIB)]
    share = found.share_of_attainable
    assert share is not None
    assert found.attainable_by == "reading, 4 threads"
    assert (share.value, share.low, share.high) == pytest.approx((0.5, 0.25, 1.0))


def test_memory_traffic_and_energy_of_hosts_are_apart_and_beside_no_card(tmp_path):
    two = TwoHosts([StageSpec([400, 300, 500, 200])])
    for host, moved in ((HOST, GIB), (WEST, 2 * GIB)):
        for event in ("memory_read_bytes", "energy_package_nj"):
            for at, value in ((0, 0), (two.world.end_ms, moved)):
                two.add("perf_counts", host=host, t_mono_ns=mono(at), scope="node/0", event=event,
                        value=value, enabled_ns=at * MS, running_ns=at * MS)  # fmt: skip
    card = {"triad_bytes_per_s": {"value": 1.0, "low": 1.0, "high": 1.0, "level": 0.95, "n": 9,
                                  "method": "median"}}  # fmt: skip
    found = shown(two, tmp_path, manifest={"host": {"hostname": HOST, "card": card}})
    moved = {node.scope: node.total_bytes for node in found.bandwidth.nodes}
    assert moved == pytest.approx({"node/0 on lab": GIB, "node/0 on west": 2 * GIB}, rel=1e-3)
    assert found.bandwidth.total_bytes == pytest.approx(3 * GIB, rel=1e-3)
    assert found.bandwidth.share_of_attainable is None
    assert NOT_OF_THE_CARD in (found.bandwidth.reason or "")
    assert NO_CARDS in (shown(two, tmp_path / "bare").bandwidth.reason or "")
    spent = {one.scope: one.energy_nj for one in found.energy}
    assert spent == pytest.approx(moved)


def test_the_card_is_of_the_launchers_host_where_only_that_is_counted(tmp_path):
    two = TwoHosts([StageSpec([400, 300, 500, 200])])
    for at, value in ((0, 0), (two.world.end_ms, GIB)):
        two.add("perf_counts", host=HOST, t_mono_ns=mono(at), scope="node/0", value=value,
                event="memory_bytes", enabled_ns=at * MS, running_ns=at * MS)  # fmt: skip
    card = {"triad_bytes_per_s": {"value": 1.0, "low": 1.0, "high": 1.0, "level": 0.95, "n": 9,
                                  "method": "median"}}  # fmt: skip
    for hostname, compared in ((HOST, True), ("elsewhere", False)):
        host = {"hostname": hostname, "card": card}
        found = shown(two, tmp_path / hostname, manifest={"host": host}).bandwidth
        assert (found.share_of_attainable is not None) == compared
        assert (NOT_OF_THE_CARD in (found.reason or "")) != compared


def test_a_card_of_fewer_threads_than_cpus_gives_no_share(world, tmp_path):
    count(world, "memory_bytes", (0, 0), (world.end_ms, GIB), tid=None, scope="node/0")
    card = {"triad_bytes_per_s": {"value": 1.0, "low": 1.0, "high": 1.0, "level": 0.95, "n": 9,
                                  "method": "median"}, "cpus_allowed_count": 4}  # fmt: skip
    for threads, compared in ((4, True), (1, False)):
        host = {"hostname": HOST, "card": card | {"threads_count": threads}}
        found = shown(world, tmp_path / str(threads), manifest={"host": host}).bandwidth
        assert (found.share_of_attainable is not None) == compared
        assert ("by 1 of 4 CPUs" in (found.reason or "")) != compared


def test_without_controllers_resctrl_and_then_misses_are_asked(world, tmp_path):
    count(world, "LLC-load-misses", (0, 0), (world.end_ms, 1000), running=0.5)
    count(world, "node-loads", (0, 0), (world.end_ms, 1000))
    count(world, "node-load-misses", (0, 0), (world.end_ms, 200))
    guess = shown(world, tmp_path / "misses").bandwidth
    assert (guess.source, guess.lower_bound) == ("cache misses", True)
    assert guess.total_bytes == 2000 * LINE_BYTES
    assert "lower bound" in (guess.reason or "")
    assert guess.local_ratio == pytest.approx(0.8)
    for event, moved in (("mbm_total_bytes", 1000), ("mbm_local_bytes", 750)):
        count(world, event, (0, 0), (world.end_ms, moved), tid=None, scope="node/0")
    found = shown(world, tmp_path / "resctrl").bandwidth
    assert (found.source, found.total_bytes, found.local_ratio) == ("resctrl", 1000, 0.75)
    assert found.of == "the followed processes"


def test_moves_between_cpus_are_counted_by_the_kernel_or_told_as_a_lower_bound(world, tmp_path):
    rows = [row for row in world.rows["thread_counters"] if row["tid"] in (100, 101)]
    for place, row in enumerate(rows):
        row["cpu"] = place % 2 if row["tid"] == 100 else 3
    moved = sum(
        a["cpu"] != b["cpu"]
        for tid in (100, 101)
        for a, b in zip(*(lambda r: (r, r[1:]))([x for x in rows if x["tid"] == tid]), strict=False)
    )
    found = shown(world, tmp_path / "readings").placement
    assert (found.moves_count, found.migrations_count, found.by) == (moved, None, "readings")
    assert found.threads_count == 2
    for tid, migrations in ((100, 40), (101, 2)):
        count(world, "cpu-migrations", (0, 0), (world.end_ms, migrations), tid=tid)
    found = shown(world, tmp_path / "kernel").placement
    assert (found.migrations_count, found.by) == (42, "cpu-migrations")
    assert found.per_s == pytest.approx(42 / (world.end_ms / 1e3))


def test_task_threads_are_told_by_numa_node(world, tmp_path):
    rows = {tid: [row for row in world.rows["thread_counters"] if row["tid"] == tid]
            for tid in (100, 101)}  # fmt: skip
    for row in rows[100]:
        row["cpu"] = 0
    run = {tid: [row["run_ns"] for row in own] for tid, own in rows.items()}
    half = [at for at, (a, b) in enumerate(pairwise(run[101]), 1) if b > a][1]
    for place, row in enumerate(rows[101]):
        row["cpu"] = 1 if place < half else 3
    assert shown(world, tmp_path / "unknown").placement.nodes_reason
    # CPUs 0 and 1 are node 0, 2 and 3 node 1.
    for cpu in range(4):
        world.add("os_series", host=HOST, t_mono_ns=mono(0), scope=f"cpu/{cpu}",
                  name="numa_node", value=cpu // 2)  # fmt: skip
    found = shown(world, tmp_path / "known").placement
    assert (found.node_moves_count, found.nodes_reason) == (1, None)
    near, far = found.nodes
    assert (near.node, near.cpus_count, far.node, far.cpus_count) == (0, 2, 1, 2)
    crossing = run[101][half] - run[101][half - 1]
    late = run[101][-1] - run[101][half - 1]
    assert far.cpu_ns.value == pytest.approx(late, abs=2)
    assert (far.cpu_ns.low, far.cpu_ns.high) == pytest.approx((late - crossing, late), abs=2)
    assert near.cpu_ns.high == pytest.approx((near.cpu_ns.value or 0) + crossing, abs=2)
    assert near.share + far.share == pytest.approx(1)
    by_thread = {one.tid: one for one in found.threads}
    assert [one.node for one in by_thread[100].nodes] == [0]
    assert (by_thread[100].node_moves_count, by_thread[101].node_moves_count) == (0, 1)
    assert sum(one.share or 0 for one in by_thread[101].nodes) == pytest.approx(1)
    lines = list(hardware_lines(Hardware(placement=found), Look(plain=True, names=20, width=200)))
    assert any("they moved to another node at least 1 times" in str(line) for line in lines)


def test_energy_that_stands_still_is_not_zero(world, tmp_path):
    for event, spent in (("energy_package_nj", 3 * 10**9), ("energy_platform_nj", 0)):
        count(world, event, (0, 0), (world.end_ms, spent), tid=None, scope="node/0")
    package, platform = shown(world, tmp_path).energy
    assert package.watts == pytest.approx(3 / (world.end_ms / 1e3))
    assert (platform.energy_nj, platform.watts, platform.reason) == (None, None, STOOD_STILL)


def sums(**counts: float) -> dict[str, tuple[float, float, float]]:
    return {name.replace("_", "-"): (value, 10.0, 10.0) for name, value in counts.items()}


def test_cycles_are_broken_down_by_what_the_pmu_counts():
    base = sums(cycles=1000, instructions=500)
    slots = sums(topdown_retiring=40, topdown_bad_spec=10, topdown_fe_bound=20, topdown_be_bound=30)
    found = breakdown(base | slots, None)
    assert [(p.part, p.share, p.cpi) for p in found.parts] == [
        ("retiring", 0.4, 0.8), ("bad speculation", 0.1, 0.2), ("frontend bound", 0.2, 0.4),
        ("backend bound", 0.3, 0.6),
    ]  # fmt: skip
    assert "Yasin" in (found.source or "")
    before = sums(
        topdown_total_slots=400, topdown_slots_issued=250, topdown_slots_retired=200,
        topdown_fetch_bubbles=80, topdown_recovery_bubbles=10,
    )  # fmt: skip
    assert [p.share for p in breakdown(before, None).parts] == pytest.approx([0.5, 0.15, 0.2, 0.15])
    stalls = {"stall_frontend": (100.0, 10.0, 5.0), "stall_backend": (200.0, 10.0, 5.0)}
    arm = breakdown(base | stalls, None)
    assert [p.share for p in arm.parts] == pytest.approx([0.2, 0.4, 0.4])
    assert arm.running_ratio == 0.5
    assert breakdown(base, None).parts == []
    assert breakdown(base, None).reason
    assert breakdown({}, "no PMU").reason == "no PMU"
