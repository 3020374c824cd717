"""Rule: the number of task slots is unknown, and with it how long they were idle."""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.summary.rule import Rule
from pyrometer.summary.schema import Summary
from pyrometer.window.scope import Scope


def _check(scope: Scope, summary: Summary) -> Iterator[str]:
    view = summary.ledger.slot_view
    if view.total_ns is None and scope.has("tasks"):
        yield view.reason or ""


RULE = Rule(
    code="slots_unknown",
    severity="warning",
    meaning="The event log does not say how many cores the executors had.",
    remedy=(
        "The slot view needs executor events (Spark 1.3 and later write them); totals "
        "are not affected."
    ),
    check=_check,
)
