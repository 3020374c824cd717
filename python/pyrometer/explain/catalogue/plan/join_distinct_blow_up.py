"""Several exact counts of distinct values turn one row into many.

What it is
    An aggregate with `count(DISTINCT a), count(DISTINCT b)`: Spark expands each row into one for
    each distinct column (and one more for the other aggregates), and shuffles them by the values.

Mechanism
    Approximate counts need no expansion and no shuffle of values: each task hands on a sketch for
    each group. The simulator removes the CPU of the `Expand` and of all that works on its rows up
    to the aggregate behind the next exchange. The interval allows for what the sketches cost.

Evidence
    Rows of the `Expand` and of what is below it in the metrics of the plan, and the CPU samples of
    these operators; from an event log alone, the CPU of the stages that the `Expand` ran in.

Remedy
    `approx_count_distinct`, or one query for each exact count, where another scan costs less.

When it is wrong
    Counts must be exact. With few distinct values the first aggregate folds the rows again, and
    only expanding costs. A `cube`, `rollup` or `GROUPING SETS` expands rows, too: it needs them
    all.

Source
    Spark's optimizer rule `RewriteDistinctAggregates`, which builds the `Expand`. Parquet of 1.5
    million rows on two slots, three counts of up to 300 000 values in each of 50 groups: 13.2 to
    28.2 s exact, 1.4 to 2.7 s approximate (three runs each, 2026-11-25, other load on the machine).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pyrometer.accounts.explosions import output_rows
from pyrometer.accounts.plan_schema import Node
from pyrometer.core import units
from pyrometer.explain.evidence.node_costs import above, cost_of_rows
from pyrometer.explain.evidence.places import largest
from pyrometer.explain.evidence.plan_nodes import Plan, nodes_named, rows_out
from pyrometer.explain.evidence.saying import code, place, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SQL_PLANS, Rule, Suspect

ACHIEVED = (0.5, 1.0)
"""Of the CPU of the expanded rows: the sketches cost the rest. Of the whole query nine tenths went
(see above), of many small groups less will."""
WHOLE_STAGE = (0.1, 0.9)
"""Of the stages' CPU: without samples it is not known which share is theirs. Assumed."""
_GROUPING_SETS = "spark_grouping_id"
_COUNTS = re.compile(r"\bgid#\d+")
"""What Spark calls the number of the distinct column that an expanded row is for."""


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    for plan, node in nodes_named(facts, "Expand"):
        found = _suspect(facts, plan, node) if _of_distinct(node) else None
        if found is not None:
            yield found


def _of_distinct(node: Node) -> bool:
    text = node.simple_string or ""
    return bool(_COUNTS.search(text)) and _GROUPING_SETS not in text


def _suspect(facts: Facts, plan: Plan, node: Node) -> tuple[float, Suspect] | None:
    out = output_rows(node)
    below = [rows_out(plan, one) for one in plan.below(node)]
    if not out or len(below) != 1 or not below[0] or out <= below[0]:
        return None
    label = f"expand {plan.sql.sql_id} {node.node_id}"
    found = cost_of_rows(facts, plan, label, node, _of_its_rows(plan, node))
    if found is None:
        return None
    cost, sampled = found
    low, high = ACHIEVED if sampled else WHOLE_STAGE
    page = f"/sql/{plan.sql.sql_id}/{node.node_id}"
    return cost.ns, Suspect(
        place=place(facts, "sql", cost.lost, sql_id=plan.sql.sql_id, node_id=node.node_id,
                    operator=node.name),
        mechanism=(
            f"Several counts of distinct values expand {units.counted(below[0], 'row')} into"
            f" {units.count(out)}, {out / below[0]:.3g} for each: {units.duration(cost.ns)} of CPU"
            f" in {units.counted(len(cost.lost), 'stage')}."
        ),
        change=cost.change,
        extent=cost.extent.times(low, high),
        evidence=[
            shown_by("expanded rows", float(out), "count", "node_metrics",
                     "show --json: sql[].nodes[].metrics", page),
            shown_by("rows before", float(below[0]), "count", "node_metrics",
                     "show --json: sql[].nodes[].metrics", page),
        ],
        remedies=[
            code("count approximately, where the counts need not be exact",
                 'df.groupBy("k").agg(countDistinct("a"), countDistinct("b"))',
                 'df.groupBy("k").agg(approx_count_distinct("a"), approx_count_distinct("b"))'),
        ],
    )  # fmt: skip


def _of_its_rows(plan: Plan, node: Node) -> set[int]:
    """Give an expansion and what works on its rows: to the aggregate behind the next exchange."""
    found, shuffled = {node.node_id}, False
    for one in above(plan, node):
        if "Aggregate" in one.name or one.name in ("Exchange", "Sort"):
            if one.name == "Exchange" and shuffled:
                break
            found.add(one.node_id)
            if shuffled and "Aggregate" in one.name:
                break
            shuffled = shuffled or one.name == "Exchange"
    return found


RULE = Rule(
    code="join.distinct-blow-up",
    title="Several exact distinct counts multiply the rows",
    cause="distinct blow-up",
    suspects=_suspects,
    needs=(SQL_PLANS,),
    explains=("spill.", "shuffle.", "join.explodes"),
    refute="Replace them by approx_count_distinct: if the query still takes as long, the expanded"
    " rows are not why.",
)
