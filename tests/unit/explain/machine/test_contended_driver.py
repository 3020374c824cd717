from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.explain.planted import MS, holds, judged
from tests.support.tables import HOST, PID, StageSpec, World, mono

from pyrometer.explain.catalogue.machine.contended_driver import RULE

SCRIPT = 800
LAUNCH_MS = 100
"""The first task begins then."""


def mono_at(ms: int) -> int:
    return mono(0) + ms * MS


def asked_again(
    *, run_queue: float = 0.5, pid: int = PID, comm: str = "Thread-4", since_ms: int = 0,
    busy: float = 0.7,
) -> World:  # fmt: skip
    """Give 4 s of tasks on two slots that wait for a CPU, and a thread that holds one."""
    world = World([StageSpec([1000] * 8)], slots=2, on_cpu=0.5, run_queue=run_queue)
    tid = pid if pid == SCRIPT else 44
    if pid == SCRIPT:
        world.add("os_series", host=HOST, t_mono_ns=mono_at(since_ms), scope=f"process/{SCRIPT}",
                  name="start_time_mono_ns", value=mono_at(since_ms))  # fmt: skip
    for at in range(LAUNCH_MS, world.end_ms, 100):
        world.add("thread_counters", host=HOST, pid=pid, tid=tid, t_mono_ns=mono_at(at), comm=comm,
                  run_ns=int((at - LAUNCH_MS) * MS * busy), run_delay_ns=0, timeslices_count=1,
                  first=at == LAUNCH_MS, last=False)  # fmt: skip
    return world


@pytest.mark.parametrize(
    "world",
    [asked_again(), asked_again(pid=SCRIPT, comm="python3")],
    ids=["thread-of-the-driver", "program-in-python"],
)
def test_a_driver_that_asks_without_a_pause(tmp_path: Path, world: World) -> None:
    (found,) = judged(world.write(tmp_path), RULE).findings
    # Nobody but tasks waits, 4 s in all: half of a CPU for 4 s would be theirs, 2 s of two slots.
    assert holds(found, 1.0)
    assert found.shown
    assert found.place.layer == "driver"
    assert "the driver's threads and its program used" in found.mechanism


def test_near_miss_nobody_waits_for_what_it_uses(tmp_path: Path) -> None:
    assert judged(asked_again(run_queue=0.0).write(tmp_path), RULE).findings == []


def test_near_miss_a_worker_of_tasks(tmp_path: Path) -> None:
    late = asked_again(pid=SCRIPT, comm="python3", since_ms=500)
    assert judged(late.write(tmp_path / "late"), RULE).findings == []
    planner = asked_again(pid=SCRIPT, comm="python3")
    planner.add("samples", host=HOST, pid=SCRIPT, tid=SCRIPT, t_ns=mono_at(160), clock="mono",
                source="python", unit="ns", role="python", thread_name="Python worker",
                event="cpu", weight=10 * MS)  # fmt: skip
    assert judged(planner.write(tmp_path / "planner"), RULE).findings == []


def test_healthy_a_driver_that_submits_jobs(tmp_path: Path) -> None:
    assert judged(asked_again(busy=0.15).write(tmp_path), RULE).findings == []


def test_waits_on_several_hosts_are_not_judged(tmp_path: Path) -> None:
    world = asked_again()
    for number, (host, clock) in enumerate([(HOST, "axis"), ("elsewhere", "wall")]):
        world.add("hosts", host=host, number=number, clock=clock)
    found = judged(world.write(tmp_path), RULE)
    assert not found.findings
    (lacks,) = found.unjudged
    assert "there are several" in lacks.missing
    assert "on one host" in lacks.remedy
