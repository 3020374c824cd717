"""CPU of tasks by operator, expression and category, from profiler samples.

A share of samples splits the task CPU of the window, which is known exactly; nothing is rescaled.

What threads outside tasks, which work for tasks, spent their CPU on.

A thread that can only serve a stage (Python writers, asynchronous readers, fetchers of blocks) is
tied to the stage of the tasks that its process ran at that moment, where they were of one stage;
one that can only serve an SQL execution (broadcasts, subqueries), to the execution that was open,
where it was one. Everything else belongs to the application.

Generated methods that HotSpot leaves to its interpreter because they are too large.

HotSpot compiles no method of more than 8000 bytes of bytecode (``HugeMethodLimit`` in
``src/hotspot/share/runtime/globals.hpp``) unless it runs with ``-XX:-DontCompileHugeMethods``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from pyrometer.attribution.generated import comparable
from pyrometer.attribution.plan_match import CLUSTER, conversions, unnumbered
from pyrometer.attribution.samples import CONVERSION, Attribution, Bucket, Owner, attribution, kind
from pyrometer.attribution.schema import (
    AttributionShares,
    By,
    Category,
    Expression,
    Helper,
    HugeMethod,
    Operator,
    Unmapped,
)
from pyrometer.attribution.sourced_plan import plans
from pyrometer.core import schema
from pyrometer.statistics.shares import part_of
from pyrometer.window.scope import Scope

_LONGEST_TEXT = 500


def operators(scope: Scope) -> tuple[list[Operator], Unmapped]:
    """CPU and sleeping time by operator, largest first, and the share that names none."""
    parent = scope.task_cpu_ns
    seen = attribution(scope)
    span = scope.tables.scalar("SELECT sum(end_ns - start_ns)::BIGINT FROM w_spans")
    walls = scope.tables.scalar(
        "SELECT sum(hits)::BIGINT FROM w_samples WHERE event = 'wall' AND role = 'task'"
        " AND task_attempt_id IS NOT NULL"
    )
    rows = []
    for owner, bucket in seen.buckets.items():
        asleep = round(span * bucket.off_cpu / walls) if span is not None and walls else None
        rows.append(_operator(owner, bucket, parent, seen.total, asleep))
    rows.sort(key=lambda o: (-(o.on_cpu_ns or 0), -o.samples_count, o.operator, o.node_id or -1))
    if not seen.total:
        return rows, Unmapped()
    ratio = sum(seen.unmapped.values()) / seen.total
    return rows, Unmapped(on_cpu_ns=None if parent is None else round(ratio * parent), ratio=ratio)


def attribution_shares(seen: Attribution) -> AttributionShares:
    """Shares of task CPU by how it was attributed to operators."""
    if not seen.total:
        return AttributionShares()
    by: dict[By, int] = defaultdict(int)
    for bucket in seen.buckets.values():
        for how, n in bucket.by_source.items():
            by[how] += n
    return AttributionShares(
        line_ratio=by["line"] / seen.total,
        method_ratio=by["method"] / seen.total,
        frames_ratio=by["frames"] / seen.total,
        none_ratio=sum(seen.unmapped.values()) / seen.total,
    )


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

    A node of the same number with another text is another query's, and stays apart.

    Intervals are not added up; ``on_cpu`` is left out where more than one was.
    """
    groups: dict[tuple[object, ...], list[Operator]] = defaultdict(list)
    for o in operators:
        groups[(o.app_index, o.operator, o.node_id, o.node_text)].append(o)
    rows = [_added(parts) if len(parts) > 1 else parts[0] for parts in groups.values()]
    return sorted(rows, key=lambda o: -((o.on_cpu_ns or 0) + (o.python_cpu_ns or 0)))


def _added(parts: Sequence[Operator]) -> Operator:
    cpu = sum(o.on_cpu_ns or 0 for o in parts)
    same: dict[str, list[tuple[Expression, int]]] = defaultdict(list)
    by: dict[By, int] = defaultdict(int)
    for part in parts:
        for e in part.expressions:
            same[unnumbered(e.expression)].append((e, part.on_cpu_ns or 0))
        for how, n in part.samples_by.items():
            by[how] += n
    return parts[0].model_copy(
        update={
            "sql_id": None,
            "on_cpu_ns": cpu,
            "on_cpu": None,
            "samples_count": sum(o.samples_count for o in parts),
            "python_cpu_ns": sum(o.python_cpu_ns or 0 for o in parts) or None,
            "python_samples_count": sum(o.python_samples_count for o in parts),
            "share_of_task_cpu": sum(o.share_of_task_cpu or 0 for o in parts),
            "share_with_workers": sum(o.share_with_workers or 0 for o in parts),
            "samples_by": dict(by),
            "expressions": sorted(
                (_added_expression(text, found, cpu) for text, found in same.items()),
                key=lambda e: (-e.on_cpu_ns, e.expression),
            ),
        }
    )


def _added_expression(text: str, parts: Sequence[tuple[Expression, int]], cpu: int) -> Expression:
    ns = sum(e.on_cpu_ns for e, _ in parts)
    converting = sum(e.converting_share * whole for e, whole in parts)
    return Expression(
        expression=text,
        on_cpu_ns=ns,
        samples_count=sum(e.samples_count for e, _ in parts),
        share=ns / cpu if cpu else 0,
        converting_share=converting / cpu if cpu else 0,
        by=parts[0][0].by,
    )


def _operator(
    owner: Owner, bucket: Bucket, parent: int | None, total: int, asleep_ns: int | None
) -> Operator:
    time = part_of(parent, bucket.on_cpu, total) if parent is not None and total else None
    return Operator(
        app_index=owner.app_index,
        operator=owner.operator,
        kind=kind(owner.operator),
        node_id=owner.node_id,
        node_text=_text(owner, bucket),
        sql_id=owner.sql_id,
        fused=[n.operator for n in bucket.nodes] if owner.operator == CLUSTER else [],
        stage_ids=sorted(bucket.stage_ids),
        on_cpu_ns=round(time.value) if time and time.value is not None else None,
        off_cpu_ns=asleep_ns,
        on_cpu=time,
        samples_count=bucket.on_cpu,
        share_of_task_cpu=bucket.on_cpu / total if total else None,
        samples_by={how: n for how, n in bucket.by_source.items() if n},
        expressions=[] if parent is None else _expressions(bucket, parent, total),
    )


def _text(owner: Owner, bucket: Bucket) -> str | None:
    """Text of the node; of a cluster, those of its operators."""
    if owner.node_id is None:
        return None
    texts = (comparable(node.simple_string) for node in bucket.nodes)
    return " ← ".join(texts)[:_LONGEST_TEXT]


def _expressions(bucket: Bucket, parent: int, total: int) -> list[Expression]:
    """Expressions by line, and conversions that only the kind of work shows."""
    rows = [
        _expression(bucket, parent, total, text, hits, bucket.converting.get(text, 0), "line")
        for text, hits in bucket.by_expression.items()
        if hits
    ]
    for text, hits in _other_conversions(bucket):
        rows.append(_expression(bucket, parent, total, text, hits, hits, "plan"))
    return sorted(rows, key=lambda e: (-e.on_cpu_ns, e.expression))


def _other_conversions(bucket: Bucket) -> Iterator[tuple[str, int]]:
    hits = bucket.by_category.get(CONVERSION, 0) - sum(bucket.converting.values())
    if not hits:
        return
    texts = [c for n in bucket.nodes for c in conversions(n.simple_string, bucket.types)]
    yield ", ".join(dict.fromkeys(texts)) or "a conversion that the plan does not show", hits


def _expression(
    bucket: Bucket, parent: int, total: int, text: str, hits: int, converting: int, by: str
) -> Expression:
    time = part_of(parent, hits, total)
    return Expression(
        expression=text,
        on_cpu_ns=round(time.value or 0),
        on_cpu=time,
        samples_count=hits,
        share=hits / bucket.on_cpu,
        converting_share=converting / bucket.on_cpu,
        by="line" if by == "line" else "plan",
    )


def helpers(scope: Scope) -> list[Helper]:
    """CPU of helper threads by what they served, largest first."""
    offset = scope.offset_ns
    scope.tables.define(
        "helper_samples",
        "SELECT x.app_index, x.pid, x.t_ns, x.weight,"
        " coalesce(regexp_replace(n.thread_name, '[0-9]+', 'N', 'g'), '') AS thread,"
        f" {_serves('n.thread_name')} AS serves"
        # The kernel's names, which states may have, are cut.
        " FROM w_samples x JOIN (SELECT pid, tid, coalesce("
        "   min(thread_name) FILTER (event <> 'state'), min(thread_name)) AS thread_name"
        "  FROM samples WHERE role = 'helper' GROUP BY pid, tid) n USING (pid, tid)"
        " WHERE x.event = 'cpu' AND x.role = 'helper'",
    )
    wall = "NULL::BIGINT" if offset is None else f"h.t_ns + {offset}"
    rows = scope.tables.query(
        "WITH numbered AS (SELECT *, row_number() OVER () AS number FROM helper_samples),"
        " by_stage AS (SELECT h.number, min(s.stage_id) AS stage_id, min(s.sql_id) AS sql_id"
        "  FROM numbered h JOIN w_spans s ON s.pid = h.pid AND s.span_start_ns <= h.t_ns"
        "   AND s.span_end_ns > h.t_ns WHERE h.serves = 'stage' GROUP BY h.number"
        "  HAVING count(DISTINCT s.stage_id) = 1),"
        " by_sql AS (SELECT h.number, min(q.sql_id) AS sql_id FROM numbered h JOIN sql_executions q"
        f"  ON q.app_index = h.app_index AND q.start_wall_ns <= {wall}"
        f"   AND coalesce(q.end_wall_ns, {wall} + 1) > {wall}"
        "  WHERE h.serves = 'sql' GROUP BY h.number HAVING count(*) = 1)"
        " SELECT h.thread, CASE WHEN a.number IS NOT NULL THEN 'stage'"
        "   WHEN b.number IS NOT NULL THEN 'sql' ELSE 'application' END AS serves,"
        " h.app_index, a.stage_id,"
        "  coalesce(a.sql_id, b.sql_id) AS sql_id, sum(h.weight)::BIGINT, count(*)"
        " FROM numbered h LEFT JOIN by_stage a USING (number)"
        "  LEFT JOIN by_sql b ON b.number = h.number"
        " GROUP BY ALL ORDER BY 6 DESC, 1, 2, 3, 4, 5"
    )
    return [
        Helper(
            thread=thread,
            serves=serves,
            app_index=app,
            stage_id=stage,
            sql_id=sql_id,
            on_cpu_ns=cpu,
            samples_count=n,
        )
        for thread, serves, app, stage, sql_id, cpu, n in rows
    ]


def _serves(column: str) -> str:
    """Give the SQL for what a thread can only serve, by its name."""
    parts = [
        f"WHEN regexp_matches({column}, '{pattern}') THEN '{rule.serves}'"
        for rule in schema.role_rules()
        if rule.serves is not None
        for pattern in (rule.name, rule.comm)
        if pattern is not None
    ]
    return f"CASE {' '.join(parts)} END"


LIMIT_BYTES = 8000
_COMPILED_ALL_THE_SAME = "-XX:-DontCompileHugeMethods"


def too_large_to_compile(scope: Scope) -> list[HugeMethod]:
    """Clusters sampled in the window whose source has such a method, the dearest first."""
    facts = scope.tables.query("SELECT facts FROM processes WHERE facts IS NOT NULL")
    if any(_COMPILED_ALL_THE_SAME in text for (text,) in facts):
        return []
    samples: dict[tuple[int | None, int | None, int | None], int] = defaultdict(int)
    for owner, bucket in attribution(scope).buckets.items():
        samples[(owner.app_index, owner.sql_id, owner.node_id)] += bucket.on_cpu
    methods = []
    for (app, sql_id), plan in plans(scope).items():
        for cluster in plan.clusters:
            sizes = [source.max_method_bytes or 0 for source in cluster.sources]
            nodes = (cluster.node, *cluster.members)
            hits = sum(samples[(app, sql_id, node.node_id)] for node in nodes)
            if not hits or not sizes or min(sizes) <= LIMIT_BYTES:
                continue
            methods.append(
                HugeMethod(
                    app_index=app,
                    sql_id=sql_id,
                    codegen_stage_id=cluster.node.codegen_stage_id or 0,
                    node_id=cluster.node.node_id,
                    node_ids=[node.node_id for node in cluster.members],
                    operators=[node.operator for node in cluster.members],
                    max_method_bytes=min(sizes),
                    limit_bytes=LIMIT_BYTES,
                    samples_count=hits,
                )
            )
    return sorted(methods, key=lambda h: (-h.samples_count, h.sql_id or 0, h.node_id))
