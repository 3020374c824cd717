"""Collections take time from tasks because the heap is small for what they keep.

What it is
    The collector stops all tasks of a JVM again and again, because little of the heap is free
    after each collection.

Mechanism
    The time that a collector needs at a given allocation rate is proportional to live bytes over
    free bytes: with twice the heap, what is free more than doubles, and pauses become rarer in
    proportion. The simulator removes the time of pauses inside tasks, less what a larger heap still
    needs. Threads that mark the heap while tasks run do so just as often, and hold CPUs: that much
    of the tasks' wait for one goes, too, in the same proportion, but this is not certain.

Evidence
    Pauses that tasks met (the collector's log where there is one, else Spark's `JVM GC Time`, which
    charges each pause to every running task), heap after collections over the heap's size; by the
    kernel's counters, CPU of the collector's threads that run beside tasks, and waits of tasks for
    a CPU. Without that log: the peak of the heap in Spark's executor metrics, and what tasks held
    of it. Where half of the heap was never used, nothing is suspected; where neither shows that
    more was, the saving may be nothing. Cached blocks that did not fit (`cache.evicted`), or may
    not have, fill the larger heap: less of it is free, and what computed them again goes too.

Remedy
    A larger heap, tried as factor `spark.driver.memory` in local mode, otherwise
    `spark.executor.memory`. Where memory is short: fewer tasks at once in each executor.

When it is wrong
    Pauses for humongous objects, class metadata and System.gc() have other causes and remedies, and
    are left out where the log tells them. Where twice the young generation fits into the heap as it
    is, young collections are left to `gc.young-too-small`: only the others are judged, marking and
    mixed collections, which a larger young generation does not make rarer, and only from the share
    of the heap at which G1 begins to mark, 45 % (`InitiatingHeapOccupancyPercent`). In one trial,
    of a k-means whose cached points did not fit, 4.7 s were predicted from pauses alone, and 30.6 s
    were saved: twice the heap kept the points. Such runs have an interval that holds both.

Source
    Cost of copying and mark-compact collection as live over free memory: Jones, Hosking and Moss,
    The Garbage Collection Handbook (2nd ed., 2023), sections 2.5 and 4.4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from pyrometer.core import units
from pyrometer.explain.catalogue.memory.gc_young_too_small import fits
from pyrometer.explain.change import Less
from pyrometer.explain.evidence.host_series import cpu_by_role
from pyrometer.explain.evidence.memory.allocations import evidence_of
from pyrometer.explain.evidence.memory.evictions import unkept_ns
from pyrometer.explain.evidence.memory.heap_use import GROWTH, HeapUse, heap_use, more_heap
from pyrometer.explain.evidence.memory.pauses import (
    OTHER,
    YOUNG,
    began_in_window,
    met_by_tasks,
    met_query,
    total,
)
from pyrometer.explain.evidence.places import where
from pyrometer.explain.evidence.saying import shown_by
from pyrometer.explain.facts import Facts, exactly
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Evidence, Place
from pyrometer.explain.what_if import Extent
from pyrometer.simulation.measured import Floats

_BESIDE = "role = 'gc' AND comm NOT LIKE 'GC Thread%' AND comm NOT LIKE 'ParGC%'"
"""Threads of the collector that run beside tasks; the others work in pauses."""
MARKS_FROM = 0.45
"""Share of the heap in use at which G1 begins to mark it, unless set."""


def achieved(live_ratio: float, stored_ratio: float = 0.0) -> tuple[float, float]:
    """Bounds of the share of pauses that a heap `GROWTH` times as large saves.

    At a live share r of the heap, free memory grows from 1 − r to 2 − r: collections become rarer
    by that ratio; the pauses themselves stay as long (low) or, where they copied what was about to
    die, get shorter (high: half of what is left goes too). Where blocks are stored in
    `stored_ratio` of the heap that were not before, so much less is free.

    Examples
    --------
    >>> [round(x, 2) for x in achieved(0.8)]
    [0.83, 0.92]
    >>> [round(x, 2) for x in achieved(0.8, 0.6)]
    [0.67, 0.83]
    """
    live = min(max(live_ratio, 0.0), 0.99)
    left = (1 - live) / (GROWTH - live - min(stored_ratio, GROWTH - 1))
    return 1 - left, 1 - left / 2


def _live_ratio(facts: Facts) -> Evidence | None:
    """Give the share of the heap in use after collections, by the time of their pauses."""
    if not facts.has("gc_pauses"):
        return None
    sized = (
        "FROM gc_pauses WHERE heap_total_bytes > 0 AND heap_after_bytes IS NOT NULL"
        f" AND duration_ns > 0 AND {began_in_window(facts)}"
    )
    query = (
        f"SELECT sum(heap_after_bytes / heap_total_bytes * duration_ns) / sum(duration_ns) {sized}"
    )
    value, n = facts.tables.scalar(query), facts.tables.scalar(f"SELECT count(*) {sized}")
    if value is None:
        return None
    return shown_by("heap in use after a collection, by time of pauses", float(value), "ratio",
                    "gc_pauses", query, "/jvm", int(n))  # fmt: skip


def _of_other_causes(facts: Facts) -> tuple[dict[int, Floats], int]:
    if not (facts.has("gc_pauses") and facts.has("spans")):
        return {}, 0
    return met_by_tasks(facts, OTHER)


def _without_a_log(use: HeapUse | None) -> tuple[float, float]:
    """Bounds where the collector wrote no log: what is live lies between held and peak.

    A heap that is twice as large is no use where half of this one was never used: where neither
    peaks nor what tasks held show that more was, nothing is sure.
    """
    if use is None:
        return 0.0, 1.0
    used = use.held if use.peak is None else use.peak
    low = achieved(use.held / use.given)[0] if used * GROWTH >= use.given else 0.0
    return low, 1.0 if use.peak is None else achieved(use.peak / use.given)[1]


def _pauses(facts: Facts, live: float | None) -> tuple[dict[int, Floats], list[Evidence]]:
    """Give the heap's pauses that tasks met, by number of the stage, and evidence of them."""
    lost = facts.spent_ns("jvm_gc_time_ns")
    if fits(facts, GROWTH):
        if not facts.has("spans") or (live or 0.0) < MARKS_FROM:
            return {}, []
        which = f"NOT ({YOUNG} OR {OTHER})"
        some, count = met_by_tasks(facts, which)
        evidence = _from_log(facts, "pauses that tasks met", some, which, count)
        return {number: some.get(number, 0.0 * one) for number, one in lost.items()}, [evidence]
    # What has a cause of its own is not the heap's: where the log tells it, it is left out.
    others, count = _of_other_causes(facts)
    counted = [
        shown_by("JVM GC Time of tasks", facts.tasks.total("jvm_gc_time_ns"), "ns", "tasks",
                 f"SELECT sum(jvm_gc_time_ns) FROM tasks WHERE {where(facts)}", "/jvm",
                 facts.tasks.count),
        *([_from_log(facts, "pauses of other causes among them", others, OTHER, count)]
          if others else []),
    ]  # fmt: skip
    return {
        number: np.maximum(one - others[number], 0.0) if number in others else one
        for number, one in lost.items()
    }, counted


def _from_log(facts: Facts, what: str, met: dict[int, Floats], which: str, count: int) -> Evidence:
    return shown_by(what, total(met), "ns", "gc_pauses", met_query(facts, which), "/jvm", count)


@dataclass(frozen=True)
class _Beside:
    """What the collector's threads did beside tasks.

    Attributes
    ----------
    cpu_ns : float
        Their CPU while tasks waited for one.
    behind : dict of int to float
        Waits of tasks for a CPU that these had, in proportion to all that were busy, by number of
        the stage.
    most_ns : float
        The same at most; at least it is nothing, as others were busy, too.
    """

    cpu_ns: float = 0.0
    behind: dict[int, float] = field(default_factory=dict)
    most_ns: float = 0.0

    @property
    def ns(self) -> float:
        """All of the waits."""
        return sum(self.behind.values())


def _beside(facts: Facts) -> _Beside:
    queue = facts.ledger_ns("task/run_queue") if facts.has("thread_counters") else {}
    if not queue:
        return _Beside()
    mine = cpu_by_role(facts, _BESIDE).get("gc", {})
    roles = cpu_by_role(facts)
    behind, most, cpu = {}, 0.0, 0.0
    for number, waited in queue.items():
        own = mine.get(number, 0.0)
        busy = sum(one.get(number, 0.0) for one in roles.values())
        if 0 < own <= busy:
            behind[number] = waited * own / busy
            most += min(waited, own * facts.slots)
            cpu += own
    return _Beside(cpu, behind, most)


def _suspects(facts: Facts) -> Iterator[Suspect]:
    tasks = facts.tasks
    if not tasks.known("jvm_gc_time_ns"):
        return
    used = _live_ratio(facts)
    live = None if used is None else used.estimate.value
    lost, evidence = _pauses(facts, live)
    sum_ns = total(lost)
    if sum_ns <= 0:
        return
    beside = _beside(facts)
    use = heap_use(facts)
    if live is None and use is not None and use.peak and use.peak * GROWTH < use.given:
        return
    low, high = _without_a_log(use) if live is None else achieved(live)
    more = unkept_ns(facts)
    if more:
        stored = (GROWTH - 1) * float(facts.setting("spark.memory.fraction", "0.6") or 0.6)
        low = 0.0 if live is None else achieved(live, stored)[0]
    worst = max(facts.stages, key=lambda stage: float(np.sum(lost[stage.number])))
    name = facts.heap_setting
    now = facts.size(name, "1g")
    share = sum_ns / float(tasks.duration_ns.sum())
    free = "" if live is None else f"; {units.percent(live)} of the heap is in use after them"
    evidence += [] if used is None else [used]
    evidence += evidence_of(facts)
    if beside.ns:
        evidence.append(
            Evidence(what="CPU of the collector's threads beside tasks", unit="ns",
                     table="thread_counters", estimate=exactly(beside.cpu_ns, len(beside.behind)),
                     link="/jvm", query="show --json: cpu.roles")
        )  # fmt: skip
    whole = sum_ns + beside.ns
    middle = Extent(
        (low + high) / 2, low * sum_ns / whole, high * (sum_ns + beside.most_ns) / whole,
        tasks.count,
    )  # fmt: skip
    waits = (
        f" Its threads beside tasks used {units.duration(beside.cpu_ns)} of CPU, and tasks waited"
        f" about {units.duration(beside.ns)} for CPUs that they held."
        if beside.ns else ""
    )  # fmt: skip
    kept = "; cached blocks that did not fit may fit into more" if more else ""
    yield Suspect(
        place=Place(layer="setting", setting=name, stage_id=worst.stage_id,
                    stage_attempt=worst.attempt,
                    stages_count=sum(bool(np.any(one > 0)) for one in lost.values())),
        mechanism=(
            f"The collector stopped tasks for {units.duration(sum_ns)}, {units.percent(share)} of"
            f" their time, with {name}={now}{free}{kept}.{waits}"
        ),
        change=(Less("gc", lost), facts.share_of_tasks("cpu_wait", beside.behind)),
        extent=replace(middle, high=middle.high + more / whole),
        evidence=evidence,
        remedies=[more_heap(facts)],
    )  # fmt: skip


RULE = Rule(
    code="gc.heap-too-small",
    title="The heap is too small",
    cause="garbage collection pressure",
    suspects=_suspects,
    explains=("gc.full", "gc.young-too-small", "gc.allocation-site"),
    refute="Run with twice the heap: if pauses still take as much of the tasks' time, it is not the"
    " size of the heap.",
)
