"""A join compares every row of one side with every row of the other.

What it is
    A join without an equality in its condition (a range, an OR, a function of both sides), or
    without any: Spark compares all pairs.

Mechanism
    Work grows with the product of both sides. With an equality to hash by (a bucket of the range,
    say) it grows with their sum and with the pairs that match. The simulator removes the CPU of the
    join, less the share of pairs that still have to be compared.

Evidence
    The node in the plan, the rows of both sides and of the output, and its CPU by samples; from an
    event log alone the time of the stages that it ran in.

Remedy
    Give the join an equality: for intervals, a bucket of both sides (`floor(t / width)`) with the
    range as a further condition. An OR becomes a union of two equi-joins.

When it is wrong
    Where one side has a handful of rows, the product is small, and nothing is faster.

Source
    Choice of joins: Spark's sql/core/src/main/scala/org/apache/spark/sql/execution/
    SparkStrategies.scala, "JoinSelection".
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.accounts.plan_schema import Node
from pyrometer.core import units
from pyrometer.explain.change import Change
from pyrometer.explain.evidence.plan_nodes import (
    Plan,
    operator_of,
    plans,
    rows_out,
    sampled,
    shares_of_stages,
)
from pyrometer.explain.evidence.saying import code, place, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SQL_PLANS, Rule, Suspect
from pyrometer.explain.what_if import Extent

NAMES = ("BroadcastNestedLoopJoin", "CartesianProduct")
BUCKETS = 100
"""Buckets that an equality divides the rows into, at least, where it is worth one."""
WHOLE_STAGE = (0.1, 0.9)
"""Of the time of its stages: without samples it is not known which share is the join's."""


def kept_share(left: int, right: int, out: int) -> float:
    """Share of the pairs that a join by buckets still compares: those of a bucket, and the output.

    Examples
    --------
    >>> kept_share(1000, 1000, 1000)
    0.011
    """
    pairs = max(1, left * right)
    return min(1.0, 1 / BUCKETS + out / pairs)


def _suspects(facts: Facts) -> Iterator[Suspect]:
    for plan in plans(facts):
        for node in plan.sql.nodes:
            if node.name in NAMES:
                found = _suspect(facts, plan, node)
                if found is not None:
                    yield found


def _suspect(facts: Facts, plan: Plan, node: Node) -> Suspect | None:
    sides = plan.below(node)
    rows = [n for n in (rows_out(plan, side) for side in sides) if n is not None]
    out = rows_out(plan, node)
    if len(sides) != 2 or len(rows) != 2:
        return None
    left, right = rows
    kept = kept_share(left, right, out or 0)
    if left + right >= left * right * (1 - kept):
        return None  # a product so small that a hash table costs as much
    operator = operator_of(facts, plan.sql.sql_id, node.node_id)
    shares = shares_of_stages(facts, operator) if operator is not None else {}
    change: Change
    if shares and operator is not None:
        change = (facts.less_cpu(f"join {plan.sql.sql_id} {node.node_id}", shares),)
        extent = sampled(operator.on_cpu, (1 - kept) * 0.7, 1 - kept)
        cost = f", {units.duration(operator.on_cpu_ns)} of CPU"
    else:
        numbers = facts.stages_of(node, plan.sql)
        if not numbers or facts.has("samples"):
            return None
        shares = dict.fromkeys(numbers, 1.0)
        change = (facts.less_cpu(f"join {plan.sql.sql_id} {node.node_id}", shares),)
        extent = Extent(n=1).times(*WHOLE_STAGE)
        cost = ""
    pairs = left * right
    return Suspect(
        place=place(facts, "sql", {n: s * facts.cpu_ns.get(n, 0.0) for n, s in shares.items()},
                    sql_id=plan.sql.sql_id, node_id=node.node_id, operator=node.name),
        mechanism=(
            f"{node.name} compares {units.count(left)} × {units.count(right)} ="
            f" {pairs:.3g} pairs of rows{cost}, and {units.count(out)} of them match."
        ),
        change=change,
        extent=extent,
        evidence=[
            shown_by("pairs of rows", float(pairs), "count", "node_metrics",
                 "show --json: sql[].nodes[].metrics", f"/sql/{plan.sql.sql_id}/{node.node_id}"),
        ],
        remedies=[
            code("give the join an equality, such as a bucket of the range",
                 "a.join(b, (a.t >= b.start) & (a.t < b.end))",
                 'b2 = b.withColumn("n", explode(sequence(floor(col("start") / w),'
                 ' floor(col("end") / w))))\n'
                 "a.join(b2, (floor(a.t / w) == b2.n) & (a.t >= b2.start) & (a.t < b2.end))"),
        ],
    )  # fmt: skip


RULE = Rule(
    code="join.nested-loop",
    title="A join compares all pairs of rows",
    cause="nested-loop join",
    suspects=_suspects,
    needs=(SQL_PLANS,),
    explains=("expression.per-pair", "join.explodes", "codegen.", "gc."),
    refute="Join by an equality of buckets with the range as a further condition: if that still"
    " takes as long, the pairs are not why.",
)
