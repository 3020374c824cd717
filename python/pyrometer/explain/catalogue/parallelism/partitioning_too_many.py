"""A stage has so many tasks that starting and ending them takes much of its time.

What it is
    Thousands of tasks of a few milliseconds: small files, many partitions after a shuffle, many
    almost empty.

Mechanism
    Each task is serialised, sent, loaded and answered, whatever its work. With `PER_SLOT` larger
    tasks for each slot, all but these pay nothing.

Evidence
    Time of tasks in their slot beside their run time (scheduler delay, deserialisation, result),
    from the stage's own tasks.

Remedy
    Fewer partitions after a shuffle, adaptive coalescing, larger `maxPartitionBytes`; small files
    compacted.

When it is wrong
    Larger tasks need more memory: where they spill, the saving shrinks. Where tasks differ much in
    length, many of them keep slots even.

Source
    Event timeline of Spark's web UI ("scheduler delay", "task deserialization time"); three tasks
    per slot: Spark's tuning guide, "Level of Parallelism".
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pyrometer.core import units
from pyrometer.explain.catalogue.parallelism.partitioning_too_few import PER_SLOT
from pyrometer.explain.evidence.places import largest, of_stage, of_tasks, slots_at
from pyrometer.explain.evidence.task_costs import joined
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Remedy
from pyrometer.explain.what_if import Extent


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    for stage in facts.stages:
        slots, count = max(1, slots_at(facts, stage)), stage.tasks_count
        wanted = PER_SLOT * slots
        if count <= wanted:
            continue
        tasks = facts.tasks_of(stage.number)
        over = np.maximum(tasks.duration_ns - tasks["executor_run_time_ns"], 0.0)
        over = over[np.isfinite(over)]
        mean = float(over.mean()) if over.size else 0.0
        if mean <= 0:
            continue
        change, each = joined(tasks, stage.number, wanted, slots)
        outside = float(np.quantile(over, 0.25))
        low = min(outside / each, 1.0) if each > 0 else 0.0
        total = float(over.sum())
        share = total / float(tasks.duration_ns.sum())
        scan = tasks.total("input_bytes") > 0
        yield total / slots, Suspect(
            place=of_stage(stage),
            mechanism=(
                f"{units.counted(count, 'task')} on {units.counted(slots, 'slot')} spent"
                f" {units.duration(total)},"
                f" {units.percent(share)} of their time, on being started and ended:"
                f" {units.duration(mean)} each."
            ),
            # What a task costs whatever it reads; at least its time beside its run time, of which
            # the first tasks of an executor draw up the mean: hence the quartile.
            change=change,
            extent=Extent((1 + low) / 2, low, 1.0, over.size),
            evidence=[
                of_tasks("time beside run time", total, "ns", "sum(finish_wall_ns - launch_wall_ns"
                         " - executor_run_time_ns)", stage, count),
                of_tasks("tasks", float(count), "count", "count(*)", stage, count),
            ],
            remedies=[
                Remedy(kind="factor", factor="spark.sql.files.maxPartitionBytes",
                       level=str(max(1 << 27, int(tasks.total("input_bytes") / wanted))),
                       levels={"spark.sql.files.openCostInBytes": "65536"},
                       text="fewer, larger parts of the files")
                if scan else
                Remedy(kind="factor", factor="spark.sql.shuffle.partitions", level=str(wanted),
                       text=f"{wanted} partitions after the shuffle, three for each slot"),
            ],
        )  # fmt: skip


RULE = Rule(
    code="partitioning.too-many",
    title="Too many small tasks",
    cause="per-task overhead",
    suspects=_suspects,
    explains=("driver.scheduler-saturated",),
    refute="Run with a tenth of the tasks: if the stage lasts as long, its time is work.",
)
