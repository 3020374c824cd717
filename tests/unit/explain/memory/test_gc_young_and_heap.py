"""A heap that is mostly free wants a larger young generation; one that is full wants more heap."""

import json
from pathlib import Path

import pytest
from tests.support.explain.causes import holds, log, pause, paused, shown
from tests.support.explain.planted import judged, series
from tests.support.tables import HOST, MS, PID, StageSpec, World, wall

from pyrometer.explain.catalogue.memory.gc_heap_too_small import RULE as HEAP
from pyrometer.explain.catalogue.memory.gc_young_too_small import RULE as YOUNG
from pyrometer.explain.schema import Finding, Remedy

MIB = 1 << 20
FREE = {
    "young_before_bytes": 100 * MIB,
    "old_after_bytes": 100 * MIB,
    "heap_after_bytes": 110 * MIB,
    "heap_total_bytes": 1150 * MIB,
}
MET_MS = (300, 300, 480, 480, 200, 200, 0, 0)
FULL = {**FREE, "old_after_bytes": 700 * MIB, "heap_after_bytes": 1000 * MIB}


def world_of(sizes: dict[str, int], pauses: int = 5) -> World:
    world = paused("young", "Allocation Failure", pauses=pauses, **sizes)
    # Spark charges a pause to every task that runs: two slots, in three waves.
    for row, ms in zip(world.rows["tasks"], MET_MS, strict=False):
        row["jvm_gc_time_ns"] = ms * MS if pauses else 0
    return world


def test_small_young_generation(tmp_path: Path) -> None:
    (finding,) = shown(world_of(FREE).write(tmp_path), YOUNG)
    # Ten times the eden fits: of the second that both slots stood still, 0.9 s are saved.
    assert holds(finding, 0.9)
    assert finding.place.setting == "jvm.young"
    assert finding.remedies[0].level == "1000m"


def test_near_miss_the_heap_of_a_jvm_that_runs_no_tasks_is_larger(tmp_path: Path) -> None:
    world = world_of(FREE)
    driver = {"pid": PID + 1, "heap_total_bytes": 8000 * MIB}
    world.rows["gc_pauses"] += [{**row, **driver} for row in world.rows["gc_pauses"]]
    (finding,) = shown(world.write(tmp_path), YOUNG)
    assert finding.remedies[0].level == "1000m"


@pytest.mark.parametrize("sizes", [FULL, {**FREE, "young_before_bytes": 1000 * MIB}])
def test_no_room_for_more_young(tmp_path: Path, sizes: dict[str, int]) -> None:
    assert not shown(world_of(sizes).write(tmp_path), YOUNG)


def test_no_pauses(tmp_path: Path) -> None:
    found = judged(World([StageSpec([1000] * 8)]).write(tmp_path), YOUNG)
    assert not found.findings
    assert found.unjudged  # there is no log to look at


def test_full_heap(tmp_path: Path) -> None:
    (finding,) = shown(world_of(FULL).write(tmp_path), HEAP)
    assert finding.place.setting == "spark.driver.memory"
    assert holds(finding, 0.9)


@pytest.mark.parametrize(
    ("scope", "name"), [("host", "mem_total_bytes"), ("cgroup", "memory_limit_bytes")]
)
def test_a_heap_for_which_there_is_no_memory_is_not_tried(
    tmp_path: Path, scope: str, name: str
) -> None:
    def remedy(gib: int) -> Remedy:
        world = world_of(FULL)
        series(world, scope, name, gib << 30, gib << 30)
        (finding,) = shown(world.write(tmp_path / str(gib)), HEAP)
        return finding.remedies[0]

    fits, lacks = remedy(16), remedy(2)
    assert (fits.factor, fits.level) == ("spark.driver.memory", "2g")
    assert (lacks.kind, lacks.factor) == ("machine", None)
    assert "it takes 2.38 GiB, and each JVM may have 1.80 GiB here" in lacks.text


@pytest.mark.parametrize(("first_ends_ms", "is_tried"), [(200, True), (900, False)])
def test_an_executor_that_replaces_another_takes_its_memory(
    tmp_path: Path, first_ends_ms: int, is_tried: bool
) -> None:
    world = world_of(FULL)
    series(world, "host", "mem_total_bytes", 6 << 30, 6 << 30)
    for name, add_ms, remove_ms in (("1", 150, first_ends_ms), ("2", 200, None)):
        world.add(
            "executors", app_index=0, executor_id=name, host=HOST, cores_count=1,
            add_wall_ns=wall(add_ms), remove_wall_ns=None if remove_ms is None else wall(remove_ms),
        )  # fmt: skip
    (finding,) = judged(world.write(tmp_path), HEAP).findings
    # Beside the JVM of the driver, one or two: 5.4 GiB are for two or three that take 2.38 GiB.
    assert (finding.remedies[0].factor is not None) == is_tried


def test_without_the_memory_of_the_host_the_remedy_says_what_it_takes(tmp_path: Path) -> None:
    (finding,) = shown(world_of(FULL).write(tmp_path), HEAP)
    assert "where its host has 2.38 GiB for it" in finding.remedies[0].text


def test_mostly_free_heap_need_not_grow(tmp_path: Path) -> None:
    assert not judged(world_of(FREE).write(tmp_path), HEAP).findings


def test_pauses_of_other_causes_are_not_the_heaps(tmp_path: Path) -> None:
    world = world_of(FULL)
    for row in world.rows["gc_pauses"]:
        row["cause"] = "Metadata GC Threshold"
    assert not shown(world.write(tmp_path), HEAP)


def test_a_young_generation_that_grew_is_as_large_as_when_it_cost_most(tmp_path: Path) -> None:
    # Four short pauses while the heap was small, then a long one with all of its young generation.
    world = World([StageSpec([1000] * 8)])
    small = {**FREE, "young_before_bytes": 50 * MIB}
    for number in range(4):
        pause(world, "young", "Allocation Failure", 450 + 50 * number, 10, gc_id=number, **small)
    grown = {**FREE, "young_before_bytes": 1000 * MIB}
    pause(world, "young", "Allocation Failure", 1000, 800, gc_id=5, **grown)
    (finding,) = judged(world.write(tmp_path), YOUNG).findings
    assert not finding.shown


def without_log(tmp_path: Path, **executor: object) -> list[Finding]:
    """Tasks that the collector stopped for half of their time, in a heap of 4 GiB, with no log."""
    made = log([{"ms": 1000, "jvm_gc_time_ns": 500 * MS} for _ in range(8)])
    made.rows["executors"][0].update(executor)
    return judged(made.write(tmp_path), HEAP).findings


def peak(gib: float) -> str:
    return json.dumps({"JVMHeapMemory": int(gib * 1024) * MIB})


def test_without_a_log_the_peak_shows_that_the_heap_was_full(tmp_path: Path) -> None:
    (finding,) = without_log(tmp_path, peak_metrics=peak(3.8))
    assert finding.shown
    # All of the 2 s of pauses at most, half of them at least.
    low, high = finding.saving.elapsed_ns.low, finding.saving.elapsed_ns.high
    assert low is not None
    assert high is not None
    assert 0.9e9 <= low <= 1.05e9
    assert 1.8e9 <= high <= 2.1e9


def test_a_heap_that_was_never_half_used_need_not_grow(tmp_path: Path) -> None:
    assert without_log(tmp_path, peak_metrics=peak(1.9)) == []


@pytest.mark.parametrize(("used", "levels"), [(3.8, ["8192m"]), (1.9, [])])
def test_a_heap_without_a_unit_is_in_mib(tmp_path: Path, used: float, levels: list[str]) -> None:
    tasks = [{"ms": 1000, "jvm_gc_time_ns": 500 * MS} for _ in range(8)]
    made = log(tasks, **{"spark.executor.memory": "4096"})
    made.rows["executors"][0].update(peak_metrics=peak(used))
    found = judged(made.write(tmp_path), HEAP).findings
    assert [one.remedies[0].level for one in found] == levels


def test_without_log_and_peak_nothing_is_sure(tmp_path: Path) -> None:
    (finding,) = without_log(tmp_path)
    assert not finding.shown


def beside(threads: str, run_queue: float) -> World:
    """Full as above, on CPUs that others hold, with a thread of the collector that runs 4 s."""
    world = World([StageSpec([1000] * 8)], on_cpu=0.1, run_queue=run_queue)
    for number in range(5):
        pause(world, "young", "G1 Evacuation Pause", 500 + 400 * number, 200, gc_id=number, **FULL)
    for row, ms in zip(world.rows["tasks"], MET_MS, strict=True):
        row["jvm_gc_time_ns"] = ms * MS
    for row in world.rows["thread_counters"]:
        if row["comm"].startswith("C2"):
            row.update(comm=threads, run_ns=4_000 * MS if row["run_ns"] else 0)
    return world


def test_threads_that_mark_beside_tasks(tmp_path: Path) -> None:
    (alone,) = judged(world_of(FULL).write(tmp_path / "alone"), HEAP).findings
    (found,) = judged(beside("G1 Conc#0", 0.8).write(tmp_path / "beside"), HEAP).findings
    assert "beside tasks" in found.mechanism
    before, after = alone.saving.elapsed_ns, found.saving.elapsed_ns
    assert None not in (before.value, after.value, before.low, after.low, after.high)
    # Tasks waited 6.4 s for CPUs; the thread had 4 of 4.8 s, and that is not sure.
    assert after.value > before.value  # type: ignore[operator]
    assert after.low == pytest.approx(before.low, rel=0.05)
    assert after.high <= 4_000 * MS  # type: ignore[operator]


@pytest.mark.parametrize(("threads", "run_queue"), [("GC Thread#0", 0.8), ("G1 Conc#0", 0.0)])
def test_threads_that_work_in_pauses_or_that_nobody_waits_for(
    tmp_path: Path, threads: str, run_queue: float
) -> None:
    (found,) = judged(beside(threads, run_queue).write(tmp_path), HEAP).findings
    assert "beside tasks" not in found.mechanism


@pytest.mark.parametrize(("used", "is_found"), [(600, True), (400, False)])
def test_only_marking_is_left_where_more_young_fits(
    tmp_path: Path, used: int, is_found: bool
) -> None:
    world = world_of({**FREE, "heap_after_bytes": used * MIB})
    for number in range(4):
        pause(world, "remark", "", 700 + 400 * number, 150, gc_id=10 + number)
    found = judged(world.write(tmp_path), HEAP).findings
    # Four pauses of 150 ms, which two slots met; the young ones are not counted.
    assert [("tasks for 1.19 s" in one.mechanism) for one in found] == [True] * is_found
