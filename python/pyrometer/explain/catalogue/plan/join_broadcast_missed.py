"""A join shuffles and sorts both sides, though one of them is small enough to send everywhere.

What it is
    A sort-merge (or shuffled hash) join of a large table with one of some megabytes: the large
    one is written, sent, read and sorted again. Or adaptive execution sees how small the other
    side is only after the large one has been shuffled, and broadcasts it then. Or an outer join
    keeps the rows of the small side that match nothing: Spark does not broadcast a side that it
    has to keep.

Mechanism
    With the small side broadcast, the large side stays where it is: no shuffle of it, and no
    sort. The join goes on in the code that reads it, which need not write rows for the shuffle
    either. The simulator removes what all that costs: the CPU of the samples in its exchange,
    its sort, and the generated code below that belongs to no operator of its own, as it writes
    these rows, with the waits for a CPU that go with it; without samples, the metrics of
    shuffle and sort, which include writing, waiting and sorting, but neither partitioning nor
    serialising: for 3 million rows on two slots they were 156 ms where the samples found 1.47 s
    (one run, 2026-11-25). The interval allows for what the broadcast costs, at its low end also
    for the driver's time to build it while nothing else runs (`BUILD_NS` for each row); where a
    small side is kept, also for what it costs to find its unmatched rows in another way, unless
    they are dropped above the join, or there are none.

Evidence
    Bytes of both sides in the metrics of their exchanges; CPU samples of exchange, sort and the
    generated code below, or shuffle write time, fetch wait and sort time.

Remedy
    Factor `spark.sql.autoBroadcastJoinThreshold` above the size of the small side and of the
    files that it is read from, by which Spark plans. A hint instead where that setting would
    not do: of a join or aggregate Spark expects more rows than there are, and at that level a
    side that is too large to be broadcast may look small enough, as its files are compressed
    and have other columns, too (`OF_FILES`). Where an outer join keeps the small side: an inner
    join if its unmatched rows are not needed, and if they are, the large side aggregated by the
    key first, or the unmatched rows added by a union.

When it is wrong
    Where keys of the small side repeat. A sort-merge join reads the rows of a key one after the
    other, a broadcast table jumps to each: for some 750 million pairs, estimated (query 72 of
    TPC-DS, a trial each, 2 CPUs, 2026-12-01), tasks took 93 s instead of 14. So where a join
    gives more than 1.5 rows for each of the large side, 0.1 µs for each that it gives is taken
    off; and where it also compares the pairs, so that most of them are in no metric, nothing is
    said. Where an outer join keeps the small side, another join gives other rows if some match
    nothing: a run in which there are none proves it for its data only. A broadcast takes heap
    of the driver and of every executor, several times the shuffled bytes: with little heap it
    fails.

Source
    Spark's documentation of SQL performance tuning, "Join Strategy Hints" and "Automatically
    Broadcasting Joins"; a hashed relation against its shuffled bytes: a factor of 3 to 10, as
    JoinSelection's `SHUFFLE_HASH_JOIN_FACTOR` and SPARK-31962 discuss.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pyrometer.accounts.plan_schema import Node
from pyrometer.core import units
from pyrometer.explain.evidence.expressions.plan_columns import drops_unmatched
from pyrometer.explain.evidence.node_costs import above, cpu_of_nodes, metric_times, writes_rows
from pyrometer.explain.evidence.plan_nodes import Plan, metric, plans, rows_out
from pyrometer.explain.evidence.saying import code, factor, place, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SQL_PLANS, Rule, Suspect
from pyrometer.explain.schema import Remedy

NAMES = ("SortMergeJoin", "ShuffledHashJoin")
LATE = "BroadcastHashJoin"
OWN = "ENSURE_REQUIREMENTS"
"""Of an exchange that Spark put in, and not the user."""
SETTING = "spark.sql.autoBroadcastJoinThreshold"
ACHIEVED = (0.5, 1.0)
"""Of shuffle and sort of the large side: to build and probe the broadcast table costs the rest."""
ACHIEVED_LATE = (0.8, 1.0)
"""Of the shuffle where the broadcast is made all the same."""
ACHIEVED_KEPT = (0.2, 1.0)
"""Of shuffle and sort of the large side where unmatched rows of the small one have to be found in
another way, which reads the keys of the large side again. Not measured; assumed."""
BY_METRICS = (0.5, 8.0)
"""Of the times that the metrics hold: see above."""
EXPANDS = 10
"""Bytes of the broadcast table for each shuffled byte, at most: what must fit the driver's heap."""
MOST_OF_HEAP = 0.2
BUILD_NS = 1_900.0
"""Of the driver's time for a row that is broadcast, as `join.broadcast-too-large` has it."""
OF_FILES = 0.2
"""Of the bytes of files, what Spark expects of a table of which a query reads a few columns.
Assumed: as if a fifth of the width of its rows were read."""
MULTIPLIES = 1.5
"""Rows that a join gives for each of its large side, from which keys of the small one repeat."""
PAIR_NS = 100.0
"""What a pair costs more in a broadcast table than in a merge, where keys repeat: see above."""
_COMPARES = re.compile(r", (?:Inner|LeftOuter|RightOuter|FullOuter|LeftSemi|LeftAnti), \(")
"""A join whose keys are not all that it compares."""
_BUILT = re.compile(r"Join|Aggregate|Generate|Expand|Union|Product")
_BROADCASTS = {"Inner": (0, 1), "LeftOuter": (1,), "LeftSemi": (1,), "LeftAnti": (1,),
               "RightOuter": (0,)}  # fmt: skip
"""Sides that may be broadcast, by type of the join."""
_KEEPS = {"LeftOuter": (0,), "RightOuter": (1,), "FullOuter": (0, 1)}
"""Sides whose unmatched rows are kept, which Spark does not broadcast."""


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
    cost = cpu_of_nodes(facts, plan, label, {streamed.node_id, *writes_rows(plan, streamed)})
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
        remedies=[HINT],
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
    exchanges = [one for one in (_exchange(plan, side) for side in sides) if one is not None]
    sizes = [size for size in (metric(one, "data size") for one in exchanges) if size is not None]
    if len(sides) != 2 or len(sizes) != 2:
        return None
    text = node.simple_string or ""
    kind = next((name for name in (*_BROADCASTS, *_KEEPS) if f", {name}" in text), "")
    small = 0 if sizes[0] < sizes[1] else 1
    large = 1 - small
    is_kept = small in _KEEPS.get(kind, ())
    heap = facts.measured.settings.memory_bytes if facts.measured else 0
    if small not in _BROADCASTS.get(kind, ()) and not is_kept:
        return None
    if sizes[small] * EXPANDS > MOST_OF_HEAP * heap or sizes[small] >= sizes[large]:
        return None
    exchange, sort = exchanges[large], sides[large]
    label = f"shuffle {plan.sql.sql_id} {exchange.node_id}"
    nodes = [exchange, *([sort] if sort.name == "Sort" else [])]
    moved = {one.node_id for one in nodes} | {*writes_rows(plan, exchange)}
    cost = cpu_of_nodes(facts, plan, label, moved)
    bounds, how = ACHIEVED, "shuffling and sorting the large side took"
    if cost is None:
        cost, bounds = metric_times(facts, label, nodes), BY_METRICS
        how = "writing, fetching and sorting the large side took at least"
    kept = None if cost is None else _kept_by_pairs(plan, node, exchange, cost.ns)
    if cost is None or not kept:
        return None
    build = (rows_out(plan, exchanges[small]) or 0) * BUILD_NS * facts.slots / cost.ns
    link = f"/sql/{plan.sql.sql_id}/{node.node_id}"
    level = _level(plan, sides[small], sizes[small], heap)
    remedies = [HINT] if level is None else [
        factor(SETTING, str(level), f"broadcast up to {units.size(level)}")
    ]  # fmt: skip
    why, refute = "", None
    if is_kept:
        lost = _unmatched(plan, node, exchange, large)
        why, refute = f" It keeps the unmatched rows of the small side{lost}.", REFUTE_KEPT
        if bounds is ACHIEVED and not lost:
            bounds = ACHIEVED_KEPT
        remedies = _other_joins(kind)
    return Suspect(
        place=place(facts, "sql", cost.lost, sql_id=plan.sql.sql_id, node_id=node.node_id,
                    operator=node.name, setting=None if is_kept or level is None else SETTING),
        mechanism=(
            f"{node.name} shuffles {units.size(sizes[large])} to meet {units.size(sizes[small])}:"
            f" {how} {units.duration(cost.ns)} of tasks.{why}"
        ),
        change=cost.change,
        extent=cost.extent.times(bounds[0] * max(0.0, kept - build), bounds[1] * kept),
        evidence=[
            shown_by("bytes of the small side", float(sizes[small]), "bytes", "node_metrics",
                 "show --json: sql[].nodes[].metrics", link),
            shown_by("bytes of the large side", float(sizes[large]), "bytes", "node_metrics",
                 "show --json: sql[].nodes[].metrics", link),
        ],
        remedies=remedies,
        refute=refute,
        higher_serves=not is_kept and level is not None,
    )  # fmt: skip


def _level(plan: Plan, small: Node, size: int, heap: int) -> int | None:
    """Give the least level at which Spark broadcasts a side; none where a hint is needed.

    Parameters
    ----------
    size : int
        Bytes of the side, as they were shuffled.
    """
    files = _files(plan, small)
    if files is None:
        return None
    level = max(10 << 20, 2 * size, files)
    for node in plan.sql.nodes:
        if node.name in NAMES:
            for side in plan.below(node):
                exchange = _exchange(plan, side)
                shuffled = None if exchange is None else metric(exchange, "data size")
                read = _files(plan, side)
                looks_small = read is not None and 0 < read * OF_FILES <= level
                if looks_small and (shuffled or 0) * EXPANDS > MOST_OF_HEAP * heap:
                    return None
    return level


def _files(plan: Plan, side: Node) -> int | None:
    """Give the bytes of the files that a side is read from, by which Spark plans; 0 if not known.

    None if it is more than the rows of one table: Spark multiplies the sizes of joins.
    """
    scans = [each for each in plan.beneath(side) if "Scan" in each.name]
    if len(scans) > 1 or any(_BUILT.search(each.name) for each in plan.beneath(side)):
        return None
    return sum(metric(each, "size of files read") or 0 for each in scans)


def _kept_by_pairs(plan: Plan, node: Node, large: Node, cost_ns: float) -> float | None:
    """Give the share of the saving that finding pairs leaves; none if their number is unknown."""
    out, read = rows_out(plan, node), rows_out(plan, large)
    if out is None or not read or out <= MULTIPLIES * read:
        return 1.0
    if _COMPARES.search(node.simple_string or ""):
        return None
    return max(0.0, 1 - out * PAIR_NS / cost_ns)


def _unmatched(plan: Plan, node: Node, exchange: Node, large: int) -> str:
    """Say why no unmatched row of the small side is lost without an outer join; "" if some may."""
    dropping = drops_unmatched(plan, node, large, above(plan, node))
    if dropping is not None:
        return f", which {dropping.name} (node {dropping.node_id}) drops"
    out, read = rows_out(plan, node), rows_out(plan, exchange)
    if out is not None and out == read:
        return ", of which there may be none: the join gives as many rows as the large side has"
    return ""


def _other_joins(kind: str) -> list[Remedy]:
    one_side = kind == "FullOuter"
    instead = "left" if one_side else "inner"
    given = f'large.join(broadcast(small), "k", "{instead}")'
    outer = f'large.join(small, "k", "{"full" if one_side else "right"}")'
    return [
        code(f"if unmatched rows of the small side are not needed: a join that is {instead}, and"
             " broadcasts it", outer, given),
        code("if they are needed: aggregate the large side by the key before the join, or add them"
             " by a union", outer,
             f"{given}.unionByName(\n"
             '    small.join(large.select("k").distinct(), "k", "left_anti"),\n'
             "    allowMissingColumns=True)"),
    ]  # fmt: skip


REFUTE_KEPT = (
    "Count the rows of the small side that match nothing: if there are some, and the result needs"
    " them, another join loses them. Otherwise use that join: if the query still takes as"
    " long, the shuffle is not why."
)

HINT = code("tell Spark to broadcast the small side", 'large.join(small, "k")',
            'large.join(broadcast(small), "k")')  # fmt: skip

RULE = Rule(
    code="join.broadcast-missed",
    title="A join shuffles a large table to meet a small one",
    cause="missed broadcast join",
    suspects=_suspects,
    needs=(SQL_PLANS,),
    explains=("spill.", "shuffle.", "partitioning."),
    refute=f"Raise {SETTING} above the small side: if the query still takes as long, the shuffle"
    " is not why.",
)
