"""A join shuffles and sorts both sides, though one of them is small enough to send everywhere.

What it is
    A sort-merge (or shuffled hash) join of a large table with one of some megabytes: the large one
    is written, sent, read and sorted again. Or adaptive execution sees how small the other side is
    when the large one has been shuffled, and broadcasts it then.

Mechanism
    With the small side broadcast, the large side stays where it is: no shuffle of it, and no sort.
    Taken away is what shuffle and sort of the large side cost: the CPU of the samples in its
    exchange and its sort, with the waits for a CPU that go with it; without samples, their metrics,
    which hold writing, waiting and sorting, and neither partitioning nor serialising: of 3 million
    rows on two slots they were 156 ms where the samples found 1.47 s (one run, 2026-11-25). What
    the broadcast costs is left in the interval.

Evidence
    Bytes of both sides in the metrics of their exchanges; CPU samples of exchange and sort, or
    shuffle write time, fetch wait and sort time.

Remedy
    Factor `spark.sql.autoBroadcastJoinThreshold` above the size of the small side; or a hint.

When it is wrong
    Outer joins can only broadcast one of the sides. A broadcast takes heap of the driver and of
    every executor, several times the shuffled bytes: with little heap it fails.

Source
    Spark's documentation of SQL performance tuning, "Join Strategy Hints" and "Automatically
    Broadcasting Joins"; a hashed relation against its shuffled bytes: a factor of 3 to 10, as
    JoinSelection's `SHUFFLE_HASH_JOIN_FACTOR` and SPARK-31962 discuss.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.accounts.plan_schema import Node
from pyrometer.core import units
from pyrometer.explain.evidence.node_costs import cpu_of_nodes, metric_times
from pyrometer.explain.evidence.plan_nodes import Plan, metric, plans
from pyrometer.explain.evidence.saying import code, factor, place, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SQL_PLANS, Rule, Suspect

NAMES = ("SortMergeJoin", "ShuffledHashJoin")
LATE = "BroadcastHashJoin"
OWN = "ENSURE_REQUIREMENTS"
"""Of an exchange that Spark put in, and not the user."""
SETTING = "spark.sql.autoBroadcastJoinThreshold"
ACHIEVED = (0.5, 1.0)
"""Of shuffle and sort of the large side: to build and probe the broadcast table costs the rest."""
ACHIEVED_LATE = (0.8, 1.0)
"""Of the shuffle where the broadcast is made all the same."""
BY_METRICS = (0.5, 8.0)
"""Of the times that the metrics hold: see above."""
EXPANDS = 10
"""Bytes of the broadcast table for each shuffled byte, at most: what must fit the driver's heap."""
MOST_OF_HEAP = 0.2
_BROADCASTS = {"Inner": (0, 1), "LeftOuter": (1,), "LeftSemi": (1,), "LeftAnti": (1,),
               "RightOuter": (0,)}  # fmt: skip
"""Sides that may be broadcast, by type of the join."""


def _suspects(facts: Facts) -> Iterator[Suspect]:
    for plan in plans(facts):
        for node in plan.sql.nodes:
            if node.name in NAMES:
                found = _suspect(facts, plan, node)
            elif node.name == LATE:
                found = _late(facts, plan, node)
            else:
                continue
            if found is not None:
                yield found


def _late(facts: Facts, plan: Plan, node: Node) -> Suspect | None:
    """Judge a broadcast that was decided only when the large side had been shuffled."""
    sides = plan.below(node)
    if len(sides) != 2:
        return None
    streamed = sides[1 if ", BuildLeft" in (node.simple_string or "") else 0]
    size = metric(streamed, "data size")
    if streamed.name != "Exchange" or OWN not in (streamed.simple_string or "") or not size:
        return None
    label = f"shuffle {plan.sql.sql_id} {streamed.node_id}"
    cost = cpu_of_nodes(facts, plan, label, {streamed.node_id})
    bounds, how = ACHIEVED_LATE, "took"
    if cost is None:
        cost, bounds = metric_times(facts, label, [streamed]), BY_METRICS
        how = "took at least"
    if cost is None:
        return None
    return Suspect(
        place=place(facts, "sql", cost.lost, sql_id=plan.sql.sql_id, node_id=node.node_id,
                    operator=node.name),
        mechanism=(
            f"The large side of {node.name}, {units.size(size)}, had been shuffled when Spark saw"
            f" that the other one is small enough to be broadcast: that {how}"
            f" {units.duration(cost.ns)} of tasks."
        ),
        change=cost.change,
        extent=cost.extent.times(*bounds),
        evidence=[
            shown_by("bytes of the large side", float(size), "bytes", "node_metrics",
                     "show --json: sql[].nodes[].metrics",
                     f"/sql/{plan.sql.sql_id}/{streamed.node_id}"),
        ],
        remedies=[
            code("say that the other side is small", 'large.join(small, "k")',
                 'large.join(broadcast(small), "k")'),
        ],
    )  # fmt: skip


def _exchange(plan: Plan, side: Node) -> Node | None:
    """Find the exchange that a side of the join is read from, seen through its sort."""
    while side.name == "Sort":
        below = plan.below(side)
        if len(below) != 1:
            return None
        side = below[0]
    return side if side.name == "Exchange" else None


def _suspect(facts: Facts, plan: Plan, node: Node) -> Suspect | None:
    sides = plan.below(node)
    exchanges = [_exchange(plan, side) for side in sides]
    if len(exchanges) != 2 or exchanges[0] is None or exchanges[1] is None:
        return None
    sizes = [metric(one, "data size") if one is not None else None for one in exchanges]
    if sizes[0] is None or sizes[1] is None:
        return None
    kind = next((name for name in _BROADCASTS if f", {name}" in (node.simple_string or "")), None)
    allowed = _BROADCASTS.get(kind or "", ())
    if not allowed:
        return None
    small = min(allowed, key=lambda side: sizes[side] or 0)
    large = 1 - small
    heap = facts.measured.settings.memory_bytes if facts.measured else 0
    if (sizes[small] or 0) * EXPANDS > MOST_OF_HEAP * heap or (sizes[small] or 0) >= (
        sizes[large] or 0
    ):
        return None
    exchange, sort = exchanges[large], sides[large]
    if exchange is None:
        return None
    label = f"shuffle {plan.sql.sql_id} {exchange.node_id}"
    nodes = [exchange, *([sort] if sort.name == "Sort" else [])]
    cost = cpu_of_nodes(facts, plan, label, {one.node_id for one in nodes})
    bounds, how = ACHIEVED, "shuffling and sorting the large side took"
    if cost is None:
        cost, bounds = metric_times(facts, label, nodes), BY_METRICS
        how = "writing, fetching and sorting the large side took at least"
    if cost is None:
        return None
    level = str(max(10 << 20, 2 * (sizes[small] or 0)))
    link = f"/sql/{plan.sql.sql_id}/{node.node_id}"
    return Suspect(
        place=place(facts, "sql", cost.lost, sql_id=plan.sql.sql_id, node_id=node.node_id,
                    operator=node.name, setting=SETTING),
        mechanism=(
            f"{node.name} shuffles {units.size(sizes[large])} to meet {units.size(sizes[small])}:"
            f" {how} {units.duration(cost.ns)} of tasks."
        ),
        change=cost.change,
        extent=cost.extent.times(*bounds),
        evidence=[
            shown_by("bytes of the small side", float(sizes[small] or 0), "bytes", "node_metrics",
                 "show --json: sql[].nodes[].metrics", link),
            shown_by("bytes of the large side", float(sizes[large] or 0), "bytes", "node_metrics",
                 "show --json: sql[].nodes[].metrics", link),
        ],
        remedies=[factor(SETTING, level, f"broadcast up to {units.size(int(level))}")],
    )  # fmt: skip


RULE = Rule(
    code="join.broadcast-missed",
    title="A join shuffles a large table to meet a small one",
    cause="missed broadcast join",
    suspects=_suspects,
    needs=(SQL_PLANS,),
    explains=("spill.", "shuffle.", "partitioning."),
    refute=f"Raise {SETTING} above the small side: if the query takes as long, the shuffle is not"
    " why.",
)
