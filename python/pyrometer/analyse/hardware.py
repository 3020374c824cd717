"""What perf counters tell of the window, as one value."""

from __future__ import annotations

from typing import Any

from pyrometer.analyse import bandwidth, cpi, ipc, placement
from pyrometer.analyse.model.hardware import Hardware, NotCounted
from pyrometer.analyse.perf_counts import NO_READINGS, define_counts
from pyrometer.analyse.scope import Scope

NO_CLOCK = "no clock pair joins the probe's clock with the window"


def hardware(scope: Scope) -> Hardware:
    """Account for counters of threads, memory and energy.

    Parameters
    ----------
    scope : Scope
        A run cut to a window, with ``w_threads``.
    """
    told = _told(scope)
    refused = [
        NotCounted(event=row["event"], reason=row.get("reason") or "", remedy=row.get("remedy"))
        for row in told
        if not row.get("counted")
    ]
    if not scope.has_mono:
        return Hardware(not_counted=refused, reason=NO_CLOCK)
    define_counts(scope)
    if not scope.has("perf_counts"):
        made = Hardware(not_counted=refused, reason=_why(told))
        made.placement = placement.placement(scope)
        made.cpi.reason = made.ipc.reason = made.reason
        made.bandwidth = bandwidth.bandwidth(scope, {})
        return made
    sums = ipc.window_sums(scope)
    no_pmu = None if ipc.CYCLES in sums else _why(told)
    return Hardware(
        counters=ipc.counters(scope, {row["event"] for row in told if row.get("user_only")}),
        not_counted=refused,
        ipc=ipc.whole(scope, no_pmu or NO_READINGS),
        cpi=cpi.breakdown(sums, no_pmu),
        roles=ipc.roles(scope),
        stages=ipc.stages(scope),
        tasks=ipc.tasks(scope),
        operators=ipc.operators(scope),
        bandwidth=bandwidth.bandwidth(scope, sums),
        placement=placement.placement(scope),
        energy=bandwidth.energy(scope),
        reason=no_pmu,
    )


def _told(scope: Scope) -> list[dict[str, Any]]:
    """Give what the probe said of each event that it tried."""
    manifest = scope.run.manifest
    entries = manifest.probes if manifest else []
    for entry in entries:
        events = ((entry.model_extra or {}).get("counters") or {}).get("events")
        if entry.name == "os" and events:
            return [row for row in events if isinstance(row, dict) and "event" in row]
    return []


def _why(told: list[dict[str, Any]]) -> str:
    """Why there are no cycles: in the kernel's words, as the probe heard them."""
    for row in told:
        if row["event"] == ipc.CYCLES and row.get("reason"):
            remedy = f" ({row['remedy']})" if row.get("remedy") else ""
            return f"cycles: {row['reason']}{remedy}"
    return NO_READINGS
