"""Blocks that are computed again in a later stage, by metrics of plans and by samples."""

from __future__ import annotations

import json
from math import ceil
from pathlib import Path
from typing import Any

from tests.support.explain.cached import passes, paused, rdds, read_plan
from tests.support.explain.explained import Job, saves
from tests.support.explain.planted import holds, judged, only

from pyrometer.explain.catalogue.memory.cache_evicted import RULE
from pyrometer.explain.catalogue.memory.gc_heap_too_small import RULE as HEAP
from pyrometer.explain.findings import explain
from pyrometer.store import Run

MIB = 1 << 20


def test_half_of_the_blocks_are_computed_again(tmp_path: Path) -> None:
    job = Job()
    read_plan(job, [1000] * 8, range(8))
    for _ in range(2):
        # Four slots: four tasks compute for 2 s, then four read for 0.2 s.
        read_plan(job, [2000] * 4 + [200] * 4, range(4))
    (found,) = job.found(tmp_path, RULE)
    assert saves(found, 2 * 1800)
    assert (found.place.operator, found.place.node_id) == ("InMemoryTableScan", 1)
    assert found.place.stages_count == 2
    assert found.remedies[0].factor == "spark.executor.memory"
    assert found.remedies[0].level == "8g"  # 8 blocks of 20 MiB have room in twice the heap


def test_the_heap_that_the_blocks_need(tmp_path: Path) -> None:
    conf: dict[str, Any] = {"spark.executor.memory": "400m"}
    job = Job(executors=1, cores=4, **conf)
    for _ in range(3):
        read_plan(job, [2000] * 38 + [200] * 2, range(38))
    (found,) = job.found(tmp_path, RULE)
    # 41 blocks of 20 MiB in 60 % of the heap, and 300 MiB for Spark itself.
    assert found.remedies[0].level == f"{ceil(41 * 20 / 0.6) + 300}m"


def test_no_block_was_kept(tmp_path: Path) -> None:
    job = Job()
    for _ in range(3):
        read_plan(job, [2000] * 8, range(8))
    (found,) = job.found(tmp_path, RULE)
    # The second and third pass took 8 s; reading would take 5 to 50 % of that.
    assert saves(found, 8000 * 0.9 * 0.8)


def test_healthy_twin_every_pass_reads(tmp_path: Path) -> None:
    job = Job()
    read_plan(job, [2000] * 8, range(8))
    for _ in range(2):
        read_plan(job, [200] * 8, ())
    assert job.all_found(tmp_path, RULE) == []


def test_the_rest_of_the_blocks_is_computed_first_by_a_later_stage(tmp_path: Path) -> None:
    job = Job()
    read_plan(job, [2000], range(1))  # show(): the first partition
    read_plan(job, [200] + [2000] * 7, range(1, 8))
    assert job.all_found(tmp_path, RULE) == []


def test_another_plan_of_the_same_shape_is_not_the_same(tmp_path: Path) -> None:
    job = Job()
    for number in range(3):
        read_plan(job, [2000] * 8, range(8), plan=f"Project [id#{number}L]", first_rdd=9 * number)
    assert job.all_found(tmp_path, RULE) == []


def test_an_rdd_that_does_not_fit_shows_in_samples(tmp_path: Path) -> None:
    found = only(passes([0.8, 0.8, 0.8, 0.8]).write(tmp_path), RULE)
    # Three passes of 1 s: of 70 % of CPU, 80 %, and the waits, as all is allocated there.
    assert holds(found, 3 * (0.7 * 0.8 + 0.3) * 0.8)
    assert found.place.stages_count == 3
    assert found.place.source == "stage 0"


def test_a_task_that_read_its_block_tells_what_room_all_need(tmp_path: Path) -> None:
    world = passes([0.8, 0.8, 0.8])
    hit = next(row for row in world.rows["tasks"] if row["stage_id"] == 2)
    hit["input_bytes"] = 20 * MIB
    for row in world.rows["samples"]:
        if row["task_attempt_id"] == hit["task_attempt_id"] and "java_stack" in row:
            row["java_stack"] = 1  # reads, and puts nothing
    found = only(world.write(tmp_path), RULE)
    assert "blocks of 20.0 MiB" in found.mechanism


def test_an_rdd_is_put_once_and_read(tmp_path: Path) -> None:
    assert judged(passes([0.8, 0.0, 0.0]).write(tmp_path), RULE).findings == []


def test_each_pass_caches_an_rdd_of_its_own(tmp_path: Path) -> None:
    # As in iterations of a graph: the RDD that is put is new, of the last one it only descends.
    world = passes([0.8, 0.8, 0.8])
    for row in world.rows["stages"]:
        first = 10 * row["stage_id"]
        rdds(row, [*range(first - 8, first), first, first + 1])
    assert judged(world.write(tmp_path), RULE).findings == []


def test_a_log_without_plans_and_samples_is_not_judged(tmp_path: Path) -> None:
    job = Job()
    job.stage([1000] * 4)
    job.log.rows["apps"][0]["end_wall_ns"] += 10**10
    with Run.open(job.log.write(tmp_path)) as run:
        assert [one.code for one in explain(run, rules=[RULE]).unjudged] == [RULE.code]


def test_pauses_of_an_rdd_that_does_not_fit_are_its_symptom(tmp_path: Path) -> None:
    world = passes([0.8] * 6)
    paused(world, 80)
    with Run.open(world.write(tmp_path)) as run:
        (found,) = explain(run, rules=[RULE, HEAP]).findings
    assert found.code == RULE.code
    assert [one.code for one in found.symptoms] == [HEAP.code]


def test_a_heap_too_small_for_the_cache_may_save_all_that_it_computes(tmp_path: Path) -> None:
    kept, short = passes([0.8, 0, 0, 0, 0, 0]), passes([0.8] * 6)
    for world, folder in ((kept, "kept"), (short, "short")):
        paused(world, 80)
        world.write(tmp_path / folder)
    saved = [only(tmp_path / folder, HEAP).saving.elapsed_ns for folder in ("kept", "short")]
    (least, most), (low, high) = ((one.low or 0, one.high or 0) for one in saved)
    assert low < least
    assert high > most + 2e9


def test_a_full_store_without_samples_may_be_why(tmp_path: Path) -> None:
    high = []
    for folder, stored in (("full", 90), ("half", 40)):
        world = passes([0.8] * 6)
        paused(world, 80)
        del world.rows["gc_pauses"]
        world.rows["samples"] = [one for one in world.rows["samples"] if one["event"] == "none"]
        peak = {"JVMHeapMemory": 900 * MIB, "OnHeapStorageMemory": stored * MIB}
        world.rows["executors"][0].update(max_memory_bytes=100 * MIB, peak_metrics=json.dumps(peak))
        (found,) = judged(world.write(tmp_path / folder), HEAP).findings
        high.append(found.saving.elapsed_ns.high or 0)
    assert high[0] > high[1] + 2e9
