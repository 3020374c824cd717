"""G1 collects because objects of half a region and more are allocated outside the young generation.

What it is
    Byte arrays of shuffle blocks, Parquet pages and hash tables reach half of a small G1
    region: each takes regions of the old generation, and allocating them starts collections.

Mechanism
    The simulator removes the time for which each task was stopped by pauses that a humongous
    allocation started; with larger regions, these objects are young ones.

Evidence
    Pauses with cause "G1 Humongous Allocation" in the collector's log, mapped onto the tasks.

Remedy
    `-XX:G1HeapRegionSize=32m` as factor `jvm.options`, or the Parallel collector (`jvm.gc`).

When it is wrong
    Objects above 16 MiB stay humongous with the largest region up to JDK 17; a pause may also have
    been due anyway.

Source
    HotSpot Virtual Machine Garbage Collection Tuning Guide (JDK 17), "Humongous Objects".
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.core import units
from pyrometer.explain.change import Less
from pyrometer.explain.evidence.memory.pauses import (
    HUMONGOUS,
    NEEDS,
    met_by_tasks,
    met_query,
    total,
    worst,
)
from pyrometer.explain.facts import Facts, exactly
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Evidence, Place, Remedy
from pyrometer.explain.what_if import Extent

ACHIEVED = (0.5, 1.0)
"""Share of the pauses that goes: objects below half of the new region are young like others, and
are now collected with them (low: every second pause is needed for that anyway). Not measured;
assumed."""
LARGEST_REGION = "32m"


def _suspects(facts: Facts) -> Iterator[Suspect]:
    lost, count = met_by_tasks(facts, HUMONGOUS)
    if not lost:
        return
    stage = facts.stages[worst(lost)]
    sum_ns = total(lost)
    yield Suspect(
        place=Place(layer="jvm", setting="-XX:G1HeapRegionSize", stage_id=stage.stage_id,
                    stage_attempt=stage.attempt, stages_count=len(lost)),
        mechanism=(
            f"Tasks stood still for {units.duration(sum_ns)} in {units.counted(count, 'pause')}"
            " that began with an object of half a region of G1 or more."
        ),
        change=(Less("gc", lost),),
        extent=Extent(n=count).times(*ACHIEVED),
        evidence=[
            Evidence(what="pauses that tasks met", estimate=exactly(sum_ns, count), unit="ns",
                     table="gc_pauses", link="/jvm",
                     query=met_query(facts, HUMONGOUS)),
        ],
        remedies=[
            Remedy(kind="factor", factor="jvm.options",
                   level=f"-XX:G1HeapRegionSize={LARGEST_REGION}",
                   text="make regions so large that these objects are no longer humongous"),
            Remedy(kind="factor", factor="jvm.gc", level="parallel",
                   text="the Parallel collector knows no regions"),
        ],
    )  # fmt: skip


RULE = Rule(
    code="gc.humongous",
    title="Objects too large for G1 regions trigger collections",
    cause="humongous allocation",
    suspects=_suspects,
    needs=NEEDS,
    refute="Run with -XX:G1HeapRegionSize=32m: the cause must vanish"
    " from the log, and the time with it.",
)
