"""SQL executions with their plans: nodes, their metrics, and rows that multiply.

A long application has a hundred thousand metrics of nodes: nodes and metrics are dataclasses with
slots, a fifth of the memory of models.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from pydantic import Field

from pyrometer.core.model import Model


@dataclass(slots=True, kw_only=True)
class NodeMetric:
    """One metric of a plan node, over all attempts that updated it."""

    metric: str
    metric_type: str | None = None
    value_sum: int | None = None
    value_min: int | None = None
    value_max: int | None = None


@dataclass(slots=True, kw_only=True)
class Node:
    """One node of the final plan; ``node_id`` is its pre-order index.

    ``python_cpu_ns`` is the CPU of the Python workers that it drove, beside ``on_cpu_ns`` of the
    JVM's threads.
    """

    node_id: int
    parent_node_id: int | None = None
    depth: int
    name: str
    simple_string: str | None = None
    codegen_stage_id: int | None = None
    on_cpu_ns: int | None = None
    python_cpu_ns: int | None = None
    off_cpu_ns: int | None = None
    samples_count: int | None = None
    stage_ids: list[int] = field(default_factory=list)
    metrics: list[NodeMetric] = field(default_factory=list)


class Explosion(Model):
    """An operator whose output has many times the rows of its input.

    Attributes
    ----------
    factor : float
        Output rows over input rows, all inputs together.
    """

    node_id: int
    name: str
    rows_in_count: int
    rows_out_count: int
    factor: float
    stage_ids: list[int] = Field(default_factory=list)


class Sql(Model):
    """One SQL execution with its final plan."""

    app_index: int
    sql_id: int
    description: str | None = None
    iteration: int | None = None
    start_wall_ns: int | None = None
    end_wall_ns: int | None = None
    duration_ns: int | None = None
    error: str | None = None
    plan_versions_count: int
    nodes: list[Node] = Field(default_factory=list)
    explosions: list[Explosion] = Field(default_factory=list)


def share_texts(queries: Iterable[Sql]) -> None:
    """Hold texts of nodes once that are the same: plans of a loop are alike."""
    texts: dict[str, str] = {}
    for query in queries:
        for node in query.nodes:
            if node.simple_string is not None:
                node.simple_string = texts.setdefault(node.simple_string, node.simple_string)
