"""Arrays are exploded into rows, and the rows grouped back by the row they came from.

What it is
    `explode`, `posexplode` or `inline` of an array, then a `GROUP BY` whose keys are columns of the
    row that had the array, and identify it: a sum over the items of an order, a list of their
    names. Every element becomes a row with a copy of the keys, is hashed, and the groups are
    shuffled, though all that a group needs was in one row.

Mechanism
    A function of the array gives the same from the row itself. The simulator removes the CPU of the
    explosion, of the aggregates on both sides of the exchange, and of the exchange. The interval
    allows for what the function costs.

Evidence
    Rows into the explosion, out of it, and out of both aggregates: as many groups come out of the
    second as of the first, so that no group had rows in two tasks, and nearly as many as rows went
    in. CPU samples of these operators; from an event log alone, the CPU of the stage of the
    explosion.

Remedy
    `aggregate`, `transform`, `filter`, `array_max`, `size` and their like, in the row.

When it is wrong
    Keys that identify no row, in data that happen to have each of them once. A row whose array is
    empty has no group, but a value of `aggregate`: leave such rows out with `where(size(…) > 0)`.
    Functions of arrays are not compiled: a cheap sum over a long array, of which a filter takes
    most, costs as much either way.

Source
    "Higher-Order Functions" in Spark's SQL reference. CPU of tasks here, reading included, with
    `explode` and with a function of the array (Spark 4.3, warm, medians of 2; 2026-11-30): sums
    over 3, 10 and 50 elements 0.77, 0.41, 0.18 and 0.12, 0.11, 0.11 s; lists 1.26, 1.02, 0.87 and
    0.19, 0.20, 0.19 s; sums of the half that a filter leaves 0.39, 0.23, 0.14 and 0.15, 0.13,
    0.14 s. A job of twelve such sums over 3 elements: 10.6 and 1.8 s.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pyrometer.accounts.explosions import output_rows
from pyrometer.accounts.plan_schema import Node
from pyrometer.core import units
from pyrometer.explain.evidence.alike import alike
from pyrometer.explain.evidence.node_costs import above, cost_of_rows
from pyrometer.explain.evidence.places import largest
from pyrometer.explain.evidence.plan_nodes import (
    SHELLS,
    Plan,
    nodes_named,
    rows_out,
    unnumbered,
)
from pyrometer.explain.evidence.saying import code, place, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SQL_PLANS, Rule, Suspect

ACHIEVED = (0.45, 0.95)
"""Of the CPU of these operators: the function of the array costs the rest (see Source)."""
FILTERED = (0.0, 0.7)
"""The same where a filter takes elements before they are grouped: few are left to shuffle."""
WHOLE_STAGE = (0.05, 0.9)
"""Of the stage's CPU: without samples it is not known which share is theirs. Assumed."""
MOST_WITHOUT = 0.1
"""Rows whose array may be empty: so many groups may be missing."""
SPLIT_GROUPS = 0.01
"""Groups that may have had rows in two tasks: where a file is split between them."""
_EXPLODES = re.compile(
    r"^Generate (?:explode|posexplode|inline)\((?P<array>.*)\), \[(?P<kept>[^\]]*)\],"
    r" (?:true|false), \[[^\]]*\]$"
)
_AGGREGATE = re.compile(r"^\w*Aggregate\w*\(keys=\[(?P<keys>.*?)\], functions=\[(?P<does>.*)\]")
_HANDS_ON = re.compile(rf"^(?:Project|Filter|Sort|{SHELLS})\b")


@dataclass(frozen=True)
class _Regrouped:
    """An explosion and the aggregates that group its rows back.

    Attributes
    ----------
    array : str
        What is exploded.
    first, last : Node
        The aggregates before and behind the exchange.
    nodes : list of int
        All nodes from the explosion to the last aggregate.
    filtered : bool
        Whether elements are left out between.
    """

    array: str
    first: Node
    last: Node
    nodes: list[int]
    filtered: bool


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    yield from alike(_each(facts))


def _each(facts: Facts) -> Iterator[tuple[str, float, Suspect]]:
    """Give each explosion that is grouped back, and its text."""
    for plan, node in nodes_named(facts, "Generate"):
        regrouped = _regrouped(plan, node)
        found = None if regrouped is None else _suspect(facts, plan, node, regrouped)
        if found is not None:
            yield unnumbered(node.simple_string), *found


def _regrouped(plan: Plan, node: Node) -> _Regrouped | None:
    """Find the aggregates by columns that the exploded row had; None if anything else is first."""
    exploded = _EXPLODES.match(node.simple_string or "")
    if exploded is None:
        return None
    had, filtered = set(_columns(exploded["kept"])), False
    passed: list[int] = [node.node_id]
    first: Node | None = None
    for one in above(plan, node):
        text = one.simple_string or ""
        passed.append(one.node_id)
        grouped = _AGGREGATE.match(text)
        if one.name == "Exchange":
            if first is None:
                return None
        elif grouped is not None:
            keys = _columns(grouped["keys"])
            if not keys or not had.issuperset(keys):
                return None
            if first is not None:
                array = _named(plan, node, exploded["array"])
                return _Regrouped(array, first, one, passed, filtered)
            if "partial_" not in grouped["does"]:
                return None
            first = one
        elif _HANDS_ON.match(one.name):
            had |= {new for new, old in _renamed(text).items() if old in had}
            filtered = filtered or one.name == "Filter"
        else:
            return None
    return None


def _columns(text: str) -> list[str]:
    return [one.strip() for one in text.split(",") if one.strip()]


def _renamed(text: str) -> dict[str, str]:
    """Give what columns of a projection were called below it.

    Examples
    --------
    >>> _renamed("Project [id#1L AS key#7L, item#3.price AS price#8]")
    {'key#7L': 'id#1L', 'price#8': 'item#3.price'}
    """
    return {new: old for old, new in re.findall(r"([^\s,\[\]]+) AS ([\w`]+#\d+L?)", text)}


def _named(plan: Plan, node: Node, array: str) -> str:
    """Name an array as the query does: Spark takes a field of its elements out before exploding."""
    under = plan.children.get(node.node_id, ())
    names = {new: old for one in under for new, old in _renamed(one.simple_string or "").items()}
    return unnumbered(names.get(array, array))


def _suspect(
    facts: Facts, plan: Plan, node: Node, regrouped: _Regrouped
) -> tuple[float, Suspect] | None:
    below = [rows_out(plan, one) for one in plan.below(node)]
    out, first, last = output_rows(node), output_rows(regrouped.first), output_rows(regrouped.last)
    if len(below) != 1 or not below[0] or not out or not first or not last:
        return None
    if first > (1 + SPLIT_GROUPS) * last or not (1 - MOST_WITHOUT) * below[0] <= last <= below[0]:
        return None
    sql_id = plan.sql.sql_id
    label = f"explode {sql_id} {node.node_id}"
    found = cost_of_rows(facts, plan, label, node, set(regrouped.nodes))
    if found is None:
        return None
    cost, sampled = found
    low, high = WHOLE_STAGE
    if sampled:
        low, high = FILTERED if regrouped.filtered else ACHIEVED
    page = f"/sql/{sql_id}/{node.node_id}"
    return cost.ns, Suspect(
        place=place(facts, "sql", cost.lost, sql_id=sql_id, node_id=node.node_id,
                    operator=node.name, expression=unnumbered(node.simple_string)),
        mechanism=(
            f"{units.counted(below[0], 'row')} are exploded into {units.count(out)} and grouped"
            f" back into {units.count(last)}: {units.duration(cost.ns)} of CPU in"
            f" {units.counted(len(cost.lost), 'stage')}, though all of a group was in one row."
        ),
        change=cost.change,
        extent=cost.extent.times(low, high),
        evidence=[
            shown_by(what, float(rows), "count", "node_metrics",
                     "show --json: sql[].nodes[].metrics", page)
            for what, rows in (
                ("rows before", below[0]), ("exploded rows", out), ("groups", last),
            )
        ],
        remedies=[
            code("use a function of the array in the row",
                 f'df.select("id", explode("{regrouped.array}").alias("x"))'
                 '.groupBy("id").agg(sum("x"))',
                 f'df.select("id", aggregate("{regrouped.array}", lit(0.0),'
                 ' lambda s, x: s + x))'),
        ],
    )  # fmt: skip


RULE = Rule(
    code="expression.explode-regrouped",
    title="Arrays are exploded, and their elements grouped back",
    cause="needless explode",
    suspects=_suspects,
    needs=(SQL_PLANS,),
    explains=("spill.", "shuffle."),
    refute="Replace it by a function of the array: if the query still takes as long, the rows are"
    " not why.",
)
