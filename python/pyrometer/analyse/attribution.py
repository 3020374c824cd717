"""Every sample of task threads to the node of the plan that it ran for, and how that was told.

``line``: the line of generated code, whose source says what it is for. ``method``: a generated
method's name (source or line are missing, or several sources fit). ``frames``: a class that only
one operator calls.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from pyrometer.analyse.model import By
from pyrometer.analyse.places import define_task_samples
from pyrometer.analyse.plan_match import Evidence, PlanNode
from pyrometer.analyse.scope import Scope
from pyrometer.analyse.sourced_plan import NO_PLAN, plans

CONVERSION = "cast"
UNCLASSIFIED = "unclassified"
# What no rule of schema/categories.toml names is not a kind of work of its own.
CATEGORY = f"coalesce(nullif(category, 'other'), '{UNCLASSIFIED}')"


@dataclass(frozen=True)
class Owner:
    """What samples are added up by."""

    app_index: int | None
    sql_id: int | None
    operator: str
    node_id: int | None


@dataclass
class Bucket:
    """Samples of one owner; ``by_expression`` holds those whose line tells the expression."""

    on_cpu: int = 0
    off_cpu: int = 0
    stage_ids: set[int] = field(default_factory=set)
    by_category: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    by_source: dict[By, int] = field(default_factory=lambda: defaultdict(int))
    by_expression: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    converting: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    nodes: list[PlanNode] = field(default_factory=list)
    types: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Attribution:
    """Samples of task threads by owner: all accounts of operators are shares of these."""

    buckets: dict[Owner, Bucket]
    total: int
    unmapped: dict[str, int]

    def by_category(self) -> dict[str, dict[str | None, int]]:
        """CPU samples by category and, within it, by operator (``None``: no stack names one)."""
        found: dict[str, dict[str | None, int]] = defaultdict(lambda: defaultdict(int))
        for owner, bucket in self.buckets.items():
            for category, n in bucket.by_category.items():
                found[category][owner.operator] += n
        for category, n in self.unmapped.items():
            found[category][None] += n
        return found


def attribution(scope: Scope) -> Attribution:
    """Give every sample of task threads its operator; made once for a scope."""
    if "attribution" not in scope.kept:
        scope.kept["attribution"] = _attribution(scope)
    found: Attribution = scope.kept["attribution"]
    return found


def _attribution(scope: Scope) -> Attribution:
    known = plans(scope)
    define_task_samples(scope)
    buckets: dict[Owner, Bucket] = defaultdict(Bucket)
    unmapped: dict[str, int] = defaultdict(int)
    total = 0
    for row in scope.tables.query(
        "SELECT app_index, sql_id, stage_id, codegen_stage_id, operator, node_id, method, line,"
        f" {CATEGORY} AS category,"
        " coalesce(sum(hits) FILTER (event = 'cpu'), 0)::BIGINT AS on_cpu,"
        " coalesce(sum(hits) FILTER (event = 'wall' AND state = 'sleeping'"
        "  AND task_attempt_id IS NOT NULL), 0)::BIGINT AS off_cpu"
        " FROM task_samples GROUP BY ALL ORDER BY ALL"
    ):
        app, sql_id, stage, codegen, operator, node_id, method, line, category, on_cpu, off_cpu = (
            row
        )
        total += on_cpu
        if operator is None and codegen is None and node_id is None:
            unmapped[category] += on_cpu
            continue
        plan = known.get((app, sql_id), NO_PLAN)
        evidence = Evidence(operator, stage, codegen, method, category == CONVERSION)
        told = plan.told(evidence, line, node_id)
        node = told.node
        bucket = buckets[Owner(app, sql_id, told.operator, node.node_id if node else None)]
        bucket.on_cpu += on_cpu
        bucket.off_cpu += off_cpu
        bucket.by_category[category] += on_cpu
        bucket.by_source[told.by] += on_cpu
        bucket.types = plan.types
        if told.expression is not None:
            bucket.by_expression[told.expression] += on_cpu
            if evidence.converts:
                bucket.converting[told.expression] += on_cpu
        if node is not None:
            bucket.nodes = plan.of(node)
        if stage is not None:
            bucket.stage_ids.add(stage)
    return Attribution(dict(buckets), total, dict(unmapped))
