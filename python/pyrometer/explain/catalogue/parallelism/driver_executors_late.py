"""Work waits for executors that are not there yet.

What it is
    Executors register late: the cluster has no room, an image is loaded, or dynamic allocation asks
    for them in doubling rounds only when tasks already wait.

Mechanism
    Until they register, no task runs, or all of them run on the few slots there are. With executors
    asked for at the start, and room for them, they register together. What a JVM needs to start
    (`START_NS`) stays.

Evidence
    When executors registered, since the start of the application.

Remedy
    `spark.dynamicAllocation.initialExecutors` and `minExecutors`; without dynamic allocation,
    capacity held ready, images loaded beforehand.

When it is wrong
    The cluster is full: then the application waits for the work of others.

Source
    Spark's "Dynamic Resource Allocation", request policy; start of an executor's JVM with Spark:
    3 s, assumed for hosts with CPUs to spare. On two CPUs that were busy with other
    work, at the lowest priority, it took 11 to 22 s after the application's start (two executors in
    local-cluster mode, three runs on 2026-11-25): there the saving is less than predicted.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pyrometer.core import units
from pyrometer.explain.change import LessGap, Sooner
from pyrometer.explain.evidence.driver_time import nodes_of
from pyrometer.explain.evidence.places import bounds
from pyrometer.explain.facts import Facts, exactly
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Evidence, Place, Remedy
from pyrometer.explain.what_if import Extent

START_NS = 3e9


def _suspects(facts: Facts) -> Iterator[Suspect]:
    measured = facts.measured
    if measured is None:
        return
    first = measured.intervals[0].start_wall_ns
    late = np.array(
        [
            float(one.add_ns - first)
            for one in measured.executors
            if one.add_ns is not None and one.executor_id != "driver"
        ]
    )
    if not late.size or late.max() <= START_NS:
        return
    # Without its settings a log does not tell: the smaller saving counts.
    unknown = not measured.settings.values
    dynamic = measured.settings.dynamic or unknown
    asked = float(late.min()) if dynamic else START_NS
    # With dynamic allocation all of them could have come with the first one, at least.
    low = max(0.0, 1 - max(asked, START_NS) / float(late.mean()))
    high = max(low, 1 - START_NS / float(late.mean()))
    # A driver that waits for executors submits its first job when they are there. Asking for more
    # of them, as with dynamic allocation, brings the first no sooner.
    first_job = min((one.submit_ns for one in measured.jobs), default=0)
    there = first + float(late.min())
    waits = not dynamic and first_job >= there > first + START_NS
    waited = nodes_of(facts, [(first + START_NS, there)]) if waits else {}
    count = str(late.size)
    ask = Remedy(kind="factor", factor="spark.dynamicAllocation.initialExecutors", level=count,
                 levels={"spark.dynamicAllocation.minExecutors": count},
                 text=f"ask for {units.counted(late.size, 'executor')} at the start")  # fmt: skip
    hold = Remedy(kind="machine", text="hold capacity ready for the executors: nodes that are up,"
                  " and images that are loaded")  # fmt: skip
    is_set = dynamic and not unknown
    name = "spark.dynamicAllocation.initialExecutors" if is_set else None
    lost = " The log has no settings: whether dynamic allocation was on is not known."
    yield Suspect(
        place=Place(layer="setting" if is_set else "cluster", setting=name),
        mechanism=(
            f"{units.counted(late.size, 'executor')} registered {units.duration(float(late.min()))}"
            f" to {units.duration(float(late.max()))} after the application's start,"
            f" {units.duration(float(late.mean()))} on average.{lost * unknown}"
        ),
        change=(Sooner(), LessGap(waited, what="executors")),
        # Without dynamic allocation it is for the cluster to be sooner: half the way, assumed.
        extent=Extent((low + high) / 2, low, high, late.size)
        if dynamic else Extent(high * 0.75, high * 0.5, high, late.size),
        evidence=[
            Evidence(what="executors registered after", unit="ns", table="executors",
                     estimate=bounds(float(late.mean()), float(late.min()), float(late.max()),
                                     late.size, "mean and range"),
                     query="SELECT executor_id, add_wall_ns FROM executors ORDER BY add_wall_ns",
                     link="/timeline"),
            Evidence(what="executors", unit="count", table="executors", link="/timeline",
                     estimate=exactly(float(late.size)), query="SELECT count(*) FROM executors"),
        ],
        remedies=[ask] * dynamic + [hold] * (unknown or not dynamic),
    )  # fmt: skip


RULE = Rule(
    code="driver.executors-late",
    title="Executors register late",
    cause="executor allocation",
    suspects=_suspects,
    refute="Start with all executors at hand: if the first job still begins as late, it is the"
    " driver.",
)
