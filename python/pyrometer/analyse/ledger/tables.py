"""The ledger as rows of tables ``ledger_slot`` and ``ledger_core``, for whoever reads by SQL."""

from __future__ import annotations

from typing import Any

from pyrometer.analyse.model import Summary, View

_KEPT = {"path", "parent", "value_ns", "low_ns", "high_ns", "n", "method", "source"}


def ledger_tables(made: Summary) -> dict[str, list[dict[str, Any]]]:
    """Give both views of a summary's window as rows.

    The slot view is per application: where a run has several, it is theirs together and has no row.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    if len(made.apps) == 1:
        found["ledger_slot"] = _rows(made.ledger.slot_view, app_index=made.apps[0].app_index)
    host = made.run.host.get("hostname")
    if host is not None:
        found["ledger_core"] = _rows(made.ledger.core_view, host=host)
    return {table: rows for table, rows in found.items() if rows}


def _rows(view: View, **place: Any) -> list[dict[str, Any]]:
    return [{**place, "window": view.window, **row.model_dump(include=_KEPT)} for row in view.rows]
