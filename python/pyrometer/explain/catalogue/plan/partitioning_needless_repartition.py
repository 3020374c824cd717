"""Rows are repartitioned, and the next shuffle partitions them again.

What it is
    A `repartition`, `DISTRIBUTE BY` or `CLUSTER BY` whose rows go into another shuffle, of a join
    or an aggregate or of another `repartition`: the first shuffle leaves nothing that the second
    one keeps. Between the two, rows may be selected, sorted, put together by a union, and partially
    aggregated, by hash or by sort: none of that needs rows to be where they are.

Mechanism
    Without it, tasks of the stage below write the second shuffle instead of the first. Where only
    columns, filters, sorts and unions lie between, the stage between the two, which reads the one
    and writes the other, is gone: the simulator removes the time of its tasks. The interval allows
    for what it costs the stage below to write other partitions.

    Where rows are partially aggregated between the two, or others are added by a union, that work
    moves to the stage below. The simulator removes the CPU of the first shuffle, and of sorts in
    between that no operator needs; without samples, the times in their metrics. With a
    `repartitionByRange` also goes the job that reads all rows before it to find the ranges.

    Repartitions by the same columns, such as those of one view that several queries read, are one
    cause.

Evidence
    Two exchanges of the plan with nothing between them that needs the lower one, which is from
    `repartition`; the time of the tasks of the stage that both share, or the CPU samples of
    exchange and sort, or their sort time, shuffle write time and fetch wait.

Remedy
    Leave the `repartition` out; sort where the order is used.

When it is wrong
    Something between the two that the plan does not show, such as a function of an RDD, was meant
    to run with more tasks. An expensive function in the stage below runs there either way. Rows
    that are brought together by a column that is correlated with the keys of the aggregate are
    fewer after they are partially aggregated.

Source
    "Partitioning Hints" in Spark's SQL reference. Parquet of 1.5 million rows, `repartition(6)` and
    then `repartition(5, "a")` on two slots: 5.8 to 7.3 s, and 2.0 to 2.6 s without the first (three
    runs each, 2026-11-25, other load on the machine). Both `ACHIEVED` and `ACHIEVED_APART` are
    assumed. Metrics against samples: as measured for `join.broadcast-missed`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyrometer.accounts.plan_schema import Node
from pyrometer.core import units
from pyrometer.explain.catalogue.plan.join_broadcast_missed import BY_METRICS
from pyrometer.explain.catalogue.plan.partitioning_needless_sort import BY_ORDER
from pyrometer.explain.change import Less
from pyrometer.explain.evidence.alike import alike, weighed
from pyrometer.explain.evidence.node_costs import Cost, cpu_of_nodes, metric_times
from pyrometer.explain.evidence.places import largest, slots_at, where_in
from pyrometer.explain.evidence.plan_nodes import SHELLS, Plan, nodes_named, unnumbered
from pyrometer.explain.evidence.saying import code, place, shown_by
from pyrometer.explain.evidence.shuffles import sampled_for_ranges
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SQL_PLANS, Rule, Suspect
from pyrometer.explain.schema import Remedy
from pyrometer.explain.what_if import Extent

ACHIEVED = (0.7, 1.0)
"""Of the time of the stage between: to write other partitions costs the stage below the rest."""
ACHIEVED_APART = (0.8, 1.0)
"""Of the CPU of the first shuffle and of sorts, where the stage between has other work."""
_ASKED_FOR = re.compile(
    r"\bREPARTITION(?:_\w+)?\b|\bREBALANCE_PARTITIONS_BY_\w+|RoundRobinPartitioning"
)
_WRAPS = re.compile(rf"^(?:{SHELLS})\b")
_HANDS_ON = re.compile(r"^(?:Project|Filter|Sort|Union)\b")
_PARTIAL = re.compile(r"functions=\[partial_(?!.*\bmerge_)")
_DISTINCT = re.compile(r"keys=\[(.*?)\], functions=\[\]")
_COMPUTES = re.compile(
    r"\bUDF\(|pythonUDF|rlike|regexp|json|xml|csv|levenshtein|\b(?:sha\d?|md5|aes_\w+)\("
    r"|\b(?:transform|aggregate|sequence|array_sort)\(",
    re.IGNORECASE,
)
"""Functions that cost so much that `repartition` may be there to spread them."""


@dataclass(frozen=True)
class Branch:
    """What lies under an exchange, down to the next one.

    Attributes
    ----------
    end : Node or None
        The exchange of a `repartition`; None where rows come from elsewhere.
    path : sequence of Node
        Operators between, the upper first.
    """

    end: Node | None
    path: Sequence[Node]

    @property
    def sorts(self) -> list[Node]:
        """Sorts between, except for those that an aggregate by sort is over."""
        found, needed = [], False
        for node in self.path:
            if node.name == "Sort" and not needed:
                found.append(node)
            needed = node.name == "SortAggregate" or (needed and node.name in ("Project", "Filter"))
        return found

    @property
    def adds_up(self) -> bool:
        """Whether rows are added up in part."""
        return any("Aggregate" in node.name for node in self.path)

    @property
    def counts_on_order(self) -> bool:
        """Whether rows are sorted, and something above gives something else for another order."""
        is_sorted = any(node.name == "Sort" for node in self.path)
        return is_sorted and any(BY_ORDER.search(node.simple_string or "") for node in self.path)


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    yield from alike(_each(facts))


def _each(facts: Facts) -> Iterator[tuple[str, float, Suspect]]:
    """Give each exchange with needless ones below it, and how these partition rows."""
    for plan, node in nodes_named(facts, "Exchange"):
        branches = list(_branches(plan, node))
        needless = [one for one in branches if one.end is not None and not one.counts_on_order]
        if not needless:
            continue
        gone = len(needless) == len(branches) and not any(one.adds_up for one in branches)
        found = (
            _stage_gone(facts, plan, node, needless) if gone else
            _shuffle_gone(facts, plan, node, needless)
        )  # fmt: skip
        if found is not None:
            yield unnumbered(_lowers(needless)[0].simple_string), *found


def _branches(plan: Plan, upper: Node) -> Iterator[Branch]:
    """Give what rows come from under an exchange, through operators that need no distribution."""
    left: list[tuple[Node, tuple[Node, ...]]] = [
        (child, ()) for child in plan.children.get(upper.node_id, ())
    ]
    while left:
        node, path = left.pop(0)
        below = plan.children.get(node.node_id, ())
        if node.name == "Exchange":
            asked = _ASKED_FOR.search(node.simple_string or "")
            yield Branch(node if asked else None, path)
        elif below and _WRAPS.match(node.name):
            left += [(child, path) for child in below]
        elif below and _needs_nothing(upper, node, path):
            left += [(child, (*path, node)) for child in below]
        else:
            yield Branch(None, path)


def _needs_nothing(upper: Node, node: Node, path: Sequence[Node]) -> bool:
    """Whether an operator gives the same wherever rows are, and costs about as much."""
    text = node.simple_string or ""
    if _HANDS_ON.match(node.name):
        return _COMPUTES.search(text) is None
    if node.name not in ("HashAggregate", "ObjectHashAggregate", "SortAggregate"):
        return False
    distinct = _DISTINCT.search(text)
    if distinct is None:
        return _PARTIAL.search(text) is not None
    # Of two, the upper one needs its keys together; the lower one has the upper exchange's keys.
    first = not any("Aggregate" in one.name for one in path)
    return first and f"hashpartitioning({distinct[1]}, " in (upper.simple_string or "")


def _lowers(branches: Sequence[Branch]) -> list[Node]:
    return [one.end for one in branches if one.end is not None]


def _stages(facts: Facts, plan: Plan, nodes: Sequence[Node]) -> set[int]:
    return {number for node in nodes for number in facts.stages_of(node, plan.sql)}


def _stage_gone(
    facts: Facts, plan: Plan, upper: Node, branches: Sequence[Branch]
) -> tuple[float, Suspect] | None:
    lowers = _lowers(branches)
    between = set(facts.stages_of(upper, plan.sql)) & _stages(facts, plan, lowers)
    lost = {n: float(facts.tasks_of(n).duration_ns.sum()) for n in between}
    lost = {n: ns for n, ns in lost.items() if ns > 0}
    if not lost:
        return None
    time = sum(lost.values())
    tasks = sum(facts.tasks_of(n).count for n in lost)
    lower = lowers[0]
    ranges = _sampled(facts, plan, lowers)
    what = f"repartition {plan.sql.sql_id} {lower.node_id}"
    return time + sum(ranges.values()), Suspect(
        place=place(facts, "sql", {**ranges, **lost}, sql_id=plan.sql.sql_id, node_id=lower.node_id,
                    operator=lower.name, expression=unnumbered(lower.simple_string)),
        mechanism=(
            "Rows are repartitioned and go straight into another shuffle: the stage between,"
            f" {units.counted(tasks, 'task')}, took {units.duration(time)} to read the one and"
            f" write the other.{_to_find(ranges)}"
        ),
        change=(Less(what, dict.fromkeys([*lost, *ranges], 1.0)),),
        extent=Extent(n=tasks).times(*ACHIEVED),
        evidence=[
            shown_by("time of tasks between the shuffles", time, "ns", "tasks",
                     "SELECT sum(finish_wall_ns - launch_wall_ns) FROM tasks WHERE"
                     f" {where_in(facts, lost)}",
                     f"/sql/{plan.sql.sql_id}/{lower.node_id}", tasks),
        ],
        remedies=_remedies(),
    )  # fmt: skip


def _shuffle_gone(
    facts: Facts, plan: Plan, upper: Node, branches: Sequence[Branch]
) -> tuple[float, Suspect] | None:
    lowers = _lowers(branches)
    below = _stages(facts, plan, lowers) - set(facts.stages_of(upper, plan.sql))
    slots = max((slots_at(facts, facts.stages[n]) for n in below), default=0)
    if sum(facts.stages[n].tasks_count for n in below) < max(1, slots):
        return None  # it gives the work between more tasks
    sql_id, lower = plan.sql.sql_id, lowers[0]
    sorts = {node.node_id: node for one in branches for node in one.sorts}
    parts = [_cost(facts, plan, f"repartition {sql_id} {lower.node_id}", lowers)]
    # The same label as that of a needless sort: what both take, goes once.
    parts += [_cost(facts, plan, f"sort {sql_id} {one.node_id}", [one]) for one in sorts.values()]
    if parts[0] is None:
        return None
    costs = [one for one in parts if one is not None]
    time = sum(cost.ns for cost, _ in costs)
    lost: dict[int, float] = {}
    for cost, _ in costs:
        for number, ns in cost.lost.items():
            lost[number] = lost.get(number, 0.0) + ns
    ranges = _sampled(facts, plan, lowers)
    sorted_too = ", and the sort after it," if len(costs) > 1 else ""
    many = f"{units.counted(len(lowers), 'shuffle')} of it" if len(lowers) > 1 else "its shuffle"
    return time + sum(ranges.values()), Suspect(
        place=place(facts, "sql", {**ranges, **lost}, sql_id=sql_id, node_id=lower.node_id,
                    operator=lower.name, expression=unnumbered(lower.simple_string)),
        mechanism=(
            f"Rows are repartitioned, and shuffled again before anything needs that: {many}"
            f"{sorted_too} took {units.duration(time)} of tasks.{_to_find(ranges)}"
        ),
        change=(
            *(edit for cost, _ in costs for edit in cost.change),
            Less(f"ranges {sql_id} {lower.node_id}", dict.fromkeys(ranges, 1.0)),
        ),
        extent=weighed(
            [(cost.ns, cost.extent.times(*bounds)) for cost, bounds in costs]
            + [(ns, Extent(n=facts.tasks_of(n).count).times(*ACHIEVED)) for n, ns in ranges.items()]
        ),
        evidence=[
            shown_by("time of the needless shuffle", time, "ns", "node_metrics",
                     "show --json: sql[].nodes[]", f"/sql/{sql_id}/{lower.node_id}"),
        ],
        remedies=_remedies(),
    )  # fmt: skip


def _sampled(facts: Facts, plan: Plan, lowers: Sequence[Node]) -> dict[int, float]:
    found: dict[int, float] = {}
    for lower in lowers:
        found |= sampled_for_ranges(facts, plan, lower)
    return found


def _to_find(ranges: Mapping[int, float]) -> str:
    spent = sum(ranges.values())
    return f" A job before it read the rows for {units.duration(spent)} to find the ranges." * (
        spent > 0
    )


def _cost(
    facts: Facts, plan: Plan, label: str, nodes: Sequence[Node]
) -> tuple[Cost, tuple[float, float]] | None:
    """Give what nodes cost by samples, else by metrics, and how much of it goes."""
    cost = cpu_of_nodes(facts, plan, label, {one.node_id for one in nodes})
    if cost is not None:
        return cost, ACHIEVED_APART
    cost = metric_times(facts, label, nodes)
    return None if cost is None else (cost, BY_METRICS)


def _remedies() -> list[Remedy]:
    return [
        code("leave the repartition out", 'df.repartition(200).repartition("k")',
             'df.repartition("k")'),
    ]  # fmt: skip


RULE = Rule(
    code="partitioning.needless-repartition",
    title="A repartition is undone by the next shuffle",
    cause="needless repartition",
    suspects=_suspects,
    needs=(SQL_PLANS,),
    explains=(
        "shuffle.", "partitioning.too-many", "partitioning.too-few", "partitioning.needless-sort",
        "spill.",
    ),
    refute="Leave the repartition out: if the query still takes as long, its stage is not why.",
)  # fmt: skip
