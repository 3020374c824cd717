"""Evidence that is a query: it gives the number beside it, of the window and application alone.

Of a rule alone its own tests check it (`tests.support.explain.asked`, which says of which);
here much goes wrong at once, in a window and beside another application.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from tests.support.explain.causes import pause
from tests.support.explain.planted import judged
from tests.support.tables import HOST, MS, PID, StageSpec, World

from pyrometer import explain
from pyrometer.explain.catalogue.memory.gc_explicit import RULE as EXPLICIT
from pyrometer.explain.catalogue.memory.gc_full import RULE as FULL
from pyrometer.explain.catalogue.memory.gc_heap_too_small import RULE as HEAP
from pyrometer.explain.catalogue.memory.gc_humongous import RULE as HUMONGOUS
from pyrometer.explain.catalogue.memory.retries_out_of_memory import RULE as OUT_OF_MEMORY
from pyrometer.explain.catalogue.memory.spill_sort_and_aggregate import RULE as SPILL
from pyrometer.explain.catalogue.parallelism.retries_failed_tasks import RULE as FAILED
from pyrometer.explain.catalogue.parallelism.retries_speculation import RULE as SPECULATION
from pyrometer.explain.change import Less
from pyrometer.explain.evidence.places import of_tasks
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Evidence, Place
from pyrometer.store import Run
from pyrometer.summary.schema import Summary

MIB = 1 << 20
PAUSES = (
    ("young", "Allocation Failure"), ("full", "System.gc()"), ("full", "Allocation Failure"),
    ("young", "G1 Humongous Allocation"),
)  # fmt: skip
FULL_HEAP = {
    "young_before_bytes": 100 * MIB, "old_after_bytes": 700 * MIB, "heap_after_bytes": 1000 * MIB,
    "heap_total_bytes": 1150 * MIB,
}  # fmt: skip
OTHER_PID = PID + 1


def busy() -> World:
    """Give an iteration to warm up and two of two jobs, in which much goes wrong at once."""
    gaps = ((0, 20), (1, 20), (1, 1000), (2, 20), (2, 1000))
    world = World(
        [StageSpec([500] * 8, gap_ms=ms, iteration=number, sql_id=None) for number, ms in gaps]
    )
    for stage in world.rows["stages"]:
        stage["planned_tasks_count"] = 4  # half of the attempts of each did not succeed
        world.add("jobs", app_index=0, job_id=stage["stage_id"], status="succeeded",
                  submit_wall_ns=stage["submit_wall_ns"], end_wall_ns=stage["complete_wall_ns"],
                  stage_ids=[stage["stage_id"]], iteration=stage["iteration"])  # fmt: skip
    for task in world.rows["tasks"]:
        task.update(
            jvm_gc_time_ns=100 * MS, disk_spilled_bytes=50 * MIB, memory_spilled_bytes=200 * MIB,
            shuffle_written_bytes=20 * MIB, shuffle_write_time_ns=20 * MS,
        )  # fmt: skip
        if task["task_index"] in (0, 1):
            task.update(status="failed", error="java.lang.OutOfMemoryError: Java heap space")
        if task["task_index"] in (2, 3):
            task.update(status="killed", speculative=True)
    for number in range(120):
        kind, cause = PAUSES[number % len(PAUSES)]
        pause(world, kind, cause, 100 * number, 10, gc_id=number, **FULL_HEAP)
    return world


def add_application(world: World) -> None:
    """Add an application in a JVM of its own: same numbers, same times, shorter tasks."""
    rows = world.rows
    short = {"executor_run_time_ns": 90 * MS, "executor_cpu_time_ns": 50 * MS}
    for table in ("stages", "jobs", "executors"):
        rows[table] += [{**row, "app_index": 1} for row in rows[table]]
    rows["apps"] += [{**row, "app_index": 1, "app_id": "local-2"} for row in rows["apps"]]
    rows["tasks"] += [
        {**row, "app_index": 1, "finish_wall_ns": row["launch_wall_ns"] + 100 * MS, **short}
        for row in rows["tasks"]
    ]
    rows["spans"] += [
        {**row, "pid": OTHER_PID, "end_mono_ns": row["start_mono_ns"] + 90 * MS}
        for row in rows["spans"]
    ]
    rows["gc_pauses"] += [
        {**row, "pid": OTHER_PID, "duration_ns": 30 * MS, "heap_after_bytes": 900 * MIB}
        for row in rows["gc_pauses"]
    ]
    world.add("processes", host=HOST, pid=OTHER_PID, role="driver", executor_id="driver",
              app_id="local-2", start_mono_ns=rows["processes"][0]["start_mono_ns"],
              end_mono_ns=rows["processes"][0]["end_mono_ns"])  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    world = busy()
    add_application(world)
    return world.write(tmp_path_factory.mktemp("run"))


def queried(folder: Path, rule: Rule) -> Iterator[Evidence]:
    """Give the evidence of a rule that says it is a query."""
    for finding in judged(folder, rule).findings:
        yield from (one for one in finding.evidence if (one.query or "").startswith("SELECT"))


RULES = [HEAP, EXPLICIT, FULL, HUMONGOUS, SPILL, OUT_OF_MEMORY, FAILED, SPECULATION]


@pytest.mark.parametrize("rule", RULES, ids=[rule.code for rule in RULES])
def test_a_query_gives_the_number_beside_it(folder: Path, rule: Rule) -> None:
    found = list(queried(folder, rule))
    assert found
    with Run.open(folder) as run:  # the tables alone, without the views of a window
        for one in found:
            assert one.query is not None
            ((value,),) = run.tables.query(one.query)
            assert float(value) == pytest.approx(one.estimate.value, rel=1e-5), one.what


def test_a_number_that_its_query_does_not_give_fails_the_tests_of_its_rule(folder: Path) -> None:
    def suspects(facts: Facts) -> Iterator[Suspect]:
        place, change = Place(layer="stage"), (Less("cpu", {0: 0.5}),)
        number = of_tasks("tasks", 1.0, "count", "count(*)", facts, 1)
        yield Suspect(place, "", change, [number], [])

    with pytest.raises(AssertionError, match=r"tasks: 1\.0, but"):
        judged(folder, Rule("driver.gap", "", "", suspects, ""))


def test_pauses_of_the_driver_between_jobs_are_among_all_of_the_window(folder: Path) -> None:
    (of_driver,) = (one for one in queried(folder, EXPLICIT) if "driver" in one.what)
    # From 2.1 s on, when the iteration that warms up is over, a pause of 10 ms every 400 ms.
    assert of_driver.estimate.value == 24 * 10 * MS
    assert "of which 50.0 ms between jobs" in of_driver.what


def test_the_whole_of_an_application_needs_no_condition_on_times(tmp_path: Path) -> None:
    world = busy()
    for table in ("stages", "spans", "samples", "jobs"):
        for row in world.rows[table]:
            row["iteration"] = None
    world.rows["iterations"] = []
    (one,) = queried(world.write(tmp_path), OUT_OF_MEMORY)
    assert "FROM tasks WHERE app_index = 0 AND status" in (one.query or "")


SOURCES = Path(explain.__file__).parent
PATHS = sorted(
    {
        found[1].rstrip(".")
        for file in SOURCES.rglob("*.py")
        for found in re.finditer(r"show --json: ([a-z_.\[\]]+)", file.read_text())
    }
)


def classes(annotation: Any) -> Iterator[type]:
    """Give the classes that an annotation names."""
    if isinstance(annotation, type) and not get_args(annotation):
        yield annotation
    for part in get_args(annotation):
        yield from classes(part)


@pytest.mark.every_variant
@pytest.mark.parametrize("path", PATHS)
def test_a_path_into_show_leads_somewhere(path: str) -> None:
    there: list[type] = [Summary]
    for name in path.replace("[]", "").split("."):
        hints = [get_type_hints(one) for one in there]
        assert any(name in known for known in hints), f"{name} is in none of {there}"
        there = [one for known in hints if name in known for one in classes(known[name])]
