"""What a trial of a layout measured: shares of its slots' time, moves, and where its JVMs ran."""

from __future__ import annotations

from dataclasses import dataclass

from pyrometer.accounts.hardware.hardware import hardware
from pyrometer.accounts.ledger.slot_view import slot_view
from pyrometer.accounts.window import open_scope
from pyrometer.core.json_text import parse_json
from pyrometer.core.process_numbers import own_number
from pyrometer.experiments.judge.schema import Measures
from pyrometer.layouts.schema import ExecutorPlace
from pyrometer.store import Run
from pyrometer.window.scope import Scope

MEASURES = {
    "gc_share": "task threads are stopped for collections, of slots × time",
    "lock_share": "task threads sleep for a lock, of slots × time",
    "spin_share": "task threads spin on a CPU for a lock, of slots × time",
    "migrations_per_s": "moves of task threads from CPU to CPU",
    "remote_share": "memory accesses served by another NUMA node",
}

SPINS = (
    "SpinPause|ObjectMonitor::(TrySpin|try_spin|short_fixed_spin|NotRunnable)|SpinYield::|"
    "onSpinWait|(native|__pv)_queued_spin_lock_slowpath|_raw_spin_lock|osq_lock|pthread_spin_lock|"
    "(mutex|rwsem)_spin_on_owner"
)
"""Leaf frames in which a thread burns its CPU until a lock is free: HotSpot's ``objectMonitor.cpp``
and ``spinYield.cpp``, ``Thread.onSpinWait`` of the JDK's locks, ``kernel/locking`` of Linux."""

_SPINNING = f"""
    SELECT coalesce(sum(x.hits) FILTER (s.stack_id IS NOT NULL), 0)::BIGINT, sum(x.hits)::BIGINT
    FROM w_samples x LEFT JOIN (SELECT stack_id FROM stacks
      JOIN frames ON frame_id = list_last(frame_ids)
      WHERE regexp_matches(method, '^({SPINS})')) s ON s.stack_id = x.java_stack
    WHERE x.event = 'cpu' AND x.role = 'task'
"""


@dataclass(frozen=True)
class Measured(Measures):
    """One trial: those of :data:`MEASURES` that are known, as ratios and rates; executors."""

    executors: tuple[ExecutorPlace, ...] = ()


def measured(run: Run) -> Measured:
    """Read what a run measured."""
    scope = open_scope(run, None)
    counters = hardware(scope)
    local, moves = counters.bandwidth.local_ratio, counters.placement
    found: dict[str, tuple[float | None, str | None]] = {
        **_shares(scope),
        "migrations_per_s": (moves.per_s, moves.reason),
        "remote_share": (
            None if local is None else 1 - local,
            "no counter here distinguishes local from remote accesses: pyrometer doctor shows"
            " which would",
        ),
    }
    return Measured(
        measures={name: value for name, (value, _) in found.items() if value is not None},
        missing={name: why or "not counted" for name, (one, why) in found.items() if one is None},
        executors=executors(scope),
    )


def _shares(scope: Scope) -> dict[str, tuple[float | None, str | None]]:
    """Shares of slots × time, and why one is not known."""
    view = slot_view(scope)
    rows = {row.path: row.value_ns for row in view.rows}
    total = view.total_ns or 0
    spinning, hits = scope.tables.query(_SPINNING)[0]
    walls = scope.tables.scalar(
        "SELECT count(*) FROM w_samples WHERE event = 'wall' AND role = 'task'"
    )
    stood, on_cpu = rows.get("task/gc_pause"), rows.get("task/on_cpu")
    # If there are samples of waiting threads, a missing row means no time.
    lock = rows.get("task/waiting/lock", 0) if walls else None
    spin = on_cpu * spinning / hits if hits and on_cpu is not None else None
    seconds = {
        "gc_share": (stood, "no GC log: any profile but off"),
        "lock_share": (lock, "no wall-clock samples of tasks: --profile cpu,wall"),
        "spin_share": (spin, "no CPU samples of tasks: --profile cpu,wall"),
    }
    if not total:
        return dict.fromkeys(seconds, (None, view.reason))
    return {
        name: (None if value is None else value / total, why)
        for name, (value, why) in seconds.items()
    }


def executors(scope: Scope) -> tuple[ExecutorPlace, ...]:
    """Executor JVMs of the run, in the order of their ids."""
    rows = scope.tables.query(
        "SELECT executor_id, pid, facts FROM processes WHERE role = 'executor'"
        " ORDER BY TRY_CAST(executor_id AS INTEGER), executor_id, pid"
    )
    places = []
    for executor, pid, text in rows:
        facts = parse_json(text or "{}")
        places.append(
            ExecutorPlace(
                executor_id=executor,
                pid=own_number(pid),
                cpus=facts.get("cpus_allowed"),
                memory=facts.get("memory_policy"),
            )
        )
    return tuple(places)
