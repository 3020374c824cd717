"""A stage has too few tasks for the slots, or leaves most of them idle in its last round.

What it is
    Fewer tasks than slots, or a few more than a multiple of them: some of the slots have nothing to
    run while the stage lasts.

Mechanism
    A task runs on one slot. With a few tasks for each slot, the same work fills all of them to the
    end. The simulator schedules the stage with `PER_SLOT` tasks for each slot, each paying what a
    task of this stage pays in addition to its run time.

    Partitions of a shuffle divide by keys, and rows of one key stay together. Where the largest
    task of a stage behind a shuffle read over `UNEVEN` times the median of the others, what it took
    beyond that median is assumed to be due to one key. Where this alone lasts longer than an equal
    share of all work, more tasks only take the other keys away from it: the cause is `skew.bytes`
    or `skew.rows`.

Evidence
    Tasks of the stage against slots, and the share of slot time left idle while it ran; what its
    tasks read.

Remedy
    After a shuffle `spark.sql.shuffle.partitions`; for files `spark.sql.files.maxPartitionBytes` of
    their size over the wanted number of tasks; for RDDs more partitions.

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
from pyrometer.explain.change import Apart, Edit, Recount
from pyrometer.explain.evidence.places import largest, of_stage, of_tasks, slots_at
from pyrometer.explain.evidence.task_costs import read_bytes, read_rows
from pyrometer.explain.evidence.task_counts import recounted
from pyrometer.explain.facts import Facts, TaskColumns
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.what_if import Extent

PER_SLOT = 3
"""Tasks for each slot: see the source."""
UNEVEN = 2.0
"""Partitions of many keys differ less. Assumed."""
COALESCED_BYTES = 1 << 20
"""Adaptive execution joins partitions up to this size, however few are left: of two tasks that read
no more, one may be the rest (``spark.sql.adaptive.coalescePartitions.minPartitionSize``)."""


def overhead_ns(tasks: TaskColumns) -> float:
    """Median of what a task pays beside its run time: shipping, loading, its result."""
    over = tasks.duration_ns - tasks["executor_run_time_ns"]
    known = over[np.isfinite(over)]
    return max(0.0, float(np.median(known))) if known.size else 0.0


def undivided_ns(tasks: TaskColumns) -> float:
    """Give the time of a stage's longest task that one key has; 0 where none has much.

    That is what it took beyond the median of the others, if it read as much more than they did.
    """
    time = tasks.duration_ns
    shuffled = tasks.total("shuffle_read_records_count") > 0
    if not shuffled or tasks.total("input_bytes") > 0 or time.size < 2:
        return 0.0
    longest = int(time.argmax())
    sizes = read_bytes(tasks)
    if time.size == 2 and sizes[longest] <= COALESCED_BYTES:
        return 0.0
    if not any(
        amount[longest] > UNEVEN * float(np.median(np.delete(amount, longest)))
        for amount in (sizes, read_rows(tasks))
    ):
        return 0.0
    return max(0.0, float(time[longest]) - float(np.median(np.delete(time, longest))))


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    for stage in facts.stages:
        slots, count = slots_at(facts, stage), stage.tasks_count
        if count < 2 or count >= PER_SLOT * slots:
            continue
        tasks = facts.tasks_of(stage.number)
        span = float(stage.ran_ns - stage.submit_ns)
        work = float(tasks.duration_ns.sum())
        idle = max(0.0, 1 - work / (span * slots)) if span > 0 else 0.0
        wanted = PER_SLOT * slots
        apart = undivided_ns(tasks)
        edit: Edit = (
            Apart(stage.number, apart) if apart > work / max(1, slots) else
            Recount({stage.number: wanted / count}, overhead_ns(tasks))
        )  # fmt: skip
        yield span * idle, Suspect(
            place=of_stage(stage),
            mechanism=(
                f"The stage has {units.counted(count, 'task')} for {units.counted(slots, 'slot')},"
                f" which stood idle for {units.percent(idle)} of its {units.duration(span)}."
            ),
            change=(edit,),
            # Low: work divides only down to the next multiple of the slots, as where keys are few.
            extent=Extent(n=count).times(0.5, 1.0),
            evidence=[
                of_tasks("tasks", float(count), "count", "count(*)", stage, count),
                of_tasks("time of tasks", work, "ns", "sum(finish_wall_ns - launch_wall_ns)",
                         stage, count),
            ],
            remedies=[recounted(facts, stage, wanted, f"{wanted} tasks, three for each slot")],
        )  # fmt: skip


RULE = Rule(
    code="partitioning.too-few",
    title="Too few tasks for the slots",
    cause="insufficient parallelism",
    suspects=_suspects,
    explains=("straggler.tail",),
    refute="Run with three times as many partitions as slots: if the stage still lasts as long, its"
    " work cannot be divided, or something else is used up.",
)
