"""Tasks wait for a slot near their data while others are free.

What it is
    Spark holds a task back for `spark.locality.wait` (3 s) for each level of locality, hoping for a
    slot on the host that has its data.

Mechanism
    Slots elsewhere stand idle. Without the wait they run the tasks at once, reading over the
    network. The simulator schedules with no wait.

Evidence
    Levels at which tasks ran, and the setting.

Remedy
    `spark.locality.wait=0s`; more replicas of hot blocks.

When it is wrong
    Reading from afar costs more than the wait. The time of tasks that ran elsewhere, over that of
    those near their data in the same stages, lowers the saving.

Source
    Spark's configuration, `spark.locality.wait`; Zaharia et al., Delay Scheduling, EuroSys 2010.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pyrometer.core import units
from pyrometer.explain.change import NoLocalityWait
from pyrometer.explain.evidence.places import of_stage
from pyrometer.explain.facts import Facts, exactly
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Evidence, Remedy
from pyrometer.explain.what_if import Extent


def _suspects(facts: Facts) -> Iterator[Suspect]:
    measured = facts.measured
    if measured is None or measured.settings.locality_wait_ns <= 0:
        return
    level = measured.tasks.level
    hosts = {one.host for one in measured.executors}
    # With one host, or where all tasks ran at one level or in none, nothing was held back.
    mixed = [
        stage
        for stage in facts.stages
        if stage.hosts and len(set(stage.hosts) & hosts) < len(hosts) and stage.tasks_count
    ]
    if len(hosts) < 2 or not mixed:
        return
    ratios = []
    for stage in mixed:
        place = facts.place_of(stage.number)
        far = level[place] >= 2
        if far.any() and not far.all():
            time = facts.tasks.duration_ns[place]
            ratios.append(float(np.median(time[far])) / max(1.0, float(np.median(time[~far]))))
    dearer = max(1.0, float(np.median(ratios))) if ratios else 1.0
    least = min(1.0, 1 / dearer) * 0.5
    waits = [stage for stage in mixed if stage.tasks_count]
    worst = max(waits, key=lambda one: one.complete_ns - one.submit_ns)
    near = int(np.sum(level < 2))
    wait = measured.settings.locality_wait_ns
    yield Suspect(
        place=of_stage(worst, "setting", len(mixed)).model_copy(
            update={"setting": "spark.locality.wait"}
        ),
        mechanism=(
            f"Tasks of {units.counted(len(mixed), 'stage')} have their data on some of {len(hosts)}"
            f" hosts and wait {units.duration(wait)} at each level for a slot there;"
            f" {units.percent(near / max(1, level.size))} of all tasks ran near their data."
        ),
        change=(NoLocalityWait([one.number for one in mixed]),),
        extent=Extent(n=int(level.size)).times(least, 1.0),
        evidence=[
            Evidence(what="tasks near their data", estimate=exactly(float(near), int(level.size)),
                     unit="count", table="tasks", link="/timeline",
                     query="SELECT locality, count(*) FROM tasks GROUP BY locality"),
        ],
        remedies=[
            Remedy(kind="factor", factor="spark.locality.wait", level="0s",
                   text="take any free slot at once"),
        ],
    )  # fmt: skip


RULE = Rule(
    code="partitioning.locality-wait",
    title="Tasks wait for a slot near their data",
    cause="delay scheduling",
    suspects=_suspects,
    refute="Run with spark.locality.wait=0s: if it takes just as long, reading from afar costs as"
    " much as the wait.",
)
