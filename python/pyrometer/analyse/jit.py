"""Compilations, code that was given up, and the code cache, in the window."""

from __future__ import annotations

from pyrometer.analyse.cpu import NO_CLOCK
from pyrometer.analyse.model import (
    CodeCache,
    CodeCachePart,
    Compilation,
    CompilerCpu,
    Deoptimisations,
    Jit,
    Reason,
    Tier,
)
from pyrometer.analyse.scope import Scope

LAST_TIER = 4
MAX_METHODS = 10
NO_LOG = "no JIT log and no recording with compilations in this run"
NO_REASONS = "this JVM does not log why (Java 18 and later do)"
_COMPILERS = {"c1": "C1 Comp%", "c2": "C2 Comp%"}


def jit(scope: Scope) -> Jit:
    """Count compilations by tier, what they took, and code that was given up.

    Parameters
    ----------
    scope : Scope
        A run cut to a window, with ``w_threads``.
    """
    reason = None
    if not scope.has("jit"):
        reason = NO_LOG
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
        return Deoptimisations(reason="no code was given up, or nothing logged it")
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
    """Tell how much of its code cache the JVM that used most of it used, at most."""
    if not scope.has("jvm_series"):
        return CodeCache(reason="no plugin: the JVM's memory pools were not read")
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
