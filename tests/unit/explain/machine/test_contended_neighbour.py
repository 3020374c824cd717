from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.explain.planted import S, estimate, holds, job, judged, judged_with, stack
from tests.support.hosts.two_hosts import WEST, TwoHosts, WestClock
from tests.support.tables import HOST, MS, PID, StageSpec, World, wall
from tests.support.tables import mono as mono_at

from pyrometer.accounts.machine_schema import CpuTaker
from pyrometer.explain.catalogue.machine.contended_neighbour import RULE
from pyrometer.summary.schema import Summary


def others(summary: Summary, seconds: float) -> None:
    known = summary.contention
    known.behind_others_ns = estimate(seconds * S, seconds * S * 0.9, seconds * S * 1.1)
    known.others_ns, known.others_ratio = 4 * S, 0.25
    known.takers = [CpuTaker(pid=7, comm="backup", cpu_ns=4 * S)]


def test_half_of_the_wait_is_behind_a_backup(tmp_path: Path) -> None:
    world = job(on_cpu=0.3, run_queue=0.5)
    (found,) = judged_with(tmp_path, world, RULE, lambda summary: others(summary, 2)).findings
    assert found.shown
    assert holds(found, 1.0)
    assert "backup" in found.mechanism
    assert found.place.stage_id == 0


def test_others_run_but_nobody_waits(tmp_path: Path) -> None:
    world = job(on_cpu=0.8, run_queue=0.0)
    assert judged_with(tmp_path, world, RULE, lambda summary: others(summary, 2)).findings == []


def test_healthy_twin(tmp_path: Path) -> None:
    world = job(on_cpu=0.3, run_queue=0.5)
    found = judged_with(tmp_path, world, RULE, lambda summary: others(summary, 0)).findings
    assert found == []


def driver_waits(world: World | TwoHosts) -> None:
    """Let the driver wait for a CPU in nine tenths of the 4 s between two stages."""
    begin = (world.rows["stages"][0]["complete_wall_ns"] - wall(0)) // MS
    for stage in world.rows["stages"]:
        world.add("jobs", app_index=0, job_id=stage["stage_id"], status="succeeded",
                  submit_wall_ns=stage["submit_wall_ns"], end_wall_ns=stage["complete_wall_ns"],
                  stage_ids=[stage["stage_id"]])  # fmt: skip
    spark = stack(world, "a.Main.main", "org.apache.spark.SparkContext.runJob")
    for at, waited in ((begin, 0), (begin + 4000, 3600)):
        world.add("thread_counters", host=HOST, pid=PID, tid=9, t_mono_ns=mono_at(at), comm="main",
                  run_ns=0, run_delay_ns=waited * MS, timeslices_count=1, first=False,
                  last=False)  # fmt: skip
    world.add("samples", host=HOST, pid=PID, tid=9, t_ns=mono_at(begin + 5), clock="mono",
              source="async-profiler", unit="ns", role="driver", thread_name="main", event="cpu",
              weight=10 * MS, java_stack=spark)  # fmt: skip


def test_the_driver_waits_behind_them_too(tmp_path: Path) -> None:
    specs = [StageSpec([1000] * 8, sql_id=None), StageSpec([1000] * 8, gap_ms=4000, sql_id=None)]
    world = World(specs, on_cpu=0.3, run_queue=0.5)
    driver_waits(world)
    (found,) = judged_with(tmp_path, world, RULE, lambda summary: others(summary, 4)).findings
    assert "and the driver 1.8" in found.mechanism
    assert holds(found, 4 / 2 + 1.8)


def busy(*hosts: str, stages: int = 1) -> TwoHosts:
    """Give stages of four tasks, which wait three tenths of their time on hosts in use."""
    one = StageSpec([1000, 1000, 2000, 2000], sql_id=None, gap_ms=4000)
    two = TwoHosts([one] * stages, WestClock(2 * S))
    for row in two.rows["thread_counters"]:
        row["run_delay_ns"] *= 3 if row["host"] in hosts else 0
    for host in hosts:
        two.take(host, 0.8)
    return two


def test_others_on_one_host_of_two_cost_the_tasks_there(tmp_path: Path) -> None:
    (found,) = judged(busy(WEST).write(tmp_path), RULE).findings
    # Spread over all tasks, their 0.6 s would be 0.4 s of each.
    assert holds(found, 0.6)
    assert found.place.host == WEST


def test_both_hosts_are_named(tmp_path: Path) -> None:
    (found,) = judged(busy(HOST, WEST).write(tmp_path), RULE).findings
    assert found.place.words == f"2 places: {WEST}, {HOST}"
    assert f"80.0 % on {WEST}, 80.0 % on {HOST}" in found.mechanism


@pytest.mark.parametrize(("host", "waits"), [(WEST, False), (HOST, True)])
def test_the_driver_waits_behind_others_on_its_own_host(
    tmp_path: Path, host: str, waits: bool
) -> None:
    two = busy(host, stages=2)
    driver_waits(two)
    (found,) = judged(two.write(tmp_path), RULE).findings
    assert ("and the driver" in found.mechanism) == waits


SCRIPT, PACKER = 800, 900


def started(world: World, pid: int, parent: int, at_ms: int, *, java: bool = False) -> None:
    """Add a process that uses half of a CPU from then on, read every 100 ms."""
    for name, value in (("parent_pid", parent), ("start_time_mono_ns", mono_at(at_ms))):
        world.add("os_series", host=HOST, t_mono_ns=mono_at(at_ms), scope=f"process/{pid}",
                  name=name, value=value)  # fmt: skip
    for at in range(at_ms, world.end_ms, 100):
        world.add("thread_counters", host=HOST, pid=pid, tid=pid, t_mono_ns=mono_at(at),
                  comm="xz", run_ns=(at - at_ms) * MS // 2, run_delay_ns=0, timeslices_count=1,
                  first=at == at_ms, last=False)  # fmt: skip
    if java:
        world.add("processes", host=HOST, pid=pid, role="executor")


def packing(parent: int = SCRIPT, script_at_ms: int = 0, *, java: bool = False) -> World:
    """Give 4 s of tasks on two slots that wait half of their time, and a program beside them."""
    world = World([StageSpec([1000] * 8)], slots=2, on_cpu=0.5, run_queue=0.5)
    world.add("os_series", host=HOST, t_mono_ns=mono_at(0), scope=f"process/{PID}",
              name="parent_pid", value=1)  # fmt: skip
    world.add("os_series", host=HOST, t_mono_ns=mono_at(0), scope=f"process/{PID}",
              name="start_time_mono_ns", value=mono_at(0))  # fmt: skip
    started(world, SCRIPT, PID, script_at_ms)
    for row in world.rows["thread_counters"]:
        if row["pid"] == SCRIPT:
            row.update(run_ns=0)
    started(world, PACKER, parent, 150, java=java)
    return world


def test_the_script_packs_beside_its_queries(tmp_path: Path) -> None:
    found = judged_with(tmp_path, packing(), RULE, lambda summary: others(summary, 0)).findings
    (one,) = found
    # Nobody but tasks waits, 4 s in all: all CPU of the program, 2 s, would be theirs.
    assert holds(one, 1.0)
    assert one.shown
    assert one.mechanism.startswith("1 program that the application started beside Spark")
    assert "xz (2.0" in one.mechanism
    assert one.remedies[0].kind == "code"


def test_a_program_whose_shell_ends_is_still_the_scripts(tmp_path: Path) -> None:
    world = packing()
    for pid in (SCRIPT, PACKER):
        world.add("os_series", host=HOST, t_mono_ns=mono_at(world.end_ms), scope=f"process/{pid}",
                  name="parent_pid", value=1)  # fmt: skip
    (found,) = judged_with(tmp_path, world, RULE, lambda summary: others(summary, 0)).findings
    assert holds(found, 1.0)


def planning() -> World:
    """Let the process beside be a Python worker that read partitions of a source, then tasks."""
    world = packing()
    world.add("samples", host=HOST, pid=PACKER, tid=PACKER, t_ns=mono_at(160), clock="mono",
              source="python", unit="ns", role="python", thread_name="Python worker", event="cpu",
              weight=10 * MS)  # fmt: skip
    return world


@pytest.mark.parametrize(
    "world",
    [
        planning(),
        packing(PID),  # a program that tasks pipe rows through
        packing(script_at_ms=500),  # the parent is a Python worker's daemon
        packing(java=True),  # an executor of a cluster on this host
    ],
    ids=["planner", "pipe", "daemon", "executor"],
)
def test_near_miss_processes_that_do_the_work_of_tasks(tmp_path: Path, world: World) -> None:
    found = judged_with(tmp_path, world, RULE, lambda summary: others(summary, 0)).findings
    assert found == []


def strangers(length_ms: int, comm: str = "gzip", count: int = 1) -> World:
    """Add to 4 s of tasks that wait half of their time processes known by their exits alone."""
    world = World([StageSpec([1000] * 8)], slots=2, on_cpu=0.5, run_queue=0.5)
    for name, value in (("parent_pid", 1), ("start_time_mono_ns", mono_at(0)), ("cpu_ns", 0)):
        world.add("os_series", host=HOST, t_mono_ns=mono_at(0), scope=f"process/{PID}", name=name,
                  value=value)  # fmt: skip
    for number in range(count):
        pid, until = 2000 + number, 500 + length_ms * (number + 1)
        world.add("thread_counters", host=HOST, pid=pid, tid=pid, t_mono_ns=mono_at(until),
                  comm=comm, run_ns=length_ms * MS // 2, run_delay_ns=length_ms * MS // 2,
                  timeslices_count=1, first=True, last=True)  # fmt: skip
    return world


def test_programs_that_left_the_scripts_processes(tmp_path: Path) -> None:
    world = strangers(1000, count=3)
    (one,) = judged_with(tmp_path, world, RULE, lambda summary: others(summary, 0)).findings
    # Nobody but tasks waits: all CPU of the programs, 1.5 s, would be theirs.
    assert holds(one, 0.75)
    assert one.shown
    assert one.mechanism.startswith("3 programs that the application started beside Spark")
    assert "gzip (1.5" in one.mechanism


def test_near_miss_processes_that_came_and_went_unseen(tmp_path: Path) -> None:
    """Hadoop changes the mode of a file that it writes by a program, as a child of the JVM."""
    world = strangers(200, "chmod", count=15)
    found = judged_with(tmp_path, world, RULE, lambda summary: others(summary, 0)).findings
    assert found == []
