"""Rule: accounts that do not add up to the time there was."""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.accounts.ledger.schema import View
from pyrometer.core import units
from pyrometer.summary.rule import Rule
from pyrometer.summary.schema import Summary
from pyrometer.window.scope import Scope

OPEN = 0.05
"""How far a view may be from closed, as a share of the time there was."""


def _check(scope: Scope, summary: Summary) -> Iterator[str]:
    for name, view in _views(summary):
        if view.closure_ratio is not None and abs(view.closure_ratio) > OPEN:
            share = units.percent(view.closure_ratio, signed=True)
            yield f"{name} view, {view.window}: closure {share}"


def _views(summary: Summary) -> list[tuple[str, View]]:
    """Give the views that could close: of several hosts each, as what no probe saw stays open."""
    found = [("slot", summary.ledger.slot_view)]
    if not summary.ledger.hosts:
        return [*found, ("core", summary.ledger.core_view)]
    return found + [(f"core ({one.host})", one.core_view) for one in summary.ledger.hosts]


RULE = Rule(
    code="ledger_open",
    severity="warning",
    meaning="The rows of the ledger add up to clearly more or less than the time there was.",
    remedy="The checks below the ledger say which sources disagree.",
    check=_check,
)
