"""A join that keeps few rows comes after one that has to work on all of them.

What it is
    `a` is joined with `b`, and the result with `c`. The join with `c` keeps a small share of the
    rows, and its key is a column of `a`: it could come first, and `b` would meet few rows.

Mechanism
    In the other order, the join with `b` gets only the share of the rows of `a` that the join with
    `c` keeps. The simulator removes the rest of the CPU of the join with `b`, of its shuffle and
    its sort on the side of `a`; set against this is the join with `c`, which then works on the rows
    of `a` in place of those of the first join.

Evidence
    Rows of the inputs and outputs of both joins in the metrics of the plan, columns of the keys in
    their descriptions, and CPU samples; from an event log alone the CPU of the first join's stages.

Remedy
    Factors `spark.sql.cbo.enabled` and `spark.sql.cbo.joinReorder.enabled` with statistics of the
    tables (`ANALYZE TABLE`), or write the joins in the other order. Of files that are read by their
    path Spark knows no number of rows, and reorders nothing: then only the other order is proposed.

When it is wrong
    What `c` keeps of `a` and what `b` matches are correlated: then fewer rows are kept for `b` than
    are assumed here, or more. Outer joins do not commute, and are not named.

Source
    Spark's optimizer rule `CostBasedJoinReorder`, off by default. How much of the CPU goes with the
    rows (`ACHIEVED`, `WHOLE_STAGE`) is not measured; it is assumed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pyrometer.accounts.plan_schema import Node
from pyrometer.core import units
from pyrometer.explain.evidence.node_costs import Cost, cpu_of_nodes, stages_of_nodes
from pyrometer.explain.evidence.places import largest
from pyrometer.explain.evidence.plan_nodes import Plan, plans, rows_out
from pyrometer.explain.evidence.saying import code, factor, place, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SQL_PLANS, Rule, Suspect
from pyrometer.explain.schema import Remedy

ACHIEVED = (0.5, 1.0)
"""Of the CPU of the rows that are not kept: a join also reads its other side."""
WHOLE_STAGE = (0.1, 0.9)
"""Of the stages' CPU: without samples it is not known which share is the join's."""
_NAMES = re.compile(r"^(?:SortMerge|ShuffledHash|BroadcastHash)Join$")
_KEYS = re.compile(r"^\w+ \[([^\]]*)\], \[([^\]]*)\], Inner\b")
_COLUMN = re.compile(r"#\d+")
_OF_FILES = re.compile(r"^Scan (?:avro|csv|json|orc|parquet|text|xml)\s*$")
"""Of a table, its name follows."""
_SEEN_THROUGH = ("Sort", "Exchange", "Filter")


@dataclass(frozen=True)
class _Chain:
    """Two inner joins, one on the other: rows of `a` and of their outputs, and what is shuffled."""

    lower: Node
    upper: Node
    a_rows: int
    lower_rows: int
    upper_rows: int
    nodes: frozenset[int]

    @property
    def kept(self) -> float:
        """Share of the rows that the upper join keeps."""
        return self.upper_rows / self.lower_rows

    @property
    def dearer(self) -> float:
        """Rows that the upper join gets more than now, over those it gets now."""
        return max(0.0, self.a_rows / self.lower_rows - 1)


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    for plan in plans(facts):
        for upper in plan.sql.nodes:
            if _NAMES.match(upper.name) and (chain := _chain(plan, upper)) is not None:
                found = _suspect(facts, plan, chain)
                if found is not None:
                    yield found


def _through(plan: Plan, side: Node) -> list[Node]:
    """Give the nodes from a side of a join down to what is not its sort, exchange or filter."""
    found = [side]
    while found[-1].name in _SEEN_THROUGH:
        below = plan.below(found[-1])
        if len(below) != 1:
            break
        found.append(below[0])
    return found


def _chain(plan: Plan, upper: Node) -> _Chain | None:
    sides, keys = plan.below(upper), _KEYS.match(upper.simple_string or "")
    if len(sides) != 2 or keys is None:
        return None
    for side in (0, 1):
        lower = _through(plan, sides[side])[-1]
        if not _NAMES.match(lower.name) or _KEYS.match(lower.simple_string or "") is None:
            continue
        columns = set(_COLUMN.findall(keys[side + 1]))
        inputs = plan.below(lower)
        out, kept = rows_out(plan, lower), rows_out(plan, upper)
        if len(inputs) != 2 or not columns or not out or kept is None or kept >= out:
            continue
        for one in inputs:
            rows = rows_out(plan, one)
            if rows and columns <= _columns(plan, one):
                own = [each.node_id for each in _through(plan, one)[:-1]]
                return _Chain(lower, upper, rows, out, kept, frozenset([lower.node_id, *own]))
    return None


def _columns(plan: Plan, node: Node) -> set[str]:
    """Give the columns that are spoken of at or under a node."""
    return {
        column for one in plan.beneath(node) for column in _COLUMN.findall(one.simple_string or "")
    }


def _suspect(facts: Facts, plan: Plan, chain: _Chain) -> tuple[float, Suspect] | None:
    label = f"join {plan.sql.sql_id} {chain.lower.node_id}"
    cost = cpu_of_nodes(facts, plan, label, chain.nodes)
    bounds, more = ACHIEVED, 0.0
    if cost is not None:
        later = cpu_of_nodes(facts, plan, label, [chain.upper.node_id])
        more = chain.dearer * (later.ns if later is not None else 0.0) / cost.ns if cost.ns else 0.0
    else:
        cost, bounds = stages_of_nodes(facts, label, [chain.lower]), WHOLE_STAGE
        more = chain.dearer
    if cost is None or (gone := 1 - chain.kept - more) <= 0:
        return None
    return cost.ns * gone, _said(facts, plan, chain, cost, (bounds[0] * gone, bounds[1] * gone))


def _said(
    facts: Facts, plan: Plan, chain: _Chain, cost: Cost, bounds: tuple[float, float]
) -> Suspect:
    page = f"/sql/{plan.sql.sql_id}/{chain.lower.node_id}"
    return Suspect(
        place=place(facts, "sql", cost.lost, sql_id=plan.sql.sql_id, node_id=chain.lower.node_id,
                    operator=chain.lower.name),
        mechanism=(
            f"{chain.lower.name} works on {units.counted(chain.a_rows, 'row')} and gives"
            f" {units.count(chain.lower_rows)}, of which the next join keeps"
            f" {units.count(chain.upper_rows)} ({chain.kept:.2g} of them) by columns of the same"
            f" input: {units.duration(cost.ns)} of CPU come before it."
        ),
        change=cost.change,
        extent=cost.extent.times(*bounds),
        evidence=[
            shown_by("rows after the first join", float(chain.lower_rows), "count", "node_metrics",
                     "show --json: sql[].nodes[].metrics", page),
            shown_by("rows after the second", float(chain.upper_rows), "count", "node_metrics",
                     "show --json: sql[].nodes[].metrics",
                     f"/sql/{plan.sql.sql_id}/{chain.upper.node_id}"),
        ],
        remedies=[
            *_by_statistics(plan, chain.upper),
            code("join first with what keeps few rows", 'a.join(b, "k").join(c, "v")',
                 'a.join(c, "v").join(b, "k")'),
        ],
    )  # fmt: skip


def _by_statistics(plan: Plan, upper: Node) -> Iterator[Remedy]:
    """Let Spark reorder, where it can know how many rows every input has."""
    if not any(_OF_FILES.match(one.name) for one in plan.beneath(upper)):
        yield factor(
            "spark.sql.cbo.joinReorder.enabled", "true",
            "with spark.sql.cbo.enabled and statistics of the tables (ANALYZE TABLE … FOR ALL"
            " COLUMNS)",
            **{"spark.sql.cbo.enabled": "true"},
        )  # fmt: skip


RULE = Rule(
    code="join.order",
    title="A join that keeps few rows comes last",
    cause="join order",
    suspects=_suspects,
    needs=(SQL_PLANS,),
    explains=("shuffle.", "spill.", "join.broadcast-missed"),
    refute="Write the joins in the other order: if the query still takes as long, the order is not"
    " why.",
)
