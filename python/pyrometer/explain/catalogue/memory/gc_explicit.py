"""Full collections that code asks for.

What it is
    A library, the user's code, or Spark's context cleaner calls `System.gc()`: all tasks of the
    JVM wait for a collection that the heap did not need.

Mechanism
    Taken away is the time for which each task was stopped by pauses of this cause; and, of the
    driver's own, what lay between jobs, while nothing but the driver had something to do.

Evidence
    Pauses with cause "System.gc()" in the collector's log, laid on the tasks and on the stretches
    without a job.

Remedy
    `-XX:+DisableExplicitGC` as factor `jvm.options`, or the call removed; for Spark's cleaner a
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

from pyrometer.core import units
from pyrometer.explain.change import Less, LessGap
from pyrometer.explain.evidence.driver_time import nodes_of, stretches
from pyrometer.explain.evidence.memory.pauses import NEEDS, is_explicit, met_by_tasks, total, worst
from pyrometer.explain.facts import Facts, exactly
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Evidence, Place, Remedy
from pyrometer.explain.what_if import Extent

ACHIEVED = (0.8, 1.0)
"""Share of the pauses that goes: with the calls ignored, what they freed is freed by later, cheaper
collections. Not measured; assumed."""


_OF_DRIVER = """
SELECT g.start_mono_ns, g.start_mono_ns + g.duration_ns FROM gc_pauses g
WHERE g.cause ILIKE '%System.gc%' AND g.start_mono_ns IS NOT NULL AND g.duration_ns > 0
  AND g.pid IN (SELECT pid FROM processes WHERE role = 'driver') ORDER BY 1
"""


def _between_jobs(facts: Facts) -> list[tuple[float, float]]:
    """Give the parts of the driver's pauses that lie between jobs, in Unix time."""
    offset = facts.scope.offset_ns
    if offset is None or not facts.has("processes"):
        return []
    pauses = [(start + offset, end + offset) for start, end in facts.tables.query(_OF_DRIVER)]
    idle = [(one.start, one.end) for one in stretches(facts)]
    both = (
        (max(a, c), min(b, d)) for a, b in pauses for c, d in idle if max(a, c) < min(b, d)
    )  # fmt: skip
    return [(float(first), float(last)) for first, last in both]


def _suspects(facts: Facts) -> Iterator[Suspect]:
    lost, count = met_by_tasks(facts, is_explicit)
    if not lost:
        return
    stage = facts.stages[worst(lost)]
    sum_ns = total(lost)
    spans = _between_jobs(facts)
    idle = sum(last - first for first, last in spans)
    between = f", and the driver between jobs for {units.duration(idle)} more" if idle else ""
    yield Suspect(
        place=Place(layer="jvm", setting="-XX:+DisableExplicitGC", stage_id=stage.stage_id,
                    stage_attempt=stage.attempt, stages_count=len(lost)),
        mechanism=(
            f"Tasks stood still for {units.duration(sum_ns)} in {count} full"
            f" collections that code asked for"
            f" with System.gc(){between}."
        ),
        change=(Less("gc", lost), LessGap(nodes_of(facts, spans), what="gc")),
        extent=Extent(n=count).times(*ACHIEVED),
        evidence=[
            Evidence(what="pauses that tasks met", estimate=exactly(sum_ns, count), unit="ns",
                     table="gc_pauses", link="/jvm",
                     query="SELECT sum(duration_ns) FROM gc_pauses WHERE"
                     " cause ILIKE '%System.gc%'"),
        ],
        remedies=[
            Remedy(kind="factor", factor="jvm.options", level="-XX:+DisableExplicitGC",
                   text="ignore the calls: -XX:+DisableExplicitGC"),
            Remedy(kind="factor", factor="spark.cleaner.periodicGC.interval", level="24h",
                   text="where they come every 30 minutes, they are Spark's own context cleaner"),
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
