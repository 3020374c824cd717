"""What the garbage collector did in the window: why, how much was allocated, what became old."""

from __future__ import annotations

from pyrometer.accounts.jvm.schema import Age, Cause, Collections, HeapFlow, Phase
from pyrometer.core.estimate import Estimate
from pyrometer.statistics.shares import LEVEL, Z
from pyrometer.window.scope import Scope

# Collectors that free memory in pauses only: between two, the heap grows by what is allocated.
STOPPING = ("G1", "Parallel", "Serial")
# Pauses after which the old generation has grown by what was promoted, and by that alone.
YOUNG = ("young", "young concurrent start", "young prepare mixed")
_MIB = 1 << 20
# A difference of two numbers, each rounded to a multiple of r, errs with variance r²/6.
_ROUNDED_VARIANCE = 1 / 6

_AFTER_ONLY = "this collector frees memory while the application runs: its log does not say"


def collections(scope: Scope) -> Collections:
    """Account for the pauses of the window beyond their number and length.

    Causes have the part of each pause that lies in the window; promotion is that of the pauses
    that begin in it.

    Parameters
    ----------
    scope : Scope
        A run cut to a window, with ``w_pauses``.
    """
    if not scope.has("gc_pauses"):
        return Collections(
            reason=scope.unrecorded or "no collection in the GC log, or no GC log in this run"
        )
    if not scope.has_mono:
        return Collections(reason="no clock pair joins the GC log's clock with the window")
    define_heap_steps(scope)
    ages = _ages(scope)
    return Collections(
        by_cause=[
            Cause.model_validate(row)
            for row in scope.tables.records(
                "SELECT coalesce(cause, 'not logged') AS cause, kind,"
                " count(DISTINCT pause) AS pauses_count,"
                " sum(duration_ns)::BIGINT AS pause_total_ns, max(duration_ns) AS pause_max_ns"
                " FROM w_pauses GROUP BY 1, kind ORDER BY pause_total_ns DESC, 1, 2"
            )
        ],
        allocation=_allocation(scope),
        promotion=_promotion(scope),
        ages=ages,
        ages_reason=None if ages else _why_no_ages(scope),
        concurrent=[
            Phase.model_validate(row)
            for row in scope.tables.records(
                "SELECT c.phase, count(*) AS count, sum(c.duration_ns)::BIGINT AS total_ns,"
                " max(c.duration_ns) AS max_ns FROM gc_concurrent c JOIN w"
                " ON c.start_mono_ns >= w.start_mono_ns AND c.start_mono_ns < w.end_mono_ns"
                " GROUP BY c.phase ORDER BY total_ns DESC, c.phase"
            )
        ],
    )


def define_heap_steps(scope: Scope) -> None:
    """Define ``w_heap_steps``: :func:`heap_steps` that touch the window.

    ``allocated`` is cut to the window by the share of the time since the pause before.
    """
    offset = scope.offset_ns
    wall = "NULL" if offset is None else f"p.start_wall_ns - {offset}"
    scope.tables.define(
        "w_heap_steps",
        f"""
        WITH cut AS (
          SELECT s.*, s.start_ns >= w.start_mono_ns AND s.start_ns < w.end_mono_ns AS in_window,
            (least(s.start_ns, w.end_mono_ns) - greatest(s.since_ns, w.start_mono_ns))::DOUBLE
              / greatest(s.start_ns - s.since_ns, 1) AS inside
          FROM ({heap_steps(f"coalesce(p.start_mono_ns, {wall})")}) s
          JOIN w ON s.start_ns >= w.start_mono_ns
            AND coalesce(s.since_ns, s.start_ns) < w.end_mono_ns)
        SELECT *, CASE WHEN inside > 0 THEN grown * inside END AS allocated FROM cut
        """,
    )


def heap_steps(start: str) -> str:
    """Give the SQL for each pause with what was allocated since the one before.

    Parameters
    ----------
    start : str
        SQL of a pause's start; rows of ``gc_pauses`` are called ``p``.

    Returns
    -------
    str
        A query with the columns of ``gc_pauses``, ``start_ns``, ``since_ns`` (end of the pause
        before), ``used_before``, ``used_after``, ``rounded_to`` and ``grown``: bytes that the heap
        grew by since then, null for the first pause of a JVM and for collectors that free
        memory outside pauses, too.
    """
    names = ", ".join(f"'{name}'" for name in STOPPING)
    # The generations' own lines are finer than the pause's, but for G1.
    fine = f"p.resolution_bytes < {_MIB}"
    return f"""
        SELECT *, lag(start_ns + duration_ns) OVER upto AS since_ns,
          CASE WHEN collector IN ({names}) AND lag(used_after) OVER upto IS NOT NULL
            THEN greatest(0, used_before - lag(used_after) OVER upto) END AS grown
        FROM (
          SELECT p.*, {start} AS start_ns,
            CASE WHEN {fine} THEN p.young_before_bytes + p.old_before_bytes
              ELSE p.heap_before_bytes END AS used_before,
            CASE WHEN {fine} THEN p.young_after_bytes + p.old_after_bytes
              ELSE p.heap_after_bytes END AS used_after,
            CASE WHEN {fine} THEN p.resolution_bytes ELSE {_MIB} END AS rounded_to
          FROM gc_pauses p)
        WHERE start_ns IS NOT NULL AND (used_before IS NOT NULL OR collector NOT IN ({names}))
        WINDOW upto AS (PARTITION BY pid ORDER BY start_ns)
        """


def _allocation(scope: Scope) -> HeapFlow:
    found = scope.tables.record(
        "SELECT sum(allocated)::BIGINT AS bytes, count(allocated) AS n,"
        f" sqrt(sum(rounded_to::DOUBLE ** 2 * {_ROUNDED_VARIANCE}) FILTER (allocated IS NOT NULL))"
        " AS error FROM w_heap_steps"
    )
    if not found["n"]:
        kinds = scope.tables.query("SELECT DISTINCT collector FROM w_heap_steps")
        stopping = not kinds or any(name in STOPPING for (name,) in kinds)
        why = "fewer than two pauses with sizes touch this window" if stopping else _AFTER_ONLY
        return HeapFlow(reason=why)
    return _flow(scope, found)


def _promotion(scope: Scope) -> HeapFlow:
    young = ", ".join(f"'{kind}'" for kind in YOUNG)
    found = scope.tables.record(
        "SELECT sum(greatest(0, old_after_bytes - old_before_bytes))"
        f" FILTER (kind IN ({young}))::BIGINT AS bytes,"
        f" count(old_after_bytes) FILTER (kind IN ({young})) AS n,"
        f" count(*) FILTER (kind IN ({young})) AS young,"
        " count(*) FILTER (kind = 'mixed') AS mixed,"
        f" sqrt(sum(resolution_bytes::DOUBLE ** 2 * {_ROUNDED_VARIANCE})"
        f" FILTER (kind IN ({young}))) AS error FROM w_heap_steps WHERE in_window"
    )
    if not found["n"]:
        why = "the GC log does not say how large the old generation was" if found["young"] else None
        return HeapFlow(reason=why or "no young pause in this window")
    flow = _flow(scope, found)
    if found["mixed"]:
        flow.reason = f"without {found['mixed']} mixed pauses, which free old memory as well"
    return flow


def _flow(scope: Scope, found: dict[str, float]) -> HeapFlow:
    """Bytes of the window and their rate; the interval is what rounding leaves open."""
    length = scope.window.length_ns
    if not length:
        return HeapFlow(bytes=int(found["bytes"]), reason="the window's length is not known")
    rate, half = (value * 1e9 / length for value in (found["bytes"], Z * found["error"]))
    estimate = Estimate(
        value=rate,
        low=max(0.0, rate - half),
        high=rate + half,
        level=LEVEL,
        n=int(found["n"]),
        method="rounding of the log",
    )
    return HeapFlow(bytes=int(found["bytes"]), bytes_per_s=estimate)


def _ages(scope: Scope) -> list[Age]:
    return [
        Age.model_validate(row)
        for row in scope.tables.records(
            """
            WITH inside AS (
              SELECT a.* FROM gc_ages a JOIN w
                ON a.t_mono_ns >= w.start_mono_ns AND a.t_mono_ns < w.end_mono_ns),
            pauses AS (SELECT count(DISTINCT (pid, gc_id)) AS n FROM inside)
            SELECT age, (sum(bytes) / any_value(n))::BIGINT AS bytes,
              any_value(n) AS collections_count
            FROM inside, pauses GROUP BY age ORDER BY age
            """
        )
    ]


def _why_no_ages(scope: Scope) -> str:
    if scope.has("gc_ages"):
        return "no young pause in this window"
    known = {name for (name,) in scope.tables.query("SELECT DISTINCT collector FROM gc_pauses")}
    if known <= {"Parallel"}:
        return "the parallel collector logs no ages"
    return "the GC log has no ages (gc+age=trace)"
