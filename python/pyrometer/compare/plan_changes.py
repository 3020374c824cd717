"""SQL executions whose plans are not the same on both sides: nodes that were added, lost, changed.

Executions are matched by what they are called and their order, nodes by what they do, without the
numbers of columns and of code generation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pyrometer.accounts.plan_schema import Node, Sql
from pyrometer.compare.cause_schema import NodeChange, PlanChange
from pyrometer.compare.matching import matched
from pyrometer.compare.sides import Side
from pyrometer.core.redaction import redacted

MOST_NODES = 20
# Numbers of columns, of stages of code generation, of plans; where data lie; the adaptive plan's.
_VARYING = (
    (re.compile(r"#\d+L?"), ""),
    (re.compile(r"\[(?:plan_id|id)=#?\d*\]|plan_id=\d+"), ""),
    (re.compile(r"\(\d+\) "), ""),
    (re.compile(r"\b(?:x|_gen_alias_|pythonUDF)\d+\b"), ""),
    (re.compile(r"(Location: \w+)(?:\(\d+ paths\))?\[[^\]]*\]?"), r"\1"),
    (re.compile(r"\s+"), " "),
)
_WRAPPERS = ("AdaptiveSparkPlan", "WholeStageCodegen", "InputAdapter", "ResultQueryStage")
_LONGEST = 400


def plan_changes(a: Side, b: Side) -> list[PlanChange]:
    """Compare the plans of the first runs of both sides; those with most time at stake first."""
    ours, theirs = (_executions(side) for side in (a, b))
    found = []
    for x, y in matched(ours, theirs, _shape, lambda one: one.description):
        one, other = (None if x is None else ours[x]), (None if y is None else theirs[y])
        change = PlanChange(
            description=(one or other).description,  # type: ignore[union-attr]
            a_sql_id=one.sql_id if one else None,
            b_sql_id=other.sql_id if other else None,
            a_s=_seconds(one), b_s=_seconds(other),
        )  # fmt: skip
        if one is not None and other is not None:
            nodes = list(_nodes(one, other))
            if not nodes:
                continue
            change.nodes, change.nodes_count = nodes[:MOST_NODES], len(nodes)
        found.append(change)
    return sorted(found, key=lambda one: -abs((one.b_s or 0.0) - (one.a_s or 0.0)))


def _executions(side: Side) -> list[Sql]:
    """Those of the first run, and there of the first iteration that counts."""
    summary = side.summaries[0]
    wanted = summary.window.iterations[:1]
    return [one for one in summary.sql if not wanted or one.iteration in (None, *wanted)]


def _shape(one: Sql) -> tuple[str | None, tuple[str, ...]]:
    return one.description, tuple(node.name for node in one.nodes)


def _seconds(one: Sql | None) -> float | None:
    return None if one is None or one.duration_ns is None else one.duration_ns / 1e9


def _nodes(a: Sql, b: Sql) -> Iterator[NodeChange]:
    ours, theirs = (_worth(one.nodes) for one in (a, b))
    pairs = matched(ours, theirs, plain, lambda one: one.name.strip(), _kind)
    for x, y in pairs:
        one, other = (None if x is None else ours[x]), (None if y is None else theirs[y])
        if one is not None and other is not None and plain(one) == plain(other):
            continue
        yield NodeChange(
            operator=(other or one).name.strip(),  # type: ignore[union-attr]
            a=None if one is None else redacted(plain(one)),
            b=None if other is None else redacted(plain(other)),
        )


def _worth(nodes: Sequence[Node]) -> list[Node]:
    return [one for one in nodes if not one.name.startswith(_WRAPPERS)]


def _kind(node: Node) -> str:
    """Match joins with joins, scans with scans."""
    for kind in ("Join", "Scan", "Aggregate", "Exchange", "Sort", "Python", "Window"):
        if kind in node.name:
            return kind
    return node.name


def plain(node: Node) -> str:
    """Say what a node does, without what differs each time."""
    text = node.simple_string or node.name
    for pattern, into in _VARYING:
        text = pattern.sub(into, text)
    return text.strip()[:_LONGEST]
