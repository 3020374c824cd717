"""How much of the heap a run used: by Spark's peaks of executors, and by what tasks held."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from pyrometer.core.errors import UsageError
from pyrometer.explain.facts import Facts
from pyrometer.trial.factors import size_of

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
    """Give peak metrics of the JVMs that run tasks, where the event log has them."""
    if not facts.has("executors") or facts.measured is None:
        return []
    local = facts.heap_setting == "spark.driver.memory"
    rows = facts.tables.query(_PEAKS, [facts.measured.app_index, local])
    return [json.loads(row[0]) for row in rows]


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
