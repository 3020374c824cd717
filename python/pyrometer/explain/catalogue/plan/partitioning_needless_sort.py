"""Rows are sorted, and what comes next forgets the order.

What it is
    A `sort` (or `orderBy`, `sortWithinPartitions`) whose rows go into a shuffle, a broadcast or an
    aggregate that does not depend on the order of rows.

Mechanism
    Without it no rows are buffered and compared; and where the sort is over all partitions, no rows
    are shuffled by ranges for it either, nor read beforehand to find the ranges. The simulator
    removes the CPU of the sort and, where the next shuffle follows anyway, of its exchange and the
    tasks that look for its ranges; without samples, the times in their metrics. Sorts by the same
    columns, such as those of one view that several queries read, are one cause.

Evidence
    The `Sort` in the plan with the operator above it, and the CPU samples of sort and exchange, or
    their sort time, shuffle write time and fetch wait.

Remedy
    Leave the sort out, or sort last.

When it is wrong
    A function of Python, Scala or an RDD relies on the order; `first`, `last` and `collect_list`
    may, and a sort below them is not named. Sorted rows compress better in the next shuffle.

Source
    Spark's optimizer rule `EliminateSorts` removes such sorts where it sees them: not below a
    `Generate` or a `Window`, for example. Parquet of 1.5 million rows on two slots, sorted,
    exploded and shuffled: 6.6 s at least, and 3.2 s at most without the sort (three runs each,
    2026-11-25, other load on the machine). Metrics against samples: as measured for
    `join.broadcast-missed`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pyrometer.accounts.plan_schema import Node
from pyrometer.core import units
from pyrometer.explain.catalogue.plan.join_broadcast_missed import BY_METRICS
from pyrometer.explain.change import Less
from pyrometer.explain.evidence.alike import alike
from pyrometer.explain.evidence.node_costs import above, cpu_of_nodes, metric_times
from pyrometer.explain.evidence.places import largest
from pyrometer.explain.evidence.plan_nodes import SHELLS, Plan, nodes_named, unnumbered
from pyrometer.explain.evidence.saying import code, place, shown_by
from pyrometer.explain.evidence.shuffles import sampled_for_ranges
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SQL_PLANS, Rule, Suspect

ACHIEVED = (0.8, 1.0)
"""Of the CPU of sort and exchange: unsorted rows may compress worse. Not measured; assumed."""
_HANDS_ON = re.compile(rf"^(?:{SHELLS}|Project|Filter|Generate|Union|Coalesce)\b")
"""What keeps the order of rows, and does not depend on it."""
_FORGETS = re.compile(
    r"^(?:Exchange|BroadcastExchange|HashAggregate|ObjectHashAggregate|ShuffledHashJoin)\b"
)
BY_ORDER = re.compile(
    r"(?:\b|_)(?:first|first_value|last|last_value|any_value|collect_list|collect_set|listagg"
    r"|string_agg|mode|monotonically_increasing_id)\(|udf|udaf",
    re.IGNORECASE,
)
"""Names of functions that give something else for another order of rows."""
_GLOBAL = re.compile(r"\], true, \d+$")


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    yield from alike(_each(facts))


def _each(facts: Facts) -> Iterator[tuple[str, float, Suspect]]:
    """Give each needless sort, with the order that it makes."""
    for plan, node in nodes_named(facts, "Sort"):
        forgets = _forgetting(plan, node)
        found = None if forgets is None else _suspect(facts, plan, node, forgets)
        if found is not None:
            yield unnumbered(node.simple_string), *found


def _forgetting(plan: Plan, node: Node) -> Node | None:
    """Find the operator above a sort that forgets its order; None where something may need it."""
    for one in above(plan, node):
        if BY_ORDER.search(one.simple_string or ""):
            return None
        if _FORGETS.match(one.name):
            return one
        if not _HANDS_ON.match(one.name):
            return None
    return None


def _own_exchange(plan: Plan, node: Node, forgets: Node) -> Node | None:
    """Find the exchange by ranges that only the sort is for.

    An aggregate may use the ranges as its partitions, unless an exchange follows.
    """
    if not _GLOBAL.search((node.simple_string or "").strip()):
        return None
    has_its_own = "functions=[partial_" in (forgets.simple_string or "")
    if forgets.name not in ("Exchange", "BroadcastExchange") and not has_its_own:
        return None
    below = plan.below(node)
    own = len(below) == 1 and below[0].name == "Exchange"
    return below[0] if own and "rangepartitioning" in (below[0].simple_string or "") else None


def _suspect(facts: Facts, plan: Plan, node: Node, forgets: Node) -> tuple[float, Suspect] | None:
    exchange = _own_exchange(plan, node, forgets)
    nodes = [node] if exchange is None else [node, exchange]
    label = f"sort {plan.sql.sql_id} {node.node_id}"
    cost = cpu_of_nodes(facts, plan, label, {one.node_id for one in nodes})
    bounds, how = ACHIEVED, "took"
    if cost is None:
        cost, bounds, how = metric_times(facts, label, nodes), BY_METRICS, "took at least"
    if cost is None:
        return None
    what = "The sort" if exchange is None else "The sort and its shuffle by ranges"
    sampling = {} if exchange is None else sampled_for_ranges(facts, plan, exchange)
    spent = sum(sampling.values())
    before = (
        f" A job before it read the rows for {units.duration(spent)} to find the ranges."
        if spent else ""
    )  # fmt: skip
    change = (*cost.change, Less(f"{label} sample", dict.fromkeys(sampling, 1.0)))
    return cost.ns + spent, Suspect(
        place=place(facts, "sql", {**sampling, **cost.lost}, sql_id=plan.sql.sql_id,
                    node_id=node.node_id, operator=node.name,
                    expression=unnumbered(node.simple_string)),
        mechanism=(
            f"{what} {how} {units.duration(cost.ns)} of tasks, and {forgets.name} above does not"
            f" keep the order.{before}"
        ),
        change=change,
        extent=cost.extent.times(*bounds),
        evidence=[
            shown_by("time of the sort", cost.ns, "ns", "node_metrics",
                     "show --json: sql[].nodes[]", f"/sql/{plan.sql.sql_id}/{node.node_id}"),
        ],
        remedies=[
            code("leave the sort out, or sort last", 'df.sort("t").repartition("k")',
                 'df.repartition("k")'),
        ],
    )  # fmt: skip


RULE = Rule(
    code="partitioning.needless-sort",
    title="Rows are sorted and the order is forgotten",
    cause="needless sort",
    suspects=_suspects,
    needs=(SQL_PLANS,),
    explains=("spill.", "shuffle."),
    refute="Leave the sort out: if the query still takes as long, or gives other rows, the sort is"
    " not needless.",
)
