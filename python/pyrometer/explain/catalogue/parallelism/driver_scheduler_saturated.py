"""Tasks wait for the driver's scheduler.

What it is
    One thread of the driver serialises tasks, launches them and learns when they end. With many
    short tasks on many slots, tasks and free slots queue for it.

Mechanism
    A task holds its slot while its launch and its end wait in the driver's queue. The simulator
    removes the part of its scheduler delay that exceeds the lowest tenth of this application's: any
    task needs that much.

Evidence
    Scheduler delay of tasks, by Spark's formula, without the first tasks of each executor, which
    load code.

Remedy
    Fewer, larger tasks, where a stage has more than three for each slot; more CPU for the driver.

When it is wrong
    The delay is the executor's: its thread that launches tasks had no CPU, or it paused for its
    collector between run and answer.

Source
    "Scheduler delay" in Spark's web UI documentation; Ousterhout et al., Sparrow, SOSP 2013,
    section 2: a central scheduler and short tasks.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pyrometer.core import units
from pyrometer.explain.catalogue.parallelism.partitioning_too_few import PER_SLOT
from pyrometer.explain.change import Less
from pyrometer.explain.evidence.places import of_stage, of_tasks
from pyrometer.explain.evidence.task_counts import recounted
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Remedy
from pyrometer.explain.what_if import Extent
from pyrometer.simulation.measured import Stage

FLOOR = 0.1
"""Quantile of the delay that any task has."""
_DELAY = (
    "sum(greatest(0, finish_wall_ns - launch_wall_ns - coalesce(executor_run_time_ns, 0)"
    " - coalesce(executor_deserialize_time_ns, 0) - coalesce(result_serialization_time_ns, 0)"
    " - coalesce(finish_wall_ns - getting_result_wall_ns, 0))) FILTER (has_metrics)"
)


def _suspects(facts: Facts) -> Iterator[Suspect]:
    if facts.measured is None or not facts.tasks.known("executor_run_time_ns"):
        return
    delay = facts.measured.tasks.delay_ns
    launch = facts.tasks["launch_wall_ns"]
    names, which = np.unique(facts.tasks.codes("executor_id"), return_inverse=True)
    order = np.lexsort((launch, which))
    starts = np.searchsorted(which[order], np.arange(names.size))
    rank = np.empty(order.size, dtype=np.int64)
    rank[order] = np.arange(order.size) - starts[which[order]]
    warm = rank >= max(1, facts.slots // max(1, names.size))
    if warm.sum() < PER_SLOT * facts.slots:
        return
    floor = float(np.quantile(delay[warm], FLOOR))
    over = np.where(warm, np.maximum(delay - floor, 0.0), 0.0)
    total = float(over.sum())
    if total <= 0:
        return
    less = {one.number: over[facts.place_of(one.number)] for one in facts.stages if one.tasks_count}
    worst = max(facts.stages, key=lambda one: float(np.sum(less.get(one.number, 0.0))))
    n = int(warm.sum())
    share = total / float(facts.tasks.duration_ns.sum())
    yield Suspect(
        place=of_stage(worst, "driver", sum(bool(one.any()) for one in less.values())),
        mechanism=(
            f"{units.counted(n, 'task')} waited {units.duration(total)} for the driver's scheduler,"
            f" {units.percent(share)} of the time of tasks, beyond the"
            f" {units.duration(floor)} that each needs."
        ),
        change=(Less("delay", less),),
        # Half: with half the tasks, half of the waits.
        extent=Extent(n=n).times(0.5, 1.0),
        evidence=[
            of_tasks("scheduler delay", float(delay.sum()), "ns", _DELAY, facts, n),
        ],
        remedies=_remedies(facts, worst),
    )  # fmt: skip


def _remedies(facts: Facts, worst: Stage) -> list[Remedy]:
    """Say how the queue gets shorter; a stage with few tasks for each slot needs all of them."""
    wanted = PER_SLOT * facts.slots
    crowded = worst.tasks_count > wanted
    fewer = [recounted(facts, worst, wanted, "fewer, larger tasks")] if crowded else []
    return [
        *fewer,
        Remedy(kind="factor", factor="spark.driver.cores", level="4",
               text="more CPU for the driver"),
    ]  # fmt: skip


RULE = Rule(
    code="driver.scheduler-saturated",
    title="Tasks wait for the driver's scheduler",
    cause="scheduler delay",
    suspects=_suspects,
    refute="Run half as many tasks with twice the work each: if the delay per task stays the same,"
    " it is not the driver's queue.",
)
