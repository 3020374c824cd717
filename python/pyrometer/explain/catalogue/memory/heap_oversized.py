"""Twice the heap that the job needs.

What it is
    What is live after collections, and the memory of execution and storage, would fit into half
    of the heap, without collections taking 2 % more of the elapsed time.

Mechanism
    Nothing is simulated, as memory is saved, not time. Collections become rarer the more of the
    heap is free: with live bytes L and a heap H the time of collections is g; with a heap h it is g
    (H - L) / (h - L). The rule takes the smallest h at which that adds less than 2 % of the run,
    that holds the most that was live, and whose share for Spark's unified memory
    (`spark.memory.fraction`, less 300 MiB) holds the most that was in it. It is noted where it is
    at most half of what was set; where nothing was set, nothing is reported.

Evidence
    Heap after collections in the collector's log, else the peak of the heap in Spark's executor
    metrics (dead objects included: an upper bound); peaks of unified memory; `JVM GC Time`.

Remedy
    A smaller `spark.executor.memory`, in local mode `spark.driver.memory`: more executors fit on a
    host, and more of its memory caches files.

When it is wrong
    Peaks of metrics are read at heartbeats, every ten seconds: a shorter one is not seen. Other
    days have more data.

Source
    Cost of copying as live over free memory: Jones, Hosking and Moss, The Garbage Collection
    Handbook (2nd ed., 2023), section 4.4; unified memory: Spark's documentation of tuning,
    "Memory Management Overview".
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.core import units
from pyrometer.explain.evidence.memory.heap_use import PEAKS, heap_use, peak_query, peaks
from pyrometer.explain.evidence.saying import factor, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.noise import LEAST as SAME
from pyrometer.explain.rule import Need, Remark, Rule
from pyrometer.explain.schema import Place

RESERVED = 300 << 20
"""Bytes that Spark leaves out of its unified memory."""
ROUNDED = 256 << 20
LEAST = 512 << 20
"""A smaller heap does not start an executor: Spark asks for 450 MiB."""
SMALLER = 0.5


def enough(given: float, live: float, unified: float, gc: float, more: float) -> float:
    """Give the smallest heap whose collections add less than a share of the time.

    Parameters
    ----------
    given, live : float
        The heap, and the most of it that was live.
    unified : float
        The least heap that holds what was in unified memory.
    gc, more : float
        Share of the elapsed time in collections; what may be added to it.

    Examples
    --------
    >>> enough(8000.0, 1000.0, 0.0, 0.0, 0.02), enough(8000.0, 1000.0, 0.0, 0.02, 0.02)
    (1000.0, 4500.0)
    """
    free = (given - live) * gc / (gc + more) if gc + more > 0 else given - live
    return max(live + free, unified)


def _live(facts: Facts) -> tuple[float, str] | None:
    if facts.has("gc_pauses"):
        found = facts.tables.query("SELECT max(heap_after_bytes) FROM gc_pauses")[0][0]
        if found:
            return float(found), "gc_pauses"
    use = heap_use(facts)
    return (use.peak, "executors") if use is not None and use.peak else None


def _suspects(facts: Facts) -> Iterator[Remark]:
    use, found, name = heap_use(facts), _live(facts), facts.heap_setting
    if use is None or found is None or facts.setting(name) is None:
        return
    live, table = found
    fraction = float(facts.setting("spark.memory.fraction") or 0.6)
    unified = use.held / fraction + RESERVED if fraction > 0 else use.given
    if max(live, unified, float(LEAST)) > SMALLER * use.given:
        return
    time = float(facts.tasks.duration_ns.sum())
    gc = facts.tasks.total("jvm_gc_time_ns") / time if time else 0.0
    least = max(enough(use.given, live, unified, gc, SAME), float(LEAST))
    rounded = -(-int(least) // ROUNDED) * ROUNDED
    if rounded > SMALLER * use.given:
        return
    level = f"{rounded >> 20}m"
    what = "live after a collection" if table == "gc_pauses" else "of the heap in use"
    query = (
        "SELECT max(heap_after_bytes) FROM gc_pauses" if table == "gc_pauses"
        else peak_query(facts, "JVMHeapMemory")
    )  # fmt: skip
    yield Remark(
        place=Place(layer="setting", setting=name),
        mechanism=(
            f"At most {units.size(live)} were {what}, of {units.size(use.given)}; with {level} the"
            f" collector, now {units.percent(gc)} of task time, adds less than"
            f" {units.percent(SAME)}."
        ),
        settings={name: facts.setting(name) or ""},
        evidence=[shown_by(f"most bytes {what}", live, "bytes", table, query, "/jvm")],
        remedies=[factor(name, level, f"give the JVM {level} of heap")],
    )


RULE = Rule(
    code="heap.oversized",
    title="The heap is larger than needed",
    cause="oversized heap",
    suspects=_suspects,
    needs=(
        Need(
            lambda facts: None if facts.has("gc_pauses") or peaks(facts)
            else "neither a log of the collector nor peaks of executors' memory",
            PEAKS,
        ),
    ),
    refute="Run with the smaller heap: elapsed time, spills and retries must stay as they are.",
)  # fmt: skip
