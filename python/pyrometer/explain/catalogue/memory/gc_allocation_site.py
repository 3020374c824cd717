"""One place of the user's code allocates much of what the collector has to free.

What it is
    A method of the job's own code makes objects per row: strings, boxes, dates, collections.
    Each young collection comes when eden is full of them.

Mechanism
    Young collections come in proportion to what is allocated. Of the time for which each task was
    stopped by young collections, the simulator removes the share of all sampled bytes whose
    innermost frame of the user's code is at this place. The cost of allocating itself is not
    included.

Evidence
    Allocation samples of the profiler, weighted by their bytes; young pauses of the collector's log
    mapped onto the tasks.

Remedy
    An edit of the code: objects made once and used again, primitives instead of boxes, an
    expression of Spark instead of the function.

When it is wrong
    Making fewer objects does not free others that live long. Code of libraries that Spark does not
    bring counts as the user's.

Source
    Rate of young collections as allocation over eden: Jones, Hosking and Moss, The Garbage
    Collection Handbook (2nd ed., 2023), section 9.2. That half to all of what a place allocates
    can be avoided is not measured; it is assumed.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.core import units
from pyrometer.explain.change import Less
from pyrometer.explain.evidence.memory.allocations import QUERY, has_allocations, sites
from pyrometer.explain.evidence.memory.pauses import (
    NEEDS,
    YOUNG,
    met_by_tasks,
    met_query,
    total,
    worst,
)
from pyrometer.explain.evidence.saying import code, flame, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import PROFILE, Need, Rule, Suspect
from pyrometer.explain.schema import Place
from pyrometer.explain.what_if import Extent

ACHIEVED = (0.5, 1.0)
MOST_SITES = 3


def _suspects(facts: Facts) -> Iterator[Suspect]:
    lost, count = met_by_tasks(facts, YOUNG)
    if not lost:
        return
    stage = facts.stages[worst(lost)]
    for site in sites(facts, own=True, most=MOST_SITES):
        share = site.share.value or 0.0
        if share <= 0:
            continue
        low, high = (1.0 if end is None else end / share for end in (site.share.low,
                     site.share.high))  # fmt: skip
        kind = f", most of them {site.class_name}" if site.class_name else ""
        yield Suspect(
            place=Place(layer="jvm", stage_id=stage.stage_id, stage_attempt=stage.attempt,
                        stages_count=len(lost), operator=site.operator, source=site.name),
            mechanism=(
                f"{site.name} allocated {units.size(site.bytes)}, {units.percent(share)} of the"
                f" sampled bytes{kind}; {count} young collections stopped tasks for"
                f" {units.duration(total(lost))}."
            ),
            change=(Less("gc", {number: ns * share for number, ns in lost.items()}),),
            extent=Extent(1.0, low, high, site.share.n).times(*ACHIEVED),
            evidence=[
                shown_by("share of the sampled bytes", site.share, "ratio", "samples", QUERY,
                         flame(event="alloc", find=site.name)),
                shown_by("young pauses that tasks met", total(lost), "ns", "gc_pauses",
                         met_query(facts, YOUNG), "/jvm", count),
            ],
            remedies=[code(f"make fewer objects in {site.name}")],
        )  # fmt: skip


RULE = Rule(
    code="gc.allocation-site",
    title="One place of the code allocates most",
    cause="allocation rate",
    suspects=_suspects,
    needs=(
        *NEEDS,
        Need(
            lambda facts: None if has_allocations(facts) else "no samples of allocations", PROFILE
        ),
    ),
    refute="Run without the objects of that place: young collections must become rarer by its"
    " share of the bytes.",
)
