"""Slot views of the parts of a window: SQL executions, stages, tasks, operators.

Ledgers to drill down into: stages of a window, their operators and tasks, the slowest ones.

Ledgers of stages, operators and tasks as the page holds them: few rows, each a short list.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import Field

from pyrometer.accounts.ledger.in_task import classes
from pyrometer.accounts.ledger.rows import CPU_SAMPLES, NO_OPERATOR, Parts, close, sampled, split
from pyrometer.accounts.ledger.schema import LedgerGroup, Row, RowDifference, SlowestTask, View
from pyrometer.accounts.ledger.slot_view import part_times, part_view
from pyrometer.accounts.ledger.slowest import slowest_task
from pyrometer.accounts.ledger.sums import (
    KEYS,
    By,
    Group,
    Only,
    Sums,
    group_all,
    group_by,
    prepare,
    sums,
)
from pyrometer.accounts.stage_names import stage_name
from pyrometer.core.errors import UsageError
from pyrometer.core.model import Model
from pyrometer.window.scope import Scope

MOST = 20
"""Parts shown one by one by default; the others are one row."""
_NAMES = {
    "sql": "SELECT app_index, sql_id, description, description FROM sql_executions",
    "stage": (
        "SELECT app_index, stage_id, stage_attempt, s.name, q.description FROM stages s"
        " LEFT JOIN sql_executions q USING (app_index, sql_id)"
    ),
}
SHARES = (
    "shares of task time by samples: they have no total of their own that closure could be held"
    " against"
)


def parts(
    scope: Scope, by: By, only: Only | None = None, most: int = MOST, operators_most: int = 0
) -> tuple[list[LedgerGroup], int]:
    """Account for the parts of a window: those with most time one by one, the rest together.

    Parameters
    ----------
    by : str
        ``sql``, ``stage`` (its attempts) or ``task`` (attempts).
    only : Only
        Task attempts to look at; by default, all.
    most : int
        How many parts to show; the rest is summed.
    operators_most : int
        Operators shown within each part; by default, none.

    Returns
    -------
    list of LedgerGroup
        Largest first, the rest last.
    int
        How many parts there are.
    """
    prepare(scope)
    groups, count = group_by(scope, by, only or Only(), most)
    found = sums(scope, groups)
    names = _names(scope, by, groups)
    ledgers = [
        LedgerGroup(
            by=by,
            label=_label(by, group, names, count - most),
            rest=not group.keys,
            tasks_count=group.tasks_count,
            view=part_view(scope, found[group.number]),
            operators=_operators(scope, found[group.number], operators_most)[0],
            **group.keys,
        )
        for group in groups
    ]
    return ledgers, count


def stage_times(scope: Scope, most: int) -> Iterator[tuple[int, int, dict[str, int]]]:
    """Give the times of stage attempts by path of the ledger's row, one attempt after the other.

    Yields
    ------
    (int, int, dict of str to int)
        Stage, attempt, and nanoseconds.
    """
    prepare(scope)
    groups, _ = group_by(scope, "stage", Only(), most)
    found = sums(scope, groups)
    for group in groups:
        stage_id = group.keys.get("stage_id")
        if stage_id is not None:
            yield stage_id, group.keys["stage_attempt"] or 0, part_times(found[group.number])


def operators(
    scope: Scope, only: Only | None = None, most: int = MOST
) -> tuple[list[LedgerGroup], int]:
    """Account for each operator: its shares of CPU and of waiting in the tasks looked at."""
    prepare(scope)
    return _operators(scope, sums(scope, group_all(scope, only))[0], most)


def _operators(scope: Scope, found: Sums, most: int) -> tuple[list[LedgerGroup], int]:
    if not most:
        return [], 0
    asleep = {} if found.states is None else found.states.asleep
    names = {o for seen in (found.counts.on_cpu, found.counts.asleep, asleep) for _, o in seen}
    views = {name: _operator(scope, found, {name}) for name in names}
    ordered = sorted(names, key=lambda o: (-(views[o].total_ns or 0), o or ""))
    ledgers = [
        LedgerGroup(
            by="operator",
            label=name or NO_OPERATOR.replace("_", " "),
            operator=name,
            view=views[name],
        )
        for name in ordered[:most]
    ]
    if len(ordered) > most:
        others = set(ordered[most:])
        view = _operator(scope, found, others)
        label = f"{len(others)} others"
        ledgers.append(LedgerGroup(by="operator", label=label, rest=True, view=view))
    return ledgers, len(ordered)


def _operator(scope: Scope, found: Sums, names: set[str | None]) -> View:
    cpu = found.cpu if found.span_cpu is None else found.span_cpu
    rows: list[Row] = []
    if cpu is not None and found.counts.on_cpu:
        wanted = _of(found.counts.on_cpu, names)
        rows += _tree("on_cpu", cpu, wanted, sum(found.counts.on_cpu.values()), CPU_SAMPLES)
    rows += classes(found, "waiting", names, with_whole=True)
    if not rows:
        return View(window=scope.window.name, reason="no samples distinguish operators")
    total_ns = sum(row.value_ns or 0 for row in rows if row.parent is None)
    view = close(scope.window.name, total_ns, rows, [], None)
    view.closure_ratio, view.reason = None, SHARES
    return view


def _tree(path: str, whole_ns: int, hits: Parts, total: int, what: str) -> list[Row]:
    top = sampled(path, whole_ns, sum(hits.values()), total, what)
    return [top, *split(path, whole_ns, hits, total, what)]


def _of(hits: Parts, names: set[str | None]) -> Parts:
    """Keep the hits of some operators, and add them up by name."""
    kept: Parts = {}
    for (name, operator), n in hits.items():
        if operator in names:
            kept[name, None] = kept.get((name, None), 0) + n
    return kept


def _names(scope: Scope, by: By, groups: list[Group]) -> dict[tuple[int | None, ...], str]:
    """Give names of the groups, without that of the rest."""
    wanted = [tuple(g.keys[key] for key in KEYS[by]) for g in groups if g.keys]
    if by not in _NAMES or not wanted:
        return {}
    ids = ", ".join(str(keys[1]) for keys in wanted if keys[1] is not None) or "NULL"
    sql = f"{_NAMES[by]} WHERE {KEYS[by][1]} IN ({ids})"
    return {
        tuple(keys): stage_name(name, description) or ""
        for *keys, name, description in scope.tables.query(sql)
    }


def _label(by: By, group: Group, names: dict[tuple[int | None, ...], str], others: int) -> str:
    if not group.keys:
        return f"{others} others" if others > 0 else f"tasks of no {by}"
    name = names.get(tuple(group.keys[key] for key in KEYS[by]), "")
    if by == "task":
        return f"task {group.keys['task_attempt_id']} of stage {group.keys['stage_id']}"
    number = group.keys[KEYS[by][1]]
    attempt = group.keys.get("stage_attempt")
    again = f".{attempt}" if attempt else ""
    return f"{'SQL' if by == 'sql' else by} {number}{again}" + (f": {name}" if name else "")


# As many as a person looks at and a page can hold; the rest is shown as one part.
STAGES = 24
DEEPER = 10
OPERATORS = 12
TASKS = 10


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
    found = Walk(stages=stages, stages_count=count)
    for stage in [one for one in stages if not one.rest][:DEEPER]:
        assert stage.stage_id is not None
        only = Only(
            app_index=stage.app_index,
            stage_id=stage.stage_id,
            stage_attempt=stage.stage_attempt,
        )
        below = WalkedStage(
            app_index=stage.app_index, stage_id=stage.stage_id, stage_attempt=stage.stage_attempt
        )
        below.operators, below.operators_count = operators(scope, only, OPERATORS)
        below.tasks, below.tasks_count = parts(scope, "task", only, TASKS, OPERATORS)
        try:
            below.slowest = slowest_task(scope, stage.stage_id)
        except UsageError:
            below.slowest = None
        found.below.append(below)
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
        "differences": [_difference(row) for row in found.differences if row.path.count("/") < 2],
        "ended_by": [_difference(row) for row in found.ended_by],
    }


def _difference(row: RowDifference) -> list[Any]:
    found = row.difference
    return [row.path, row.a_ns, row.b_ns, found.value, found.low, found.high]
