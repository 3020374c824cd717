"""Collections told by their cause: each rule finds its own, and only what tasks met of it."""

import re
from pathlib import Path

import pytest
from tests.support.explain.causes import holds, pause, paused, shown
from tests.support.explain.planted import judged, settings
from tests.support.tables import MS, StageSpec, World, wall

from pyrometer.explain.catalogue.memory.gc_explicit import RULE as EXPLICIT
from pyrometer.explain.catalogue.memory.gc_full import RULE as FULL
from pyrometer.explain.catalogue.memory.gc_humongous import RULE as HUMONGOUS
from pyrometer.explain.catalogue.memory.gc_metadata_threshold import RULE as METADATA
from pyrometer.explain.rule import Rule

CASES = [
    (METADATA, "full", "Metadata GC Threshold", "-XX:MetaspaceSize"),
    (EXPLICIT, "full", "System.gc()", "-XX:+DisableExplicitGC"),
    (HUMONGOUS, "young", "G1 Humongous Allocation", "-XX:G1HeapRegionSize"),
    (FULL, "full", "G1 Compaction Pause", "spark.driver.memory"),
]
BY_CODE = [case[0].code for case in CASES]


@pytest.mark.parametrize(("rule", "kind", "cause", "setting"), CASES, ids=BY_CODE)
def test_its_pauses_are_found_and_priced(
    tmp_path: Path, rule: Rule, kind: str, cause: str, setting: str
) -> None:
    # Truth: both slots stand still five times for 0.2 s, so that the run is 1 s longer.
    world = paused(kind, cause)
    (finding,) = shown(world.write(tmp_path), rule)
    assert finding.place.setting == setting
    # A pause that begins between two tasks is met in part.
    assert holds(finding, 0.99)
    assert re.search(r"\b(1\.99|2|2\.00) s\b", finding.mechanism)  # of two slots together


@pytest.mark.parametrize(("rule", "kind", "cause", "setting"), CASES, ids=BY_CODE)
def test_pauses_of_another_cause_are_not_its_own(
    tmp_path: Path, rule: Rule, kind: str, cause: str, setting: str
) -> None:
    # Near miss: as much time in pauses, of which none has the rule's cause.
    world = paused("young", "Allocation Failure")
    assert not judged(world.write(tmp_path), rule).findings


@pytest.mark.parametrize(("rule", "kind", "cause", "setting"), CASES, ids=BY_CODE)
def test_pauses_that_no_task_met_cost_nothing(
    tmp_path: Path, rule: Rule, kind: str, cause: str, setting: str
) -> None:
    # Healthy twin: the pauses were before the first task began, as those of a start are.
    world = World([StageSpec([1000] * 8)])
    pause(world, kind, cause, 1, 90, gc_id=1)
    assert not judged(world.write(tmp_path), rule).findings


def two_jobs(gap_ms: int = 3000) -> tuple[World, int]:
    """Give two jobs of 4 s, and when the first ends."""
    world = World([StageSpec([1000] * 8, sql_id=None),
                   StageSpec([1000] * 8, gap_ms=gap_ms, sql_id=None)])  # fmt: skip
    for stage in world.rows["stages"]:
        world.add("jobs", app_index=0, job_id=stage["stage_id"], status="succeeded",
                  submit_wall_ns=stage["submit_wall_ns"], end_wall_ns=stage["complete_wall_ns"],
                  stage_ids=[stage["stage_id"]])  # fmt: skip
    return world, (world.rows["stages"][0]["complete_wall_ns"] - wall(0)) // MS


BETWEEN = [(EXPLICIT, "System.gc()"), (METADATA, "Metadata GC Threshold")]


@pytest.mark.parametrize(("rule", "cause"), BETWEEN)
def test_the_driver_stands_still_between_jobs(tmp_path: Path, rule: Rule, cause: str) -> None:
    world, done = two_jobs()
    for number in range(5):
        pause(world, "full", cause, done + 200 + 500 * number, 400, gc_id=number)
    (finding,) = shown(world.write(tmp_path), rule)
    assert holds(finding, 0.9 * 5 * 0.4)
    assert "stopped the driver for 2.00 s between jobs" in finding.mechanism


@pytest.mark.parametrize(("rule", "cause"), BETWEEN)
def test_a_collection_that_begins_in_a_job_counts_once(
    tmp_path: Path, rule: Rule, cause: str
) -> None:
    # Of two seconds, one is of the last two tasks, one of the driver.
    world, done = two_jobs()
    pause(world, "full", cause, done - 1000, 2000, gc_id=1)
    (finding,) = shown(world.write(tmp_path), rule)
    assert holds(finding, 0.9 * 2)
    assert (finding.saving.elapsed_ns.high or 0) < 2.1e9
    assert " and the driver for 1.00 s between jobs" in finding.mechanism


@pytest.mark.parametrize("rule", [rule for rule, _ in BETWEEN])
def test_collections_between_jobs_of_another_cause_are_not_its_own(
    tmp_path: Path, rule: Rule
) -> None:
    world, done = two_jobs()
    pause(world, "full", "Allocation Failure", done + 200, 2000, gc_id=1)
    assert not judged(world.write(tmp_path), rule).findings


def test_full_collections_of_a_heap_that_grows_want_a_start_with_all_of_it(tmp_path: Path) -> None:
    world = paused("full", "Allocation Failure", pauses=2, heap_total_bytes=500 << 20)
    for number in (2, 3, 4):
        pause(world, "full", "Allocation Failure", 500 + 400 * number, 200, gc_id=number,
              heap_total_bytes=1000 << 20)  # fmt: skip
    found = {one.place.setting: one for one in shown(world.write(tmp_path), FULL)}
    assert holds(found["jvm.options"], 0.4)
    assert found["jvm.options"].remedies[0].level == "-Xms1g"
    assert holds(found["spark.driver.memory"], 0.59)
    assert found["spark.driver.memory"].remedies[0].level == "2g"
    # Python has no level that is called serialised.
    assert found["jvm.options"].remedies[1].after == "df.persist(StorageLevel.DISK_ONLY)"


def test_a_start_with_all_of_a_heap_that_has_no_unit(tmp_path: Path) -> None:
    world = paused("full", "Allocation Failure", heap_total_bytes=500 << 20)
    settings(world, spark__driver__memory="1024")
    (finding,) = shown(world.write(tmp_path), FULL)
    assert finding.remedies[0].level == "-Xms1024m"
