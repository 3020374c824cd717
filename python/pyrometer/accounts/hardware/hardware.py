"""What perf counters show of the window, as one value.

Where cycles went: top-down level 1, by the events that the PMU provides for it.

On which CPUs task threads ran, and how often they moved between them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyrometer.accounts.hardware import bandwidth, counters
from pyrometer.accounts.hardware.bandwidth import seconds
from pyrometer.accounts.hardware.counters import (
    CYCLES,
    INSTRUCTIONS,
    NO_READINGS,
    THREAD,
    Sums,
    define_counts,
    ratio,
    scaled,
)
from pyrometer.accounts.hardware.nodes import node_places
from pyrometer.accounts.hardware.operator_ipc import operators
from pyrometer.accounts.hardware.schema import (
    CpiBreakdown,
    CpiPart,
    Hardware,
    NotCounted,
    Placement,
    ThreadPlaces,
)
from pyrometer.core.process_numbers import own_number
from pyrometer.window.scope import Scope

NO_MODEL = (
    "the counters of this CPU have no model that Pyrometer knows: it needs slots and topdown-*"
    " (Intel), or stalled-cycles-* or stall_* beside cycles"
)
Counts = Mapping[str, float]


@dataclass(frozen=True)
class Model:
    """A breakdown of cycles.

    Parameters
    ----------
    name : str
        What it is called.
    events : tuple of str
        Events that it needs.
    shares : callable
        Shares of cycles by part, from their counts.
    source : str
        Where the formula comes from.
    """

    name: str
    events: tuple[str, ...]
    shares: Callable[[Counts], dict[str, float]]
    source: str


def _metrics(c: Counts) -> dict[str, float]:
    parts = {
        "retiring": c["topdown-retiring"],
        "bad speculation": c["topdown-bad-spec"],
        "frontend bound": c["topdown-fe-bound"],
        "backend bound": c["topdown-be-bound"],
    }
    # The four metrics add up to the slots but for their eight bits of resolution.
    total = sum(parts.values())
    return {name: value / total for name, value in parts.items()} if total else {}


def _slots(c: Counts) -> dict[str, float]:
    total = c["topdown-total-slots"]
    if not total:
        return {}
    retiring = c["topdown-slots-retired"] / total
    frontend = c["topdown-fetch-bubbles"] / total
    wasted = c["topdown-slots-issued"] - c["topdown-slots-retired"]
    bad = (wasted + c["topdown-recovery-bubbles"]) / total
    return {
        "retiring": retiring,
        "bad speculation": bad,
        "frontend bound": frontend,
        "backend bound": 1 - retiring - bad - frontend,
    }


def _stalls(frontend: str, backend: str) -> Callable[[Counts], dict[str, float]]:
    def shares(c: Counts) -> dict[str, float]:
        if not c[CYCLES]:
            return {}
        front, back = c[frontend] / c[CYCLES], c[backend] / c[CYCLES]
        return {
            "stalled, frontend": front,
            "stalled, backend": back,
            "not stalled": 1 - front - back,
        }

    return shares


_YASIN = "Yasin, A top-down method for performance analysis and counters architecture, ISPASS 2014"
MODELS = (
    Model(
        "top-down level 1",
        ("topdown-retiring", "topdown-bad-spec", "topdown-fe-bound", "topdown-be-bound"),
        _metrics,
        f"{_YASIN}; PERF_METRICS: Intel 64 and IA-32 manual, vol. 3B",
    ),
    Model(
        "top-down level 1",
        (
            "topdown-total-slots", "topdown-slots-issued", "topdown-slots-retired",
            "topdown-fetch-bubbles", "topdown-recovery-bubbles",
        ),
        _slots,
        f"{_YASIN}, table 1; backend bound by subtraction",
    ),
    Model(
        "stalled cycles",
        (CYCLES, "stall_frontend", "stall_backend"),
        _stalls("stall_frontend", "stall_backend"),
        "Arm architecture, PMUv3 events STALL_FRONTEND and STALL_BACKEND; the rest by subtraction",
    ),
    Model(
        "stalled cycles",
        (CYCLES, "stalled-cycles-frontend", "stalled-cycles-backend"),
        _stalls("stalled-cycles-frontend", "stalled-cycles-backend"),
        "perf's generic events stalled-cycles-*; the rest by subtraction",
    ),
)  # fmt: skip


def breakdown(sums: Sums, no_pmu: str | None) -> CpiBreakdown:
    """Split cycles per instruction by the first model whose events were all counted.

    Parameters
    ----------
    sums : dict
        Count, enabled and running time by event.
    no_pmu : str or None
        Why there is no hardware counter at all.
    """
    counts = {event: value for event, of in sums.items() if (value := scaled(*of)) is not None}
    for model in MODELS:
        if not all(event in counts for event in model.events):
            continue
        shares = model.shares(counts)
        if not shares:
            continue
        cycles, instructions = counts.get(CYCLES), counts.get(INSTRUCTIONS)
        cpi = cycles / instructions if cycles and instructions else None
        ratios = [ratio(*sums[event][1:]) for event in model.events]
        return CpiBreakdown(
            model=model.name,
            source=model.source,
            parts=[
                CpiPart(part=part, share=share, cpi=None if cpi is None else share * cpi)
                for part, share in shares.items()
            ],
            running_ratio=min((r for r in ratios if r is not None), default=None),
        )
    return CpiBreakdown(reason=no_pmu or NO_MODEL)


MOST_THREADS = 200
NOT_SEEN = "the probe read no CPU of a task thread in this window"
MIGRATIONS = "cpu-migrations"


def placement(scope: Scope) -> Placement:
    """Count moves of task threads, by the kernel's counter and by the probe's readings.

    Two readings of a thread on one CPU may have a move there and back between them: readings give
    a lower bound.
    """
    if not scope.has_mono:
        return Placement(reason=NOT_SEEN)
    rows = scope.tables.query(_PLACES)
    if not rows:
        return Placement(reason=NOT_SEEN)
    places = node_places(scope)
    threads = [
        ThreadPlaces(
            pid=own_number(pid),
            tid=own_number(tid),
            cpus_count=cpus,
            moves_count=moves,
            migrations_count=None if migrations is None else round(migrations),
            nodes=places.threads.get((pid, tid), []),
            node_moves_count=None if places.reason else places.moves.get((pid, tid), 0),
        )
        for pid, tid, cpus, moves, migrations in rows
    ]
    counted = [one.migrations_count for one in threads if one.migrations_count is not None]
    # Where threads lack the counter, the kernel's sum would be too small.
    exact = sum(counted) if len(counted) == len(threads) else None
    moves = sum(one.moves_count for one in threads)
    length = seconds(scope)
    cpus = scope.tables.scalar(f"SELECT count(DISTINCT (host, cpu)) FROM ({_SEEN})")
    return Placement(
        migrations_count=exact,
        moves_count=moves,
        per_s=(moves if exact is None else exact) / length if length else None,
        by="readings" if exact is None else MIGRATIONS,
        cpus_count=int(cpus),
        threads_count=len(threads),
        threads=threads[:MOST_THREADS],
        nodes=places.nodes,
        node_moves_count=None if places.reason else sum(places.moves.values()),
        nodes_reason=places.reason,
        reason=f"the {MOST_THREADS} that moved most are listed"
        if len(threads) > MOST_THREADS
        else None,
    )


_SEEN = """
    SELECT c.host, c.pid, c.tid, c.t_mono_ns AS t, c.cpu FROM thread_counters c
    JOIN (SELECT DISTINCT pid, tid FROM w_threads WHERE role = 'task') USING (pid, tid)
    JOIN w ON c.t_mono_ns >= w.start_mono_ns AND c.t_mono_ns < w.end_mono_ns
    WHERE c.cpu >= 0 AND NOT c.last
"""

_PLACES = f"""
    SELECT p.pid, p.tid, p.cpus, p.moves, m.value FROM (
      SELECT pid, tid, count(DISTINCT cpu) AS cpus, count(*) FILTER (cpu <> before) AS moves
      FROM (SELECT *, lag(cpu) OVER (PARTITION BY pid, tid ORDER BY t) AS before FROM ({_SEEN}))
      GROUP BY pid, tid) p
    LEFT JOIN (SELECT pid, tid, sum(value) AS value FROM w_perf
      WHERE scope = '{THREAD}' AND event = '{MIGRATIONS}' GROUP BY pid, tid) m USING (pid, tid)
    ORDER BY greatest(p.moves, coalesce(m.value, 0)) DESC, p.pid, p.tid
"""


NO_CLOCK = "no clock pair joins the probe's clock with the window"


def hardware(scope: Scope) -> Hardware:
    """Account for counters of threads, memory and energy.

    Parameters
    ----------
    scope : Scope
        A run cut to a window, with ``w_threads``.
    """
    events = _described(scope)
    refused = [
        NotCounted(event=row["event"], reason=row.get("reason") or "", remedy=row.get("remedy"))
        for row in events
        if not row.get("counted")
    ]
    if not scope.has_mono:
        return Hardware(not_counted=refused, reason=NO_CLOCK)
    define_counts(scope)
    if not scope.has("perf_counts"):
        result = Hardware(not_counted=refused, reason=_why(events))
        result.placement = placement(scope)
        result.cpi.reason = result.ipc.reason = result.reason
        result.bandwidth = bandwidth.bandwidth(scope, {})
        return result
    sums = counters.window_sums(scope)
    no_pmu = None if counters.CYCLES in sums else _why(events)
    return Hardware(
        counters=counters.counters(scope, {row["event"] for row in events if row.get("user_only")}),
        not_counted=refused,
        ipc=counters.whole(scope, no_pmu or NO_READINGS),
        cpi=breakdown(sums, no_pmu),
        roles=counters.roles(scope),
        stages=counters.stages(scope),
        tasks=counters.tasks(scope),
        operators=operators(scope),
        bandwidth=bandwidth.bandwidth(scope, sums),
        placement=placement(scope),
        energy=bandwidth.energy(scope),
        reason=no_pmu,
    )


def _described(scope: Scope) -> list[dict[str, Any]]:
    """Give what the probe reported for each event that it tried to count."""
    manifest = scope.run.manifest
    entries = manifest.probes if manifest else []
    for entry in entries:
        events = ((entry.model_extra or {}).get("counters") or {}).get("events")
        if entry.name == "os" and events:
            return [row for row in events if isinstance(row, dict) and "event" in row]
    return []


def _why(events: list[dict[str, Any]]) -> str:
    """Why there are no cycles, as the kernel reported it to the probe."""
    for row in events:
        if row["event"] == counters.CYCLES and row.get("reason"):
            remedy = f" ({row['remedy']})" if row.get("remedy") else ""
            return f"cycles: {row['reason']}{remedy}"
    return NO_READINGS
