"""A join gives more rows than both its inputs have: keys are duplicated on both sides.

What it is
    An equi-join in which a key has several rows on the left and several on the right: each meets
    each, and the output has the product of both.

Mechanism
    Where what is above the join only counts, adds up, or drops duplicates, one side can first be
    reduced to one row for each key (and group): the output then has at most the rows of the other
    side, times the groups. The simulator removes the CPU of the join and of what works on its rows
    up to the next exchange, less the share of rows that then remains: between that bound, and rows
    of the larger input over rows of the output.

Evidence
    Rows of both sides, of the output and of the groups in the metrics of the plan; keys and
    functions of the aggregate, and from which side their columns come, in its text; CPU samples of
    these operators; from an event log alone the CPU of the stages that the join ran in.

Remedy
    Aggregate or deduplicate one side by the key (and its own columns of the groups) before the
    join; or complete the key.

When it is wrong
    Where every pair is wanted, nothing is reported: if no aggregate is directly above, or the join
    has further conditions. If an aggregate computes with columns of both sides, other than by a sum
    of products, or if groups may be as many as the rows, the interval begins at nothing, and the
    finding is shown with `--all` only.

Source
    The "JOIN" page of Spark's SQL reference: an inner join gives each pair of rows that match.
    Aggregation before a join: Yan and Larson, "Eager Aggregation and Lazy Aggregation", VLDB 1995.
    How much of the CPU goes (`ACHIEVED`, `WHOLE_STAGE`) is not measured; it is assumed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pyrometer.accounts.explosions import explosions, output_rows
from pyrometer.accounts.plan_schema import Node
from pyrometer.core import units
from pyrometer.explain.evidence.expressions.plan_columns import BOTH, Origins, listed, parts
from pyrometer.explain.evidence.node_costs import above, cost_of_rows
from pyrometer.explain.evidence.places import largest
from pyrometer.explain.evidence.plan_nodes import SHELLS, Plan, plans, rows_out
from pyrometer.explain.evidence.saying import code, place, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SQL_PLANS, Rule, Suspect

NAMES = re.compile(r"^(?:Gpu|Photon)?(?:SortMerge|ShuffledHash|BroadcastHash)Join\b")
ACHIEVED = (0.5, 1.0)
"""Of the CPU of the rows too many: to make a side unique costs the rest. Not measured; assumed."""
WHOLE_STAGE = (0.1, 0.9)
"""Of the stages' CPU: without samples it is not known which share is the join's. Assumed."""
_PASSES = re.compile(rf"^(?:{SHELLS}|Project|Sort|Exchange)\b")
_ADDS_UP = re.compile(r"^(?:partial_)?(?:count|sum|min|max|avg|bool_and|bool_or|every|any)\(")
_NO_PRODUCT = re.compile(r" [-+/%|&] | (?:div|DIV|AND|OR) |\b(?!partial_sum|sum|cast|decimal)\w+\(")
_ENDS = re.compile(r"Exchange\b|^Execute\b|^Write|Data$")


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    for plan in plans(facts):
        for one in explosions(plan.sql.nodes, least_factor=1.0, least_rows=1):
            node = plan.by_id[one.node_id]
            if NAMES.match(node.name):
                found = _suspect(facts, plan, node, one.rows_out_count)
                if found is not None:
                    yield found


def _suspect(facts: Facts, plan: Plan, node: Node, out: int) -> tuple[float, Suspect] | None:
    sides = [rows_out(plan, side) for side in plan.below(node)]
    if len(sides) != 2 or sides[0] is None or sides[1] is None or out <= sides[0] + sides[1]:
        return None
    if not _is_equality(node):
        return None
    most = max(sides[0], sides[1])
    gone = 1 - most / out
    over = list(above(plan, node))
    reducing = _reducing(over)
    if not reducing or (groups := min(output_rows(one) or out for one in reducing)) > most:
        return None
    per_row = rows_of_a_side(plan, node, over, groups)
    left = min((sides[1 - side] or 0) * per for side, per in per_row.items()) if per_row else out
    surely = max(0.0, 1 - left / out)
    label = f"rows {plan.sql.sql_id} {node.node_id}"
    found = cost_of_rows(facts, plan, label, node, _of_its_rows(node, over))
    if found is None:
        return None
    cost, sampled = found
    low, high = ACHIEVED if sampled else WHOLE_STAGE
    keys = f"/sql/{plan.sql.sql_id}/{node.node_id}"
    return cost.ns * gone, Suspect(
        place=place(facts, "sql", cost.lost, sql_id=plan.sql.sql_id, node_id=node.node_id,
                    operator=node.name),
        mechanism=(
            f"{node.name} gives {units.counted(out, 'row')} from {units.count(sides[0])} and"
            f" {units.count(sides[1])}, {out / most:.3g} for each of the larger side: keys are"
            " duplicated on both sides"
            f", and {reducing[0].name} reduces the rows to {units.count(groups)} again."
        ),
        change=cost.change,
        extent=cost.extent.times(min(surely, gone) * low, gone * high),
        evidence=[
            shown_by("rows of the output", float(out), "count", "node_metrics",
                     "show --json: sql[].nodes[].metrics", keys),
            shown_by("rows of both inputs", float(sides[0] + sides[1]), "count", "node_metrics",
                     "show --json: sql[].nodes[].metrics", keys),
        ],
        remedies=[
            code("aggregate or deduplicate one side by the key before the join",
                 'a.join(b, "k").groupBy("k").agg(count("*"))',
                 'n = b.groupBy("k").agg(count("*").alias("n"))\n'
                 'a.join(n, "k").groupBy("k").agg(sum("n"))'),
        ],
    )  # fmt: skip


def _is_equality(node: Node) -> bool:
    """Whether equal keys are all that the join asks for.

    Examples
    --------
    >>> texts = ["SortMergeJoin [k#1], [j#2], Inner", "BroadcastHashJoin [k#1], [j#2], Inner,"
    ...          " BuildRight, (v#3 > 2), false"]
    >>> [_is_equality(Node(node_id=0, depth=0, name="", simple_string=text)) for text in texts]
    [True, False]
    """
    return not any("#" in part for part in parts(node.simple_string or "")[2:])


def _reducing(over: Sequence[Node]) -> list[Node]:
    """Give the aggregates right above a join: partial, and final after an exchange."""
    found = []
    for node in over:
        if node.name.endswith("Aggregate"):
            found.append(node)
        elif not _PASSES.match(node.name):
            break
    return found


def rows_of_a_side(plan: Plan, join: Node, over: Sequence[Node], groups: int) -> dict[int, int]:
    """Say which sides can be aggregated before a join, and into how many rows for each of its keys.

    Parameters
    ----------
    over : sequence of Node
        What is above the join, the nearest first.
    groups : int
        Rows that remain above.

    Returns
    -------
    dict of int to int
        The most rows for each key, by side; empty where the plan does not show that it can be.
    """
    origins = Origins(plan, join)
    for node in over:
        if node.name == "Project":
            origins.pass_through(node)
        elif node.name.endswith("Aggregate"):
            text = node.simple_string or ""
            keys = listed(text, "keys") if "keys=[" in text else listed(text, "key")
            return _by_side(origins, keys, listed(text, "functions"), groups)
    return {}


def _by_side(
    origins: Origins, keys: Sequence[str], functions: Sequence[str], groups: int
) -> dict[int, int]:
    read = [origins.of(key) for key in keys]
    if any(len(sides) > 1 for sides in read):
        return {}
    if not all(_ADDS_UP.match(one) and _by_parts(origins, one) for one in functions):
        return {}
    return {side: groups if {side} in read else 1 for side in BOTH}


def _by_parts(origins: Origins, function: str) -> bool:
    """Whether a function of the aggregate can be had from values that each side was brought to."""
    if len(origins.of(function)) < 2:
        return True
    is_sum = function.startswith(("partial_sum(", "sum("))
    return is_sum and " * " in function and _NO_PRODUCT.search(function) is None


def _of_its_rows(node: Node, over: list[Node]) -> set[int]:
    """Give a join and what works on its rows: all above it, the next exchange included."""
    found = {node.node_id}
    for one in over:
        found.add(one.node_id)
        if _ENDS.search(one.name) or "Join" in one.name:
            break
    return found


RULE = Rule(
    code="join.explodes",
    title="A join multiplies its rows",
    cause="duplicate join keys",
    suspects=_suspects,
    needs=(SQL_PLANS,),
    explains=("spill.", "shuffle.", "gc."),
    refute="Count the rows of each side by key: if no key has several on both, rows do not"
    " multiply.",
)
