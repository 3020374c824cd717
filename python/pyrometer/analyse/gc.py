"""Stop-the-world pauses in the window."""

from __future__ import annotations

from pyrometer.analyse.model import Gc, GcKind
from pyrometer.analyse.scope import Scope


def define_pauses(scope: Scope) -> None:
    """Make ``w_pauses``: pauses and other safepoints on the monotonic clock, cut to the window."""
    offset = scope.offset_ns
    wall = "NULL" if offset is None else f"p.start_wall_ns - {offset}"
    scope.tables.define(
        "w_pauses",
        f"""
        SELECT p.pid, p.collector, p.kind, p.start_ns, p.start_ns + p.duration_ns AS end_ns,
          p.duration_ns
        FROM (SELECT p.*, coalesce(p.start_mono_ns, {wall}) AS start_ns FROM gc_pauses p) p
        JOIN w ON p.start_ns >= w.start_mono_ns AND p.start_ns < w.end_mono_ns
        """,
    )


def gc(scope: Scope) -> Gc:
    """Count and length of pauses and safepoints; by kind."""
    if not scope.has("gc_pauses") and not scope.has("safepoints"):
        return Gc(reason="no GC log in this run")
    if not scope.has_mono:
        return Gc(reason="no clock pair joins the GC log's clock with the window")
    kinds = [
        GcKind(kind=kind, pauses_count=n, pause_total_ns=total, pause_max_ns=longest)
        for kind, n, total, longest in scope.tables.query(
            "SELECT kind, count(*), sum(duration_ns)::BIGINT, max(duration_ns) FROM w_pauses"
            " GROUP BY kind ORDER BY 3 DESC, 1"
        )
    ]
    stops = scope.tables.record(
        "SELECT count(*) AS n, coalesce(sum(s.total_ns), 0)::BIGINT AS total FROM safepoints s"
        " JOIN w ON s.end_mono_ns >= w.start_mono_ns AND s.end_mono_ns < w.end_mono_ns"
    )
    known = scope.has("safepoints")
    return Gc(
        pauses_count=sum(k.pauses_count for k in kinds),
        pause_total_ns=sum(k.pause_total_ns for k in kinds),
        pause_max_ns=max((k.pause_max_ns for k in kinds), default=0),
        safepoints_count=stops["n"] if known else None,
        safepoint_total_ns=stops["total"] if known else None,
        by_kind=kinds,
    )
