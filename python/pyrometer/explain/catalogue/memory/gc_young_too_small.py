"""Young collections come often although most of the heap is free: the young generation is small.

What it is
    After each collection little of the heap is in use, but eden is a small part of it and is
    full again at once. The heap need not grow: only its young generation.

Mechanism
    The time between young collections grows with the size of eden, while what survives (and is
    copied) hardly does. The simulator removes the time for which each task was stopped by young
    collections; the largest young generation that leaves room for what is live makes them rarer by
    its ratio to the present one.

Evidence
    Young pauses in the collector's log mapped onto the tasks, the young generation before them, and
    what the old generation keeps, beside the largest heap; the site that allocates most, where
    allocations were sampled.

Remedy
    Factor `jvm.young`: a fixed size of the young generation.

When it is wrong
    Where live data grow later in the run, a large young generation leaves them no room: full
    collections come instead. If they do not fit, the heap is too small (`gc.heap-too-small`).

Source
    Rate of young collections as allocation over eden: Jones, Hosking and Moss, The Garbage
    Collection Handbook (2nd ed., 2023), section 9.2; halving them by a larger nursery on TPC-H:
    Chiba and Onodera, Workload characterization and optimization of TPC-H queries on Apache
    Spark (ISPASS 2016).
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.core import units
from pyrometer.explain.change import Less
from pyrometer.explain.evidence.memory.allocations import evidence_of
from pyrometer.explain.evidence.memory.pauses import (
    NEEDS,
    YOUNG,
    began_in_window,
    met_by_tasks,
    met_query,
    total,
    worst,
)
from pyrometer.explain.facts import Facts, exactly
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Evidence, Place, Remedy
from pyrometer.explain.what_if import Extent

_BEFORE = "sum(young_before_bytes * duration_ns::DOUBLE) / sum(duration_ns)"
LEFT_FREE = 1.5
"""Room of the old generation, over what it keeps: what each collection promotes needs some."""


def _sized(facts: Facts) -> str:
    """Give the pauses of the window whose sizes are known, in JVMs that ran the tasks."""
    sized = (
        "FROM gc_pauses WHERE young_before_bytes > 0 AND heap_total_bytes > 0"
        f" AND old_after_bytes IS NOT NULL AND duration_ns > 0 AND {began_in_window(facts)}"
    )
    ran = "SELECT pid FROM spans WHERE task_attempt_id IS NOT NULL AND pid IS NOT NULL"
    return f"{sized} AND pid IN ({ran})" if facts.has("spans") else sized


def young_sizes(facts: Facts) -> tuple[float, float] | None:
    """Young generation as it was, and the largest that leaves room for what lives, in bytes.

    A heap that grows has most of its collections while it is small, and most of its pauses' time
    later: the mean over that time counts.
    """
    rows = facts.tables.query(
        f"SELECT {_BEFORE}, quantile_cont(old_after_bytes, 0.9), max(heap_total_bytes), count(*)"
        f" {_sized(facts)}"
    )
    now, old, heap, n = rows[0] if rows else (None, None, None, 0)
    if not n or now is None or old is None:
        return None
    return float(now), float(heap) - LEFT_FREE * float(old)


def fits(facts: Facts, times: float = 2.0) -> bool:
    """Whether so many times the young generation fits into the heap as it is."""
    sizes = young_sizes(facts) if facts.has("gc_pauses") else None
    return sizes is not None and sizes[1] >= times * sizes[0]


def _suspects(facts: Facts) -> Iterator[Suspect]:
    sizes = young_sizes(facts)
    if sizes is None or sizes[1] <= sizes[0]:
        return
    now, possible = sizes
    lost, count = met_by_tasks(facts, YOUNG)
    if not lost:
        return
    rarer = 1 - now / possible
    stage = facts.stages[worst(lost)]
    level = f"{int(possible) >> 20}m"
    yield Suspect(
        place=Place(layer="jvm", setting="jvm.young", stage_id=stage.stage_id,
                    stage_attempt=stage.attempt, stages_count=len(lost)),
        mechanism=(
            f"{count} young collections stopped tasks for {units.duration(total(lost))}; the young"
            f" generation was full at {units.size(now)}, and {units.size(possible)} of the heap"
            " could be young."
        ),
        change=(Less("gc", lost),),
        # Rarer by the ratio; each pause copies no less (low), or less, as more have died (high).
        extent=Extent(n=count).times(rarer * 0.8, 1 - (1 - rarer) / 2),
        evidence=[
            Evidence(what="young pauses that tasks met", estimate=exactly(total(lost), count),
                     unit="ns", table="gc_pauses", link="/jvm",
                     query=met_query(facts, YOUNG)),
            Evidence(what="young generation before a collection, by time of pauses", link="/jvm",
                     estimate=exactly(now, count), unit="bytes", table="gc_pauses",
                     query=f"SELECT {_BEFORE} {_sized(facts)}"),
            *evidence_of(facts),
        ],
        remedies=[
            Remedy(kind="factor", factor="jvm.young", level=level,
                   text=f"make {level} of the heap young (-Xmn{level})"),
        ],
    )  # fmt: skip


RULE = Rule(
    code="gc.young-too-small",
    title="The young generation is too small",
    cause="undersized young generation",
    suspects=_suspects,
    needs=NEEDS,
    refute="Run with the larger young generation: young pauses must become rarer in proportion.",
)
