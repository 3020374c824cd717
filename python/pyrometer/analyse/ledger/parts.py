"""Slot views of the parts of a window: SQL executions, stages, tasks, operators."""

from __future__ import annotations

from pyrometer.analyse.ledger.closure import close
from pyrometer.analyse.ledger.groups import KEYS, By, Group, Only, group_all, group_by
from pyrometer.analyse.ledger.rows import CPU_SAMPLES, NO_OPERATOR, sampled, split
from pyrometer.analyse.ledger.samples import Parts
from pyrometer.analyse.ledger.slot import part_view
from pyrometer.analyse.ledger.sums import Sums, prepare, sums
from pyrometer.analyse.ledger.waiting import classes
from pyrometer.analyse.model import Row, View
from pyrometer.analyse.model.ledger_parts import LedgerGroup
from pyrometer.analyse.scope import Scope

MOST = 20
"""Parts that are told apart unless asked; the others are one row."""
_NAMES = {
    "sql": "SELECT app_index, sql_id, coalesce(description, '') FROM sql_executions",
    "stage": "SELECT app_index, stage_id, stage_attempt, coalesce(name, '') FROM stages",
}
SHARES = (
    "shares of task time by samples: they have no total of their own that closure could be held"
    " against"
)


def parts(
    scope: Scope, by: By, only: Only | None = None, most: int = MOST, operators_most: int = 0
) -> tuple[list[LedgerGroup], int]:
    """Account for each part of a window, those with most time by themselves.

    Parameters
    ----------
    by : str
        ``sql``, ``stage`` (its attempts) or ``task`` (attempts).
    only : Only
        Task attempts to look at; unasked, all.
    most : int
        Parts told apart; the rest is one.
    operators_most : int
        Operators told apart within each part; unasked, none.

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
    made = [
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
    return made, count


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
    made = [
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
        made.append(LedgerGroup(by="operator", label=label, rest=True, view=view))
    return made, len(ordered)


def _operator(scope: Scope, found: Sums, names: set[str | None]) -> View:
    cpu = found.cpu if found.span_cpu is None else found.span_cpu
    rows: list[Row] = []
    if cpu is not None and found.counts.on_cpu:
        wanted = _of(found.counts.on_cpu, names)
        rows += _tree("on_cpu", cpu, wanted, sum(found.counts.on_cpu.values()), CPU_SAMPLES)
    rows += classes(found, "waiting", names, with_whole=True)
    if not rows:
        return View(window=scope.window.name, reason="no samples tell operators apart")
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
    """Give names of the groups told apart."""
    wanted = [tuple(g.keys[key] for key in KEYS[by]) for g in groups if g.keys]
    if by not in _NAMES or not wanted:
        return {}
    ids = ", ".join(str(keys[1]) for keys in wanted if keys[1] is not None) or "NULL"
    sql = f"{_NAMES[by]} WHERE {KEYS[by][1]} IN ({ids})"
    return {tuple(keys): str(name) for *keys, name in scope.tables.query(sql)}


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
