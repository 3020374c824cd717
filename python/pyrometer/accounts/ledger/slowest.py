"""The slowest task of a stage against its median: why this one is slow.

Two sides of the ledger, row by row.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from pyrometer.accounts.ledger.schema import (
    Fact,
    LedgerGroup,
    Row,
    RowDifference,
    SlowestTask,
    View,
)
from pyrometer.accounts.ledger.slot_view import part_view
from pyrometer.accounts.ledger.sums import Group, Sums, prepare, sums
from pyrometer.accounts.ledger.unseen import why_missing
from pyrometer.core import units
from pyrometer.core.errors import UsageError
from pyrometer.core.estimate import Estimate
from pyrometer.statistics.shares import LEVEL
from pyrometer.window.scope import Scope


def differences(a: Sequence[View], b: Sequence[View]) -> list[RowDifference]:
    """Compare ledgers of two sides, one of each unit: B less A.

    The interval is Welch's over the units where both sides have two or more. Else it is that of the
    rows themselves, of samples and coarse grids, combined as independent errors; how much units
    differ from each other is then not in it.

    A row that a unit lacks is zero there if it would have been seen; else the unit does not count
    for it. Where none of a side does, there is no difference, but the reason.

    Parameters
    ----------
    a, b : sequence of View
        One view a unit.
    """
    if not a or not b:
        return []
    sides = [[(view, _by_path(view)) for view in side] for side in (a, b)]
    paths: dict[str, str | None] = {}
    for _, rows in (*sides[0], *sides[1]):
        for path, row in rows.items():
            if row.value_ns is not None:
                paths.setdefault(path, row.parent)
    whole = _mean_total(b) - _mean_total(a)
    changes = []
    for path, parent in paths.items():
        (left, no_left), (right, no_right) = (_known(side, path) for side in sides)
        found = _difference(left, right)
        changes.append(
            RowDifference(
                path=path,
                parent=parent if parent in paths else None,
                a_ns=_mean_of(left),
                b_ns=_mean_of(right),
                difference=found,
                share=found.value / whole if whole and found.value is not None else None,
                reason=no_left or no_right,
            )
        )
    return changes


def mean_view(views: Sequence[View]) -> View:
    """Give the mean of several windows, row by row, over those that know of the row."""
    found = View(window=views[0].window, memos=views[0].memos, reason=views[0].reason)
    if any(view.total_ns is not None for view in views):
        found.total_ns = round(_mean_total(views))
    units = [(view, _by_path(view)) for view in views]
    for path, row in {row.path: row for view in views for row in view.rows}.items():
        known, why = _known(units, path)
        if known:
            last = next((one for one in reversed(known) if one is not None), row)
            value = statistics.fmean(map(_value, known))
            half = math.hypot(*map(_half, known)) / len(known)
            mean = last.model_copy(
                update={
                    "value_ns": round(value),
                    "low_ns": round(value - half),
                    "high_ns": round(value + half),
                }
            )
        else:
            mean = Row(path=path, parent=row.parent, method="unavailable", source=why or "")
        found.rows.append(mean)
    return found


Unit = tuple[View, Mapping[str, Row]]


def _by_path(view: View) -> dict[str, Row]:
    return {row.path: row for row in view.rows}


def _mean_total(views: Sequence[View]) -> float:
    known = [view.total_ns for view in views if view.total_ns is not None]
    return statistics.fmean(known) if known else 0


def _known(units: Sequence[Unit], path: str) -> tuple[list[Row | None], str | None]:
    """Give a row of the units that know of it (``None``: zero); of none, say why."""
    whys = [why_missing(view, rows, path) for view, rows in units]
    known = [rows.get(path) for (_, rows), why in zip(units, whys, strict=True) if why is None]
    return known, None if known else whys[0]


def _mean_of(rows: Sequence[Row | None]) -> float | None:
    return statistics.fmean(map(_value, rows)) if rows else None


def _value(row: Row | None) -> float:
    return 0.0 if row is None else float(row.value_ns or 0)


def _difference(left: Sequence[Row | None], right: Sequence[Row | None]) -> Estimate:
    if not left or not right:
        return Estimate(value=None, low=None, high=None, level=LEVEL, n=0, method="not known")
    # Importing the numerics takes a third of the time of `show`, which compares nothing.
    from pyrometer.statistics.welch import welch

    a, b = list(map(_value, left)), list(map(_value, right))
    tested = welch(a, b)
    if tested is not None:
        return tested.difference
    value = statistics.fmean(b) - statistics.fmean(a)
    # The error of a mean of n independent units is that of their sum over n.
    halves = [math.hypot(*map(_half, side)) / len(side) for side in (left, right)]
    half = math.hypot(*halves)
    return Estimate(
        value=value,
        low=value - half,
        high=value + half,
        level=LEVEL,
        n=min(len(a), len(b)),
        method="intervals of the rows",
    )


def _half(row: Row | None) -> float:
    if row is None or row.low_ns is None or row.high_ns is None:
        return 0.0
    return (row.high_ns - row.low_ns) / 2


# Rows and facts that are worth a sentence: parts of the difference, and times as much.
_WORTH_SHARE = 0.1
_WORTH_TIMES = 1.5
_MOST_WORDS = 4
_FACTS = (
    ("input", "bytes", "input_bytes"),
    ("input records", "count", "input_records_count"),
    ("shuffle read", "bytes", "shuffle_read_local_bytes + shuffle_read_remote_bytes"),
    ("shuffle records read", "count", "shuffle_read_records_count"),
    ("shuffle read from elsewhere", "bytes", "shuffle_read_remote_bytes"),
    ("shuffle written", "bytes", "shuffle_written_bytes"),
    ("output", "bytes", "output_bytes"),
    ("spilled to disk", "bytes", "disk_spilled_bytes"),
    ("peak execution memory", "bytes", "peak_execution_memory_bytes"),
    ("result", "bytes", "result_size_bytes"),
)


Sides = list[Any]
"""What `facts` gives of a group: executor, host, locality, number of executors, then volumes."""


def slowest_task(
    scope: Scope, stage_id: int | None = None, task_id: int | None = None
) -> SlowestTask:
    """Compare a task with the middle of its stage: the mean of the tasks around the median.

    Parameters
    ----------
    stage_id : int, optional
        The stage; by default, the one whose slowest task exceeds its median by most time.
    task_id : int, optional
        Another task than the slowest.

    Raises
    ------
    UsageError
        If there is no such stage or task, or no other task to compare with.
    """
    prepare(scope)
    keys = _choose(scope, stage_id, task_id)
    count = int(scope.tables.scalar("SELECT count(*) FROM l_groups WHERE number = 1"))
    task, middle = Group(0, keys, 1), Group(1, {}, count)
    return compared(scope, task, middle, sums(scope, [task, middle]), facts(scope))


def compared(
    scope: Scope, task: Group, middle: Group, found: dict[int, Sums], described: dict[int, Sides]
) -> SlowestTask:
    """Compare a task with those around the middle of its stage: `sums` and `facts` of both."""
    keys, count = task.keys, middle.tasks_count
    view = part_view(scope, found[task.number])
    other = _mean(part_view(scope, found[middle.number]), count)
    woken = [one.model_copy(update={"rows": one.ended_by}) for one in (other, view)]
    stage = f"stage {keys['stage_id']}"
    several = f"mean of {count} around the median of {stage}"
    middle_label = several if count > 1 else f"median task of {stage}"
    slowest = SlowestTask(
        task=LedgerGroup(by="task", label=f"task {keys['task_attempt_id']} of {stage}",
                         tasks_count=1, view=view, **keys),
        middle=LedgerGroup(by="task", label=middle_label,
                           app_index=keys["app_index"], stage_id=keys["stage_id"],
                           stage_attempt=keys["stage_attempt"], tasks_count=count, view=other),
        differences=_largest(differences([other], [view])),
        ended_by=_largest(differences(woken[:1], woken[1:])),
        facts=_facts(described.get(task.number), described.get(middle.number)),
    )  # fmt: skip
    slowest.why = [*_words(slowest), *_sentence(slowest.facts)]
    return slowest


def _largest(rows: list[RowDifference]) -> list[RowDifference]:
    return sorted(rows, key=lambda row: -abs(row.difference.value or 0))


def _choose(scope: Scope, stage_id: int | None, task_id: int | None) -> dict[str, int | None]:
    """Define ``l_groups``: the task is 0, those around the median of its stage 1."""
    only = "true" if stage_id is None else f"stage_id = {int(stage_id)}"
    scope.tables.define(
        "l_placed",
        "SELECT task, app_index, stage_id, stage_attempt, task_attempt_id, took_ns,"
        " row_number() OVER s AS place, count(*) OVER (PARTITION BY app_index, stage_id,"
        "  stage_attempt) AS n, median(took_ns) OVER (PARTITION BY app_index, stage_id,"
        "  stage_attempt) AS middle"
        f" FROM l_tasks WHERE took_ns IS NOT NULL AND status <> 'running' AND {only}"
        " WINDOW s AS (PARTITION BY app_index, stage_id, stage_attempt"
        "  ORDER BY took_ns, task_attempt_id)",
    )
    this = "place = n" if task_id is None else f"task_attempt_id = {int(task_id)}"
    row = scope.tables.record(
        "SELECT task, app_index, stage_id, stage_attempt, task_attempt_id FROM l_placed"
        f" WHERE {this} AND n > 1 ORDER BY took_ns - middle DESC, stage_id LIMIT 1"
    )
    if not row:
        what = "task" if task_id is None else f"task {task_id}"
        where = "" if stage_id is None else f" of stage {stage_id}"
        raise UsageError(
            f"no {what}{where} in this window that ended and has others to compare with",
            "pyrometer ledger RUN --by stage lists the stages; --window application looks at all",
        )
    task = int(row.pop("task"))
    # Ranks within a tenth of all tasks around the middle one; at least one, and never the task.
    scope.tables.define(
        "l_groups",
        f"SELECT {task}::INTEGER AS task, 0 AS number UNION ALL"
        " SELECT task, 1 FROM (SELECT task, row_number() OVER (ORDER BY took_ns, task_attempt_id)"
        "   AS place, count(*) OVER () AS n FROM l_placed WHERE stage_id = ? AND stage_attempt = ?"
        f"   AND app_index IS NOT DISTINCT FROM ? AND task <> {task})"
        " WHERE abs(2 * place - (n + 1)) <= greatest(1, 0.2 * n)",
        [row["stage_id"], row["stage_attempt"], row["app_index"]],
    )
    return {key: None if value is None else int(value) for key, value in row.items()}


def _mean(view: View, count: int) -> View:
    """Divide a view of several tasks: the mean task."""
    for row in (*view.rows, *view.memos, *view.ended_by):
        for name in ("value_ns", "low_ns", "high_ns"):
            value = getattr(row, name)
            if value is not None:
                setattr(row, name, round(value / count))
    if view.total_ns is not None:
        view.total_ns = round(view.total_ns / count)
    if view.resolution_ns is not None:
        view.resolution_ns = round(view.resolution_ns / count)
    return view


def facts(scope: Scope, where: str = "true") -> dict[int, Sides]:
    """Give places and volumes of the groups of ``l_groups``: means of their tasks."""
    places = ", ".join(f"avg({sql})" for _, _, sql in _FACTS)
    return {
        int(number): values
        for number, *values in scope.tables.query(
            "SELECT g.number, min(t.executor_id), min(t.host), min(t.locality),"
            f" count(DISTINCT t.executor_id), {places} FROM l_groups g JOIN l_tasks l USING (task)"
            " JOIN tasks t ON t.app_index = l.app_index AND t.task_attempt_id = l.task_attempt_id"
            f" WHERE {where} GROUP BY g.number"
        )
    }


def _facts(task: Sides | None, middle: Sides | None) -> list[Fact]:
    if task is None or middle is None:
        return []
    found = []
    for name, value, other in zip(("executor", "host", "locality"), task, middle, strict=False):
        if value is not None:
            shown = other if middle[3] == 1 else "several"
            found.append(Fact(name=name, unit="name", task=value, middle=shown))
    for (name, unit, _), value, other in zip(_FACTS, task[4:], middle[4:], strict=True):
        if value or other:
            found.append(Fact(name=name, unit=unit, task=value, middle=other))
    return found


def _words(slowest: SlowestTask) -> list[str]:
    """Say which rows make up the difference, largest first."""
    took, usual = slowest.task.view.total_ns or 0, slowest.middle.view.total_ns or 0
    more = took - usual
    found = [
        f"{slowest.task.label} took {units.duration(took)}, {units.duration(abs(more))}"
        f" {'more' if more >= 0 else 'less'} than tasks around the median"
        f" ({units.duration(usual)})"
    ]
    inside = {r.path for r in slowest.differences if r.path == "task" or r.path.startswith("task/")}
    parts = [
        r
        for r in slowest.differences
        if (r.parent == "task" and r.path in inside) or (r.parent is None and r.path != "task")
    ]
    for row in parts[:_MOST_WORDS]:
        value = row.difference.value or 0
        if not more or value / more < _WORTH_SHARE:
            continue
        children = [r for r in slowest.differences if r.parent == row.path]
        deeper = next((r for r in children if (r.difference.value or 0) / more > 0), None)
        text = f"{_name(row)}: {_signed(row)}, {units.percent(value / more)} of the difference"
        if deeper is not None and (deeper.difference.value or 0) / value > 1 / 3:
            text += f"; most of it {_name(deeper)} ({_signed(deeper)})"
        found.append(text)
    return found


def _name(row: RowDifference) -> str:
    return row.path.removeprefix("task/").split("/")[-1].replace("_", " ")


def _signed(row: RowDifference) -> str:
    value, high, low = row.difference.value or 0, row.difference.high, row.difference.low
    text = f"{'+' if value >= 0 else ''}{units.duration(value)}"
    half = ((high or 0) - (low or 0)) / 2
    return f"{text} ± {units.duration(half)}" if half else text


def _sentence(facts: list[Fact]) -> list[str]:
    """Say what the task had more of: data, memory, spills."""
    found = []
    for fact in facts:
        if isinstance(fact.task, str) or isinstance(fact.middle, str):
            continue
        task, usual = fact.task or 0, fact.middle or 0
        if task > _WORTH_TIMES * usual:
            show = units.size if fact.unit == "bytes" else _count
            times = f", {units.digits(task / usual, 2)} times as much" if usual else ""
            found.append(f"{fact.name}: {show(task)} instead of {show(usual)}{times}")
    return found


def _count(value: float) -> str:
    return units.count(round(value))
