"""Task attempts die for want of memory, and are run again.

What it is
    An attempt ends with an OutOfMemoryError, or its executor is killed for its memory: its work
    is lost and done again.

Mechanism
    The simulator removes all the time of these attempts: with enough memory they would not have
    been made.

Evidence
    Attempts that failed, and the error or reason that the event log records.

Remedy
    More memory for each task: `spark.executor.memory`; where the container was killed,
    `spark.executor.memoryOverhead`; or fewer cores in each executor.

When it is wrong
    The attempts that succeeded may have been lucky: there must be enough memory for the largest
    task.

Source
    Spark's documentation of the configuration, `spark.executor.memoryOverhead` and
    `spark.task.maxFailures`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pyrometer.core import units
from pyrometer.explain.catalogue.memory.gc_heap_too_small import larger
from pyrometer.explain.change import Less
from pyrometer.explain.evidence.places import where
from pyrometer.explain.facts import Facts, exactly
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Evidence, Place, Remedy
from pyrometer.explain.what_if import Extent
from pyrometer.simulation.measured import Floats

ACHIEVED = (0.8, 1.0)
"""Share of the lost attempts that more memory avoids; what a larger heap does not hold dies
again. Not measured; assumed."""
CONTAINER = "(?i)memory limits|OOMKilled|exit code:? 137|exit status:? 137|exitCode:? 137"
HEAP = "OutOfMemoryError|GC overhead limit exceeded"
WHERE = "status <> 'success' AND regexp_matches(coalesce(error, '') || coalesce(reason, ''), '{}')"


def suspected(facts: Facts, pattern: str, setting: str, default: str, what: str) -> Suspect | None:
    """Suspect a limit of memory that attempts ran into, by what their errors say."""
    if not bool(np.any(facts.tasks["wasted"].astype(bool))):
        return None
    lost_there = f"FROM tasks WHERE {where(facts)} AND {WHERE.format(pattern)}"
    known = {row[0] for row in facts.tables.query(f"SELECT task_attempt_id {lost_there}")}
    if not known:
        return None
    mine = np.isin(facts.tasks["task_attempt_id"].astype(np.int64), np.array(sorted(known)))
    lost: dict[int, Floats | float] = {}
    first = 0
    for stage in facts.stages:
        own = mine[first : first + stage.tasks_count]
        first += stage.tasks_count
        if own.any():
            lost[stage.number] = np.where(own, facts.tasks_of(stage.number).duration_ns, 0.0)
    if not lost:
        return None
    stage = facts.stages[max(lost, key=lambda number: float(np.sum(lost[number])))]
    sum_ns, count = float(sum(np.sum(one) for one in lost.values())), int(mine.sum())
    now = facts.size(setting, default)
    return Suspect(
        place=Place(layer="setting", setting=setting, stage_id=stage.stage_id,
                    stage_attempt=stage.attempt, stages_count=len(lost)),
        mechanism=(
            f"{count} task attempts were lost to {what} after {units.duration(sum_ns)}, and run"
            f" again, with {setting}={now}."
        ),
        change=(Less("retry", lost),),
        extent=Extent(n=count).times(*ACHIEVED),
        evidence=[
            Evidence(what="time of the lost attempts", estimate=exactly(sum_ns, count), unit="ns",
                     table="tasks", link=f"/stage/{stage.stage_id}/{stage.attempt}",
                     query=f"SELECT sum(finish_wall_ns - launch_wall_ns) {lost_there}"),
        ],
        remedies=[
            Remedy(kind="factor", factor=setting, level=larger(now),
                   text=f"{larger(now)} instead of {now}"),
        ],
    )  # fmt: skip


def _suspects(facts: Facts) -> Iterator[Suspect]:
    name = facts.heap_setting
    found = suspected(facts, HEAP, name, "1g", "OutOfMemoryError")
    if found is not None:
        yield found


RULE = Rule(
    code="retries.out-of-memory",
    title="Task attempts run out of memory",
    cause="out of memory",
    suspects=_suspects,
    explains=("retries.", "gc."),
    refute="Run with twice the memory: attempts must not fail with the same error.",
)
