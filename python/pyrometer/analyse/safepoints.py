"""Stops of all Java threads in the window: how long they took to stand still."""

from __future__ import annotations

from pyrometer.analyse.model import Operation, Safepoints
from pyrometer.analyse.scope import Scope
from pyrometer.analyse.shares import LEVEL, Z
from pyrometer.estimate import Estimate


def safepoints(scope: Scope) -> Safepoints:
    """Percentiles of the time to reach a safepoint, and safepoints by VM operation.

    The interval of a percentile is that of the ranks between which it lies (binomial, by its
    normal approximation): it assumes no form of the distribution.
    """
    if not scope.has("safepoints"):
        return Safepoints(reason="no safepoint log in this run")
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
