"""A stage has too few tasks for the slots, or leaves most of them idle in its last round.

What it is
    Fewer tasks than slots, or a few more than a multiple of them: part of the slots has nothing
    to run while the stage lasts.

Mechanism
    A task runs on one slot. With a few tasks for each slot, the same work fills all of them to
    the end. The simulator schedules the stage with `PER_SLOT` tasks for each slot, each paying what
    a task of this stage pays beside its run time.

Evidence
    Tasks of the stage beside slots, and the share of slot time left idle while it ran.

Remedy
    After a shuffle `spark.sql.shuffle.partitions`; for files a smaller
    `spark.sql.files.maxPartitionBytes`; for RDDs more partitions.

When it is wrong
    The work cannot be divided further: few rows, few keys, files that are read whole. Stages of
    one task are `partitioning.one-task`.

Source
    "2-3 tasks per CPU core in your cluster": Spark's tuning guide, "Level of Parallelism".
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pyrometer.core import units
from pyrometer.explain.change import Recount
from pyrometer.explain.evidence.places import largest, of_stage, of_tasks, slots_at
from pyrometer.explain.facts import Facts, TaskColumns
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Remedy
from pyrometer.explain.what_if import Extent

PER_SLOT = 3
"""Tasks for each slot: see the source."""


def overhead_ns(tasks: TaskColumns) -> float:
    """Median of what a task pays beside its run time: shipping, loading, its result."""
    over = tasks.duration_ns - tasks["executor_run_time_ns"]
    known = over[np.isfinite(over)]
    return max(0.0, float(np.median(known))) if known.size else 0.0


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    for stage in facts.stages:
        slots, count = slots_at(facts, stage), stage.tasks_count
        if count < 2 or count >= PER_SLOT * slots:
            continue
        tasks = facts.tasks_of(stage.number)
        span = float(stage.complete_ns - stage.submit_ns)
        work = float(tasks.duration_ns.sum())
        idle = max(0.0, 1 - work / (span * slots)) if span > 0 else 0.0
        wanted = PER_SLOT * slots
        yield span * idle, Suspect(
            place=of_stage(stage),
            mechanism=(
                f"The stage has {units.counted(count, 'task')} for {units.counted(slots, 'slot')},"
                f" which stood idle for {units.percent(idle)} of its {units.duration(span)}."
            ),
            change=(Recount({stage.number: wanted / count}, overhead_ns(tasks)),),
            # Low: work divides only down to the next multiple of the slots, as where keys are few.
            extent=Extent(n=count).times(0.5, 1.0),
            evidence=[
                of_tasks("tasks", float(count), "count", "count(*)", stage, count),
                of_tasks("time of tasks", work, "ns", "sum(finish_wall_ns - launch_wall_ns)",
                         stage, count),
            ],
            remedies=_remedies(facts, bool(stage.parent_ids), tasks, wanted),
        )  # fmt: skip


def _remedies(facts: Facts, shuffled: bool, tasks: TaskColumns, wanted: int) -> list[Remedy]:
    size = tasks.total("input_bytes")
    if size > 0:
        return [
            Remedy(kind="factor", factor="spark.sql.files.maxPartitionBytes",
                   level=str(max(1 << 20, int(size / wanted))),
                   text=f"divide the files into about {wanted} parts"),
        ]  # fmt: skip
    if shuffled or tasks.total("shuffle_read_records_count") > 0:
        return [
            Remedy(kind="factor", factor="spark.sql.shuffle.partitions", level=str(wanted),
                   levels={"spark.sql.adaptive.coalescePartitions.enabled": "false"},
                   text=f"{wanted} partitions after the shuffle"),
        ]  # fmt: skip
    return [
        Remedy(kind="factor", factor="spark.default.parallelism", level=str(wanted),
               text=f"{wanted} partitions, three for each slot"),
    ]  # fmt: skip


RULE = Rule(
    code="partitioning.too-few",
    title="Too few tasks for the slots",
    cause="insufficient parallelism",
    suspects=_suspects,
    explains=("straggler.tail",),
    refute="Run with three times as many partitions as slots: if the stage lasts as long, its work"
    " cannot be divided, or something else is used up.",
)
