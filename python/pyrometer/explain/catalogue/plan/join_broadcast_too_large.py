"""A table that is broadcast is so large that another way to join takes less time.

What it is
    A broadcast join whose broadcast side has many rows: the driver collects them all, builds one
    hash table and sends it to every executor, while the slots wait.

Mechanism
    Collecting is a job; decoding, building and sending is done by the driver, one thread for each
    broadcast. With a shuffle, all slots hash and sort their part. The simulator removes the time
    after that job's last task in which the driver fetched, built and sent while no task ran; the
    interval allows for what the other way takes: a shuffle of the rows of both sides on these
    slots, `SHUFFLE_NS` for each row, or, for an inner join whose other side has fewer rows, a
    broadcast of these, in proportion to the rows, each of which may cost a quarter or four times as
    much (`WIDER`, assumed: rows differ in width).

Evidence
    Spark's metrics of the `BroadcastExchange`: "time to collect", "time to build", "time to
    broadcast", "data size", rows; the rows of the other side; the gap after the tasks that are
    collected.

Remedy
    A hint to merge, and no broadcast hint. Where the application set
    `spark.sql.autoBroadcastJoinThreshold`: Spark's own level. Where the table was shuffled before
    it was broadcast: a level below what was shuffled. Other levels are no remedy: Spark plans by
    the bytes of files, and broadcasts what it expects to be less than 10 MiB whatever it becomes in
    memory. Where the other side is smaller, a broadcast hint belongs there.

When it is wrong
    Rows of the other side are very wide, or skewed by key: they cost more either way. Broadcasts
    that run beside tasks of other branches cost no time and are not named; nor is the time that a
    broadcast of few rows takes too (`MOST_NS` for each row is the most that is the rows').

Source
    `BroadcastExchangeExec` of Spark. Shuffle and sort of 3 million rows on two slots took 1.47 s of
    CPU (one run, 2026-11-25, as for `join.broadcast-missed`). 1.5 million rows joined with as many
    took 4.1 to 10.1 s broadcast and 2.4 to 2.7 s shuffled (three runs each, 2026-11-25, other load
    on the machine): its tasks took 4.2 s in all at most, and 0.60 s of CPU more than the
    broadcast's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pyrometer.accounts.plan_schema import Node
from pyrometer.core import units
from pyrometer.explain.change import LessGap
from pyrometer.explain.evidence.places import largest
from pyrometer.explain.evidence.plan_nodes import Plan, metric, plans, rows_out
from pyrometer.explain.evidence.saying import code, factor, place, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SQL_PLANS, Rule, Suspect
from pyrometer.explain.what_if import Extent
from pyrometer.simulation.executor_memory import size_in
from pyrometer.simulation.measured import Stage

SETTING = "spark.sql.autoBroadcastJoinThreshold"
DEFAULT = "10m"
"""Of Spark."""
SHUFFLE_NS = 490.0
"""To shuffle and sort a row, of a slot's time: 1.47 s of 3 million rows."""
MOST_NS = 10e3
"""Of the driver's time for a row, at most: what a broadcast takes beyond, it takes with few rows
too. Of 1.5 million rows each took 1.2 to 1.9 µs (three runs, 2026-11-25); the bound is assumed."""
DEARER = (0.4, 2.8)
"""Of that: the shuffled join used 0.20 µs of CPU for each row more than the broadcast one, and all
of its tasks took 1.4 µs (see above, three runs)."""
WIDER = (0.25, 4.0)
"""A row of the other side costs the driver so many times what a row of this one does: rows of both
sides may differ in width. Not measured; assumed."""
_JOINS = ("BroadcastHashJoin",)
_INNER = re.compile(r"\bInner\b")
_PARTS = ("time to collect", "time to build", "time to broadcast")


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    for plan in plans(facts):
        for node in plan.sql.nodes:
            if node.name in _JOINS:
                found = _suspect(facts, plan, node)
                if found is not None:
                    yield found


def _collected_in(facts: Facts, plan: Plan, node: Node) -> Stage | None:
    """Find the stage whose rows a broadcast collects: of the nearest node below that ran in one."""
    for one in plan.beneath(node):
        numbers = facts.stages_of(one, plan.sql)
        if numbers:
            return max((facts.stages[n] for n in numbers), key=lambda stage: stage.complete_ns)
    return None


def _suspect(facts: Facts, plan: Plan, join: Node) -> tuple[float, Suspect] | None:
    sides = plan.below(join)
    sent = [side for side in sides if side.name == "BroadcastExchange"]
    if len(sides) != 2 or len(sent) != 1 or not facts.slots:
        return None
    node = sent[0]
    rows = [rows_out(plan, side) for side in sides]
    times = [(metric(node, name, f"{name} (ms)") or 0) * 1e6 for name in _PARTS]
    stage = _collected_in(facts, plan, node)
    if rows[0] is None or rows[1] is None or stage is None or sum(times[1:]) <= 0:
        return None
    # Collecting holds the job: what it took beyond the tasks was fetching and decoding.
    decoding = max(0.0, times[0] - (stage.ran_ns - stage.submit_ns))
    wanted = decoding + times[1] + times[2]
    less = facts.gap_nodes(stage.ran_ns, stage.ran_ns + wanted)
    idle = min(sum(less.values()), wanted)
    mine, other = rows[sides.index(node)] or 0, rows[1 - sides.index(node)] or 0
    gap = min(idle, mine * MOST_NS)
    shuffle = (rows[0] + rows[1]) * SHUFFLE_NS / facts.slots
    instead, dearer = shuffle, DEARER
    says = (
        f"a shuffle of both sides takes about {units.duration(shuffle)} on"
        f" {units.counted(facts.slots, 'slot')}"
    )
    swaps = bool(_INNER.search(join.simple_string or "")) and other * gap < mine * shuffle
    if swaps:
        instead, dearer = gap * other / mine, WIDER
        says = (
            f"a broadcast of the other side, of {units.counted(other, 'row')}, takes about"
            f" {units.duration(instead)}"
        )
    if gap <= instead:
        return None
    value, low, high = (max(0.0, 1 - instead * by / gap) for by in (1.0, dearer[1], dearer[0]))
    size = metric(node, "data size", "data size (bytes)") or 0
    less = {number: ns * gap / idle for number, ns in less.items()}
    page = f"/sql/{plan.sql.sql_id}/{node.node_id}"
    level = _level(facts, plan, node)
    merge = code("shuffle both sides; also remove any broadcast hint",
                 'large.join(small, "k")', 'large.join(small.hint("merge"), "k")')  # fmt: skip
    remedies = [merge] if level is None else [
        factor(SETTING, level, "shuffle larger tables; also remove any broadcast hint")
    ]  # fmt: skip
    if swaps:
        remedies.insert(0, code("broadcast the other side: put the hint there",
                                'small.join(broadcast(large), "k")',
                                'large.join(broadcast(small), "k")'))  # fmt: skip
    return gap - instead, Suspect(
        place=place(facts, "driver", [stage.number], sql_id=plan.sql.sql_id, node_id=node.node_id,
                    operator=node.name, setting=None if level is None else SETTING),
        mechanism=(
            f"{units.counted(mine, 'row')}, {units.size(size)}, are broadcast: the driver decoded,"
            f" built and sent them for {units.duration(wanted)}, {units.duration(idle)} of it with"
            f" no task running; {says}."
        ),
        change=(LessGap(less, frozenset({stage.number}), "broadcast"),),
        extent=Extent(value, low, high),
        evidence=[
            shown_by("time to build and broadcast", times[1] + times[2], "ns", "node_metrics",
                     "show --json: sql[].nodes[].metrics", page),
            shown_by("rows that are broadcast", float(mine), "count", "node_metrics",
                     "show --json: sql[].nodes[].metrics", page),
            shown_by("size of the broadcast", float(size), "bytes", "node_metrics",
                     "show --json: sql[].nodes[].metrics", page),
        ],
        remedies=remedies,
    )  # fmt: skip


def _level(facts: Facts, plan: Plan, node: Node) -> str | None:
    """Give a level at which Spark would not have broadcast this; none if there may be none."""
    below = plan.below(node)
    shuffled = metric(below[0], "data size") if below and below[0].name == "Exchange" else None
    if shuffled is not None and shuffled >= 2:
        return str(shuffled // 2)
    values = {} if facts.measured is None else facts.measured.settings.values
    return DEFAULT if size_in(values, SETTING, DEFAULT) > 10 << 20 else None


RULE = Rule(
    code="join.broadcast-too-large",
    title="A broadcast takes longer than another join",
    cause="broadcast too large",
    suspects=_suspects,
    needs=(SQL_PLANS,),
    explains=("driver.gap", "driver.collect", "gc."),
    refute='Shuffle both sides, by small.hint("merge"): if the query still takes as long, the'
    " broadcast is not why.",
)
