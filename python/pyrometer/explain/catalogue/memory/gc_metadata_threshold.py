"""Full collections because class metadata outgrew its first threshold.

What it is
    The JVM starts with a small threshold for class metadata (about 21 MiB). Spark loads and
    generates classes far beyond it: at each step a full collection stops everything, whatever
    the heap.

Mechanism
    Each of these pauses stops all tasks of its JVM, and a pause of the driver between jobs delays
    the next one. The simulator removes the time for which each task, and the driver between jobs,
    was stopped by pauses of this cause, by the clock that the log and the tasks share.

Evidence
    Pauses with cause "Metadata GC Threshold" in the collector's log, mapped onto the tasks and onto
    the driver's time between jobs.

Remedy
    `-XX:MetaspaceSize=512m`, tried as factor `jvm.options`.

When it is wrong
    Pauses before the first query are part of Spark's own start, and are not counted.

Source
    HotSpot Virtual Machine Garbage Collection Tuning Guide (JDK 17), "Class Metadata".
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.explain.evidence.memory.pauses import METADATA, NEEDS
from pyrometer.explain.evidence.memory.stopped import stopped
from pyrometer.explain.evidence.saying import factor, place
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Rule, Suspect

ACHIEVED = (0.9, 1.0)
"""Share of the pauses that goes: a metaspace that is large from the start never meets its
threshold; classes that are unloaded may still have to be, once. Not measured; assumed."""


def _suspects(facts: Facts) -> Iterator[Suspect]:
    found = stopped(facts, METADATA)
    if found is None:
        return
    yield Suspect(
        place=place(facts, "jvm", found.cost, setting="-XX:MetaspaceSize"),
        mechanism=(
            "Collections that only the growth of class metadata asked for stopped"
            f" {found.words}."
        ),
        change=found.change(facts),
        extent=found.extent.times(*ACHIEVED),
        evidence=found.evidence,
        remedies=[
            factor("jvm.options", "-XX:MetaspaceSize=512m",
                   "start with room for classes: -XX:MetaspaceSize=512m"),
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
