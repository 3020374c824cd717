"""A stage of one task does work that many slots could share.

What it is
    All rows pass through one partition: `coalesce(1)`, `repartition(1)`, a window without
    `PARTITION BY`, a limit, a source that is read by one connection or as one file.

Mechanism
    One slot works, the others wait. Divided over all slots, the work takes a fraction of the time,
    except for putting the rows together again where that is wanted. Rows that a limit or a
    `repartition(1)` brings together are written by the stage before and read by this one for that
    purpose alone: what the exchange costs both goes, too.

Evidence
    The time of the stage's only task, and the slots that were there; CPU samples of the exchange,
    or, without samples, the times that its metrics hold.

Remedy
    Write several files, `repartition(n)` instead of `coalesce(n)`, a partitioned window, a read in
    several ranges (`partitionColumn`, `numPartitions` of JDBC), files that can be split.

When it is wrong
    The result must be in one order in one file, or the work is a last merge of few rows.

Source
    Scaladoc of `Dataset.coalesce`: "If you're doing a drastic coalesce, e.g. to numPartitions = 1,
    this may result in your computation taking place on fewer nodes than you like".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pyrometer.accounts.plan_schema import Node
from pyrometer.core import units
from pyrometer.explain.catalogue.parallelism.partitioning_too_few import overhead_ns
from pyrometer.explain.divided import Divided
from pyrometer.explain.evidence.node_costs import Cost, cpu_of_nodes, metric_times
from pyrometer.explain.evidence.places import (
    MOST_PLACES,
    most,
    of_stage,
    of_tasks,
    slots_at,
    with_unseen,
)
from pyrometer.explain.evidence.plan_nodes import Plan, plans
from pyrometer.explain.evidence.saying import code
from pyrometer.explain.evidence.shuffles import ends_of, shuffles
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.what_if import Extent
from pyrometer.simulation.measured import Stage

REACHED = (0.5, 1.0)
"""Of the division: half where all rows are put together again, which is a second pass over them,
taken to cost at most what the first does."""
LIMIT = "LocalLimit"
_CAUSES = (
    (r"\bCoalesce 1\b", "coalesce(1)",
     "leave coalesce(1) out: several tasks, and files; or repartition(1), which keeps the work"
     " before it in several"),
    (r"RoundRobinPartitioning\(1\)", "repartition(1)",
     "leave repartition(1) out: several tasks, and files"),
    (r"(?s)\bJDBCRelation\b.*\[numPartitions=1\]", "a read over one connection",
     "read in several ranges: partitionColumn, lowerBound, upperBound and numPartitions of the"
     " source"),
    ("SinglePartition", "an exchange to a single partition",
     "keep the rows in several partitions, and bring together only the result: PARTITION BY in a"
     " window, a limit after an aggregation"),
)  # fmt: skip
"""Texts of a plan's nodes, what they are, and what to do."""
_QUERIES = """
SELECT stage_id, sql_id FROM stages WHERE app_index = $1 AND list_contains($2, stage_id)
"""


def _suspects(facts: Facts) -> Iterator[Suspect]:
    single = [one for one in facts.stages if one.tasks_count == 1]
    # Their plans are long texts: those of the longest are searched, and no others.
    single.sort(key=lambda one: one.submit_ns - one.complete_ns)
    found = list(most(_each(facts, single[:MOST_PLACES])))
    yield from with_unseen(found, len(single[MOST_PLACES:]))


def _each(facts: Facts, single: Sequence[Stage]) -> Iterator[tuple[float, Suspect]]:
    if not single or facts.measured is None:
        return
    ids = [one.stage_id for one in single]
    queries = dict(facts.tables.query(_QUERIES, [facts.measured.app_index, ids]))
    gathering = list(_gathering(facts))
    for stage in single:
        slots = slots_at(facts, stage)
        if slots < 2:
            continue
        tasks = facts.tasks_of(stage.number)
        time = float(tasks.duration_ns[0])
        left = 1 / slots + overhead_ns(tasks) / max(time, 1.0)
        shared = max(0.0, 1 - left)
        sql_id = queries.get(stage.stage_id)
        why = _why(facts, stage, sql_id)
        named = f"; its query has {' and '.join(why)}" if why else ""
        costs = (_cost(facts, *one) for one, readers in gathering if stage.number in readers)
        gathered = [edit for cost in costs if cost is not None for edit in cost.change]
        yield time * shared, Suspect(
            place=of_stage(stage).model_copy(update={"sql_id": sql_id if why else None}),
            mechanism=(
                f"One task ran for {units.duration(time)} while"
                f" {units.counted(slots - 1, 'other slot')} had nothing of this stage to"
                f" run{named}."
            ),
            # The work stays: it is shared, and so are no cores saved but for the exchange's.
            change=(*gathered, Divided({stage.number: shared})),
            extent=Extent(n=1).times(*REACHED),
            evidence=[
                of_tasks("its only task", time, "ns", "max(finish_wall_ns - launch_wall_ns)",
                         stage, 1),
            ],
            remedies=[
                code(next(iter(why.values()), "keep the rows in several partitions, and bring"
                          " together only the result")),
            ],
        )  # fmt: skip


def _why(facts: Facts, stage: Stage, sql_id: int | None) -> dict[str, str]:
    """Give what in its query leaves a stage one task, and what to do; what surely ran there first.

    Of nodes without metrics nobody knows where they ran.
    """
    sql = facts.sql_of(sql_id)
    if sql is None:
        return {}
    found: list[tuple[bool, int]] = []
    for node in sql.nodes:
        ran = facts.stages_of(node, sql)
        # An exchange says how many tasks read it, not how many write it.
        made = (ends_of(facts, Plan(sql), node)[1] if node.name.endswith("Exchange") else []) or ran
        if ran and stage.number not in made:
            continue
        found += [
            (not ran, place) for place, (text, _, _) in enumerate(_CAUSES)
            if re.search(text, node.simple_string or "")
        ]  # fmt: skip
    return {_CAUSES[place][1]: _CAUSES[place][2] for _, place in sorted(found)}


def _gathering(facts: Facts) -> Iterator[tuple[tuple[Plan, Node], Sequence[int]]]:
    """Give the exchanges that only bring rows together, and the stages that read them."""
    known = {plan.sql.sql_id: plan for plan in plans(facts)}
    for one in shuffles(facts).values():
        if one.node is None or one.sql_id not in known:
            continue
        plan, text = known[one.sql_id], one.node.simple_string or ""
        # The limit over it may be gone: adaptive execution leaves out one that no rows reach.
        limited = "SinglePartition" in text and any(
            below.name == LIMIT for below in plan.below(one.node)
        )
        if limited or "RoundRobinPartitioning(1)" in text:
            yield (plan, one.node), one.readers


def _cost(facts: Facts, plan: Plan, node: Node) -> Cost | None:
    label = f"gathering {plan.sql.sql_id} {node.node_id}"
    cost = cpu_of_nodes(facts, plan, label, [node.node_id])
    if cost is None and not facts.has("samples"):
        cost = metric_times(facts, label, [node])
    return cost


RULE = Rule(
    code="partitioning.one-task",
    title="One task does what all slots could",
    cause="single-task stage",
    suspects=_suspects,
    refute="Leave the rows in several partitions: if the query still lasts as long, the work is in"
    " the merge.",
)
