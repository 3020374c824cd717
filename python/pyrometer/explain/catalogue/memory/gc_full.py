"""Full collections because the old generation is full.

What it is
    What tasks keep (cached blocks, hash tables, broadcast relations) fills the old generation.
    The collector compacts the whole heap while all tasks of the JVM wait.

Mechanism
    The simulator removes the time for which each task was stopped by full collections, except for
    those with a cause of their own (class metadata, System.gc(), humongous objects).

Evidence
    Full pauses in the collector's log, mapped onto the tasks.

Remedy
    Two findings, each with its own pauses. For pauses before the JVM had taken all the heap that it
    may (it grows by full collections): start with all of it, `-Xms`. For those after that: a larger
    heap (`spark.executor.memory`; `spark.driver.memory` in local mode), or fewer cached blocks.

When it is wrong
    A leak fills any heap: then the time comes back later.

Source
    Jones, Hosking and Moss, The Garbage Collection Handbook (2nd ed., 2023), sections 3.5 and
    9.1.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.core import units
from pyrometer.core.errors import UsageError
from pyrometer.explain.change import Less
from pyrometer.explain.evidence.memory.heap_use import more_heap
from pyrometer.explain.evidence.memory.pauses import (
    FULL,
    NEEDS,
    met_by_tasks,
    met_query,
    total,
    used_collector,
    worst,
)
from pyrometer.explain.evidence.saying import code
from pyrometer.explain.facts import Facts, exactly
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Evidence, Place, Remedy
from pyrometer.explain.what_if import Extent
from pyrometer.simulation.measured import Floats
from pyrometer.trial.factors import size_of

ACHIEVED = (0.5, 1.0)
"""Share of the pauses that goes: twice the heap has at least twice the room to fill before the next
one (low), or never fills it (high). Not measured; assumed."""
STARTED = (0.7, 1.0)
"""The same of a start with all of the heap. Measured with 2 GiB of the Serial collector, caching 9
million hashes, on 2026-11-25: in two runs each, all 10 full collections of a heap that began at
64 MiB went (low: Wilson's bound of 10 of 10); young ones took 0.56 s and 0.57 s, not 3.85 s and
1.04 s."""
GROWN = 0.9
"""Of the largest heap: what a collector has committed at most (it keeps a survivor space)."""
_GROWING = "SELECT max(heap_total_bytes) FROM gc_pauses WHERE heap_total_bytes < {limit}"


def _suspects(facts: Facts) -> Iterator[Suspect]:
    name = facts.heap_setting
    try:
        limit = GROWN * size_of(name, facts.size(name, "1g"))
    except UsageError:
        limit = 0.0
    growing = f"coalesce(heap_total_bytes < {limit:.0f}, false)"
    for grows, which in ((True, f"{FULL} AND {growing}"), (False, f"{FULL} AND NOT {growing}")):
        lost, count = met_by_tasks(facts, which)
        if lost:
            yield _suspect(facts, lost, count, grows, which, limit)


def _suspect(
    facts: Facts, lost: dict[int, Floats], count: int, grows: bool, which: str, limit: float
) -> Suspect:
    stage = facts.stages[worst(lost)]
    sum_ns = total(lost)
    name = facts.heap_setting
    now = facts.size(name, "1g")
    collector = used_collector(facts) or "the collector"
    if grows:
        heap = facts.tables.query(_GROWING.format(limit=limit))[0][0]
        why = f"while the heap was at most {units.size(heap)} of the {now} that it may take"
        setting = "jvm.options"
        remedy = Remedy(kind="factor", factor=setting, level=f"-Xms{now.lower().rstrip('b')}",
                        text=f"start with the whole heap, {now}")  # fmt: skip
    else:
        why, setting = f"with all of {name}={now} taken and the old generation full", name
        remedy = more_heap(facts)
    return Suspect(
        place=Place(layer="jvm", setting=setting, stage_id=stage.stage_id,
                    stage_attempt=stage.attempt, stages_count=len(lost)),
        mechanism=(
            f"Tasks stood still for {units.duration(sum_ns)} in {count} full"
            f" collection{'s' * (count != 1)} of {collector} {why}."
        ),
        change=(Less("gc", lost),),
        extent=Extent(n=count).times(*(STARTED if grows else ACHIEVED)),
        evidence=[
            Evidence(what="pauses that tasks met", estimate=exactly(sum_ns, count), unit="ns",
                     table="gc_pauses", link="/jvm",
                     query=met_query(facts, which)),
        ],
        remedies=[
            remedy,
            code("cache less, or on disk",
                 "df.cache()",
                 "df.persist(StorageLevel.DISK_ONLY)"),
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
