"""Cached blocks did not fit, or were evicted, and are computed again.

What it is
    A program caches an RDD or a DataFrame, and later stages compute parts of it once more instead
    of reading them: the memory for storage cannot hold all blocks.

Mechanism
    With MEMORY_ONLY, a block for which there is no room is not kept, and whoever reads it computes
    it from its lineage, and tries to keep it again: unrolling, evicting, collecting. An RDD that
    does not fit costs in each pass what it cost in the first. The simulator removes that time, less
    that of reading what is kept, with the pauses of the collector that go with it.

Evidence
    Of DataFrames: accumulators of nodes below an InMemoryTableScan that tasks update in a stage
    after the one that had computed the same partitions. Of RDDs: samples inside the block manager's
    put, or of rows that did not fit, of an RDD that an earlier stage had already put. What it cost
    is the difference from tasks of the stage that found their block, if there are any; otherwise
    CPU by samples, and waits by what was allocated; failing that, 50 to 95 % of these tasks is
    assumed.

Remedy
    More memory for storage, tried as factor `spark.driver.memory` in local mode, otherwise
    `spark.executor.memory`: what the blocks need where tasks read some, otherwise twice the heap.
    MEMORY_AND_DISK reads from disk what does not fit; a serialised level needs less memory;
    `unpersist()` of what is no longer read gives room. `spark.memory.storageFraction` protects
    blocks from execution, but adds no room.

When it is wrong
    Blocks that were lost with an executor, or dropped on purpose and cached again, are computed
    again too. What is evicted to disk is read from there, and not counted. How much more fits in
    twice the heap is not known without the size of a block: at least 60 % of the time is assumed to
    be saved. Trials here: an RDD of 306 MB in a heap of 480 MiB, of which next to nothing
    stayed; with 960 MiB the passes after the first took 16 % of their time (29 s predicted, 31 s
    saved, of 42 s); and a DataFrame of which one block in eight did not fit (3.1 and 4.0 s
    predicted, 3.4 to 4.4 s saved, two runs each; Spark 4.3, November 2026).

Source
    Spark's tuning guide, "Memory Management Overview"; RDD programming guide, "RDD Persistence";
    `org.apache.spark.storage.memory.MemoryStore`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pyrometer.core import units
from pyrometer.core.errors import UsageError
from pyrometer.explain.evidence.memory.evictions import Eviction, evictions, storage_peak
from pyrometer.explain.evidence.memory.heap_use import GROWTH, larger, more_heap
from pyrometer.explain.evidence.places import largest
from pyrometer.explain.evidence.saying import code, page, place, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import PROFILE, Need, Rule, Suspect
from pyrometer.explain.schema import Evidence, Remedy
from pyrometer.trial.factors import size_of

RESERVED_BYTES = 300 << 20
"""What Spark keeps of a heap for itself."""
ACHIEVED = (0.6, 1.0)
"""Of the time, where the size of a block is not known: an assumption, see the manual."""
_PUT = (
    "SELECT x.stage_id, count(*) FROM samples x JOIN stacks s ON s.stack_id = x.java_stack"
    " WHERE x.event = 'cpu' AND x.stage_id IN ({stages}) AND list_has_any(s.frame_ids, (SELECT"
    " list(frame_id) FROM frames WHERE method LIKE '%doPutIterator%' OR class_name LIKE"
    " '%PartiallyUnrolledIterator')) GROUP BY 1"
)
_TASKS = (
    "SELECT stage_id, max(updates_count) FROM node_metrics WHERE accumulator_id IN ({accumulators})"
    " GROUP BY 1 ORDER BY 1"
)


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    for found in evictions(facts):
        yield found.ns, _suspect(facts, found)


def _suspect(facts: Facts, found: Eviction) -> Suspect:
    costs = {number: float(one.ns.sum()) for number, one in found.lost.items()}
    plan = found.plan
    if plan is None:
        where = place(facts, "stage", costs, source=found.name)
    else:
        sql_id, node_id = min(plan.scans)
        where = place(facts, "sql", costs, source=found.name, sql_id=sql_id, node_id=node_id,
                      operator="InMemoryTableScan")  # fmt: skip
    tasks = sum(one.again for one in found.lost.values())
    first = facts.stages[found.filled_by].stage_id if found.filled_by >= 0 else None
    before = "" if first is None else f" that stage {first} had computed"
    level, known = _needed(facts, found)
    size = f" of {units.size(round(found.block_bytes))}" if found.block_bytes else ""
    evidence = [_evidence(facts, found, page(where)), *_filled(facts)]
    name = facts.heap_setting
    return Suspect(
        place=where,
        mechanism=(
            f"{units.counted(tasks, 'task')} of {units.count(len(costs))} later"
            f" {'stage' if len(costs) == 1 else 'stages'} computed cached blocks{size} again"
            f"{before}: it took {units.duration(found.ns)} of their time, with"
            f" {name}={facts.size(name, '1g')}."
        ),
        change=found.change,
        extent=found.extent if known else found.extent.times(*ACHIEVED),
        evidence=evidence,
        remedies=[
            more_heap(facts, level),
            *_levels(),
        ],
    )


def _levels() -> list[Remedy]:
    return [
        code("read from disk what does not fit", "rdd.cache()",
             "rdd.persist(StorageLevel.MEMORY_AND_DISK)"),
        code("drop what is no longer read before the next is cached", None,
             "earlier.unpersist()"),
    ]  # fmt: skip


def _needed(facts: Facts, found: Eviction) -> tuple[str, bool]:
    """Give the heap in which all blocks have room, and whether that is known."""
    name = facts.heap_setting
    now = facts.size(name, "1g")
    twice = larger(now)
    if not found.block_bytes or facts.measured is None:
        return twice, False
    hosts = max(1, sum(one.slots > 0 for one in facts.measured.executors))
    share = float(facts.setting("spark.memory.fraction", "0.6") or 0.6)
    # A block is unrolled before it is stored: there is room for one more.
    room = found.block_bytes * (found.blocks / hosts + 1)
    wanted = room / share + RESERVED_BYTES
    try:
        given = float(size_of(name, now))
    except UsageError:
        return twice, False
    if wanted <= given * GROWTH:
        return twice, True
    return f"{int(np.ceil(wanted / (1 << 20)))}m", True


def _evidence(facts: Facts, found: Eviction, link: str) -> Evidence:
    stages = sorted(facts.stages[number].stage_id for number in found.lost)
    if found.plan is not None:
        query = _TASKS.format(accumulators=", ".join(map(str, sorted(found.plan.computed))))
        table = "node_metrics"
    else:
        query, table = _PUT.format(stages=", ".join(map(str, stages))), "samples"
    n = sum(one.n for one in found.lost.values())
    return shown_by("time of tasks that computed blocks again", found.ns, "ns", table, query, link,
                    n)  # fmt: skip


def _filled(facts: Facts) -> Iterator[Evidence]:
    """Say how much of the memory for storage was in use, where the event log has its peak."""
    if (peak := storage_peak(facts)) is not None:
        yield shown_by("peak of stored blocks over the memory for them", peak[0], "ratio",
                       "executors", peak[1], "/jvm")  # fmt: skip


def _missing(facts: Facts) -> str | None:
    if facts.has("samples") or facts.has("plan_nodes"):
        return None
    return "no CPU samples and no SQL plan: which tasks computed cached blocks is not known"


RULE = Rule(
    code="cache.evicted",
    title="Cached blocks are computed again",
    cause="cache eviction",
    suspects=_suspects,
    needs=[Need(_missing, PROFILE)],
    explains=(
        "gc.heap-too-small", "gc.full", "gc.young-too-small", "gc.allocation-site",
        "recompute.subtree", "expression.per-row", "codec.", "scan.",
    ),
    refute="Run with room for all blocks: if later stages still take as long, computing the blocks"
    " is not what they do.",
)  # fmt: skip
