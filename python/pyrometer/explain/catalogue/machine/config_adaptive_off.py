"""Adaptive execution is off: shuffles keep their fixed number of partitions.

What it is
    With `spark.sql.adaptive.enabled=false` (the default before Spark 3.2) each shuffle of a query
    has `spark.sql.shuffle.partitions` partitions, 200, however little data it has.

Mechanism
    Adaptive execution coalesces small partitions once the shuffle's sizes are known. The simulator
    runs each reading stage of a query with as many tasks as it would have had, their work
    unchanged; each task fewer saves what a task costs whatever it reads. What adaptive execution
    does about skew and broadcasts is not included.

Evidence
    Bytes that stages read from shuffles, divided by their tasks; what a straight line through time
    and bytes leaves for a task that reads nothing, with its error.

Remedy
    `spark.sql.adaptive.enabled=true`.

When it is wrong
    Where partitions are large already, nothing is coalesced; each shuffle becomes a stage of its
    own for which the driver plans again, some tens of milliseconds.

Source
    Spark's documentation of SQL performance tuning, "Coalescing Post Shuffle Partitions":
    advisory 64 MB, at least 1 MB with `coalescePartitions.parallelismFirst`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import numpy as np

from pyrometer.core import units
from pyrometer.explain.change import Edit
from pyrometer.explain.evidence.saying import factor, page, place, shown_by
from pyrometer.explain.evidence.task_costs import Fixed, joined, read_bytes, saved_of
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SQL_PLANS, Rule, Suspect

SETTING = "spark.sql.adaptive.enabled"
ADVISORY_BYTES, LEAST_BYTES = 64 << 20, 1 << 20
ACHIEVED = (0.7, 1.0)
"""Adaptive execution plans again after each shuffle. Not measured; assumed."""


def is_off(facts: Facts) -> bool:
    """Whether adaptive execution could be on and is not: it exists since Spark 3.0."""
    app = facts.measured.app_index if facts.measured else None
    version = next((one.spark_version for one in facts.summary.apps if one.app_index == app), None)
    found = re.match(r"(\d+)\.(\d+)", version or "")
    release = (int(found[1]), int(found[2])) if found else (0, 0)
    return release >= (3, 0) and not facts.is_on(SETTING, default=release >= (3, 2))


def _suspects(facts: Facts) -> Iterator[Suspect]:
    if not is_off(facts):
        return
    of_sql = {(one.stage_id, one.stage_attempt) for one in facts.summary.stages
              if one.sql_id is not None and (facts.measured is None
              or one.app_index == facts.measured.app_index)}  # fmt: skip
    edits: list[Edit] = []
    found: dict[int, tuple[Fixed, int]] = {}
    for stage in facts.stages:
        if (stage.stage_id, stage.attempt) not in of_sql or stage.tasks_count < 2:
            continue
        tasks = facts.tasks_of(stage.number)
        if np.nansum(tasks["input_bytes"]) > 0:  # it scans, too: its tasks are not the shuffle's
            continue
        total = float(read_bytes(tasks).sum())
        if total <= 0 and not np.nansum(tasks["shuffle_read_records_count"]):
            continue
        target = max(LEAST_BYTES, min(ADVISORY_BYTES, total / max(1, facts.slots)))
        count = max(1, math.ceil(total / target))
        if count < stage.tasks_count:
            change, each = joined(tasks, stage.number, count, facts.slots)
            found[stage.number] = each, stage.tasks_count - count
            edits += change
    if not found:
        return
    per_task = float(np.median([each.value for each, _ in found.values()]))
    fewer = sum(less for _, less in found.values())
    where = place(facts, "setting", {n: facts.stages[n].tasks_count for n in found},
                  setting=SETTING)  # fmt: skip
    now = sum(facts.stages[number].tasks_count for number in found)
    yield Suspect(
        place=where,
        mechanism=(
            f"{units.counted(len(found), 'stage')} that read shuffles ran"
            f" {units.counted(now, 'task')} where adaptive execution would run"
            f" {units.count(now - fewer)}; each costs {units.duration(per_task)} whatever it reads."
        ),
        change=tuple(edits),
        extent=saved_of(found.values(), now).times(*ACHIEVED),
        evidence=[
            shown_by("tasks that adaptive execution would coalesce", fewer, "count", "tasks",
                 "SELECT stage_id, count(*), sum(shuffle_read_local_bytes"
                 " + shuffle_read_remote_bytes) FROM tasks GROUP BY 1", page(where), now),
            shown_by("time of a task that reads nothing, by a straight line", per_task, "ns",
                 "tasks", "SELECT stage_id, regr_intercept(finish_wall_ns - launch_wall_ns,"
                 " shuffle_read_local_bytes + shuffle_read_remote_bytes) FROM tasks GROUP BY 1",
                 page(where), now),
        ],
        remedies=[factor(SETTING, "true", "let Spark coalesce small partitions")],
    )  # fmt: skip


RULE = Rule(
    code="config.adaptive-off",
    title="Adaptive execution is off",
    cause="no adaptive query execution",
    suspects=_suspects,
    needs=(SQL_PLANS,),
    explains=("partitioning.", "driver.scheduler-saturated"),
    refute="Run with spark.sql.adaptive.enabled=true: if just as many tasks run, there was nothing"
    " to coalesce.",
)
