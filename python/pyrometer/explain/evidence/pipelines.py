"""Parts of a plan between exchanges: nodes that run in the same tasks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from pyrometer.accounts.plan_schema import Node
from pyrometer.explain.evidence.plan_nodes import CACHE, Plan

_BOUNDARY = re.compile(rf"^(?:\w*Exchange|\w*QueryStage|{CACHE})\b")


@dataclass
class Pipeline:
    """Nodes that run in the same tasks, in pre-order, and the stages that any of them reports."""

    nodes: list[Node] = field(default_factory=list)
    stage_ids: set[int] = field(default_factory=set)


def pipelines(plan: Plan) -> Iterator[Pipeline]:
    """Give the parts of a plan that ran: many nodes report no stage, but one beside them does."""
    found: dict[int, Pipeline] = {}
    part_of: dict[int, int] = {}
    for node in plan.sql.nodes:  # in pre-order
        above = plan.by_id.get(-1 if node.parent_node_id is None else node.parent_node_id)
        is_boundary = _BOUNDARY.match(node.name)
        alone = above is None or is_boundary or _BOUNDARY.match(above.name)
        part = node.node_id if above is None or alone else part_of[above.node_id]
        part_of[node.node_id] = part
        if not is_boundary:
            one = found.setdefault(part, Pipeline())
            one.nodes.append(node)
            one.stage_ids.update(node.stage_ids)
    yield from (one for one in found.values() if one.stage_ids)
