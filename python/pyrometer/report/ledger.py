"""Ledgers of stages, operators and tasks as the page holds them: few rows, each a short list."""

from __future__ import annotations

from typing import Any

from pyrometer.analyse.ledger.walk import Walk
from pyrometer.analyse.model import View
from pyrometer.analyse.model.ledger_parts import LedgerGroup, RowDifference, SlowestTask

METHODS = ("exact", "sampled", "apportioned", "by_complement", "unavailable")
COLUMNS = ("path", "value_ns", "low_ns", "high_ns", "n", "method")
# Rows of a part: categories and wait classes, not the operators below each of them.
_LEVELS = 3
# Of a part's time: what is less cannot be seen in a bar.
_LEAST = 1e-4


def ledger_walk(walk: Walk) -> dict[str, Any]:
    """Give what the page draws when somebody goes from stages to operators and tasks.

    Parameters
    ----------
    walk : Walk
        Ledgers of the window's stages and what is below them.
    """
    return {
        "columns": COLUMNS,
        "methods": METHODS,
        "stages": [_group(group) for group in walk.stages],
        "stages_count": walk.stages_count,
        "below": [
            {
                "app_index": below.app_index,
                "stage_id": below.stage_id,
                "stage_attempt": below.stage_attempt,
                "operators": [_group(group) for group in below.operators],
                "operators_count": below.operators_count,
                "tasks": [_group(group) for group in below.tasks],
                "tasks_count": below.tasks_count,
                "slowest": None if below.slowest is None else _slowest(below.slowest),
            }
            for below in walk.below
        ],
    }


def _group(group: LedgerGroup) -> dict[str, Any]:
    found = group.model_dump(exclude={"view", "operators"}, exclude_none=True)
    found["view"] = _view(group.view)
    if group.operators:
        # Of a task's operators: on a CPU, and waiting.
        found["operators"] = {one.label: _rows(one.view, 1) for one in group.operators}
    return found


def _rows(view: View, levels: int) -> list[list[Any]]:
    least = _LEAST * (view.total_ns or 0)
    return [
        [row.path, row.value_ns, row.low_ns, row.high_ns, row.n, METHODS.index(row.method)]
        for row in view.rows
        if row.path.count("/") < levels and (row.value_ns is None or abs(row.value_ns) > least)
    ]


def _view(view: View) -> dict[str, Any]:
    return {
        "total_ns": view.total_ns,
        "rows": _rows(view, _LEVELS),
        "ended_by": [[row.path, row.value_ns, row.n] for row in view.ended_by if row.value_ns],
        "resolution_ns": view.resolution_ns,
        "closure_ratio": view.closure_ratio,
        "unclassified_ratio": view.unclassified_ratio,
        "sampling_error_ratio": view.sampling_error_ratio,
        "reason": view.reason,
    }


def _slowest(found: SlowestTask) -> dict[str, Any]:
    return {
        "task": _group(found.task),
        "middle": _group(found.middle),
        "why": found.why,
        "facts": [fact.model_dump() for fact in found.facts],
        "differences": [_difference(row) for row in found.differences if row.path.count("/") < 2],
        "ended_by": [_difference(row) for row in found.ended_by],
    }


def _difference(row: RowDifference) -> list[Any]:
    found = row.difference
    return [row.path, row.a_ns, row.b_ns, found.value, found.low, found.high]
