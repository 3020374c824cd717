"""Every task deserialises something large that its closure holds.

What it is
    A function given to Spark holds on to an object of the driver (a dictionary, a model, a whole
    class instance). It travels with the stage's binary, and each task builds it again.

Mechanism
    Spark times the deserialisation of each task. The first tasks of an executor load classes; if
    the typical task of a stage needs longer than the typical task of other stages, its binary is
    large. From each of the stage's tasks the simulator removes the excess of the stage's median
    over the least median. Pauses of the collector meanwhile are the heap's fault, not the
    closure's, and stay: of the time that a task was off the CPU while it deserialised, as much as
    all the pauses that it met.

Evidence
    `Executor Deserialize Time` of the stage's tasks, without pauses, median, beside the least
    median of the application's stages; resolution 1 ms. `Executor Deserialize CPU Time` and
    `JVM GC Time` bound the pauses.

Remedy
    Broadcast the object: each executor then builds it once.

When it is wrong
    Where tasks wait for a CPU while they deserialise, the clock counts that, too; where a stage
    has fewer tasks than slots, every task is a first one. A log without CPU times does not say
    when a task met its pauses: they are then spread over all of its time.

Source
    Task metrics in Spark's event log; Spark's programming guide, "Broadcast Variables".
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pyrometer.core import units
from pyrometer.explain.change import Less
from pyrometer.explain.evidence.places import largest
from pyrometer.explain.evidence.places import where as tasks_of
from pyrometer.explain.evidence.saying import code, page, place, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.task_columns import TaskColumns
from pyrometer.explain.what_if import Extent
from pyrometer.simulation.measured import Floats, Stage

RESOLUTION_NS = 1e6
ACHIEVED = (0.7, 1.0)
"""Once for each executor it is still built. Not measured; assumed."""
WITHOUT_PAUSES = (
    "executor_deserialize_time_ns - greatest(0, least(coalesce(jvm_gc_time_ns, 0),"
    " executor_deserialize_time_ns, coalesce(executor_deserialize_time_ns"
    " - executor_deserialize_cpu_time_ns, jvm_gc_time_ns * executor_deserialize_time_ns::DOUBLE"
    " / greatest(executor_deserialize_time_ns + coalesce(executor_run_time_ns, 0), 1))))"
)
"""SQL: what a task needed to deserialise, without pauses of the collector."""


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    medians: dict[int, float] = {}
    own = _without_pauses(facts.tasks)
    for stage in facts.stages:
        times = own[facts.place_of(stage.number)]
        times = times[np.isfinite(times)]
        # Where no slot runs a second task of the stage, all of them are first ones.
        if times.size > facts.slots:
            medians[stage.number] = float(np.median(times))
    if not medians:
        return
    least = max(min(medians.values()), RESOLUTION_NS)
    for number, median in medians.items():
        more = median - least
        if more <= 0:
            continue
        lost = np.minimum(np.nan_to_num(own[facts.place_of(number)]), more)
        yield float(lost.sum()), _suspect(facts, facts.stages[number], median, least, lost)


def _without_pauses(tasks: TaskColumns) -> Floats:
    """Give what each task needed to deserialise, less pauses of the collector meanwhile."""
    wall, cpu = tasks["executor_deserialize_time_ns"], tasks["executor_deserialize_cpu_time_ns"]
    paused = np.nan_to_num(tasks["jvm_gc_time_ns"])
    whole = np.maximum(wall + np.nan_to_num(tasks["executor_run_time_ns"]), 1.0)
    most = np.where(np.isfinite(cpu), wall - cpu, paused * wall / whole)
    left: Floats = wall - np.clip(np.minimum(paused, most), 0.0, wall)
    return left


def _suspect(facts: Facts, stage: Stage, median: float, least: float, lost: Floats) -> Suspect:
    where = place(facts, "stage", {stage.number: 1.0}, source=stage.called)
    total, count = float(lost.sum()), int(lost.size)
    met_pauses = facts.tasks_of(stage.number).total("jvm_gc_time_ns") > 0
    of_query = WITHOUT_PAUSES if met_pauses else "executor_deserialize_time_ns"
    # A median to the millisecond: it may be off by half of one, either way.
    off = min(1.0, RESOLUTION_NS / 2 / (median - least))
    return Suspect(
        place=where,
        mechanism=(
            f"The median of {units.counted(count, 'task')} spent {units.duration(median)}"
            f" deserialising before it could begin"
            + (", pauses of the collector left out" if met_pauses else "")
            + f", where {units.duration(least)} is usual in this application:"
            f" {units.duration(total)} in all."
        ),
        change=(Less("deserialise", {stage.number: lost}),),
        extent=Extent(1.0, 1 - off, 1 + off, count).times(*ACHIEVED),
        evidence=[
            shown_by("deserialising a task, median", median, "ns", "tasks",
                 f"SELECT median({of_query}) FROM tasks WHERE {tasks_of(stage)}", page(where),
                 count),
        ],
        remedies=[
            code("broadcast the object that the function uses",
                 "rdd.map(lambda x: table[x])",
                 "shared = sc.broadcast(table)\nrdd.map(lambda x: shared.value[x])"),
        ],
    )  # fmt: skip


RULE = Rule(
    code="serialisation.closure",
    title="Tasks deserialise a large closure",
    cause="large task closure",
    suspects=_suspects,
    refute="Broadcast what the function holds: if tasks still spend as long deserialising, it is"
    " not the closure.",
)
