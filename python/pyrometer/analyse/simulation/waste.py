"""Where the slots' time goes, by cause, and how long it would take without each cause."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pyrometer.analyse.simulation.calibrated import Calibrated
from pyrometer.analyse.simulation.cluster import Shape
from pyrometer.analyse.simulation.contention import Contention
from pyrometer.analyse.simulation.core import Plan, schedules
from pyrometer.analyse.simulation.measured import Floats
from pyrometer.analyse.simulation.model import Waste

CAUSES = (
    "useful",
    "driver",
    "too_few_tasks",
    "stage_tail",
    "waiting_to_launch",
    "scheduling_delay",
    "retries",
)


def waste_of(made: Calibrated, contention: Contention | None = None) -> list[Waste]:
    """Account for the slots' time of the measured size; the parts add up to all of it."""
    time = made.schedule.slot_time
    total = time["total_ns"]
    plans = {
        "driver": replace(made.plan, delay_ns=[0.0] * len(made.plan.delay_ns)),
        "stage_tail": _with(made.plan, duration_ns=_even(made.plan)),
        "waiting_to_launch": made.plan.anywhere(),
        "scheduling_delay": _with(
            made.plan,
            duration_ns=made.plan.tasks.duration_ns - made.plan.tasks.delay_ns,
            delay_ns=np.zeros_like(made.plan.tasks.delay_ns),
        ),
        "retries": _without_retries(made.plan),
    }
    return [
        Waste(
            cause=cause,
            slot_ns=round(time[f"{cause}_ns"]),
            share=time[f"{cause}_ns"] / total if total else 0.0,
            without_ns=_elapsed(made, plans[cause], contention) if cause in plans else None,
        )
        for cause in CAUSES
    ]


def _elapsed(made: Calibrated, plan: Plan, contention: Contention | None) -> int:
    cluster = made.cluster(Shape())
    if plan.pool != made.plan.pool or plan.locality_wait_ns != made.plan.locality_wait_ns:
        cluster = [{**executor, "pool": 0} for executor in cluster]
    return round(schedules(plan, [cluster], [{}], contention)[0].elapsed_ns)


def _with(plan: Plan, duration_ns: Floats, delay_ns: Floats | None = None) -> Plan:
    delays = plan.tasks.delay_ns if delay_ns is None else delay_ns
    return replace(plan, tasks=replace(plan.tasks, duration_ns=duration_ns, delay_ns=delays))


def _even(plan: Plan) -> Floats:
    """Give every task the mean length of its node's."""
    counts = np.array(plan.counts)
    filled = counts[counts > 0]
    starts = np.concatenate(([0], np.cumsum(filled)[:-1]))
    means = np.add.reduceat(plan.tasks.duration_ns, starts) / filled
    made: Floats = np.repeat(means, filled)
    return made


def _without_retries(plan: Plan) -> Plan:
    kept = plan.tasks.wasted == 0
    return _with(
        plan,
        duration_ns=np.where(kept, plan.tasks.duration_ns, 0.0),
        delay_ns=np.where(kept, plan.tasks.delay_ns, 0.0),
    )
