from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.explain.planted import beside, holds, job, judged, only, stack
from tests.support.tables import HOST, MS, PID, World, mono

from pyrometer.explain.catalogue.cpu.lock_contended import RULE


def waits(
    world: World, number: int, ms: int, n: int, role: str = "task", name: str = "DateCache"
) -> None:
    row: dict[str, Any] = {
        "host": HOST, "pid": PID, "clock": "mono", "source": "async-profiler", "unit": "ns",
        "role": role, "event": "lock", "weight": ms * MS, "top_class": f"com.acme.{name}",
        "java_stack": number,
    }  # fmt: skip
    place = {"stage_id": 0, "stage_attempt": 0, "task_attempt_id": 0} if role == "task" else {}
    for at in range(n):
        world.add("samples", **row, **place, t_ns=mono(200 + at))


def test_tasks_wait_for_one_monitor(tmp_path: Path) -> None:
    world = job()
    parse = stack(world, "a.Task.run", "com.acme.DateCache.parse", "java.util.Map.get")
    waits(world, parse, 20, 100)
    found = only(world.write(tmp_path), RULE)
    # 2 s in the tasks of two slots: one second, of which half to all goes.
    assert holds(found, 0.75)
    assert found.place.expression == "monitor of com.acme.DateCache"
    assert (found.place.source, found.place.stage_id) == ("com.acme.DateCache.parse", 0)


def test_seven_monitors_count(tmp_path: Path) -> None:
    world = job()
    parse = stack(world, "a.Task.run", "com.acme.DateCache.parse", "java.util.Map.get")
    for number in range(7):
        waits(world, parse, 10, 100, name=f"Cache{number}")
    found = judged(world.write(tmp_path), RULE).findings
    assert sum(one.place.places_count for one in found) == 7


def test_work_that_is_done_once(tmp_path: Path) -> None:
    world = job()
    load = stack(world, "a.Task.run", "java.lang.ClassLoader.loadClass")
    waits(world, load, 20, 100)
    assert judged(world.write(tmp_path), RULE).findings == []


def test_threads_outside_tasks(tmp_path: Path) -> None:
    world = job()
    waits(world, stack(world, "a.Server.run"), 20, 100, role="driver")
    assert judged(world.write(tmp_path), RULE).findings == []


def test_tasks_of_another_application(tmp_path: Path) -> None:
    world = job()
    waits(world, stack(world, "a.Task.run", "com.acme.DateCache.parse"), 20, 100)
    beside(world, "samples", event="lock")
    assert judged(world.write(tmp_path), RULE).findings == []


def test_healthy_twin(tmp_path: Path) -> None:
    assert judged(job().write(tmp_path), RULE).findings == []
