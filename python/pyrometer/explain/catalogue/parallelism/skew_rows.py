"""A few tasks of a stage handle many times the rows of the others, in hardly more bytes.

What it is
    Partitions of similar size in bytes hold very different numbers of rows: narrow rows of one key,
    nulls, rows that compress to nothing. What is done per row takes time, what is read does not.

Mechanism
    The time of tasks follows their rows. Divided evenly, the same work would end at the same time
    on all slots. The simulator schedules the stage with its work spread evenly over its tasks.

Evidence
    Rows that tasks read from input and shuffle, and the line of time over rows through the tasks,
    where it explains more of the longest task's excess than that over bytes does (`skew.bytes`).

Remedy
    A salt in the key. Adaptive execution splits partitions by their bytes only: it helps here with
    a low threshold in bytes, if at all.

When it is wrong
    Where rows of one key must stay together (a window function over the key), or where the rows of
    the large task cost more than others for another reason.

Source
    Records read in Spark's event log; adaptive execution: Spark's documentation of SQL performance
    tuning, "Optimizing Skew Join".
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pyrometer.core import units
from pyrometer.explain.catalogue.parallelism.skew_bytes import (
    FEWEST,
    by_bytes,
    by_rows,
    remedies,
    split,
    spread,
)
from pyrometer.explain.evidence.places import largest, of_stage, of_tasks
from pyrometer.explain.evidence.task_costs import read_rows
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Rule, Suspect

_ROWS = "coalesce(input_records_count, 0) + coalesce(shuffle_read_records_count, 0)"


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    for stage in facts.stages:
        if stage.tasks_count < FEWEST:
            continue
        tasks = facts.tasks_of(stage.number)
        extent = by_rows(facts, stage.number)
        if extent.value <= by_bytes(facts, stage.number).value:
            continue
        time, rows = tasks.duration_ns, read_rows(tasks)
        most, median = float(rows.max()), float(np.median(rows))
        longest, middle = float(time.max()), float(np.median(time))
        yield extent.value * (longest - float(time.mean())), Suspect(
            place=of_stage(stage, "data"),
            mechanism=(
                f"The largest of {units.counted(tasks.count, 'task')} read"
                f" {units.counted(round(most), 'row')} where the median read"
                f" {units.count(round(median))}, and the longest ran {units.duration(longest)}"
                f" where the median ran {units.duration(middle)}; rows explain"
                f" {units.percent(extent.value)} of its excess."
            ),
            change=(spread(facts, stage, time),),
            extent=split(extent, time),
            evidence=[
                of_tasks("most rows that a task read", most, "count", f"max({_ROWS})", stage,
                         tasks.count),
                of_tasks("longest task", longest, "ns", "max(finish_wall_ns - launch_wall_ns)",
                         stage, tasks.count),
            ],
            remedies=remedies(facts, stage),
        )  # fmt: skip


RULE = Rule(
    code="skew.rows",
    title="A few tasks handle most of the rows",
    cause="data skew",
    suspects=_suspects,
    explains=("spill.", "gc.", "straggler.tail", "skew.time", "partitioning.too-few"),
    refute="Divide the rows of the large tasks by a salt: if the stage still lasts as long, its"
    " work is not its rows.",
)
