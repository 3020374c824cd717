"""Rule: too few CPU samples to rank operators by them."""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.summary.rule import Rule
from pyrometer.summary.schema import Summary
from pyrometer.window.scope import Scope

_FEW = 100


def _check(scope: Scope, summary: Summary) -> Iterator[str]:
    samples = sum(one.samples_count for one in summary.operators)
    # States that the probe saw are samples, too, and no profile of CPU.
    profiled = scope.has("samples") and scope.tables.scalar(
        "SELECT count(*) FROM (SELECT 1 FROM samples WHERE event = 'cpu' LIMIT 1)"
    )
    if profiled and summary.account is None and samples < _FEW:
        yield f"{samples} CPU samples of operators in window {scope.window.name}"


RULE = Rule(
    code="samples_few",
    severity="info",
    meaning="So few profiler samples that shares have wide intervals.",
    remedy="Measure longer: more iterations, or a larger scale.",
    check=_check,
)
