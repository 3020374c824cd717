"""Work of the JVM itself in the window, as one value.

Compilations, discarded code, and the code cache, in the window.

Stops of all Java threads in the window: how long they took to stand still.

Stop-the-world pauses in the window.
"""

from __future__ import annotations

from pyrometer.accounts.cpu import NO_CLOCK
from pyrometer.accounts.jvm.heap_flow import collections
from pyrometer.accounts.jvm.schema import (
    CodeCache,
    CodeCachePart,
    Compilation,
    CompilerCpu,
    Deoptimisations,
    Jit,
    JvmWork,
    Operation,
    Reason,
    Safepoints,
    Tier,
)
from pyrometer.accounts.machine_schema import Gc, GcKind
from pyrometer.core.estimate import Estimate
from pyrometer.statistics.shares import LEVEL, Z
from pyrometer.window.scope import Scope

LAST_TIER = 4
MAX_METHODS = 10
NO_LOG = "no JIT log and no recording with compilations in this run"
NO_REASONS = "this JVM does not log why (Java 18 and later do)"
_COMPILERS = {"c1": "C1 Comp%", "c2": "C2 Comp%"}


def jit(scope: Scope) -> Jit:
    """Count compilations by tier, what they took, and discarded code.

    Parameters
    ----------
    scope : Scope
        A run cut to a window, with ``w_threads``.
    """
    reason = None
    if not scope.has("jit"):
        reason = scope.unrecorded or NO_LOG
    elif not scope.has_mono:
        reason = NO_CLOCK
    if reason:
        return Jit(reason=reason, cpu=_cpu(scope))
    scope.tables.define(
        "w_jit",
        "SELECT j.* FROM jit j JOIN w"
        " ON j.start_mono_ns >= w.start_mono_ns AND j.start_mono_ns < w.end_mono_ns",
    )
    tiers = [
        Tier.model_validate(row)
        for row in scope.tables.records(
            "SELECT level, min(compiler) AS compiler, count(*) AS compilations_count,"
            " count(*) FILTER (osr) AS osr_count,"
            " count(*) FILTER (NOT succeeded) AS failed_count,"
            " sum(duration_ns)::BIGINT AS time_ns, max(duration_ns) AS max_ns"
            " FROM w_jit GROUP BY level ORDER BY level"
        )
    ]
    longest = [
        Compilation.model_validate(row)
        for row in scope.tables.records(
            "SELECT method, level, duration_ns, bytecode_bytes, succeeded FROM w_jit"
            f" WHERE duration_ns IS NOT NULL ORDER BY duration_ns DESC, method LIMIT {MAX_METHODS}"
        )
    ]
    times = [tier.time_ns for tier in tiers if tier.time_ns is not None]
    return Jit(
        compilations_count=sum(tier.compilations_count for tier in tiers),
        failed_count=sum(tier.failed_count for tier in tiers),
        time_ns=sum(times) if times else None,
        by_tier=tiers,
        cpu=_cpu(scope),
        longest=longest,
        deoptimisations=_deoptimisations(scope),
    )


def _cpu(scope: Scope) -> list[CompilerCpu]:
    if not scope.has("thread_counters") or not scope.has_mono:
        return []
    found = [
        (name, scope.tables.scalar("SELECT sum(run_ns) FROM w_threads WHERE comm LIKE ?", [comm]))
        for name, comm in _COMPILERS.items()
    ]
    return [CompilerCpu(compiler=name, cpu_ns=int(ns)) for name, ns in found if ns is not None]


def _deoptimisations(scope: Scope) -> Deoptimisations:
    if not scope.has("deoptimisations"):
        return Deoptimisations(
            reason=scope.unrecorded or "no code was given up, or nothing logged it"
        )
    scope.tables.define(
        "w_deoptimisations",
        "SELECT d.* FROM deoptimisations d JOIN w"
        " ON d.t_mono_ns >= w.start_mono_ns AND d.t_mono_ns < w.end_mono_ns",
    )
    last = f"kind = 'invalidated' AND coalesce(level, {LAST_TIER}) = {LAST_TIER}"
    counts = scope.tables.record(
        f"SELECT count(*) FILTER ({last}) AS invalidated,"
        f" count(*) FILTER (kind = 'invalidated' AND level < {LAST_TIER}) AS replaced,"
        " count(*) FILTER (kind = 'trap') AS traps FROM w_deoptimisations"
    )
    reasons = _counted(
        scope,
        "SELECT reason || coalesce(' → ' || action, ''), count(*) FROM w_deoptimisations"
        f" WHERE reason IS NOT NULL AND (kind = 'trap' OR {last}) GROUP BY 1 ORDER BY 2 DESC, 1",
    )
    logged = scope.tables.scalar("SELECT count(reason) FROM deoptimisations")
    return Deoptimisations(
        invalidated_count=counts["invalidated"],
        replaced_count=counts["replaced"],
        traps_count=counts["traps"] if logged else None,
        by_reason=reasons,
        methods=_counted(
            scope,
            "SELECT coalesce(method, 'an unloaded class'), count(*) FROM w_deoptimisations"
            f" WHERE {last} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {MAX_METHODS}",
        ),
        reason=None if logged else NO_REASONS,
    )


def _counted(scope: Scope, sql: str) -> list[Reason]:
    return [Reason(reason=reason, count=count) for reason, count in scope.tables.query(sql)]


def code_cache(scope: Scope) -> CodeCache:
    """Give the peak use of the code cache, of the JVM that used most of it."""
    if not scope.has("jvm_series"):
        return CodeCache(
            reason=scope.unrecorded or "no plugin: the JVM's memory pools were not read"
        )
    if not scope.has_mono:
        return CodeCache(reason=NO_CLOCK)
    # CodeHeap 'profiled nmethods' and its like; one pool where the cache is not segmented.
    rows = scope.tables.query(
        """
        WITH readings AS (
          SELECT s.pid, s.t_mono_ns AS t, s.value,
            split_part(s.name, '/', 1) AS what, split_part(s.name, '/', 2) AS pool
          FROM jvm_series s JOIN w
            ON s.t_mono_ns >= w.start_mono_ns AND s.t_mono_ns < w.end_mono_ns
          WHERE s.name LIKE 'pool_%/Code%'),
        sums AS (
          SELECT pid, t, sum(value) AS used FROM readings
          WHERE what = 'pool_used_bytes' GROUP BY pid, t),
        fullest AS (SELECT arg_max(pid, used) AS pid, max(used)::BIGINT AS used FROM sums)
        SELECT r.pool, max(r.value) FILTER (r.what = 'pool_used_bytes'),
          max(r.value) FILTER (r.what = 'pool_max_bytes'), any_value(f.used)
        FROM readings r JOIN fullest f USING (pid) GROUP BY r.pool ORDER BY r.pool
        """
    )
    if not rows:
        return CodeCache(reason="no reading of the code cache in this window")
    limits = [limit for _, _, limit, _ in rows]
    return CodeCache(
        used_bytes=rows[0][3],
        max_bytes=None if None in limits else sum(limits),
        parts=[
            CodeCachePart(
                part=pool.removeprefix("CodeHeap ").strip("'"), used_bytes=used, max_bytes=limit
            )
            for pool, used, limit, _ in rows
        ],
        reason="the plugin of this run did not read its size" if None in limits else None,
    )


def safepoints(scope: Scope) -> Safepoints:
    """Percentiles of the time to reach a safepoint, and safepoints by VM operation.

    The interval of a percentile is that of the ranks between which it lies (binomial, by its
    normal approximation): it assumes no form of the distribution.
    """
    if not scope.has("safepoints"):
        return Safepoints(reason=scope.unrecorded or "no safepoint log in this run")
    if not scope.has_mono:
        return Safepoints(reason="no clock pair joins the safepoint log's clock with the window")
    scope.tables.define(
        "w_safepoints",
        "SELECT s.* FROM safepoints s JOIN w"
        " ON s.end_mono_ns >= w.start_mono_ns AND s.end_mono_ns < w.end_mono_ns",
    )
    found = scope.tables.record(
        "SELECT count(*) AS count, coalesce(sum(total_ns), 0)::BIGINT AS total_ns,"
        " count(reaching_ns) AS n, max(reaching_ns) AS longest FROM w_safepoints"
    )
    return Safepoints(
        count=found["count"],
        total_ns=found["total_ns"],
        reaching_p50_ns=_percentile(scope, 0.5, found["n"]),
        reaching_p95_ns=_percentile(scope, 0.95, found["n"]),
        reaching_max_ns=found["longest"],
        by_operation=[
            Operation.model_validate(row)
            for row in scope.tables.records(
                "SELECT operation, count(*) AS count,"
                " sum(reaching_ns)::BIGINT AS reaching_total_ns, sum(total_ns)::BIGINT AS total_ns"
                " FROM w_safepoints GROUP BY operation ORDER BY total_ns DESC, operation"
            )
        ],
        reason=None if found["n"] else "no safepoint of this window says how long it was reached",
    )


def _percentile(scope: Scope, share: float, n: int) -> Estimate | None:
    if not n:
        return None
    half = Z * (share * (1 - share) / n) ** 0.5
    ends = (max(0.0, share - half), share, min(1.0, share + half))
    low, value, high = scope.tables.query(
        "SELECT "
        + ", ".join(f"quantile_disc(reaching_ns, {end})" for end in ends)
        + " FROM w_safepoints"
    )[0]
    return Estimate(value=value, low=low, high=high, level=LEVEL, n=n, method="ranks")


def jvm(scope: Scope) -> JvmWork:
    """Account for compiling, collecting and stopping.

    Parameters
    ----------
    scope : Scope
        A run cut to a window, with ``w_threads``.
    """
    return JvmWork(
        jit=jit(scope),
        code_cache=code_cache(scope),
        gc=collections(scope),
        safepoints=safepoints(scope),
    )


def define_pauses(scope: Scope) -> None:
    """Define ``w_pauses``: pauses on the monotonic clock, cut to the window.

    One that reaches over a gap in the window has several rows, of the same ``pause``.
    """
    offset = scope.offset_ns
    wall = "NULL" if offset is None else f"p.start_wall_ns - {offset}"
    scope.tables.define(
        "w_pauses",
        f"""
        WITH placed AS (
          SELECT row_number() OVER () AS pause, p.pid, p.collector, p.kind, p.cause,
            p.duration_ns, coalesce(p.start_mono_ns, {wall}) AS begun FROM gc_pauses p),
        cut AS (
          SELECT p.*, greatest(p.begun, w.start_mono_ns) AS start_ns,
            least(p.ended, w.end_mono_ns)::BIGINT AS end_ns
          FROM (SELECT *, begun::HUGEINT + duration_ns AS ended FROM placed) p JOIN w
            ON p.begun < w.end_mono_ns
            AND (p.ended > w.start_mono_ns OR p.begun = w.start_mono_ns))
        SELECT pause, pid, collector, kind, cause, start_ns, end_ns,
          end_ns - start_ns AS duration_ns
        FROM cut
        """,
    )


def gc(scope: Scope) -> Gc:
    """Count and length of pauses and safepoints; by kind."""
    if not scope.has("gc_pauses") and not scope.has("safepoints"):
        return Gc(reason=scope.unrecorded or "no GC log in this run")
    if not scope.has_mono:
        return Gc(reason="no clock pair joins the GC log's clock with the window")
    kinds = [
        GcKind(kind=kind, pauses_count=n, pause_total_ns=total, pause_max_ns=longest)
        for kind, n, total, longest in scope.tables.query(
            "SELECT kind, count(DISTINCT pause), sum(duration_ns)::BIGINT, max(duration_ns)"
            " FROM w_pauses GROUP BY kind ORDER BY 3 DESC, 1"
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
