"""Final plans of sampled executions, with the generated source that their clusters ran."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from pyrometer.attribution.generated import Place, Source, Sources, agreed_line, load, renumbering
from pyrometer.attribution.plan_columns import PlanColumns
from pyrometer.attribution.plan_match import (
    CLUSTER,
    Evidence,
    PlanNode,
    attribute,
    cluster_id,
    column_types,
    fused,
    match,
    plain,
)
from pyrometer.attribution.schema import By
from pyrometer.window.scope import Scope

# Number of the cluster, stage, generated method and line of samples.
Places = set[tuple[int, int | None, str | None, int]]


@dataclass(frozen=True)
class Attributed:
    """Where a sample belongs."""

    node: PlanNode | None
    operator: str
    by: By
    expression: str | None = None


@dataclass(frozen=True)
class Cluster:
    """One code generation cluster of a plan, and the sources that it may have run."""

    node: PlanNode
    members: tuple[PlanNode, ...]
    sources: tuple[Source, ...] = ()

    @property
    def stage_ids(self) -> frozenset[int]:
        """Stages that updated a metric of it."""
        return frozenset().union(*(n.stage_ids for n in (self.node, *self.members)))


class Plan:
    """The final plan of one execution, with the source of its clusters."""

    def __init__(self, nodes: tuple[PlanNode, ...]) -> None:
        self.nodes = nodes
        self.types = column_types(n.simple_string for n in nodes if "ReadSchema" in n.simple_string)
        self._by_id = {n.node_id: n for n in nodes}
        self._clusters: dict[int, list[Cluster]] = defaultdict(list)
        self._columns = PlanColumns(nodes, {})
        self._known: dict[tuple[object, ...], Attributed] = {}

    def sourced(self, sources: Sources, places: Places) -> None:
        """Find the sources of all clusters, given where their code was sampled."""
        for node in self.nodes:
            number = cluster_id(node.name)
            if number is not None:
                self._clusters[number].append(Cluster(node, _members(self.nodes, node, number)))
        seen: dict[int, set[Place]] = defaultdict(set)
        for number, stage, method, line in places:
            cluster = self.cluster(number, stage)
            if cluster is not None:
                seen[cluster.node.node_id].add((method, line))
        texts: dict[int, str] = {}
        for number, clusters in self._clusters.items():
            for at, each in enumerate(clusters):
                found = sources.of(number, each.members, seen[each.node.node_id])
                clusters[at] = replace(each, sources=found)
                if found and not found[0].borrowed:
                    to_plan = renumbering(found[0].nodes, each.members)
                    fuller = (to_plan(text) for text in found[0].nodes)
                    texts.update(zip((n.node_id for n in each.members), fuller, strict=True))
        self._columns = PlanColumns(self.nodes, texts)

    def cluster(self, number: int, stage: int | None) -> Cluster | None:
        """Give the cluster of that number: subqueries and cached plans number theirs again."""
        fits = self._clusters.get(number, [])
        ran = [c for c in fits if stage in c.stage_ids]
        fits = ran if len(fits) > 1 and ran else fits
        return fits[0] if len(fits) == 1 else None

    @property
    def clusters(self) -> list[Cluster]:
        """All clusters of the plan."""
        return [each for same in self._clusters.values() for each in same]

    def attribute(self, evidence: Evidence, line: int | None, node_id: int | None) -> Attributed:
        """Find where samples with the same evidence belong."""
        key = (evidence, line, node_id)
        if key not in self._known:
            node = self._by_id.get(node_id) if node_id is not None else None
            self._known[key] = (
                Attributed(node, node.operator, "frames")
                if node
                else self._by_line(evidence, line) or self._by_rules(evidence)
            )
        return self._known[key]

    def _by_line(self, evidence: Evidence, line: int | None) -> Attributed | None:
        if evidence.codegen_stage_id is None or line is None:
            return None
        cluster = self.cluster(evidence.codegen_stage_id, evidence.stage_id)
        found = agreed_line(cluster.sources, (evidence.method, line)) if cluster else None
        if cluster is None or found is None:
            return None
        if not evidence.is_generated and plain(evidence.operator or "") != plain(found.operator):
            return None
        if found.position is not None:
            node = cluster.members[found.position]
            text = (evidence.converts and found.conversion) or found.expression
            return Attributed(node, node.operator, "line", self._in_plan(cluster, node, text))
        # The loop and the output row belong to the cluster, its input to an InputAdapter.
        members = {n.node_id for n in cluster.members}
        around = [n for n in self.nodes if n.node_id in members or n.parent_node_id in members]
        other = (
            cluster.node
            if found.operator == CLUSTER
            else match(around, found.operator, evidence.stage_id, None)
        )
        return Attributed(other, other.operator if other else found.operator, "line")

    def _in_plan(self, cluster: Cluster, node: PlanNode, expression: str | None) -> str | None:
        """Rewrite an expression of a source with the columns of this plan."""
        if expression is None:
            return None
        to_plan = renumbering(cluster.sources[0].nodes, cluster.members)
        return self._columns.named(to_plan(expression), node)

    def _by_rules(self, evidence: Evidence) -> Attributed:
        node = attribute(self.nodes, evidence, self.types)
        if node is not None and cluster_id(node.name) is not None:
            # A cluster of one operator holds no code of others.
            operators = fused(self.nodes, node)
            node = operators[0] if len(operators) == 1 else node
        by: By = "method" if evidence.is_generated else "frames"
        return Attributed(node, node.operator if node else evidence.operator or CLUSTER, by)

    def of(self, node: PlanNode) -> list[PlanNode]:
        """Give a node, or the operators of a cluster."""
        return fused(self.nodes, node) if cluster_id(node.name) is not None else [node]


NO_PLAN = Plan(())


def plans(scope: Scope) -> dict[tuple[int | None, int | None], Plan]:
    """Give the final plans of the sampled executions; computed once per scope."""
    if "plans" not in scope.kept:
        scope.kept["plans"] = _plans(scope)
    found: dict[tuple[int | None, int | None], Plan] = scope.kept["plans"]
    return found


def _plans(scope: Scope) -> dict[tuple[int | None, int | None], Plan]:
    rows = scope.tables.query(
        """
        SELECT n.app_index, n.sql_id, n.node_id, n.parent_node_id, n.name, n.codegen_stage_id,
          n.simple_string,
          (SELECT list(DISTINCT m.stage_id) FROM node_metrics m
           WHERE m.app_index = n.app_index AND m.sql_id = n.sql_id
             AND m.plan_version = n.plan_version AND m.node_id = n.node_id
             AND m.stage_id IS NOT NULL) AS stage_ids
        FROM plan_nodes n
        SEMI JOIN (SELECT DISTINCT app_index, sql_id FROM w_samples
                   WHERE role = 'task' AND sql_id IS NOT NULL) x
          ON n.app_index = x.app_index AND n.sql_id = x.sql_id
        WHERE n.is_final ORDER BY n.app_index, n.sql_id, n.node_id
        """
    )
    nodes: dict[tuple[int | None, int | None], list[PlanNode]] = defaultdict(list)
    for app, sql_id, node_id, parent, name, codegen, text, stage_ids in rows:
        number = cluster_id(name)
        cluster = codegen if number is None else number
        stages = frozenset(stage_ids or ())
        node = PlanNode(node_id, name.strip(), cluster, text or "", stages, parent)
        nodes[(app, sql_id)].append(node)
    places: dict[tuple[int | None, int | None], Places] = defaultdict(set)
    sources = Sources(())
    if scope.has("codegen_sources"):
        sources = Sources(load(scope.tables))
        for app, sql_id, *place in scope.tables.query(
            "SELECT DISTINCT app_index, sql_id, codegen_stage_id, stage_id, method, line"
            " FROM w_samples"
            " WHERE role = 'task' AND codegen_stage_id IS NOT NULL AND line IS NOT NULL"
        ):
            places[(app, sql_id)].add((place[0], place[1], place[2], place[3]))
    by_execution = {key: Plan(_without_reused(plan)) for key, plan in nodes.items()}
    for key, plan in by_execution.items():
        plan.sourced(sources, places[key])
    return by_execution


def _members(
    nodes: Iterable[PlanNode], cluster: PlanNode, codegen_stage_id: int
) -> tuple[PlanNode, ...]:
    """Operators of one cluster, in pre-order: those joined to it by operators of it."""
    inside = {cluster.node_id}
    found = []
    for node in nodes:
        if (
            node.parent_node_id in inside
            and node.codegen_stage_id == codegen_stage_id
            and cluster_id(node.name) is None
        ):
            inside.add(node.node_id)
            found.append(node)
    return tuple(found)


def _without_reused(nodes: Iterable[PlanNode]) -> tuple[PlanNode, ...]:
    """Leave out what plans repeat below a reused subquery or exchange: it ran elsewhere."""
    reused: set[int] = set()
    kept = []
    for node in nodes:
        if node.parent_node_id in reused:
            reused.add(node.node_id)
            continue
        if node.operator.startswith("Reused"):
            reused.add(node.node_id)
        kept.append(node)
    return tuple(kept)
