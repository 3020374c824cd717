"""Scans of data sources with the filters right above them: conditions, and rows they drop."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from pyrometer.accounts.plan_schema import Node
from pyrometer.explain.evidence.plan_nodes import SHELLS, TEXTS, Plan, metric, unnumbered
from pyrometer.explain.evidence.saying import place, shown_by
from pyrometer.explain.evidence.scans.scan_metadata import uncut
from pyrometer.explain.evidence.scans.scan_text import (
    COLUMN,
    NULL_CHECK,
    Listed,
    columns_of,
    output,
    parts,
    read_columns,
)
from pyrometer.explain.facts import Facts
from pyrometer.explain.schema import Evidence, Place

_PYTHON = re.compile(r"^(BatchEvalPython|ArrowEvalPython)$")
_PASS = re.compile(r"^(InputAdapter|WholeStageCodegen|Project|ColumnarToRow)\b")
_TO_JOIN = re.compile(rf"^(?:{SHELLS}|Project|Filter|Sort|Exchange)\b")
_KEYS = re.compile(r"\w+Join \[(.*?)\], \[(.*?)\], (?:Inner|LeftSemi)\b")
_PUSHED_AS_IS = {"isnotnull", "isnull", "StartsWith", "EndsWith", "Contains"}
"""Functions that a source understands."""
_ARITHMETIC = re.compile(r"#\d+L? [-+*/%&|^] |[-+*/%&|^] [^\s()]+#\d+")


@dataclass(frozen=True)
class Filtered:
    """A scan, and the conditions that its rows meet right above it.

    Attributes
    ----------
    conditions : sequence of str
        Parts that must all hold, those of Python functions in their words; null checks left out.
    rows_in, rows_out : int
        Rows of the scan, and of the last filter.
    """

    scan: Node
    top: Node
    conditions: Sequence[str]
    rows_in: int
    rows_out: int
    columns: Listed = field(default_factory=lambda: Listed(()))

    @property
    def dropped(self) -> float:
        """Share of the scan's rows that the filters drop."""
        return max(0.0, 1 - self.rows_out / self.rows_in) if self.rows_in else 0.0


def conjuncts(text: str) -> list[str]:
    """Split a condition into parts that must all hold.

    Examples
    --------
    >>> conjuncts("(isnotnull(a#1) AND (a#1 = 3))")
    ['isnotnull(a#1)', '(a#1 = 3)']
    """
    return list(_conjuncts(text))


@lru_cache(TEXTS)
def _conjuncts(text: str) -> tuple[str, ...]:
    inner = text[1:-1] if text.startswith("(") and text.endswith(")") else text
    found = parts(inner, " AND ")
    if len(found) < 2:
        return (text,)
    return tuple(each for one in found for each in _conjuncts(one))


def is_wrapped(condition: str) -> bool:
    """Whether a condition computes something of its columns, rather than compares them.

    Examples
    --------
    >>> is_wrapped("(cast(a#1 as int) = 3)"), is_wrapped("(a#1 = 3)")
    (True, False)
    """
    if _ARITHMETIC.search(condition):
        return True
    for found in COLUMN.finditer(condition):
        depth = 0
        for at in range(found.start() - 1, -1, -1):
            if condition[at] == ")":
                depth += 1
            elif condition[at] == "(" and depth:
                depth -= 1
            elif condition[at] == "(":
                name = re.search(r"[\w>]+$", condition[:at])  # of Python also <lambda>
                if name and name[0] not in _PUSHED_AS_IS:
                    return True
    return False


def filtered_scans(facts: Facts, plan: Plan) -> Iterator[Filtered]:
    """Give the scans of a plan that lie right under filters, with rows counted."""
    for scan in plan.sql.nodes:
        rows = metric(scan, "number of output rows")
        if rows and "PushedFilters: " in (scan.simple_string or ""):
            found = _filters(plan, uncut(facts, plan, scan), rows)
            if found is not None:
                yield found


def joined_scans(facts: Facts, plan: Plan) -> Iterator[Filtered]:
    """Give scans whose rows a join drops by keys, which stand as the conditions."""
    for each in plan.sql.nodes:
        rows = metric(each, "number of output rows")
        if not rows or "PartitionFilters: " not in (each.simple_string or ""):
            continue
        scan = uncut(facts, plan, each)
        join = _parent(plan, scan)
        while join is not None and _TO_JOIN.match(join.name):
            join = _parent(plan, join)
        keys = None if join is None else _KEYS.match(join.simple_string or "")
        out = None if join is None else metric(join, "number of output rows")
        if join is None or keys is None or out is None:
            continue
        columns = output(scan)
        mine = [
            key for side in (keys[1], keys[2]) for key in parts(side, ",")
            if columns_of(key) & set(columns.items)
        ]  # fmt: skip
        yield Filtered(scan, join, mine, rows, out, columns)


def partition_columns(one: Filtered) -> set[str]:
    """Give the columns of a scan that are not in its files; none where its text is cut."""
    read = read_columns(one.scan)
    if read is None or read.cut or one.columns.cut:
        return set()
    names = {item.partition(":")[0].lower() for item in read.items}
    return {item for item in one.columns.items if item.partition("#")[0].lower() not in names}


def _filters(plan: Plan, scan: Node, rows: int) -> Filtered | None:
    conditions: list[str] = []
    functions: dict[str, str] = {}
    top, node = None, _parent(plan, scan)
    while node is not None:
        text = node.simple_string or ""
        if node.name == "Filter":
            top = node
            conditions += conjuncts(text.removeprefix("Filter").strip())
        elif _PYTHON.match(node.name):
            functions |= _python(text)
        elif not _PASS.match(node.name):
            break
        node = _parent(plan, node)
    if top is None:
        return None
    for name, function in functions.items():
        conditions = [one.replace(name, function) for one in conditions]
    return Filtered(
        scan, top, [one for one in conditions if not NULL_CHECK.match(one)], rows,
        # Spark logs no metric that stayed zero.
        metric(top, "number of output rows") or 0, output(scan),
    )  # fmt: skip


def _parent(plan: Plan, node: Node) -> Node | None:
    return None if node.parent_node_id is None else plan.by_id.get(node.parent_node_id)


def _python(text: str) -> dict[str, str]:
    """Give Python functions by the column that holds what they return."""
    found = re.match(r"\w+ \[(.*?)\], \[(.*?)\]", text)
    if found is None:
        return {}
    names = [one for one in parts(found[2], ",") if one.startswith("pythonUDF")]
    calls = [re.sub(r"\)#\d+L?$", ")", one) for one in parts(found[1], ",")]
    return dict(zip(names, calls, strict=False))


@dataclass(frozen=True)
class Scanned:
    """Time of the tasks that ran a filtered scan, in nanoseconds by number of the stage.

    Attributes
    ----------
    scan_ns : float or None
        Their time in the scan itself, where its format counts that.
    """

    by_stage: Mapping[int, float]
    tasks_count: int
    scan_ns: float | None

    @property
    def whole_ns(self) -> float:
        """Time of all of them."""
        return sum(self.by_stage.values())

    @property
    def scan_share(self) -> float | None:
        """Share of it in the scan itself."""
        return None if self.scan_ns is None else min(1.0, self.scan_ns / self.whole_ns)


def scanned(facts: Facts, plan: Plan, one: Filtered) -> Scanned | None:
    """Give the time of the tasks of a scan; None where it, or what the filter drops, is nothing."""
    numbers = facts.stages_of(one.scan, plan.sql)
    ran = {n: float(facts.tasks_of(n).duration_ns.sum()) for n in numbers}
    scan_ms = metric(one.scan, "scan time")
    found = Scanned(
        ran, sum(facts.tasks_of(n).count for n in numbers), scan_ms * 1e6 if scan_ms else None
    )
    return found if found.whole_ns > 0 and one.dropped > 0 else None


def place_of_scan(facts: Facts, plan: Plan, one: Filtered, time: Scanned, shown: str) -> Place:
    """Name the scan and the condition."""
    lost = {n: one.dropped * ns for n, ns in time.by_stage.items()}
    return place(facts, "data", lost, sql_id=plan.sql.sql_id, node_id=one.scan.node_id,
                 operator=one.scan.name.strip(), expression=shown)  # fmt: skip


def rows_and_time(plan: Plan, one: Filtered, time: Scanned) -> list[Evidence]:
    """Give the rows before and after the filter, and the time of the scan."""
    link = f"/sql/{plan.sql.sql_id}/{one.scan.node_id}"
    metrics = "show --json: sql[].nodes[].metrics"
    of_scan = time.scan_ns is not None
    return [
        shown_by("rows read", float(one.rows_in), "count", "node_metrics", metrics, link),
        shown_by("rows that the filter left", float(one.rows_out), "count", "node_metrics",
                 metrics, f"/sql/{plan.sql.sql_id}/{one.top.node_id}"),
        shown_by("time of the scan" if of_scan else "time of its tasks",
                 time.whole_ns if time.scan_ns is None else time.scan_ns, "ns",
                 "node_metrics" if of_scan else "tasks", metrics, link),
    ]  # fmt: skip


def in_words(conditions: Sequence[str]) -> str:
    """Give conditions as a reader wants them: without numbers of columns."""
    return unnumbered(" AND ".join(conditions))
