"""Building blocks of the ledger's rows.

The three figures under a view of the ledger: closure, unclassified, sampling error.

Samples of task threads, counted by task: the basis of shares of CPU and of waiting.

CPU samples count by category and operator. Wall-clock samples count as asleep by wait class and
operator, as asleep in a pause (which is the pause's time), or as awake.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from pyrometer.accounts.ledger.schema import Row, View
from pyrometer.accounts.waits.python_waits import define_python_waits, wait_class
from pyrometer.accounts.waits.waits import Weighed
from pyrometer.attribution.samples import (
    CATEGORY,
    CONVERSION,
    EVIDENCE,
    UNCLASSIFIED,
    define_stack_labels,
)
from pyrometer.statistics.shares import part_by_weight, part_of
from pyrometer.window.scope import Scope

SHARE_OF_PARENT = "share of the row above"
NOT_ADDED = ("exited_threads",)


def close(
    window: str, total_ns: int, rows: list[Row], memos: list[Row], resolution_ns: int | None
) -> View:
    """Put the three figures under a view: closure, unclassified, sampling error."""
    if not total_ns:
        return View(window=window, rows=rows, memos=memos, reason="the window has no length")
    for row in [*rows, *memos]:
        row.share = None if row.value_ns is None else row.value_ns / total_ns
    unclassified = sum(r.value_ns or 0 for r in rows if r.path.rsplit("/", 1)[-1] == UNCLASSIFIED)
    halves = [
        (r.high_ns - r.low_ns) / 2
        for r in rows
        if r.method == "sampled" and r.high_ns is not None and r.low_ns is not None
    ]
    return View(
        window=window,
        total_ns=total_ns,
        rows=rows,
        memos=memos,
        closure_ratio=(sum(addends(rows).values()) - total_ns) / total_ns,
        unclassified_ratio=unclassified / total_ns,
        sampling_error_ratio=max(halves) / total_ns if halves else None,
        resolution_ns=resolution_ns,
    )


def addends(rows: list[Row]) -> dict[str, int]:
    """Rows that closure adds up: the finest that were obtained independently.

    A row counts through its children where these are not shares of it, obtained neither by sampling
    nor by subtraction; else it counts itself.
    """
    children: dict[str | None, list[Row]] = {}
    for row in rows:
        children.setdefault(row.parent, []).append(row)
    found: dict[str, int] = {}

    def visit(row: Row) -> None:
        parts = children.get(row.path, [])
        if any(p.source.startswith(SHARE_OF_PARENT) for p in parts) or any(
            p.method in ("by_complement", "unavailable") for p in parts
        ):
            parts = []
        if parts:
            for part in parts:
                visit(part)
        elif row.value_ns is not None and not (
            row.path in NOT_ADDED and row.method == "by_complement"
        ):
            found[row.path] = row.value_ns

    for top in children.get(None, []):
        visit(top)
    return found


Parts = dict[tuple[str, str | None], int]


@dataclass
class Counts:
    """Samples of a group.

    Attributes
    ----------
    on_cpu, asleep : dict
        Hits by (category or wait class, operator); ``None`` where no stack names an operator.
    walls : int
        All wall-clock samples in tasks.
    in_pauses, asleep_in_pauses : int
        Those in pauses, and of them those asleep.
    """

    on_cpu: Parts = field(default_factory=lambda: defaultdict(int))
    asleep: Parts = field(default_factory=lambda: defaultdict(int))
    walls: int = 0
    in_pauses: int = 0
    asleep_in_pauses: int = 0


def define_samples_of_tasks(scope: Scope) -> None:
    """Define ``l_samples``: hits by task, kind, name and operator."""
    define_stack_labels(scope)
    define_python_waits(scope)
    same = " AND ".join(f"o.{key} IS NOT DISTINCT FROM x.{key}" for key in EVIDENCE)
    paused = (
        "EXISTS (SELECT 1 FROM w_pauses p WHERE (p.pid = x.pid OR p.pid IS NULL)"
        " AND x.t_ns >= p.start_ns AND x.t_ns < p.end_ns)"
    )
    scope.tables.define(
        "l_samples",
        "WITH seen AS (SELECT x.*, coalesce(x.category = "
        f"'{CONVERSION}', false) AS converts, x.event = 'wall' AND {paused} AS paused"
        "  FROM task_samples x"
        "  WHERE x.event = 'cpu' OR (x.event = 'wall' AND x.task_attempt_id IS NOT NULL))"
        " SELECT t.task, CASE WHEN x.event = 'cpu' THEN 'cpu'"
        "   WHEN x.state = 'sleeping' AND x.paused THEN 'asleep in pause'"
        "   WHEN x.state = 'sleeping' THEN 'asleep'"
        "   WHEN x.paused THEN 'awake in pause' ELSE 'awake' END AS kind,"
        f" CASE WHEN x.event = 'cpu' THEN {CATEGORY}"
        f"  ELSE {wait_class('x')} END AS name,"
        " o.attributed_operator AS operator, sum(x.hits)::BIGINT AS hits"
        " FROM seen x LEFT JOIN l_tasks t ON t.task_attempt_id = x.task_attempt_id"
        "  AND t.app_index IS NOT DISTINCT FROM x.app_index"
        f" LEFT JOIN attributed_evidence o ON {same}"
        " GROUP BY ALL",
    )


def counts(scope: Scope) -> dict[int, Counts]:
    """Count samples of each group of ``l_groups``."""
    found: dict[int, Counts] = defaultdict(Counts)
    for number, kind, name, operator, hits in scope.tables.query(
        "SELECT g.number, s.kind, s.name, s.operator, sum(s.hits)::BIGINT FROM l_samples s"
        " JOIN l_groups g ON g.task IS NOT DISTINCT FROM s.task GROUP BY ALL ORDER BY ALL"
    ):
        group = found[int(number)]
        if kind == "cpu":
            group.on_cpu[name, operator] += hits
            continue
        group.walls += hits
        if kind == "asleep":
            group.asleep[name, operator] += hits
        if kind.endswith("in pause"):
            group.in_pauses += hits
        if kind == "asleep in pause":
            group.asleep_in_pauses += hits
    return found


def by_name(parts: Parts) -> dict[str, dict[str | None, int]]:
    """Hits by name and, within it, by operator; largest first."""
    found: dict[str, dict[str | None, int]] = defaultdict(dict)
    for (name, operator), hits in parts.items():
        found[name][operator] = hits
    return dict(sorted(found.items(), key=lambda item: (-sum(item[1].values()), item[0])))


NO_OPERATOR = "no_operator"
CPU_SAMPLES = "CPU samples of task threads"
WALL_SAMPLES = "wall samples of task threads"


def row(path: str, value: int | None, n: int, source: str) -> Row:
    """Build an exact row below its parent; without a value, one that says why."""
    parent = path.rsplit("/", 1)[0] if "/" in path else None
    if value is None:
        why = f"{source}: this log has none"
        return Row(path=path, parent=parent, method="unavailable", source=why)
    return Row(path=path, parent=parent, value_ns=int(value), n=n, source=source)


def sampled(path: str, whole_ns: int, hits: int, total: int, what: str) -> Row:
    """Compute a share of a time by counted samples, with its interval (Wilson)."""
    time = part_of(whole_ns, hits, total)
    return Row(
        path=path,
        parent=path.rsplit("/", 1)[0] if "/" in path else None,
        value_ns=round(time.value or 0),
        low_ns=round(time.low or 0),
        high_ns=round(time.high or 0),
        n=hits,
        method="sampled",
        source=f"{SHARE_OF_PARENT}: {hits} of {total} {what}",
    )


def weighed(path: str, whole_ns: int, part: Weighed, total: Weighed, what: str) -> Row:
    """Compute a share of a time by weighed observations, with its interval."""
    time = part_by_weight(whole_ns, part.ns, total.ns, total.effective, part.n)
    return Row(
        path=path,
        parent=path.rsplit("/", 1)[0] if "/" in path else None,
        value_ns=round(time.value or 0),
        low_ns=round(time.low or 0),
        high_ns=round(time.high or 0),
        n=part.n,
        method="sampled",
        source=f"{SHARE_OF_PARENT}: {part.n} of {total.n} {what}",
    )


def split(parent: str, whole_ns: int, parts: Parts, total: int, what: str) -> list[Row]:
    """Split a time by name, and each name by operator where stacks show any.

    Parameters
    ----------
    parent : str
        Path of the row that is split.
    whole_ns : int
        The time that ``total`` samples stand for.
    parts : dict
        Hits by (name, operator).
    total : int
        Samples of the whole.
    what : str
        What was counted, in words.
    """
    rows = []
    for name, operators in by_name(parts).items():
        hits = sum(operators.values())
        if not hits:
            continue
        path = f"{parent}/{slug(name)}"
        rows.append(sampled(path, whole_ns, hits, total, what))
        if set(operators) == {None}:
            continue
        for operator, n in sorted(operators.items(), key=lambda o: (-o[1], o[0] or "")):
            if n:
                deeper = f"{path}/{slug(operator or NO_OPERATOR)}"
                rows.append(sampled(deeper, whole_ns, n, total, what))
    return rows


def slug(name: str) -> str:
    """Turn a name into a part of a path."""
    return name.replace("/", "_").strip()


def apportioned(whole: Row, low: int, high: int, grid: str) -> Row:
    """Give a row the interval that a coarse grid leaves open at the ends of tasks."""
    if high - low > 1:
        whole.low_ns, whole.high_ns, whole.method = low, high, "apportioned"
        whole.source += f"; the interval is what {grid} leave open at the ends of tasks"
    return whole
