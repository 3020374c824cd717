"""Code that allocates has its share of the young collections."""

from __future__ import annotations

from pathlib import Path

from tests.support.explain.causes import holds, pause, shown
from tests.support.explain.planted import beside, judged, stack
from tests.support.tables import HOST, MONO0, MS, PID, StageSpec, World

from pyrometer.explain.catalogue.memory.gc_allocation_site import RULE
from pyrometer.explain.catalogue.memory.gc_young_too_small import RULE as YOUNG

TASK = "org.apache.spark.scheduler.Task.run"
USERS = (TASK, "com.shop.Parser.parse", "java.lang.StringBuilder.toString")
SPARKS = (TASK, "org.apache.spark.unsafe.map.BytesToBytesMap.append")
MIB = 1 << 20


def world_of(users: int, sparks: int, kind: str = "young") -> World:
    """Two slots that stand still five times for 0.2 s, and samples of 8 MiB each."""
    world = World([StageSpec([1000] * 8)])
    for number in range(5):
        pause(world, kind, "Allocation Failure", 500 + 400 * number, 200, gc_id=number,
              young_before_bytes=100 * MIB, old_after_bytes=100 * MIB,
              heap_after_bytes=110 * MIB, heap_total_bytes=1150 * MIB)  # fmt: skip
    for frames, count in ((USERS, users), (SPARKS, sparks)):
        number = stack(world, *frames)
        for at in range(count):
            world.add(
                "samples", host=HOST, pid=PID, tid=1, t_ns=MONO0 + (600 + at) * MS, clock="mono",
                source="agent", event="alloc", weight=8 * MIB, unit="bytes", role="task",
                task_attempt_id=0, stage_id=0, java_stack=number, top_class="java.lang.String",
            )  # fmt: skip
    return world


def test_users_code_that_allocates_four_fifths(tmp_path: Path) -> None:
    (finding,) = shown(world_of(160, 40).write(tmp_path), RULE)
    assert finding.place.source == "com.shop.Parser.parse"
    assert "80.0 %" in finding.mechanism
    # Both slots stood still for 1 s; three quarters of four fifths go.
    assert holds(finding, 0.6)


def test_what_another_application_allocates_is_no_finding(tmp_path: Path) -> None:
    world = beside(world_of(160, 0), "samples", event="alloc")
    assert judged(world.write(tmp_path), RULE).findings == []


def test_what_spark_allocates_is_no_finding(tmp_path: Path) -> None:
    assert judged(world_of(0, 200).write(tmp_path), RULE).findings == []


def test_full_collections_are_not_of_what_is_allocated(tmp_path: Path) -> None:
    assert judged(world_of(160, 40, "full").write(tmp_path), RULE).findings == []


def test_a_run_without_samples_of_allocations_is_not_judged(tmp_path: Path) -> None:
    found = judged(world_of(0, 0).write(tmp_path), RULE)
    assert not found.findings
    assert "allocations" in found.unjudged[0].missing


def test_the_site_speaks_for_a_larger_young_generation(tmp_path: Path) -> None:
    (finding,) = shown(world_of(40, 160).write(tmp_path), YOUNG)
    named = [one for one in finding.evidence if one.what.startswith("allocated by")]
    assert "BytesToBytesMap.append" in named[0].what
    assert round(named[0].estimate.value or 0, 3) == 0.8
