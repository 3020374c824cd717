"""Summaries with an invented plan: nodes, their metrics, and the CPU of operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyrometer.accounts.plan_schema import Node, NodeMetric, Sql
from pyrometer.attribution.schema import Expression, Operator
from pyrometer.core.estimate import Estimate
from pyrometer.summary.schema import Summary

S = 1_000_000_000


def node(number: int, name: str, parent: int | None, stages: list[int], **metrics: int) -> Node:
    """Give a node of a plan; names of metrics with ``_`` for spaces."""
    return Node(
        node_id=number, parent_node_id=parent, depth=0 if parent is None else parent + 1, name=name,
        simple_string=f"{name} [k#{number}], Inner", stage_ids=stages,
        metrics=[
            NodeMetric(metric=metric.replace("_", " "), value_sum=value)
            for metric, value in metrics.items()
        ],
    )  # fmt: skip


def expression(text: str, seconds: float, share: float, converting: float = 0.0) -> Expression:
    """Give the CPU of an expression, known to a tenth."""
    return Expression(
        expression=text, on_cpu_ns=int(seconds * S), share=share, converting_share=converting,
        samples_count=int(seconds * 100), by="line",
        on_cpu=Estimate(
            value=seconds * S, low=0.9 * seconds * S, high=1.1 * seconds * S, level=0.95,
            n=int(seconds * 100), method="wilson",
        ),
    )  # fmt: skip


def operator(
    name: str, number: int, seconds: float, *expressions: Expression, stages: tuple[int, ...] = (0,)
) -> Operator:
    """Give the CPU of an operator, known to a tenth."""
    return Operator(
        app_index=0, operator=name, node_id=number, sql_id=0, stage_ids=list(stages),
        on_cpu_ns=int(seconds * S), samples_count=int(seconds * 100),
        on_cpu=Estimate(
            value=seconds * S, low=0.9 * seconds * S, high=1.1 * seconds * S, level=0.95,
            n=int(seconds * 100), method="wilson",
        ),
        expressions=list(expressions),
    )  # fmt: skip


def plan(*nodes: Node, operators: tuple[Operator, ...] = ()) -> Callable[[Summary], None]:
    """Give what puts a plan, and CPU of its operators, into a summary."""

    def change(summary: Summary) -> None:
        known: dict[str, Any] = {"app_index": 0, "sql_id": 0, "plan_versions_count": 1}
        summary.sql = [Sql(**known, nodes=list(nodes))]
        summary.operators = list(operators)

    return change
