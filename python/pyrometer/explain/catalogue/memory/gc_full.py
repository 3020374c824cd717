"""Full collections because the old generation is full.

What it is
    What tasks keep (cached blocks, hash tables, broadcast relations) fills the old generation.
    The collector compacts the whole heap while all tasks of the JVM wait.

Mechanism
    Taken away is the time for which each task was stopped by full collections, but for those
    with a cause of their own (class metadata, System.gc(), humongous objects).

Evidence
    Full pauses in the collector's log, laid on the tasks.

Remedy
    While the JVM has not yet taken the heap that it may (it grows by full collections): start
    with all of it, `-Xms`. Else a larger heap (`spark.executor.memory`; `spark.driver.memory`
    in local mode), fewer cached blocks.

When it is wrong
    A leak fills any heap: then the time comes back later.

Source
    Jones, Hosking and Moss, The Garbage Collection Handbook (2nd ed., 2023), sections 3.5 and
    9.1.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.core import units
from pyrometer.explain.catalogue.memory.gc_heap_too_small import larger
from pyrometer.explain.change import Less
from pyrometer.explain.evidence.pauses import (
    NEEDS,
    is_full,
    met_by_tasks,
    total,
    used_collector,
    worst,
)
from pyrometer.explain.facts import Facts, exactly
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Evidence, Place, Remedy
from pyrometer.explain.what_if import Extent
from pyrometer.trial.factors import size_of

ACHIEVED = (0.5, 1.0)
"""Share of the pauses that goes: twice the heap has at least twice the room to fill before the next
one (low), or never fills it (high)."""
GROWN = 0.9
"""Of the largest heap: what a collector has committed at most (it keeps a survivor space)."""


def _suspects(facts: Facts) -> Iterator[Suspect]:
    lost, count = met_by_tasks(facts, is_full)
    if not lost:
        return
    stage = facts.stages[worst(lost)]
    sum_ns = total(lost)
    name = facts.heap_setting
    now = facts.setting(name, "1g") or "1g"
    heap = facts.tables.query("SELECT max(heap_total_bytes) FROM gc_pauses")[0][0]
    grown = heap is not None and heap >= GROWN * size_of(name, now)
    collector = used_collector(facts) or "the collector"
    yield Suspect(
        place=Place(layer="jvm", setting=name, stage_id=stage.stage_id,
                    stage_attempt=stage.attempt, stages_count=len(lost)),
        mechanism=(
            f"Tasks stood still for {units.duration(sum_ns)} in {count} full"
            f" collections of {collector} that"
            f" found the old generation full, with {name}={now}."
        ),
        change=(Less("gc", lost),),
        extent=Extent(n=count).times(*ACHIEVED),
        evidence=[
            Evidence(what="pauses that tasks met", estimate=exactly(sum_ns, count), unit="ns",
                     table="gc_pauses", link="/jvm",
                     query="SELECT sum(duration_ns) FROM gc_pauses WHERE kind"
                     " ILIKE '%full%' AND cause NOT ILIKE '%metadata%'"),
        ],
        remedies=[
            Remedy(kind="factor", factor="jvm.options", level=f"-Xms{now}",
                   text=f"start with the whole heap: it had grown to {units.size(heap)} of {now}")
            if not grown and heap else
            Remedy(kind="factor", factor=name, level=larger(now),
                   text=f"give the JVM {larger(now)} of heap instead of {now}"),
            Remedy(kind="code", text="cache less, or serialised (MEMORY_AND_DISK_SER)",
                   before="df.cache()", after="df.persist(StorageLevel.MEMORY_AND_DISK_SER)"),
        ],
    )  # fmt: skip


RULE = Rule(
    code="gc.full",
    title="Full collections stop the tasks",
    cause="full garbage collection",
    suspects=_suspects,
    needs=NEEDS,
    refute="Run with twice the heap: full collections must become fewer by more than half.",
)
