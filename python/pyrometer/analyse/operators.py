"""CPU of tasks by operator, category and converted expression, from profiler samples.

A share of samples splits the task CPU of the window, which is known exactly; nothing is rescaled.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from pyrometer.analyse.model import Category, Expression, Operator, Unmapped
from pyrometer.analyse.plan_match import (
    CLUSTER,
    Evidence,
    PlanNode,
    attribute,
    cluster_id,
    column_types,
    conversions,
    fused,
)
from pyrometer.analyse.scope import Scope
from pyrometer.analyse.shares import part_of

CONVERSION = "cast"
UNCLASSIFIED = "unclassified"
# What no rule of schema/categories.toml names is not a kind of work of its own.
CATEGORY = f"coalesce(nullif(category, 'other'), '{UNCLASSIFIED}')"


@dataclass(frozen=True)
class _Place:
    app_index: int | None
    sql_id: int | None
    operator: str
    node_id: int | None


@dataclass
class _Bucket:
    on_cpu: int = 0
    off_cpu: int = 0
    stage_ids: set[int] = field(default_factory=set)
    by_category: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    nodes: list[PlanNode] = field(default_factory=list)
    types: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Attribution:
    """Samples of task threads by operator: the accounts below are shares of these."""

    buckets: dict[_Place, _Bucket]
    total: int
    unmapped: dict[str, int]

    def by_category(self) -> dict[str, dict[str | None, int]]:
        """CPU samples by category and, within it, by operator (``None``: no stack names one)."""
        found: dict[str, dict[str | None, int]] = defaultdict(lambda: defaultdict(int))
        for place, bucket in self.buckets.items():
            for category, n in bucket.by_category.items():
                found[category][place.operator] += n
        for category, n in self.unmapped.items():
            found[category][None] += n
        return found


def operators(scope: Scope) -> tuple[list[Operator], Unmapped]:
    """CPU and sleeping time by operator, largest first, and the share that names none."""
    parent = scope.task_cpu_ns
    seen = attribution(scope)
    span = scope.tables.scalar("SELECT sum(end_ns - start_ns)::BIGINT FROM w_spans")
    walls = scope.tables.scalar(
        "SELECT sum(hits)::BIGINT FROM w_samples WHERE event = 'wall' AND role = 'task'"
        " AND task_attempt_id IS NOT NULL"
    )
    made = []
    for place, bucket in seen.buckets.items():
        asleep = round(span * bucket.off_cpu / walls) if span is not None and walls else None
        made.append(_operator(place, bucket, parent, seen.total, asleep))
    made.sort(key=lambda o: (-(o.on_cpu_ns or 0), -o.samples_count, o.operator, o.node_id or -1))
    if not seen.total:
        return made, Unmapped()
    ratio = sum(seen.unmapped.values()) / seen.total
    return made, Unmapped(on_cpu_ns=None if parent is None else round(ratio * parent), ratio=ratio)


def categories(scope: Scope) -> list[Category]:
    """Split task CPU by what it did, largest first."""
    seen = attribution(scope)
    counts = {name: sum(parts.values()) for name, parts in seen.by_category().items()}
    parent = scope.task_cpu_ns
    return [
        Category(
            category=name,
            on_cpu_ns=None if parent is None else round(parent * hits / seen.total),
            estimate=None if parent is None else part_of(parent, hits, seen.total),
            share=hits / seen.total,
        )
        for name, hits in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        if hits
    ]


def across_executions(operators: Iterable[Operator]) -> list[Operator]:
    """Add up the same operator at the same node over SQL executions, as iterations repeat them.

    Intervals are not added up; ``on_cpu`` is left out where more than one was.
    """
    groups: dict[tuple[int | None, str, int | None], list[Operator]] = defaultdict(list)
    for operator in operators:
        groups[(operator.app_index, operator.operator, operator.node_id)].append(operator)
    made = [_added(parts) if len(parts) > 1 else parts[0] for parts in groups.values()]
    return sorted(made, key=lambda o: -(o.on_cpu_ns or 0))


def _added(parts: list[Operator]) -> Operator:
    cpu = sum(o.on_cpu_ns or 0 for o in parts)
    times: dict[str, int] = defaultdict(int)
    for part in parts:
        for e in part.expressions:
            times[unnumbered(e.expression)] += e.on_cpu_ns
    return parts[0].model_copy(
        update={
            "sql_id": None,
            "on_cpu_ns": cpu,
            "on_cpu": None,
            "samples_count": sum(o.samples_count for o in parts),
            "share_of_task_cpu": sum(o.share_of_task_cpu or 0 for o in parts),
            "expressions": [
                Expression(expression=text, on_cpu_ns=ns, share=ns / cpu if cpu else 0)
                for text, ns in times.items()
            ],
        }
    )


def unnumbered(expression: str) -> str:
    """Leave out the numbers that tell columns of one plan apart.

    Examples
    --------
    >>> unnumbered("cast(lo#2 as bigint), cast(hi#33L as bigint)")
    'cast(lo as bigint), cast(hi as bigint)'
    """
    head, *rest = expression.split("#")
    return head + "".join(part.lstrip("0123456789").removeprefix("L") for part in rest)


def attribution(scope: Scope) -> Attribution:
    """Give every sample of task threads its operator; made once for a scope."""
    if "attribution" not in scope.kept:
        scope.kept["attribution"] = _attribution(scope)
    found: Attribution = scope.kept["attribution"]
    return found


def _attribution(scope: Scope) -> Attribution:
    plans = _plans(scope)
    types = {
        key: column_types(n.simple_string for n in nodes if "ReadSchema" in n.simple_string)
        for key, nodes in plans.items()
    }
    buckets: dict[_Place, _Bucket] = defaultdict(_Bucket)
    unmapped: dict[str, int] = defaultdict(int)
    total = 0
    for row in scope.tables.query(
        "SELECT app_index, sql_id, stage_id, codegen_stage_id, operator, node_id, method,"
        f" {CATEGORY} AS category,"
        " coalesce(sum(hits) FILTER (event = 'cpu'), 0)::BIGINT AS on_cpu,"
        " coalesce(sum(hits) FILTER (event = 'wall' AND state = 'sleeping'"
        "  AND task_attempt_id IS NOT NULL), 0)::BIGINT AS off_cpu"
        " FROM w_samples WHERE role = 'task' GROUP BY ALL ORDER BY ALL"
    ):
        app, sql_id, stage, codegen, operator, node_id, method, category, on_cpu, off_cpu = row
        total += on_cpu
        if operator is None and codegen is None and node_id is None:
            unmapped[category] += on_cpu
            continue
        nodes = plans.get((app, sql_id), ())
        kinds = types.get((app, sql_id), {})
        node = next((n for n in nodes if n.node_id == node_id), None)
        evidence = Evidence(operator, stage, codegen, method, category == CONVERSION)
        node = node or attribute(nodes, evidence, kinds)
        name = node.operator if node else operator or CLUSTER
        bucket = buckets[_Place(app, sql_id, name, node.node_id if node else None)]
        bucket.on_cpu += on_cpu
        bucket.off_cpu += off_cpu
        bucket.by_category[category] += on_cpu
        bucket.types = kinds
        if node is not None:
            is_cluster = cluster_id(node.name) is not None
            bucket.nodes = fused(nodes, node) if is_cluster else [node]
        if stage is not None:
            bucket.stage_ids.add(stage)
    return Attribution(dict(buckets), total, dict(unmapped))


def _plans(scope: Scope) -> dict[tuple[int | None, int], tuple[PlanNode, ...]]:
    rows = scope.tables.query(
        """
        SELECT n.app_index, n.sql_id, n.node_id, n.name, n.codegen_stage_id, n.simple_string,
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
    plans: dict[tuple[int | None, int], list[PlanNode]] = defaultdict(list)
    for app, sql_id, node_id, name, codegen, text, stage_ids in rows:
        number = cluster_id(name)
        cluster = codegen if number is None else number
        node = PlanNode(node_id, name.strip(), cluster, text or "", frozenset(stage_ids or ()))
        plans[(app, sql_id)].append(node)
    return {key: tuple(nodes) for key, nodes in plans.items()}


def _operator(
    place: _Place, bucket: _Bucket, parent: int | None, total: int, asleep_ns: int | None
) -> Operator:
    time = part_of(parent, bucket.on_cpu, total) if parent is not None and total else None
    return Operator(
        app_index=place.app_index,
        operator=place.operator,
        node_id=place.node_id,
        sql_id=place.sql_id,
        fused=[n.operator for n in bucket.nodes] if place.operator == CLUSTER else [],
        stage_ids=sorted(bucket.stage_ids),
        on_cpu_ns=round(time.value) if time and time.value is not None else None,
        off_cpu_ns=asleep_ns,
        on_cpu=time,
        samples_count=bucket.on_cpu,
        share_of_task_cpu=bucket.on_cpu / total if total else None,
        expressions=list(_expressions(bucket, parent, total)),
    )


def _expressions(bucket: _Bucket, parent: int | None, total: int) -> Iterator[Expression]:
    """Conversions of one node. Samples do not yet tell several apart: they stand together."""
    hits = bucket.by_category.get(CONVERSION, 0)
    if not hits or parent is None:
        return
    texts = [c for n in bucket.nodes for c in conversions(n.simple_string, bucket.types)]
    yield Expression(
        expression=", ".join(dict.fromkeys(texts)) or "a conversion that the plan does not show",
        on_cpu_ns=round(parent * hits / total),
        share=hits / bucket.on_cpu,
    )
