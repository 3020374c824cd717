"""What nodes of a plan cost their stages: CPU by samples, else by the times that metrics hold."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from pyrometer.accounts.plan_schema import Node
from pyrometer.explain.change import Change
from pyrometer.explain.evidence.plan_nodes import Plan, metric
from pyrometer.explain.evidence.stack_shares import of_nodes
from pyrometer.explain.facts import Facts
from pyrometer.explain.what_if import Extent


@dataclass(frozen=True)
class Cost:
    """What nodes cost.

    Attributes
    ----------
    change : tuple of Edit
        Their cost taken away.
    lost : mapping of int to float
        Nanoseconds by number of the stage.
    extent : Extent
        How much of it is sure.
    """

    change: Change
    lost: Mapping[int, float]
    extent: Extent

    @property
    def ns(self) -> float:
        """What they cost in all stages together."""
        return sum(self.lost.values())


def cpu_of_nodes(facts: Facts, plan: Plan, label: str, node_ids: Collection[int]) -> Cost | None:
    """Give the sampled CPU of nodes; None where they have no samples."""
    if not facts.has("samples"):
        return None
    found = of_nodes(facts, plan.sql.sql_id, node_ids)
    if not found.found:
        return None
    lost = {n: share * facts.cpu_ns.get(n, 0.0) for n, share in found.by_stage.items()}
    return Cost((facts.less_cpu(label, found.by_stage),), lost, found.extent())


def stages_of_nodes(facts: Facts, label: str, nodes: Collection[Node]) -> Cost | None:
    """Give all the CPU of the stages that nodes ran in, where no samples say which part is theirs.

    With samples it is None: what has none of them has cost nothing.
    """
    numbers = {n for node in nodes for n in map(facts.number, node.stage_ids) if n is not None}
    if facts.has("samples") or not numbers:
        return None
    lost = {n: facts.cpu_ns.get(n, 0.0) for n in numbers}
    return Cost((facts.less_cpu(label, dict.fromkeys(numbers, 1.0)),), lost, Extent(n=1))


def cost_of_rows(
    facts: Facts, plan: Plan, label: str, node: Node, node_ids: Collection[int]
) -> tuple[Cost, bool] | None:
    """Give the CPU of the nodes that work on a node's rows, and whether samples say so.

    Without samples it is all the CPU of the stages that the node ran in.
    """
    cost = cpu_of_nodes(facts, plan, label, node_ids)
    if cost is not None:
        return cost, True
    cost = stages_of_nodes(facts, label, [node])
    return None if cost is None else (cost, False)


def metric_times(facts: Facts, label: str, nodes: Collection[Node]) -> Cost | None:
    """Give the times that the metrics of exchanges and sorts hold: write, fetch wait and sort."""
    lost: dict[int, float] = {}
    for node in nodes:
        numbers = [n for n in map(facts.number, node.stage_ids) if n is not None]
        writers = [n for n in numbers if facts.tasks_of(n).total("shuffle_written_bytes") > 0]
        written = float(metric(node, "shuffle write time") or 0)
        others = ((metric(node, "sort time") or 0) + (metric(node, "fetch wait time") or 0)) * 1e6
        for ns, where in ((written, writers or numbers), (others, numbers)):
            for number in where:
                lost[number] = lost.get(number, 0.0) + ns / len(where)
    lost = {number: ns for number, ns in lost.items() if ns > 0}
    if not lost:
        return None
    return Cost((facts.share_of_tasks(label, lost),), lost, Extent(n=1))


def writes_rows(plan: Plan, exchange: Node) -> list[int]:
    """Give the number of the generated code that writes rows for an exchange; none without it.

    Operators of one piece of generated code hand on values. Samples that are of the code, and of
    none of its operators, are of the rows that it writes for what lies over it.
    """
    below = plan.children.get(exchange.node_id, [])
    return [one.node_id for one in below if one.name.startswith("WholeStageCodegen")]


def above(plan: Plan, node: Node) -> Iterator[Node]:
    """Give the nodes over one, the nearest first."""
    parent = node.parent_node_id
    while parent is not None and (one := plan.by_id.get(parent)) is not None:
        yield one
        parent = one.parent_node_id
