"""Blocks of cached RDDs and plans that were computed again, and what that cost each task."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pyrometer.explain.change import Change, Less
from pyrometer.explain.evidence.memory.block_puts import Part, put_again
from pyrometer.explain.evidence.memory.cached_plans import (
    CachedPlan,
    cached_plans,
    computed_again,
    lineages,
    partitions,
)
from pyrometer.explain.facts import Facts
from pyrometer.explain.what_if import Extent
from pyrometer.simulation.measured import Floats
from pyrometer.statistics.shares import Z, wilson

COMPUTING = (0.5, 0.95)
"""Of the time of tasks that computed blocks, where neither samples nor other tasks of the stage
tell how long reading takes: it took 4 to 12 % of computing in one run of three queries
(Spark 4.3, local mode, 210 MB of column batches, November 2026), and cheaper rows save less."""
FEWEST_HITS = 2


@dataclass
class Lost:
    """Time that the tasks of a stage would not have needed: expected, at least, at most."""

    again: int
    ns: Floats
    gc_ns: Floats
    low_ns: float
    high_ns: float
    n: int


@dataclass
class Eviction:
    """What was cached, and what computing it again cost.

    Attributes
    ----------
    name : str
        What computes it: a stage's name, or the first node of a plan.
    filled_by : int
        Number of the stage that computed it first; -1 where the window does not have it.
    lost : dict of int to Lost
        By number of the stage.
    block_bytes : float or None
        Bytes in memory of one block, where a task read one.
    blocks : int
        Blocks of what is cached.
    """

    name: str
    filled_by: int = -1
    plan: CachedPlan | None = None
    lost: dict[int, Lost] = field(default_factory=dict)
    block_bytes: float | None = None
    blocks: int = 0

    @property
    def ns(self) -> float:
        """Time of tasks in all."""
        return sum(float(one.ns.sum()) for one in self.lost.values())

    @property
    def high_ns(self) -> float:
        """The most that it may have been."""
        return sum(one.high_ns for one in self.lost.values())

    @property
    def change(self) -> Change:
        """The time taken away; pauses of the collector are those that other rules speak of."""
        return (
            Less("gc", {number: one.gc_ns for number, one in self.lost.items()}),
            Less("recomputed", {n: one.ns - one.gc_ns for n, one in self.lost.items()}),
        )

    @property
    def extent(self) -> Extent:
        """How much of it is sure."""
        if not self.ns:
            return Extent(0.0, 0.0, 0.0)
        low = sum(one.low_ns for one in self.lost.values()) / self.ns
        n = sum(one.n for one in self.lost.values())
        return Extent(1.0, min(1.0, low), max(1.0, self.high_ns / self.ns), n)


def evictions(facts: Facts) -> list[Eviction]:
    """Give what was cached and computed again in the window, the dearest first."""
    kept: list[Eviction] | None = facts.scope.kept.get("evictions")
    if kept is None:
        kept = sorted(_found(facts), key=lambda one: -one.ns)
        facts.scope.kept["evictions"] = kept
    return kept


def unkept_ns(facts: Facts) -> float:
    """Give the most time of tasks, pauses left out, that room for all blocks could save.

    Where nothing shows which tasks computed blocks (no samples, an RDD without a plan), and storage
    had at its peak more than half of the memory for it, it may be all the time of stages that have
    RDDs of earlier ones in their lineage. Where half was never used, nothing was short of room.
    """
    known = evictions(facts)
    if known:
        return sum(one.high_ns - float(sum(each.gc_ns.sum() for each in one.lost.values()))
                   for one in known)  # fmt: skip
    peak = storage_peak(facts)
    if facts.has("samples") or peak is None or peak[0] * 2 < 1:
        return 0.0
    seen: set[int] = set()
    shared: set[int] = set()
    for stage, rdds in lineages(facts).items():
        if rdds & seen:
            shared.add(stage)
        seen |= rdds
    # Of cached plans metrics show who computes them: what they show is no eviction.
    for plan in cached_plans(facts):
        shared -= plan.readers
    return sum(
        float(np.maximum(tasks.duration_ns - np.nan_to_num(tasks["jvm_gc_time_ns"]), 0.0).sum())
        for stage in facts.stages
        if stage.stage_id in shared and (tasks := facts.tasks_of(stage.number)).count
    )


def storage_peak(facts: Facts) -> tuple[float, str] | None:
    """Give the peak of stored blocks over the memory for them, and its query."""
    if facts.measured is None or not facts.has("executors"):
        return None
    sql = (
        "SELECT max(json_extract(peak_metrics::VARCHAR, '$.OnHeapStorageMemory')::DOUBLE"
        " / max_memory_bytes) FROM executors WHERE max_memory_bytes > 0"
        f" AND app_index = {facts.measured.app_index}"
    )
    value = facts.tables.query(sql)[0][0]
    return (float(value), sql) if value else None


def _found(facts: Facts) -> Iterable[Eviction]:
    known = put_again(facts)
    covered: set[int] = set()
    for plan, again in _plans(facts):
        found = Eviction(plan.text, plan=plan)
        for number, count in again.items():
            if number in covered:
                continue
            found.lost[number] = _of_plan(facts, number, count, known.get(number), found)
            covered.add(number)
        if found.ns > 0:
            first = [facts.number(*stage) for stages in plan.computed.values() for stage in stages]
            filled = [one for one in first if one is not None]
            found.filled_by = min(filled, key=lambda one: facts.stages[one].submit_ns)
            yield found
    others: dict[str, Eviction] = {}
    for number, part in known.items():
        if number in covered:
            continue
        name = facts.stages[part.filled_by].called or "cached RDD"
        group = others.setdefault(name, Eviction(name, part.filled_by))
        group.lost[number] = _sampled(facts, number, part)
        group.blocks = max(group.blocks, facts.stages[number].tasks_count)
        group.block_bytes = max(group.block_bytes or 0.0, _block(facts, number, part)) or None
    yield from (one for one in others.values() if one.ns > 0)


def _plans(facts: Facts) -> Iterable[tuple[CachedPlan, Mapping[int, int]]]:
    found = cached_plans(facts)
    of_task = partitions(facts) if found else np.zeros(0)
    for plan in found:
        if again := computed_again(facts, plan, of_task):
            yield plan, again


def _sampled(facts: Facts, number: int, part: Part) -> Lost:
    """Split a stage's time by samples: its CPU by theirs, its waits by what was allocated.

    Sure are the CPU and the pauses of the collector, which go with allocations; at most all waits
    go, as tasks that only read wait for no collector, nor for its threads.
    """
    tasks = facts.tasks_of(number)
    time = tasks.duration_ns
    cpu = np.minimum(np.nan_to_num(tasks["executor_cpu_time_ns"]), time)
    gc = np.minimum(np.nan_to_num(tasks["jvm_gc_time_ns"]), time - cpu)
    ns = part.cpu_share * cpu + part.alloc_share * (time - cpu)
    total = round(part.cpu_total)
    low, high = wilson(min(round(part.cpu), total), total)
    sure = (low or 0.0) * cpu + part.alloc_share * gc
    most = (1.0 if high is None else high) * cpu + time - cpu
    seen = min(tasks.count, len(part.computing))
    return Lost(seen, ns, part.alloc_share * gc, float(sure.sum()), float(most.sum()), total)


def _block(facts: Facts, number: int, part: Part) -> float:
    """Give the bytes of the largest block that a task read, 0 where none tells.

    Its bytes count as input of the task. Tasks that compute count the bytes of their source, and
    blocks of other RDDs: what a task reads that was not seen to compute, and that is more than any
    of those, is the block.
    """
    tasks = facts.tasks_of(number)
    read = np.nan_to_num(tasks["input_bytes"])
    computes = np.isin(tasks["task_attempt_id"], np.array(sorted(part.computing), dtype=np.float64))
    if computes.all() or not computes.any():
        return 0.0
    most = float(read[~computes].max())
    return most if most > float(read[computes].max()) else 0.0


def _of_plan(facts: Facts, number: int, again: int, part: Part | None, found: Eviction) -> Lost:
    """Compare tasks that computed a block with those of the stage that read one, if there are."""
    tasks = facts.tasks_of(number)
    time, gc = tasks.duration_ns, np.nan_to_num(tasks["jvm_gc_time_ns"])
    rows = np.nansum([tasks["input_records_count"], tasks["shuffle_read_records_count"]], axis=0)
    found.blocks = max(found.blocks, tasks.count)
    order = np.argsort(-rows, kind="stable")
    computed, hits = order[:again], order[again:]
    if hits.size and float(rows[computed].min()) > float(rows[hits].max()):
        read = float(np.nan_to_num(tasks["input_bytes"][hits]).max())
        found.block_bytes = max(found.block_bytes or 0.0, read) or None
        if hits.size >= FEWEST_HITS:
            usual = float(time[hits].mean())
            error = Z * float(time[hits].std(ddof=1)) / math.sqrt(hits.size)
            ns, low, high = (
                _above(time, computed, usual + off) for off in (0.0, error, -min(error, usual))
            )
            pauses = np.minimum(_above(gc, computed, float(gc[hits].mean())), ns)
            return Lost(again, ns, pauses, float(low.sum()), float(high.sum()), hits.size)
    if part is not None:
        lost = _sampled(facts, number, part)
        lost.again = again
        return lost
    share = min(1.0, again / max(1, tasks.count))
    ns = time * share * sum(COMPUTING) / 2
    least, most = (float(time.sum()) * share * side for side in COMPUTING)
    return Lost(again, ns, np.minimum(gc * share, ns), least, most, again)


def _above(values: Floats, computed: NDArray[np.intp], usual: float) -> Floats:
    found = np.zeros_like(values)
    found[computed] = np.maximum(values[computed] - usual, 0.0)
    return found
