"""The long tasks of a stage are launched last, and slots stand idle while they end.

What it is
    Tasks are launched in the order of their partitions, whatever their length. A long one that
    comes last runs alone at the end.

Mechanism
    Launched first, or cut into smaller tasks, the same tasks end with the others. The simulator
    schedules the stage with its longest tasks first.

Evidence
    Launch of the task that ended last, and its time against the median.

Remedy
    Smaller tasks: four times as many make the tail a quarter as long. After a shuffle
    `spark.sql.shuffle.partitions`, without adaptive coalescing, which would join them again; for
    files a smaller `spark.sql.files.maxPartitionBytes`.

When it is wrong
    One task is longer than all the others on a slot together: no order helps, see `skew.bytes`.
    Which task is long may change from run to run.

Source
    Longest processing time first ends within 4/3 of the best schedule: Graham, Bounds on
    Multiprocessing Timing Anomalies, SIAM J. Appl. Math. 17 (1969).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pyrometer.core import units
from pyrometer.explain.change import LongestFirst
from pyrometer.explain.evidence.places import largest, of_stage, of_tasks, slots_at
from pyrometer.explain.evidence.task_counts import recounted
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.what_if import Extent

CUT = 4
"""Times as many tasks as the remedy asks for: 1 - 1/CUT of the tail goes, where tasks divide."""


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    for stage in facts.stages:
        if stage.tasks_count <= slots_at(facts, stage):
            continue
        tasks = facts.tasks_of(stage.number)
        time, launch = tasks.duration_ns, tasks["launch_wall_ns"]
        if bool(np.any(tasks["wasted"])):
            continue  # an order of tasks and their retries says nothing
        last = int(np.argmax(launch + time))
        median = float(np.median(time))
        late = float(launch[last] - launch.min())
        if late <= 0 or time[last] <= median:
            continue
        yield float(time[last]) - median, Suspect(
            place=of_stage(stage),
            mechanism=(
                f"The task that ended last began {units.duration(late)} into the stage and ran"
                f" {units.duration(float(time[last]))}, where the median of"
                f" {units.counted(tasks.count, 'task')} ran {units.duration(median)}."
            ),
            change=(LongestFirst([stage.number]),),
            extent=Extent(n=tasks.count).times(1 - 1 / CUT, 1.0),
            evidence=[
                of_tasks("task that ended last", float(time[last]), "ns",
                         "arg_max(finish_wall_ns - launch_wall_ns, finish_wall_ns)", stage,
                         tasks.count),
            ],
            remedies=[
                recounted(facts, stage, CUT * tasks.count, f"{CUT} times as many, smaller tasks"),
            ],
        )  # fmt: skip


RULE = Rule(
    code="straggler.tail",
    title="Long tasks come last",
    cause="stage tail",
    suspects=_suspects,
    refute="Run with four times as many partitions: if the tail is still as long, it is one task's"
    " work.",
)
