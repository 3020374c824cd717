"""A join gives more rows than both its inputs have: keys are duplicated on both sides.

What it is
    An equi-join in which a key has several rows on the left and several on the right: each meets
    each, and the output has the product of both.

Mechanism
    With one side unique by key, the output has at most the rows of the other. Taken away is the
    CPU of the join and of what works on its rows up to the next exchange, but for the share of rows
    that then remains: rows of the larger input over rows of the output.

Evidence
    Rows of both sides and of the output in the metrics of the plan, and CPU samples of these
    operators; from an event log alone the CPU of the stages that the join ran in.

Remedy
    Aggregate or deduplicate one side by the key before the join; or complete the key.

When it is wrong
    Where every pair is wanted, as in a self-join that looks for pairs. If no operator above the
    join reduces the rows again, this is not known: the interval begins at nothing, and the finding
    shows with `--all` only.

Source
    The "JOIN" page of Spark's SQL reference: an inner join gives each pair of rows that match. How
    much of the CPU goes (`ACHIEVED`, `WHOLE_STAGE`) is not measured; assumed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pyrometer.accounts.explosions import explosions, output_rows
from pyrometer.accounts.plan_schema import Node
from pyrometer.core import units
from pyrometer.explain.evidence.node_costs import above, cost_of_rows
from pyrometer.explain.evidence.places import largest
from pyrometer.explain.evidence.plan_nodes import Plan, plans, rows_out
from pyrometer.explain.evidence.saying import code, place, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SQL_PLANS, Rule, Suspect

NAMES = re.compile(r"^(?:Gpu|Photon)?(?:SortMerge|ShuffledHash|BroadcastHash)Join\b")
ACHIEVED = (0.5, 1.0)
"""Of the CPU of the rows too many: to make a side unique costs the rest. Not measured; assumed."""
WHOLE_STAGE = (0.1, 0.9)
"""Of the stages' CPU: without samples it is not known which share is the join's. Assumed."""
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
    most = max(sides[0], sides[1])
    gone = 1 - most / out
    over = list(above(plan, node))
    reduced = any((output_rows(one) or out) <= most for one in over)
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
            + (", and what is above reduces the rows again." if reduced else ".")
        ),
        change=cost.change,
        extent=cost.extent.times(gone * low if reduced else 0.0, gone * high),
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
    refute="Count the rows of each side by key: if no key has several on both, they do not"
    " multiply.",
)
