"""Slot views of the parts of a window: SQL executions, stages, tasks, operators."""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.accounts.ledger.in_task import classes
from pyrometer.accounts.ledger.rows import CPU_SAMPLES, NO_OPERATOR, Parts, close, sampled, split
from pyrometer.accounts.ledger.schema import LedgerGroup, Row, View
from pyrometer.accounts.ledger.slot_view import part_times, part_view
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
SHARES = "shares of task time by samples: they have no total of their own to check closure against"


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
    return ledgers(scope, by, groups, found, count - most, operators_most), count


def ledgers(
    scope: Scope, by: By, groups: list[Group], found: dict[int, Sums], others: int, most: int
) -> list[LedgerGroup]:
    """Account for groups whose sums are known: ``others`` are the last, ``most`` operators each."""
    names = _names(scope, by, groups)
    return [
        LedgerGroup(
            by=by,
            label=_label(by, group, names, others),
            rest=not group.keys,
            tasks_count=group.tasks_count,
            view=part_view(scope, found[group.number]),
            operators=operators_of(scope, found[group.number], most)[0],
            **group.keys,
        )
        for group in groups
    ]


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
    return operators_of(scope, sums(scope, group_all(scope, only))[0], most)


def operators_of(scope: Scope, found: Sums, most: int) -> tuple[list[LedgerGroup], int]:
    """Account for the operators of a group whose sums are known, and say how many there are."""
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
