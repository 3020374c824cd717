"""Full collections because class metadata outgrew its first threshold.

What it is
    The JVM starts with a small threshold for class metadata (about 21 MiB). Spark loads and
    generates classes far beyond it: at each step a full collection stops everything, whatever
    the heap.

Mechanism
    Each of these pauses stops all tasks of its JVM. The simulator removes the time for which each
    task was stopped by pauses of this cause, by the clock that the log and the tasks share.

Evidence
    Pauses with cause "Metadata GC Threshold" in the collector's log, mapped onto the tasks.

Remedy
    `-XX:MetaspaceSize=512m`, tried as factor `jvm.options`.

When it is wrong
    Pauses before the first task cost nothing here, and are not counted.

Source
    HotSpot Virtual Machine Garbage Collection Tuning Guide (JDK 17), "Class Metadata".
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.core import units
from pyrometer.explain.change import Less
from pyrometer.explain.evidence.memory.pauses import NEEDS, is_metadata, met_by_tasks, total, worst
from pyrometer.explain.facts import Facts, exactly
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Evidence, Place, Remedy
from pyrometer.explain.what_if import Extent

ACHIEVED = (0.9, 1.0)
"""Share of the pauses that goes: a metaspace that is large from the start never meets its
threshold; classes that are unloaded may still have to be, once. Not measured; assumed."""


def _suspects(facts: Facts) -> Iterator[Suspect]:
    lost, count = met_by_tasks(facts, is_metadata)
    if not lost:
        return
    stage = facts.stages[worst(lost)]
    sum_ns = total(lost)
    yield Suspect(
        place=Place(layer="jvm", setting="-XX:MetaspaceSize", stage_id=stage.stage_id,
                    stage_attempt=stage.attempt, stages_count=len(lost)),
        mechanism=(
            f"Tasks stood still for {units.duration(sum_ns)} in {count} full"
            f" collections that only the"
            f" growth of class metadata asked for."
        ),
        change=(Less("gc", lost),),
        extent=Extent(n=count).times(*ACHIEVED),
        evidence=[
            Evidence(what="pauses that tasks met", estimate=exactly(sum_ns, count), unit="ns",
                     table="gc_pauses", link="/jvm",
                     query="SELECT sum(duration_ns) FROM gc_pauses WHERE cause ILIKE '%metadata%'"),
        ],
        remedies=[
            Remedy(kind="factor", factor="jvm.options", level="-XX:MetaspaceSize=512m",
                   text="start with room for classes: -XX:MetaspaceSize=512m"),
        ],
    )  # fmt: skip


RULE = Rule(
    code="gc.metadata-threshold",
    title="Class metadata triggers full collections",
    cause="Metadata GC Threshold",
    suspects=_suspects,
    needs=NEEDS,
    refute="Run with -XX:MetaspaceSize=512m: if the log still has collections of this cause,"
    " classes are generated without end.",
)
