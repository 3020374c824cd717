"""CPU of tasks by operator, category and converted expression, from profiler samples.

A share of samples splits the task CPU of the window, which is known exactly; nothing is rescaled.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from pyrometer.analyse.model import Category, Expression, Operator, Unmapped
from pyrometer.analyse.scope import Scope
from pyrometer.analyse.shares import part_of
from pyrometer.estimate import Estimate

CONVERSION = "cast"
UNCLASSIFIED = "unclassified"
# What no rule of schema/categories.toml names is not a kind of work of its own.
CATEGORY = f"coalesce(nullif(category, 'other'), '{UNCLASSIFIED}')"
CLUSTER = "WholeStageCodegen"

# Words in frames whose operators have another name in a plan.
_ALIASES = {
    "filesourcescan": ("scan",),
    "datasourcescan": ("scan",),
    "rowdatasourcescan": ("scan",),
    "batchscan": ("batchscan",),
    "scan": ("scan", "batchscan", "filescan"),
    "shuffleexchange": ("exchange",),
    "shufflewriter": ("exchange",),
    "shufflereader": ("aqeshuffleread", "customshufflereader", "exchange"),
    "exchange": ("exchange",),
    "broadcastexchange": ("broadcastexchange",),
    "sortaggregate": ("sortaggregate",),
    "hashaggregate": ("hashaggregate",),
}


@dataclass(frozen=True)
class PlanNode:
    """One node of a final plan, as far as mapping needs it."""

    node_id: int
    name: str
    codegen_stage_id: int | None
    simple_string: str
    stage_ids: frozenset[int]


@dataclass
class _Bucket:
    on_cpu: int = 0
    off_cpu: int = 0
    stage_ids: set[int] = field(default_factory=set)
    conversions: int = 0
    texts: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Place:
    app_index: int | None
    sql_id: int | None
    operator: str
    node_id: int | None


def plain(name: str) -> str:
    """Give an operator's or node's name for comparing: no suffix, no table, lower case.

    Examples
    --------
    >>> plain("BroadcastNestedLoopJoinExec"), plain("Scan parquet spark_catalog.web_sales")
    ('broadcastnestedloopjoin', 'scan')
    """
    word = name.strip().split(" ")[0] if name.strip() else ""
    return re.sub(r"Exec$", "", word).lower()


def match(
    nodes: Iterable[PlanNode], operator: str | None, stage: int | None, codegen: int | None
) -> PlanNode | None:
    """Find the node that a sample's operator name, stage and code generation cluster point to.

    Parameters
    ----------
    nodes : iterable of PlanNode
        Nodes of the final plan, in pre-order.
    operator, stage, codegen
        What the frames and the task tell; ``None`` where they do not.

    Returns
    -------
    PlanNode or None
        ``None`` where nothing or more than one node fits equally well.
    """
    everything = list(nodes)
    if operator is None and codegen is None:
        return None
    name = plain(operator or CLUSTER)
    wanted = _ALIASES.get(name, (name,))
    fits = [n for n in everything if plain(n.name) in wanted]
    if name == plain(CLUSTER):
        fits = [n for n in fits if n.codegen_stage_id == codegen]
    for narrower in (
        [n for n in fits if codegen is not None and n.codegen_stage_id == codegen],
        [n for n in fits if stage is not None and stage in n.stage_ids],
    ):
        if len(fits) > 1 and narrower:
            fits = narrower
    return fits[0] if len(fits) == 1 else None


def casts(simple_string: str) -> list[str]:
    """Conversions written in a node's text, each once, in order.

    Examples
    --------
    >>> casts("BNLJ (ts#1 >= cast(lo#2 as timestamp)) AND (ts#1 <= cast(f(hi#3) as timestamp))")
    ['cast(lo#2 as timestamp)', 'cast(f(hi#3) as timestamp)']
    """
    found: list[str] = []
    for start in re.finditer(r"\b(?:try_|ansi_)?cast\(", simple_string):
        depth = 0
        for end in range(start.end() - 1, len(simple_string)):
            depth += {"(": 1, ")": -1}.get(simple_string[end], 0)
            if depth == 0:
                found.append(simple_string[start.start() : end + 1])
                break
    return list(dict.fromkeys(found))


def operators(scope: Scope) -> tuple[list[Operator], Unmapped]:
    """CPU and sleeping time by operator, largest first, and the share that names none."""
    parent = scope.task_cpu_ns
    buckets, total, unmapped = _fill(scope)
    span = scope.tables.scalar("SELECT sum(end_ns - start_ns)::BIGINT FROM w_spans")
    walls = scope.tables.scalar(
        "SELECT sum(hits)::BIGINT FROM w_samples WHERE event = 'wall' AND role = 'task'"
        " AND task_attempt_id IS NOT NULL"
    )
    made = [
        _operator(place, bucket, parent, total, span, walls) for place, bucket in buckets.items()
    ]
    made.sort(key=lambda o: (-(o.on_cpu_ns or 0), -o.samples_count, o.operator, o.node_id or -1))
    if not total:
        return made, Unmapped()
    ratio = unmapped / total
    return made, Unmapped(on_cpu_ns=None if parent is None else round(ratio * parent), ratio=ratio)


def categories(scope: Scope) -> list[Category]:
    """Split task CPU by what it did, largest first."""
    rows = scope.tables.query(
        f"SELECT {CATEGORY} AS c, sum(hits)::BIGINT FROM w_samples"
        " WHERE event = 'cpu' AND role = 'task' GROUP BY 1 ORDER BY 2 DESC, 1"
    )
    total = sum(hits for _, hits in rows)
    parent = scope.task_cpu_ns
    return [
        Category(
            category=name,
            on_cpu_ns=None if parent is None else round(parent * hits / total),
            estimate=None if parent is None else part_of(parent, hits, total),
            share=hits / total,
        )
        for name, hits in rows
    ]


def _fill(scope: Scope) -> tuple[dict[_Place, _Bucket], int, int]:
    plans = _plans(scope)
    buckets: dict[_Place, _Bucket] = defaultdict(_Bucket)
    total = unmapped = 0
    for row in scope.tables.query(
        "SELECT app_index, sql_id, stage_id, codegen_stage_id, operator, node_id, category,"
        " coalesce(sum(hits) FILTER (event = 'cpu'), 0)::BIGINT AS on_cpu,"
        " coalesce(sum(hits) FILTER (event = 'wall' AND state = 'sleeping'"
        "  AND task_attempt_id IS NOT NULL), 0)::BIGINT AS off_cpu"
        " FROM w_samples WHERE role = 'task' GROUP BY ALL ORDER BY ALL"
    ):
        app, sql_id, stage, codegen, operator, node_id, category, on_cpu, off_cpu = row
        total += on_cpu
        if operator is None and codegen is None and node_id is None:
            unmapped += on_cpu
            continue
        nodes = plans.get((app, sql_id), ())
        node = next((n for n in nodes if n.node_id == node_id), None)
        node = node or match(nodes, operator, stage, codegen)
        name = operator or (node.name.split(" (")[0] if node else CLUSTER)
        bucket = buckets[_Place(app, sql_id, name, node.node_id if node else None)]
        bucket.on_cpu += on_cpu
        bucket.off_cpu += off_cpu
        bucket.texts = _texts(node, nodes)
        if stage is not None:
            bucket.stage_ids.add(stage)
        if category == CONVERSION:
            bucket.conversions += on_cpu
    return buckets, total, unmapped


def _texts(node: PlanNode | None, nodes: Iterable[PlanNode]) -> list[str]:
    """Texts in which a sample's conversion may be written: fused operators share a cluster's."""
    if node is None:
        return []
    if plain(node.name) == plain(CLUSTER):
        return [n.simple_string for n in nodes if n.codegen_stage_id == node.codegen_stage_id]
    return [node.simple_string]


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
        number = re.search(rf"^{CLUSTER} \((\d+)\)", name)
        cluster = int(number[1]) if number else codegen
        node = PlanNode(node_id, name, cluster, text or "", frozenset(stage_ids or ()))
        plans[(app, sql_id)].append(node)
    return {key: tuple(nodes) for key, nodes in plans.items()}


def _operator(
    place: _Place,
    bucket: _Bucket,
    parent: int | None,
    total: int,
    span: int | None,
    walls: int | None,
) -> Operator:
    share = bucket.on_cpu / total if total else None
    time: Estimate | None = None
    if parent is not None and total:
        time = part_of(parent, bucket.on_cpu, total)
    return Operator(
        app_index=place.app_index,
        operator=place.operator,
        node_id=place.node_id,
        sql_id=place.sql_id,
        stage_ids=sorted(bucket.stage_ids),
        on_cpu_ns=round(time.value) if time and time.value is not None else None,
        off_cpu_ns=round(span * bucket.off_cpu / walls) if span is not None and walls else None,
        on_cpu=time,
        samples_count=bucket.on_cpu,
        share_of_task_cpu=share,
        expressions=list(_expressions(bucket, parent, total)),
    )


def _expressions(bucket: _Bucket, parent: int | None, total: int) -> Iterator[Expression]:
    """Conversions of one node. Samples do not yet tell several apart: they stand together."""
    if not bucket.conversions or parent is None:
        return
    written = list(dict.fromkeys(c for text in bucket.texts for c in casts(text)))
    yield Expression(
        expression=", ".join(written) or "a conversion that the plan's text does not show",
        on_cpu_ns=round(parent * bucket.conversions / total),
        share=bucket.conversions / bucket.on_cpu,
    )
