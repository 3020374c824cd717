from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.explain.planted import beside, holds, job, judged, only, samples, stack
from tests.support.tables import HOST, PID, World, mono

from pyrometer.explain.catalogue.cpu.expression_boxing import RULE


def allocated(world: World, name: str, n: int) -> None:
    row: dict[str, Any] = {
        "host": HOST, "pid": PID, "clock": "mono", "source": "async-profiler", "unit": "bytes",
        "role": "task", "event": "alloc", "stage_id": 0, "stage_attempt": 0, "task_attempt_id": 0,
        "weight": 1 << 20, "top_class": name,
    }  # fmt: skip
    for number in range(n):
        world.add("samples", **row, t_ns=mono(200 + number))


def test_a_quarter_of_the_cpu_and_half_of_the_heap(tmp_path: Path) -> None:
    world = job()
    boxes = stack(world, "a.Task.run", "scala.runtime.BoxesRunTime.boxToLong")
    samples(world, 0.25, java_stack=boxes)
    allocated(world, "java.lang.Long", 100)
    allocated(world, "[B", 100)
    for row in world.rows["tasks"]:
        row["jvm_gc_time_ns"] = 100_000_000
    found = only(world.write(tmp_path), RULE)
    # A quarter of 80 % of 4 s of CPU, and half of a tenth of 4 s of collections; 0.8 to 1 of it.
    assert holds(found, (4 * 0.8 * 0.25 + 4 * 0.1 * 0.5) * 0.9)
    assert found.place.stage_id == 0
    assert [one.estimate.n for one in found.evidence if one.unit == "bytes"] == [100]


def test_other_objects(tmp_path: Path) -> None:
    world = job()
    samples(world, 0.25, java_stack=stack(world, "a.Task.run", "java.lang.String.valueOf"))
    allocated(world, "java.lang.String", 100)
    assert judged(world.write(tmp_path), RULE).findings == []


def test_objects_of_another_application(tmp_path: Path) -> None:
    world = job()
    allocated(world, "java.lang.Long", 100)
    for row in world.rows["tasks"]:
        row["jvm_gc_time_ns"] = 100_000_000
    beside(world, "samples", event="alloc")
    assert judged(world.write(tmp_path), RULE).findings == []


def test_healthy_twin(tmp_path: Path) -> None:
    assert judged(job().write(tmp_path), RULE).findings == []
