"""Runs that read a cached plan or RDD: which tasks compute blocks, and what they read."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

from tests.support.explain.explained import Job
from tests.support.explain.planted import stack
from tests.support.tables import MONO0, MS, StageSpec, World

BLOCK = 20 << 20
ROWS = 100_000
BATCHES = 10
PLAN = "Project [id#1L, sha2(cast(id#1L as binary), 256) AS h#2]"
IN = "org.apache.spark."
READS = (f"{IN}executor.Executor.run", f"{IN}rdd.RDD.iterator", f"{IN}rdd.MapPartitionsRDD.compute")
PUTS = (
    f"{IN}rdd.RDD.iterator", f"{IN}rdd.RDD.getOrCompute",
    f"{IN}storage.BlockManager.getOrElseUpdate", f"{IN}storage.BlockManager.doPutIterator",
    f"{IN}storage.memory.MemoryStore.putIterator",
)  # fmt: skip


def read_plan(
    job: Job,
    tasks_ms: Sequence[int],
    computes: Collection[int],
    scan: str = "InMemoryTableScan [id#1L, h#2]",
    plan: str = PLAN,
    first_rdd: int = 1,
) -> int:
    """Run a query over a cached plan: some of its tasks compute their block, the others read it."""
    columns = {
        True: {"input_records_count": ROWS, "input_bytes": 0},
        False: {"input_records_count": BATCHES, "input_bytes": BLOCK},
    }
    sql = job.queries
    start = job.now_ms
    stage = job.stage(tasks_ms, sql=sql, columns=lambda n: dict(columns[n in computes]))
    job.query(start, job.now_ms, [("HashAggregate", "HashAggregate"), ("InMemoryTableScan", scan),
                                  ("Project", plan), ("Range", "Range (0, 8)")])  # fmt: skip
    for node, accumulator, tasks in ((1, 100 + stage, len(tasks_ms)), (3, 7, len(computes))):
        if tasks:
            job.log.rows.setdefault("node_metrics", []).append(
                {"app_index": 0, "sql_id": sql, "plan_version": 0, "node_id": node,
                 "metric": "number of output rows", "metric_type": "sum",
                 "accumulator_id": accumulator, "stage_id": stage, "stage_attempt": 0,
                 "updates_count": tasks, "value_sum": tasks * ROWS}
            )  # fmt: skip
    # The cached plan's RDDs, and those of the query.
    rdds(job.log.rows["stages"][-1], [first_rdd, first_rdd + 1, 1000 + stage])
    return stage


def rdds(row: dict[str, Any], numbers: Sequence[int]) -> None:
    """Set the lineage of a stage."""
    row["rdd_names"] = json.dumps([{"id": one, "name": "r", "scope": None} for one in numbers])


def one_after_another(world: World) -> None:
    """Give each stage a job of its own, which begins when the last one has ended."""
    for row in world.rows["stages"]:
        world.add(
            "jobs", app_index=0, job_id=row["job_id"], submit_wall_ns=row["submit_wall_ns"],
            end_wall_ns=row["complete_wall_ns"], status="succeeded", stage_ids=[row["stage_id"]],
        )  # fmt: skip


def passes(shares: Sequence[float], tasks: int = 4, ms: int = 500) -> World:
    """Give stages over one cached RDD, with what part of their samples computes blocks of it."""
    world = World([StageSpec([ms] * tasks, sql_id=None) for _ in shares])
    mine = stack(world, *READS, *PUTS)
    other = stack(world, *READS)
    one_after_another(world)
    for number, share in enumerate(shares):
        row = next(row for row in world.rows["stages"] if row["stage_id"] == number)
        rdds(row, [1, 2, 100 + number])
        seen = [one for one in world.rows["samples"]
                if one["stage_id"] == number and one["event"] == "cpu"]  # fmt: skip
        for place, one in enumerate(seen):
            computes = int((place + 1) * share) > int(place * share)
            one["java_stack"] = mine if computes else other
            if place % 4 == 0:
                world.add("samples", **{**one, "event": "alloc", "weight": 1 << 19, "unit": "bytes",
                                        "java_stack": mine if share else other})  # fmt: skip
    return world


def paused(world: World, ms: int) -> None:
    """Let the collector stop every task for a while, in a heap that is full."""
    for row in world.rows["tasks"]:
        row["jvm_gc_time_ns"] = ms * MS
    for number in range(20):
        world.add(
            "gc_pauses", pid=1, start_mono_ns=MONO0 + (200 + 50 * number) * MS, gc_id=number,
            duration_ns=ms * MS // 10, collector="G1", kind="young", cause="Allocation Failure",
            heap_after_bytes=900, heap_total_bytes=1000, young_before_bytes=100,
            old_after_bytes=850,
        )  # fmt: skip
