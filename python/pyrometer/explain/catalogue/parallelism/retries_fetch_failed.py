"""Outputs of a shuffle were lost, and stages are run again.

What it is
    A task cannot fetch a block of a shuffle, because the executor or its disk is gone or does not
    answer. Spark runs the stage that wrote it again, for what is lost, and then the reader.

Mechanism
    Partitions are computed a second time. The simulator removes attempts that failed to fetch, and
    the share of the later stage attempts that repeats what had succeeded before.

Evidence
    Stage attempts after the first, attempts of tasks that ended as FetchFailed, and successes
    beyond one for each partition.

Remedy
    An external shuffle service or decommissioning with migration, so that outputs outlive their
    executors; more memory where executors die (`retries.executor-lost`).

When it is wrong
    The first attempt would have been just as slow: what had not run before is not removed.

Source
    `DAGScheduler` of Spark, "FetchFailed"; `spark.shuffle.service.enabled` and
    `spark.storage.decommission.enabled` in its configuration.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from pyrometer.core import units
from pyrometer.explain.catalogue.parallelism.retries_failed_tasks import ends
from pyrometer.explain.change import Less, LessGap
from pyrometer.explain.evidence.places import of_stage, of_tasks
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Remedy
from pyrometer.explain.what_if import Extent
from pyrometer.simulation.measured import Floats, Stage

_PLANNED = (
    "SELECT stage_id, max(planned_tasks_count) FROM stages WHERE app_index = $1 GROUP BY stage_id"
)


def _suspects(facts: Facts) -> Iterator[Suspect]:
    again = [one for one in facts.stages if one.attempt > 0]
    if not again or facts.measured is None or facts.what_if is None:
        return
    by_id: dict[int, list[Stage]] = defaultdict(list)
    for stage in facts.stages:
        by_id[stage.stage_id].append(stage)
    known = ends(facts)
    wasted = np.asarray(facts.tasks["wasted"], dtype=bool)
    planned = dict(facts.tables.query(_PLANNED, [facts.measured.app_index]))
    time = facts.tasks.duration_ns
    less: dict[int, Floats] = {}
    for stage_id in {one.stage_id for one in again}:
        attempts = sorted(by_id[stage_id], key=lambda one: one.attempt)
        done = [int((~wasted[facts.place_of(one.number)]).sum()) for one in attempts]
        extra = max(0, sum(done) - int(planned.get(stage_id) or sum(done)))
        for stage, count in zip(reversed(attempts), reversed(done), strict=True):
            place = facts.place_of(stage.number)
            lost = np.zeros(time[place].size)
            if stage.attempt > 0 and count:
                repeated = min(extra, count)
                extra -= repeated
                lost = np.where(wasted[place], 0.0, time[place] * repeated / count)
            if known is not None:
                failed = known["reason"][place].astype(str) == "FetchFailed"
                lost = np.where(failed, time[place], lost)
            less[stage.number] = lost
    gaps = facts.what_if.calibrated.graph.delay_ns
    waits = {one.number: float(gaps[one.number]) for one in again if gaps[one.number] > 0}
    total = sum(float(one.sum()) for one in less.values())
    if total <= 0:
        return
    worst = max(again, key=lambda one: float(less[one.number].sum()))
    n, numbers = len(again), frozenset(one.number for one in again)
    yield Suspect(
        place=of_stage(worst, stages_count=len({one.stage_id for one in again})),
        mechanism=(
            f"{n} stage attempts were run again after outputs were lost, and repeated"
            f" {units.duration(total)} of tasks."
        ),
        change=(Less("failed", less), LessGap(waits, numbers, "failed")),
        extent=Extent(n=n),
        evidence=[
            of_tasks("time of later attempts", total, "ns", "sum(finish_wall_ns - launch_wall_ns)"
                     " FILTER (stage_attempt > 0)", facts, n),
        ],
        remedies=[
            Remedy(kind="factor", factor="spark.shuffle.service.enabled", level="true",
                   text="where the cluster offers it: outputs outlive their executors"),
            Remedy(kind="factor", factor="spark.storage.decommission.enabled", level="true",
                   levels={"spark.decommission.enabled": "true",
                           "spark.storage.decommission.shuffleBlocks.enabled": "true"},
                   text="where executors are taken away: move their outputs first"),
        ],
    )  # fmt: skip


RULE = Rule(
    code="retries.fetch-failed",
    title="Stages are run again after outputs were lost",
    cause="fetch failure",
    suspects=_suspects,
    explains=("retries.failed-tasks",),
    refute="Run where no executor is lost: if it takes just as long, the attempts were not on the"
    " critical path.",
)
