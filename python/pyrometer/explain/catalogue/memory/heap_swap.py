"""Tasks wait for pages that were swapped out.

What it is
    The heaps and everything beside them are larger than the memory available: parts of them are on
    the swap device, and tasks wait to get them back.

Mechanism
    The simulator removes the time in which tasks waited for a page from swap, as sampled, from
    the tasks of the hosts where they waited. With enough memory, all of it goes.

Evidence
    The ledger's row `task/waiting/swap_in` of each stage; beside it, the kernel's delay
    accounting, where it was recorded.

Remedy
    A smaller heap (a heap that swaps is slower than one that collects), more memory, or
    `os.swappiness`.

When it is wrong
    A page that comes back once, after a long idle time, is not a shortage.

Source
    Delay accounting, `swapin`: the kernel's Documentation/accounting/delay-accounting.rst.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.accounts.memory_waits import memory_waits
from pyrometer.core import units
from pyrometer.explain.evidence.hosts.lost import (
    by_stage,
    carriers,
    less_on_hosts,
    lost_by_host,
    most_was_on,
    place_on_hosts,
)
from pyrometer.explain.facts import Facts, exactly
from pyrometer.explain.rule import PROFILE, Rule, Suspect, table
from pyrometer.explain.schema import Evidence, Remedy
from pyrometer.explain.what_if import Extent

ACHIEVED = (0.7, 1.0)
"""Share of the waits that goes; sampled waits are apportioned, and some pages come back anyway.
Not measured; assumed."""
NEEDS = (
    table("samples", PROFILE, "no samples of waiting threads: what tasks wait for is unknown"),
)


def waiting(
    facts: Facts, kind: str, words: str, remedies: list[Remedy], bounds: tuple[float, float]
) -> Suspect | None:
    """Suspect what tasks wait for, by a class of waits."""
    path = f"task/waiting/{kind}"
    lost = lost_by_host(facts, path)
    if not lost:
        return None
    stages = by_stage(lost)
    total = sum(stages.values())
    share = total / max(float(facts.tasks.duration_ns.sum()), 1.0)
    return Suspect(
        place=place_on_hosts(facts, "host", lost),
        mechanism=(
            f"Tasks waited {units.duration(total)}, {units.percent(share)} of their time, {words}."
            f"{most_was_on(carriers(lost), lost)}"
        ),
        change=(less_on_hosts(facts, kind, lost),),
        extent=Extent(n=len(stages)).times(*bounds),
        evidence=[
            Evidence(what=path, estimate=exactly(total, len(stages), "sampled"), unit="ns",
                     table="samples", link=f"/ledger/{path}", query=f"show --json: ledger, {path}"),
            *_accounted(facts, kind),
        ],
        remedies=remedies,
    )  # fmt: skip


def _accounted(facts: Facts, kind: str) -> Iterator[Evidence]:
    """Show what the kernel's delay accounting says of the same, where it was recorded."""
    for wait in memory_waits(facts.scope).kinds:
        if wait.kind == kind and wait.time_ns is not None and wait.time_ns.value:
            yield Evidence(
                what="the same by the kernel's delay accounting, time on a CPU included",
                estimate=wait.time_ns, unit="ns", table="delays",
                link=f"/ledger/task/waiting/{kind}", query="show --json: memory.waits",
            )  # fmt: skip


def _suspects(facts: Facts) -> Iterator[Suspect]:
    remedies = [
        Remedy(kind="factor", factor="os.swappiness", level="1", text="swap only when it must be"),
        Remedy(kind="machine", text="give the JVMs less memory, or the machine more"),
    ]
    found = waiting(facts, "swap_in", "for pages from swap", remedies, ACHIEVED)
    if found is not None:
        yield found


RULE = Rule(
    code="heap.swap",
    title="Tasks wait for swapped memory",
    cause="swapping",
    suspects=_suspects,
    needs=NEEDS,
    refute="Run with swap off or a smaller heap: the waits must vanish.",
)
