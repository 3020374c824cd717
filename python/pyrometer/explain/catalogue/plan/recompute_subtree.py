"""The same data is read and computed again for each query or job that needs it.

What it is
    Several queries of an application, or several branches of one, begin with the same scan, filters
    and expressions, and nothing is kept between them.

Mechanism
    Each of them computes it again. Kept once (cache, or a table), the others read the result. The
    simulator removes the stages that repeat, from the second on, less reading what was kept. What
    is kept has the columns of all of them and takes as long as the costliest: of a repetition that
    is costlier than the first, only as much goes as the first took.

Evidence
    Parts of plans that are alike: the same files, conditions, keys of joins, exchanges, sorts,
    windows and aggregates, and as many rows; columns may differ, as Spark prunes them for each
    query, and so may the way groups are found, which depends on the columns. A branch that reuses
    some of its inputs (`ReusedExchange`) computes the rest again; what comes from reused exchanges
    alone is not counted. Whole stages count, and of stages that go on with other work the CPU
    samples of the part. A scan with its filters alone is not counted.

Remedy
    `cache()` (or `persist`, or a checkpoint) after the last step that they share, and an action
    that fills it; or one pass that computes everything.

When it is wrong
    Where the shared part is cheap next to keeping it, or larger than memory. Iterations of a
    benchmark repeat on purpose: a window of several iterations is not judged across them.

Source
    Spark's RDD programming guide, "RDD Persistence".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from pyrometer.core import units
from pyrometer.explain.change import Less
from pyrometer.explain.evidence.places import largest
from pyrometer.explain.evidence.saying import code, place, shown_by
from pyrometer.explain.evidence.shared_subtrees import Part, computed_again, stages_of
from pyrometer.explain.evidence.stack_shares import of_nodes
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.what_if import Extent

ACHIEVED = (0.5, 0.95)
"""Of the repeated stages' time: reading rows kept in memory costs the rest."""


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    groups: dict[frozenset[str], list[tuple[Part, Part]]] = defaultdict(list)
    for again, first in computed_again(facts):
        groups[again.inputs].append((again, first))
    for pairs in groups.values():
        shares = _shares(facts, pairs)
        spent = {number: _time(facts, {number: share}) for number, share in shares.items()}
        total = sum(spent.values())
        if total > 0:
            yield total, _suspect(facts, pairs, shares, spent)


def _shares(facts: Facts, pairs: Sequence[tuple[Part, Part]]) -> dict[int, float]:
    """Give the share of each stage's time that goes where one result is kept, by number."""
    repeats: dict[tuple[int, int], list[Part]] = defaultdict(list)
    firsts = {first.order: first for _, first in pairs}
    for again, first in pairs:
        repeats[first.order].append(again)
    shares: dict[int, float] = defaultdict(float)
    for order, first in firsts.items():
        known = _time(facts, _shares_of(facts, first))
        mine = [_shares_of(facts, part) for part in repeats[order]]
        costs = [_time(facts, one) for one in mine]
        dearest = max(range(len(costs)), key=costs.__getitem__)
        for at, (one, cost) in enumerate(zip(mine, costs, strict=True)):
            goes = known / cost if at == dearest and 0 < known < cost else 1.0
            for number, share in one.items():
                shares[number] = min(1.0, shares[number] + share * goes)
    return {number: share for number, share in shares.items() if share > 0}


def _shares_of(facts: Facts, part: Part) -> dict[int, float]:
    """Give the share of each stage's time that a part takes, by number.

    Of a stage that goes on with other work, it is what CPU samples say.
    """
    whole, some = stages_of(facts, part)
    shares = dict.fromkeys(whole, 1.0)
    if some and facts.has("samples"):
        sampled = of_nodes(facts, part.plan.sql.sql_id, part.node_ids).by_stage
        for number in some & sampled.keys():
            shares[number] = sampled[number] * facts.cpu_share(number)
    return shares


def _time(facts: Facts, shares: Mapping[int, float]) -> float:
    """Sum up the time of tasks that is in shares of stages."""
    return sum(
        share * float(facts.tasks_of(number).duration_ns.sum()) for number, share in shares.items()
    )


def _suspect(
    facts: Facts,
    pairs: Sequence[tuple[Part, Part]],
    shares: Mapping[int, float],
    spent: Mapping[int, float],
) -> Suspect:
    whole, first = max(pairs, key=lambda pair: len(pair[0].node_ids))
    queries = {one.plan.sql.sql_id for pair in pairs for one in pair}
    total = sum(spent.values())
    stages = sorted(facts.stages[number].stage_id for number in shares)
    name = facts.stages[max(spent, key=lambda number: spent[number])].name
    return Suspect(
        place=place(facts, "sql", spent, source=name, sql_id=whole.plan.sql.sql_id,
                    node_id=whole.node.node_id, operator=whole.node.name.strip()),
        mechanism=(
            f"{_who(len(queries))} from the same input, up to {whole.node.name.strip()} (node"
            f" {first.node.node_id} of SQL {first.plan.sql.sql_id}):"
            f" {units.counted(len(pairs), 'repetition')} cost {units.duration(total)} of tasks."
        ),
        change=(Less("recomputed", dict(shares)),),
        extent=Extent(n=len(pairs)).times(*ACHIEVED),
        evidence=[
            shown_by("time of tasks that goes where it is kept", total, "ns", "tasks",
                     "SELECT stage_id, sum(finish_wall_ns - launch_wall_ns) FROM tasks WHERE"
                     f" stage_id IN ({', '.join(map(str, stages))}) GROUP BY stage_id",
                     f"/sql/{whole.plan.sql.sql_id}/{whole.node.node_id}", len(pairs)),
        ],
        remedies=[
            code("keep what they share after its last common step", "shared = spark.read…",
                 "shared = spark.read… .cache()"),
        ],
    )  # fmt: skip


def _who(queries: int) -> str:
    if queries == 1:
        return "Branches of one query compute a part of it again"
    return f"{units.count(queries)} queries compute the same parts again"


RULE = Rule(
    code="recompute.subtree",
    title="The same is computed again and again",
    cause="recomputation",
    suspects=_suspects,
    explains=(
        "scan.",
        "codec.",
        "expression.per-row",
        "skew.",
        "partitioning.",
        "shuffle.",
        "driver.many-small-jobs",
    ),
    refute="Cache what the stages share: if the application still takes as long, reading the cache"
    " costs as much as computing it.",
)
