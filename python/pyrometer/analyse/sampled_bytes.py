"""Bytes by samples: allocated on the heap, in use at the end, native memory not given back."""

from __future__ import annotations

from pyrometer.analyse.model import ClassBytes, SampledBytes
from pyrometer.analyse.scope import Scope
from pyrometer.analyse.shares import LEVEL, Z
from pyrometer.estimate import Estimate

MAX_CLASSES = 20
_TASKS = "AND x.task_attempt_id IS NOT NULL"
_INSIDE = (
    "JOIN w ON x.t_ns >= CASE x.clock WHEN 'wall' THEN w.start_wall_ns ELSE w.start_mono_ns END"
    " AND x.t_ns < CASE x.clock WHEN 'wall' THEN w.end_wall_ns ELSE w.end_mono_ns END"
)


def allocated(scope: Scope, counted: int | None) -> SampledBytes:
    """Add up what tasks allocated by the profiler's samples, beside the JVM's own count.

    Parameters
    ----------
    scope : Scope
        A run cut to a window.
    counted : int or None
        Bytes by the JVM's counters of the same threads.
    """
    return _sampled(scope, "alloc", f"{_INSIDE} WHERE x.event = 'alloc' {_TASKS}", counted)


def live_heap(scope: Scope) -> SampledBytes:
    """Objects of sampled allocations that were in use when the recordings ended."""
    return _sampled(scope, "live", "WHERE x.event = 'live'", None)


def native_memory(scope: Scope) -> SampledBytes:
    """Bytes asked of the native allocator, by all threads, and not given back by the end."""
    return _sampled(scope, "nativemem", "WHERE x.event = 'nativemem'", None)


def _sampled(scope: Scope, event: str, where: str, counted: int | None) -> SampledBytes:
    found = scope.tables.record(
        "SELECT sum(x.weight)::BIGINT AS bytes, count(*) AS n,"
        f" sqrt(sum(x.weight::DOUBLE ** 2)) AS error FROM samples x {where}"
    )
    if not found["n"]:
        taken = scope.tables.scalar("SELECT count(*) FROM samples WHERE event = ?", [event])
        if taken:
            return SampledBytes(samples_count=0, reason=f"no sample of {event} in this window")
        asked = "--profile full" if event == "alloc" else f"--profile cpu,wall,lock,{event}"
        return SampledBytes(reason=f"not sampled in this run: {asked}")
    # Samples come at random among the bytes: their number is Poisson's.
    half = Z * found["error"]
    total = int(found["bytes"])
    classes = [
        ClassBytes(class_name=name, bytes=size, share=size / total, samples_count=n)
        for name, size, n in scope.tables.query(
            "SELECT coalesce(x.top_class, 'no class'), sum(x.weight)::BIGINT, count(*)"
            f" FROM samples x {where} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {MAX_CLASSES}"
        )
    ]
    return SampledBytes(
        bytes=total,
        estimate=_estimate(total, half, found["n"]),
        ratio=_estimate(total / counted, half / counted, found["n"]) if counted else None,
        samples_count=found["n"],
        by_class=classes if event != "nativemem" else [],
    )


def _estimate(value: float, half: float, n: int) -> Estimate:
    low = max(0.0, value - half)
    return Estimate(value=value, low=low, high=value + half, level=LEVEL, n=n, method="poisson")
