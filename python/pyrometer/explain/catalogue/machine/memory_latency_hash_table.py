"""Probes of a hash table wait for memory.

What it is
    A hash join or hash aggregate looks up one key for each row. While its table fits the caches,
    a look-up takes a few cycles; once it does not, most look-ups wait for memory, whatever the
    memory's bandwidth.

Mechanism
    The simulator lets these operators run at the instructions per cycle of the other operators
    of the application: cycles that are spent on the same instructions beyond that are taken from
    their stages' CPU. A table that is only smaller gains a part of it.

Evidence
    Instructions per cycle of each operator, from hardware counters of the threads in which it was
    sampled; shares of its CPU samples by stage.

Remedy
    A smaller table for each task: more shuffle partitions (a table that is broadcast stays as large
    as it is), rows filtered or columns dropped before
    the join, keys of integers instead of texts, the smaller side as the one that is built.

When it is wrong
    Few instructions per cycle have other causes: divisions, mispredicted branches, a sibling
    hardware thread. Operators that alternate faster than counters are read look alike, so that
    the difference comes out too small.

Source
    Manegold, Boncz and Kersten, "Optimizing Main-Memory Join on Modern Hardware" (2002): joins
    partitioned so that each table fits the caches; Intel's top-down method, "memory bound".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyrometer.accounts.hardware.schema import OperatorIpc
from pyrometer.core import units
from pyrometer.explain.evidence.saying import code, factor, flame, place, shown_by
from pyrometer.explain.evidence.stack_shares import shares
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Need, Rule, Suspect
from pyrometer.explain.what_if import Extent

BROADCAST = "BroadcastHashJoin"
"""Each task looks up the same table, however many tasks there are."""
PROBING = ("HashAggregate", "ShuffledHashJoin", BROADCAST)
ACHIEVED = (0.25, 1.0)
"""Share of the difference that smaller tables gain. Not measured; assumed."""


def _missing(facts: Facts) -> str | None:
    hardware = facts.summary.hardware
    if not hardware.operators:
        return hardware.reason or "instructions per cycle of operators"
    return None


def _others(operators: Sequence[OperatorIpc]) -> float | None:
    """Give the instructions per cycle of all operators that probe no hash table."""
    known = [one for one in operators if one.operator not in PROBING and one.ipc.value]
    cycles = sum(one.cycles_count for one in known)
    instructions = sum(one.cycles_count * (one.ipc.value or 0.0) for one in known)
    return instructions / cycles if cycles else None


def _suspects(facts: Facts) -> Iterator[Suspect]:
    operators = facts.summary.hardware.operators
    usual = _others(operators)
    for one in operators:
        if one.operator in PROBING and usual and one.ipc.value and one.ipc.value < usual:
            yield from _suspect(facts, one, one.ipc.value, usual)


def _suspect(facts: Facts, one: OperatorIpc, ipc: float, usual: float) -> Iterator[Suspect]:
    mine = shares(facts, f"operator = '{one.operator}'")
    if not mine.found:
        return
    is_broadcast = one.operator == BROADCAST
    most = 1 - ipc / usual
    high = 1 - (one.ipc.low or ipc) / usual
    low = max(0.0, 1 - (one.ipc.high or ipc) / usual)
    lost = {number: share * most for number, share in mine.by_stage.items()}
    cost = {number: share * facts.cpu_ns.get(number, 0.0) for number, share in lost.items()}
    yield Suspect(
        place=place(facts, "sql", cost, operator=one.operator),
        mechanism=(
            f"{one.operator} ran at {ipc:.2f} instructions per cycle, the other operators at"
            f" {usual:.2f}: {units.percent(most)} of its cycles would not be needed if its hash"
            " table lay in the caches."
        ),
        change=(facts.less_cpu("cpu", lost),),
        extent=Extent(1.0, low / most, high / most, one.samples_count).times(*ACHIEVED),
        evidence=[
            shown_by(f"instructions per cycle of {one.operator}", one.ipc, "ratio", "perf_counts",
                     "show --json: hardware.operators", flame(find=one.operator)),
            shown_by("share of task CPU in it", mine.estimate, "ratio", "samples",
                     "show --json: operators", flame(find=one.operator)),
        ],
        remedies=[
            *([] if is_broadcast else [
                factor("spark.sql.shuffle.partitions", str(2 * _partitions(facts)),
                       "smaller tables for each task: twice as many shuffle partitions")]),
            code("filter rows and drop columns before the join or aggregate; use numbers as keys"),
        ],
        refute=_REFUTE_BROADCAST if is_broadcast else None,
    )  # fmt: skip


_REFUTE_BROADCAST = (
    "Broadcast half of the rows or columns: if the operator needs as much CPU for each row, its"
    " table was not what it waited for."
)


def _partitions(facts: Facts) -> int:
    text = facts.setting("spark.sql.shuffle.partitions", "200") or "200"
    return int(text) if text.isdecimal() else 200


RULE = Rule(
    code="memory-latency.hash-table",
    title="Probes of a hash table wait for memory",
    cause="cache misses of hash probes",
    suspects=_suspects,
    needs=(Need(_missing, "run on a machine that shows hardware counters, at --profile full"),),
    refute="Run with four times as many shuffle partitions: if the operator needs as much CPU for"
    " each row, its tables were not what it waited for.",
)
