"""Ledgers to drill down into: stages of a window, their operators and tasks, the slowest ones.

As the page holds them: few rows, each a short list.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import Field

from pyrometer.accounts.ledger.parts import ledgers, operators_of, parts
from pyrometer.accounts.ledger.schema import LedgerGroup, RowDifference, SlowestTask, View
from pyrometer.accounts.ledger.slowest import compared, facts
from pyrometer.accounts.ledger.sums import KEYS, Group, prepare, sums
from pyrometer.core.model import Model
from pyrometer.window.scope import Scope

# As many as a person looks at and a page can hold; the rest is shown as one part.
STAGES = 24
DEEPER = 10
OPERATORS = 12
TASKS = 10


# Groups of a stage, all of the walk in one grouping: the stage, its slowest task and the middle to
# compare it with, its longest tasks one by one, and the others.
_STAGE, _SLOWEST, _MIDDLE, _TASK = range(4)
_WIDTH = _TASK + TASKS + 1


class WalkedStage(Model):
    """What is below a stage.

    ``slowest`` is ``None`` where there is no other task to compare with.
    """

    app_index: int | None
    stage_id: int
    stage_attempt: int | None
    operators: list[LedgerGroup] = Field(default_factory=list)
    operators_count: int = 0
    tasks: list[LedgerGroup] = Field(default_factory=list)
    tasks_count: int = 0
    slowest: SlowestTask | None = None


class Walk(Model):
    """The stages of a window, and what is below those with most time."""

    stages: list[LedgerGroup] = Field(default_factory=list)
    stages_count: int = 0
    below: list[WalkedStage] = Field(default_factory=list)


def walk(scope: Scope) -> Walk:
    """Account for the stages of a window, and below the largest for operators and tasks."""
    stages, count = parts(scope, "stage", most=STAGES)
    largest = [one for one in stages if not one.rest][:DEEPER]
    return Walk(stages=stages, stages_count=count, below=_below(scope, largest))


def _below(scope: Scope, stages: list[LedgerGroup]) -> list[WalkedStage]:
    """Account for what is below stages; sums are asked for once, not once for each of them."""
    if not stages:
        return []
    prepare(scope)
    _define_groups(scope, stages)
    groups = _groups(scope)
    found = sums(scope, list(groups.values()))
    described = facts(scope, f"g.number % {_WIDTH} IN ({_SLOWEST}, {_MIDDLE})")
    counts = dict(scope.tables.query("SELECT nth, max(rank) + 1 FROM l_below GROUP BY nth"))
    below = []
    for at, stage in enumerate(stages):
        assert stage.stage_id is not None
        first = at * _WIDTH
        used, used_count = operators_of(scope, found[first + _STAGE], OPERATORS)
        tasks = [groups[n] for n in range(first + _TASK, first + _WIDTH) if n in groups]
        walked = WalkedStage(
            app_index=stage.app_index,
            stage_id=stage.stage_id,
            stage_attempt=stage.stage_attempt,
            operators=used,
            operators_count=used_count,
            tasks=ledgers(scope, "task", tasks, found, counts[at] - TASKS, OPERATORS),
            tasks_count=counts[at],
        )
        if first + _SLOWEST in groups:
            slowest, middle = groups[first + _SLOWEST], groups[first + _MIDDLE]
            walked.slowest = compared(scope, slowest, middle, found, described)
        below.append(walked)
    return below


def _define_groups(scope: Scope, stages: list[LedgerGroup]) -> None:
    """Define ``l_groups`` of all stages, and ``l_below``: their task attempts, ranked by time."""
    rows = ", ".join(
        f"({at}, {_number(one.app_index)}, {_number(one.stage_id)}, {_number(one.stage_attempt)})"
        for at, one in enumerate(stages)
    )
    same = " AND ".join(f"t.{key} IS NOT DISTINCT FROM b.{key}" for key in KEYS["stage"])
    scope.tables.define(
        "l_below",
        "SELECT *, dense_rank() OVER (PARTITION BY nth ORDER BY time DESC, task_attempt_id) - 1"
        "  AS rank FROM (SELECT b.nth, t.*, coalesce(sum(t.took_ns) OVER attempt,"
        f"   sum(t.wall_ns) OVER attempt, 0) AS time FROM (VALUES {rows})"
        f"  b (nth, app_index, stage_id, stage_attempt) JOIN l_tasks t ON {same}"
        "  WINDOW attempt AS (PARTITION BY b.nth, t.task_attempt_id))",
    )
    scope.tables.define(
        "l_groups",
        "WITH placed AS (SELECT nth, task, count(*) OVER (PARTITION BY nth) AS n, row_number() OVER"
        "   (PARTITION BY nth ORDER BY took_ns, task_attempt_id) AS place FROM l_below"
        "  WHERE took_ns IS NOT NULL AND status <> 'running')"
        f" SELECT task, nth * {_WIDTH} + {_STAGE} AS number FROM l_below"
        f" UNION ALL SELECT task, nth * {_WIDTH} + {_TASK} + least(rank, {TASKS}) FROM l_below"
        f" UNION ALL SELECT task, nth * {_WIDTH} + {_SLOWEST} FROM placed WHERE place = n AND n > 1"
        # Ranks within a tenth of all other tasks around the middle one; at least one.
        f" UNION ALL SELECT task, nth * {_WIDTH} + {_MIDDLE} FROM placed"
        "  WHERE place < n AND abs(2 * place - n) <= greatest(1, 0.2 * (n - 1))",
    )


def _number(value: int | None) -> str:
    return "NULL::BIGINT" if value is None else str(int(value))


def _groups(scope: Scope) -> dict[int, Group]:
    """Give the groups by number; those of one task have its keys."""
    keys = ", ".join(f"any_value(b.{key})" for key in KEYS["task"])
    found = {}
    for number, count, *values in scope.tables.query(
        f"SELECT g.number, count(*), {keys} FROM l_groups g JOIN l_below b"
        f" ON b.task = g.task AND b.nth = g.number // {_WIDTH} GROUP BY ALL ORDER BY ALL"
    ):
        kind = number % _WIDTH
        alone = kind == _SLOWEST or _TASK <= kind < _TASK + TASKS
        named = dict(zip(KEYS["task"], values, strict=True)) if alone else {}
        found[number] = Group(number, named, count)
    return found


METHODS = ("exact", "sampled", "apportioned", "by_complement", "unavailable")
COLUMNS = ("path", "value_ns", "low_ns", "high_ns", "n", "method")
# Rows of a part: categories and wait classes, not the operators below each of them.
_LEVELS = 3
# Share of a part's time below which a row cannot be seen in a bar.
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
        "differences": _differences(row for row in found.differences if row.path.count("/") < 2),
        "ended_by": _differences(found.ended_by),
    }


def _differences(rows: Iterable[RowDifference]) -> list[list[Any]]:
    """Give those that are known."""
    known = [(row, row.difference) for row in rows if row.difference.value is not None]
    return [[row.path, row.a_ns, row.b_ns, d.value, d.low, d.high] for row, d in known]
