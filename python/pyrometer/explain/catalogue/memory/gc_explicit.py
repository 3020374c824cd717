"""Full collections that code asks for.

What it is
    A library, the user's code, or Spark's context cleaner calls `System.gc()`: all tasks of the
    JVM wait for a collection that the heap did not need.

Mechanism
    The simulator removes the time for which each task was stopped by pauses of this cause; and, of
    the driver's own pauses, what lay between jobs, while only the driver had anything to do.

Evidence
    Pauses with cause "System.gc()" in the collector's log, mapped onto the tasks and the stretches
    without a job.

Remedy
    `-XX:+DisableExplicitGC` as factor `jvm.options`, or remove the call; for Spark's cleaner, a
    longer `spark.cleaner.periodicGC.interval`.

When it is wrong
    Direct memory is freed by these collections: with them off, a program that uses much of it
    may run out (`-XX:+ExplicitGCInvokesConcurrent` with G1 is the middle way).

Source
    HotSpot Virtual Machine Garbage Collection Tuning Guide (JDK 17), "Explicit Garbage
    Collection"; `spark.cleaner.periodicGC.interval`: Spark's documentation of the
    configuration.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.explain.evidence.memory.pauses import EXPLICIT, NEEDS
from pyrometer.explain.evidence.memory.stopped import stopped
from pyrometer.explain.evidence.saying import factor, place
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Rule, Suspect

ACHIEVED = (0.8, 1.0)
"""Share of the pauses that goes: with the calls ignored, what they freed is freed by later, cheaper
collections. Not measured; assumed."""


def _suspects(facts: Facts) -> Iterator[Suspect]:
    found = stopped(facts, EXPLICIT)
    if found is None:
        return
    yield Suspect(
        place=place(facts, "jvm", found.cost, setting="-XX:+DisableExplicitGC"),
        mechanism=f"Full collections that code asked for with System.gc() stopped {found.words}.",
        change=found.change(facts),
        extent=found.extent.times(*ACHIEVED),
        evidence=found.evidence,
        remedies=[
            factor("jvm.options", "-XX:+DisableExplicitGC",
                   "ignore the calls: -XX:+DisableExplicitGC"),
            factor("spark.cleaner.periodicGC.interval", "24h",
                   "where they come every 30 minutes, they are Spark's own context cleaner"),
        ],
    )  # fmt: skip


RULE = Rule(
    code="gc.explicit",
    title="Code asks for full collections",
    cause="System.gc()",
    suspects=_suspects,
    needs=NEEDS,
    refute="Run with -XX:+DisableExplicitGC: pauses of other causes"
    " must not take the time instead.",
)
