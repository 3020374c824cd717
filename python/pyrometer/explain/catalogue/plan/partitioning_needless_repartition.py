"""Rows are repartitioned, and the next thing done with them is to partition them again.

What it is
    A `repartition` whose rows go straight into another shuffle, of a join or an aggregate or of
    another `repartition`: the first shuffle leaves nothing that the second one keeps.

Mechanism
    Without it, its tasks of the stage below write the second shuffle instead of the first: the
    stage between both, which reads the one and writes the other, is gone. Taken away is the time of
    its tasks. What it costs the stage below to write other partitions is left in the interval.

Evidence
    Two exchanges of the plan with nothing but columns chosen between them, the lower one from
    `repartition`; the time of the tasks of the stage that both share.

Remedy
    Leave the `repartition` out.

When it is wrong
    Something between both that the plan does not show, as a function of an RDD, was to run with
    more tasks. An expensive function in the stage below runs there either way.

Source
    "Partitioning Hints" in Spark's SQL reference. Parquet of 1.5 million rows, `repartition(6)` and
    then `repartition(5, "a")` on two slots: 5.8 to 7.3 s, and 2.0 to 2.6 s without the first (three
    runs each, 2026-11-25, other load on the machine). `ACHIEVED` itself is assumed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pyrometer.accounts.plan_schema import Node
from pyrometer.core import units
from pyrometer.explain.change import Less
from pyrometer.explain.evidence.places import largest
from pyrometer.explain.evidence.plan_nodes import Plan, plans, unnumbered
from pyrometer.explain.evidence.saying import code, place, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SQL_PLANS, Rule, Suspect
from pyrometer.explain.what_if import Extent

ACHIEVED = (0.7, 1.0)
"""Of the time of the stage between: to write other partitions costs the stage below the rest."""
_ASKED_FOR = re.compile(r"\bREPARTITION(?:_\w+)?\b|RoundRobinPartitioning")
_COMPUTES = re.compile(r"\bUDF\(|\w\(")
"""A projection that calls a function, which `repartition` may be there to spread."""


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    for plan in plans(facts):
        for node in plan.sql.nodes:
            if node.name == "Exchange" and (lower := _asked_for_below(plan, node)) is not None:
                found = _suspect(facts, plan, node, lower)
                if found is not None:
                    yield found


def _asked_for_below(plan: Plan, node: Node) -> Node | None:
    """Find the exchange of a `repartition` right below an exchange."""
    below = plan.below(node)
    if len(below) != 1 or below[0].name != "Exchange":
        return None
    lower = below[0]
    one = plan.by_id.get(lower.parent_node_id) if lower.parent_node_id is not None else None
    while one is not None and one.node_id != node.node_id:
        if one.name == "Project" and _COMPUTES.search(one.simple_string or ""):
            return None
        one = plan.by_id.get(one.parent_node_id) if one.parent_node_id is not None else None
    return lower if _ASKED_FOR.search(lower.simple_string or "") else None


def _suspect(facts: Facts, plan: Plan, upper: Node, lower: Node) -> tuple[float, Suspect] | None:
    between = set(facts.stages_of(upper, plan.sql)) & set(facts.stages_of(lower, plan.sql))
    lost = {n: float(facts.tasks_of(n).duration_ns.sum()) for n in between}
    lost = {n: ns for n, ns in lost.items() if ns > 0}
    if not lost:
        return None
    time = sum(lost.values())
    tasks = sum(facts.tasks_of(n).count for n in lost)
    what = f"repartition {plan.sql.sql_id} {lower.node_id}"
    return time, Suspect(
        place=place(facts, "sql", lost, sql_id=plan.sql.sql_id, node_id=lower.node_id,
                    operator=lower.name, expression=unnumbered(lower.simple_string)),
        mechanism=(
            "Rows are repartitioned and go straight into another shuffle: the stage between,"
            f" {units.counted(tasks, 'task')}, took {units.duration(time)} to read the one and"
            " write the other."
        ),
        change=(Less(what, dict.fromkeys(lost, 1.0)),),
        extent=Extent(n=tasks).times(*ACHIEVED),
        evidence=[
            shown_by("time of tasks between the shuffles", time, "ns", "tasks",
                     "SELECT sum(finish_wall_ns - launch_wall_ns) FROM tasks WHERE stage_id IN"
                     f" ({', '.join(str(facts.stages[n].stage_id) for n in sorted(lost))})",
                     f"/sql/{plan.sql.sql_id}/{lower.node_id}", tasks),
        ],
        remedies=[
            code("leave the repartition out", 'df.repartition(200).repartition("k")',
                 'df.repartition("k")'),
        ],
    )  # fmt: skip


RULE = Rule(
    code="partitioning.needless-repartition",
    title="A repartition goes straight into another shuffle",
    cause="needless repartition",
    suspects=_suspects,
    needs=(SQL_PLANS,),
    explains=("shuffle.", "partitioning.too-many", "partitioning.too-few", "spill."),
    refute="Leave the repartition out: if the query takes as long, its stage is not why.",
)
