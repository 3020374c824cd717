"""Findings that tests invent, and runs that they are of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pyrometer.core.estimate import Estimate
from pyrometer.explain.schema import Finding, Place, Remedy, Saving
from pyrometer.verification.ran import Ran

S = 1_000_000_000


def estimate(value: float, low: float | None = None, high: float | None = None) -> Estimate:
    """Give a number with its interval."""
    return Estimate(
        value=value, low=value if low is None else low, high=value if high is None else high,
        level=0.9, n=1, method="invented",
    )  # fmt: skip


def finding(saves_s: float = 2.0, *remedies: Remedy, low_s: float | None = None) -> Finding:
    """Invent a finding that saves so many seconds of ten."""
    low = saves_s * 0.8 if low_s is None else low_s
    ns = estimate(saves_s * S, low * S, 1.2 * saves_s * S)
    return Finding(
        key="gc.heap-too-small", code="gc.heap-too-small", title="The heap is too small",
        cause="collection", place=Place(layer="setting", setting="spark.driver.memory"),
        mechanism="It stopped tasks.", refute="Twice the heap.",
        remedies=list(remedies) or [setting("spark.sql.shuffle.partitions", "8")],
        saving=Saving(elapsed_ns=ns, core_ns=ns), saving_ratio=estimate(saves_s / 10),
    )  # fmt: skip


def setting(name: str, level: str, **more: str) -> Remedy:
    """Invent a remedy that can be tried without a human."""
    return Remedy(kind="factor", text=f"set {name}", factor=name, level=level, levels=more)


def edit(text: str = "use a built-in") -> Remedy:
    """Invent a remedy in the code."""
    return Remedy(kind="code", text=text, before="udf(x)", after="upper(x)")


WORKLOAD = Ran(
    workload="parquet-scan", command=(), levels={"data.codec": "snappy"}, scale="default",
    size=1000, least_size=100, once=False, iterations=3, warmup=1, whole_ns=10 * S, length_s=30.0,
    iterations_s=(3.3, 3.3, 3.4),
)  # fmt: skip
"""Thirty seconds, thirteen of them iterations, with one to warm up."""
COMMAND = Ran(
    workload=None, command=("python", "app.py"), levels={}, scale=None, size=None,
    least_size=None, once=True, iterations=1, warmup=0, whole_ns=10 * S, length_s=12.0,
)  # fmt: skip


def ran(base: Ran = WORKLOAD, **more: Any) -> Ran:
    """Change a run."""
    return replace(base, **more)
