"""Tasks that read equal amounts use very different CPU times: a row costs more in some than others.

What it is
    Work per row depends on the row: long texts, deep JSON, a key with many matches, a function
    that loops over what a column holds. Sizes are even, times are not.

Mechanism
    The stage lasts as long as the task whose rows cost most, and slots stand idle. Spread evenly,
    the same work would end at the same time on all slots.

Evidence
    CPU time of tasks by Spark's counter, the longest against the median: it is work, not a wait or
    a slow host. Only what bytes and rows do not explain counts (`skew.bytes`, `skew.rows`).

Remedy
    More and smaller partitions, divided by something other than what makes rows costly; after a
    shuffle without adaptive coalescing, which would join them again. The costly rows first and
    apart, or their work made cheaper.

When it is wrong
    One row holds most of the work: it cannot be divided. Matches of a key in a join make output
    rows, which are work of this kind too: there a salt divides them.

Source
    Executor CPU Time and records read in Spark's event log. "Computational skew": Kwon, Balazinska,
    Howe and Rolia, SkewTune, SIGMOD 2012, section 2.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pyrometer.core import units
from pyrometer.explain.catalogue.parallelism.skew_bytes import (
    FEWEST_TASKS,
    by_bytes,
    by_rows,
    explained,
    is_worth,
    split,
    spread,
)
from pyrometer.explain.evidence.places import largest, of_stage, of_tasks
from pyrometer.explain.evidence.saying import code
from pyrometer.explain.evidence.task_counts import recounted
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.what_if import Extent


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    if not facts.tasks.known("executor_cpu_time_ns"):
        return
    for stage in facts.stages:
        if stage.tasks_count < FEWEST_TASKS:
            continue
        tasks = facts.tasks_of(stage.number)
        time, cpu = tasks.duration_ns, np.nan_to_num(tasks["executor_cpu_time_ns"])
        if not is_worth(facts, time):
            continue
        by_cpu = explained(time, cpu)
        sizes = [by_bytes(facts, stage.number), by_rows(facts, stage.number)]
        known = max(sizes, key=lambda one: one.value)
        extent = Extent(
            by_cpu.value - known.value,
            max(0.0, by_cpu.low - known.high),
            max(0.0, by_cpu.high - known.low),
            tasks.count,
        )
        if extent.value <= 0:
            continue
        most, median = float(cpu.max()), float(np.median(cpu))
        longest, middle = float(time.max()), float(np.median(time))
        now = tasks.count
        yield extent.value * (longest - float(time.mean())), Suspect(
            place=of_stage(stage, "data"),
            mechanism=(
                f"The costliest of {now} tasks used {units.duration(most)} of CPU where the median"
                f" used {units.duration(median)}, and the longest ran {units.duration(longest)}"
                f" where the median ran {units.duration(middle)}; bytes and rows explain only"
                f" {units.percent(known.value)} of its excess."
            ),
            change=(spread(facts, stage, time),),
            extent=split(extent, time),
            evidence=[
                of_tasks("most CPU of a task", most, "ns", "max(executor_cpu_time_ns)", stage, now),
                of_tasks("longest task", longest, "ns", "max(finish_wall_ns - launch_wall_ns)",
                         stage, now),
            ],
            remedies=[
                recounted(facts, stage, 4 * now, "four times as many, smaller tasks"),
                code("divide the rows at random before the work that is"
                     " costly for some of them",
                     "df.select(costly(col))",
                     f"df.repartition({4 * now}).select(costly(col))"),
            ],
        )  # fmt: skip


RULE = Rule(
    code="skew.time",
    title="Rows of a few tasks cost far more than others",
    cause="computational skew",
    suspects=_suspects,
    explains=("straggler.tail",),
    refute="Repartition at random with more tasks: if the stage still lasts as long, the work is in"
    " a single row, or the time is not work.",
)
