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

from pyrometer.core import units
from pyrometer.explain.change import Less, LessGap
from pyrometer.explain.evidence.driver_time import nodes_of
from pyrometer.explain.evidence.memory.driver_pauses import between_jobs
from pyrometer.explain.evidence.memory.pauses import NEEDS, is_metadata, met_by_tasks, total
from pyrometer.explain.evidence.saying import factor, place, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.what_if import Extent

ACHIEVED = (0.9, 1.0)
"""Share of the pauses that goes: a metaspace that is large from the start never meets its
threshold; classes that are unloaded may still have to be, once. Not measured; assumed."""


def _suspects(facts: Facts) -> Iterator[Suspect]:
    lost, count = met_by_tasks(facts, is_metadata)
    spans = between_jobs(facts, "%metadata%")
    if not lost and not spans:
        return
    sum_ns, idle = total(lost), sum(last - first for first, last in spans)
    stopped = [
        *([f"tasks for {units.duration(sum_ns)}"] if lost else []),
        *([f"the driver for {units.duration(idle)} between jobs"] if spans else []),
    ]
    yield Suspect(
        place=place(facts, "jvm", {number: float(one.sum()) for number, one in lost.items()},
                    setting="-XX:MetaspaceSize"),
        mechanism=(
            "Full collections that only the growth of class metadata asked for stopped"
            f" {' and '.join(stopped)}."
        ),
        change=(Less("gc", lost), LessGap(nodes_of(facts, spans), what="gc")),
        extent=Extent(n=count + len(spans)).times(*ACHIEVED),
        evidence=[
            shown_by(what, value, "ns", "gc_pauses",
                     "SELECT sum(duration_ns) FROM gc_pauses WHERE cause ILIKE '%metadata%'",
                     "/jvm", n)
            for what, value, n in (
                ("pauses that tasks met", sum_ns, count),
                ("pauses of the driver between jobs", idle, len(spans)),
            ) if value
        ],
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
