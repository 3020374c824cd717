"""Scans of a window: plan nodes that read files, their metrics and their stages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyrometer.accounts.schema import Node, Sql
from pyrometer.explain.facts import Facts

_BETWEEN = ("ColumnarToRow", "InputAdapter", "WholeStageCodegen", "Project")


@dataclass(frozen=True)
class Scan:
    """A node that reads files, in the stages in which it ran."""

    sql: Sql
    node: Node
    stages: tuple[int, ...]

    @property
    def text(self) -> str:
        """Its line in the plan."""
        return self.node.simple_string or self.node.name

    @property
    def is_text(self) -> bool:
        """Whether it parses CSV, JSON or XML."""
        return re.search(r"\b(csv|json|xml)\b", self.node.name.lower()) is not None

    @property
    def place(self) -> dict[str, Any]:
        """What `Place` takes of it."""
        return {"sql_id": self.sql.sql_id, "node_id": self.node.node_id, "operator": self.node.name}

    @property
    def link(self) -> str:
        """Fragment of the page that shows it."""
        return f"/sql/{self.sql.sql_id}/{self.node.node_id}"

    def metric(self, name: str) -> int | None:
        """Give the sum of a metric."""
        return metric(self.node, name)

    def list_of(self, name: str) -> str | None:
        """Give what stands in brackets after a name, such as ``PushedFilters``; None: not there."""
        found = re.search(rf"{name}: \[(.*?)\](?:, \w|$)", self.text)
        return None if found is None else found[1]

    def query(self, name: str) -> str:
        """Give SQL for one of its metrics."""
        return (
            f"SELECT sum(value_sum) FROM node_metrics WHERE sql_id = {self.sql.sql_id}"
            f" AND node_id = {self.node.node_id} AND metric = '{name}'"
        )


def metric(node: Node, name: str) -> int | None:
    """Give the sum of a metric of a node."""
    found = [one.value_sum for one in node.metrics if one.metric == name and one.value_sum]
    return sum(found) if found else None


def scans(facts: Facts) -> Iterator[Scan]:
    """Give the scans of the application's queries."""
    app = facts.measured.app_index if facts.measured else None
    for sql in facts.summary.sql:
        if sql.app_index != app:
            continue
        for node in sql.nodes:
            if "Scan " in node.name and "InMemory" not in node.name:
                numbers = _stages(facts, sql, node)
                if numbers:
                    yield Scan(sql, node, tuple(numbers))


def filter_above(scan: Scan) -> Node | None:
    """Give the filter that takes the scan's rows, with nothing but conversions between."""
    nodes = {node.node_id: node for node in scan.sql.nodes}
    at = scan.node
    while at.parent_node_id is not None and at.parent_node_id in nodes:
        at = nodes[at.parent_node_id]
        if at.name == "Filter":
            return at
        if not at.name.startswith(_BETWEEN):
            return None
    return None


def _stages(facts: Facts, sql: Sql, node: Node) -> list[int]:
    """Give stages of the node, or of the nearest node around it that knows its own."""
    nodes = {one.node_id: one for one in sql.nodes}
    at: Node | None = node
    while at is not None:
        found = facts.stages_of(at, sql)
        if found:
            return found
        if at.name.startswith(("Exchange", "BroadcastExchange")):
            return []
        at = None if at.parent_node_id is None else nodes.get(at.parent_node_id)
    return []
