"""How much of the heap a run used: by Spark's peaks of executors, and by what tasks held."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from pyrometer.core import units
from pyrometer.core.errors import UsageError
from pyrometer.explain.evidence.held_slots import most_at_once
from pyrometer.explain.evidence.host_series import level
from pyrometer.explain.evidence.saying import factor, machine
from pyrometer.explain.facts import Facts
from pyrometer.explain.schema import Remedy
from pyrometer.simulation.executor_memory import MOST, beside
from pyrometer.trial.factors import size_of

GROWTH = 2.0
"""Times the heap that a remedy asks for."""
PEAKS = (
    "run with spark.eventLog.logStageExecutorMetrics=true, and where it ends before a heartbeat,"
    " with spark.executor.metrics.pollingInterval=1s"
)
"""What shows the peaks of executors' memory."""
_PEAKS = """
SELECT peak_metrics::VARCHAR FROM executors
WHERE app_index = $1 AND peak_metrics IS NOT NULL AND (executor_id <> 'driver' OR $2)
"""


@dataclass(frozen=True)
class HeapUse:
    """Bytes of the JVM that tasks run in; of several, the one that used most.

    Attributes
    ----------
    given : float
        The largest heap that it may take.
    peak : float or None
        Most that was in use at once, what was dead and not yet collected included.
    held : float
        Least that was live when it used most: memory of execution and storage.
    """

    given: float
    peak: float | None
    held: float


def peaks(facts: Facts) -> list[dict[str, float]]:
    """Give peak metrics of the JVMs that run tasks, where the event log has them.

    Spark reads them at heartbeats: of what ended before its first, it writes noughts.
    """
    if not facts.has("executors") or facts.measured is None:
        return []
    local = facts.heap_setting == "spark.driver.memory"
    rows = facts.tables.query(_PEAKS, [facts.measured.app_index, local])
    known = [json.loads(row[0]) for row in rows]
    return [one for one in known if one.get("JVMHeapMemory", 1)]  # no heap is empty


def peak_query(facts: Facts, name: str) -> str:
    """Give the SQL of the highest peak of a metric over those JVMs."""
    drivers = "" if facts.heap_setting == "spark.driver.memory" else " AND executor_id <> 'driver'"
    app = 0 if facts.measured is None else facts.measured.app_index
    return (
        f"SELECT max((peak_metrics->>'$.{name}')::BIGINT) FROM executors WHERE app_index = {app}"
        f"{drivers}"
    )


def heap_use(facts: Facts) -> HeapUse | None:
    """Give how much of the heap was used; None where its size cannot be read."""
    name = facts.heap_setting
    try:
        given = float(size_of(name, facts.setting(name, "1g") or "1g"))
    except UsageError:
        return None
    known = peaks(facts)
    most = max((one.get("JVMHeapMemory", 0) for one in known), default=0)
    unified = max((one.get("OnHeapUnifiedMemory", 0) for one in known), default=0)
    each = facts.tasks["peak_execution_memory_bytes"]
    slots = max((one.slots for one in facts.measured.executors), default=1) if facts.measured else 1
    off = facts.is_on("spark.memory.offHeap.enabled")
    tasks = 0.0 if off or not np.isfinite(each).any() else float(np.nanmedian(each)) * slots
    return HeapUse(given, float(most) or None, min(given, max(float(unified), tasks)))


def larger(size: str, times: float = GROWTH) -> str:
    """Multiply a memory setting, in the unit that it has.

    Examples
    --------
    >>> larger("1g"), larger("1536m"), larger("900m", 1.5)
    ('2g', '3072m', '1350m')
    """
    digits = size.rstrip("bBkKmMgGtT")
    return f"{round(float(digits) * times)}{size[len(digits) :]}"


def more_heap(facts: Facts, wanted: str | None = None) -> Remedy:
    """Give the JVM in which tasks run more heap, where the memory of its host allows it.

    Where that is not known, as of event logs, the remedy says how much memory it takes.

    Parameters
    ----------
    wanted : str, optional
        The heap; by default, `GROWTH` times what it is.
    """
    name = facts.heap_setting
    now = facts.size(name, "1g")
    asked = wanted or larger(now)
    text = f"give the JVM {asked} of heap instead of {now}"
    try:
        heap = float(size_of(name, asked))
    except UsageError:
        return factor(name, asked, text)
    takes, room = heap + beside(heap), _room(facts)
    if room is None:
        return factor(name, asked, f"{text}, where its host has {units.size(takes)} for it")
    if takes <= room:
        return factor(name, asked, text)
    return machine(
        f"{text}, on hosts with more memory: it takes {units.size(takes)}, and each JVM may have"
        f" {units.size(room)} here; or run fewer tasks at once in each"
    )


def _room(facts: Facts) -> float | None:
    """Give the memory that each JVM which runs tasks may have: of its host, or its container."""
    if not facts.has("os_series") or facts.measured is None:
        return None
    known = (
        level(facts, "host", "mem_total_bytes"), level(facts, "cgroup", "memory_limit_bytes"),
    )  # fmt: skip
    whole = [one for one in known if one]
    of_hosts: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for one in facts.measured.executors:
        if one.slots > 0:
            of_hosts[one.host].append((one.add_ns or 0, one.remove_ns or math.inf))
    on_host = (most_at_once(*np.array(times).T) for times in of_hosts.values())
    return MOST * min(whole) / max(on_host, default=1) if whole else None
