"""Tasks wait while the kernel frees memory on their behalf.

What it is
    A control group's limit, or the machine, is full: whoever asks for a page must first free one
    (direct reclaim), or compact memory for a huge page.

Mechanism
    The simulator removes the time in which tasks waited in reclaim, as sampled, from the tasks of
    the hosts where they did.

Evidence
    The ledger's row `task/waiting/reclaim` of each stage; beside it, the kernel's delay
    accounting, where it was recorded.

Remedy
    A higher `cgroup.memory`, or a smaller heap that leaves the page cache room.

When it is wrong
    Where only the page cache of one large read is reclaimed, the reads are the cause.

Source
    "Memory Resource Controller" in the kernel's Documentation/admin-guide/cgroup-v2.rst; effect on
    Spark: Multigenerational LRU Framework, patch version 4, benchmark with Apache Spark (2021).
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.explain.catalogue.memory.heap_swap import NEEDS, waiting
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Remedy

ACHIEVED = (0.5, 1.0)
"""Share of the waits that goes: a page cache that is never full does not exist (low). Not measured;
assumed."""


def _suspects(facts: Facts) -> Iterator[Suspect]:
    remedies = [
        Remedy(kind="machine", text="raise the memory limit (factor cgroup.memory), or give the"
               " JVMs less"),
        Remedy(kind="factor", factor="os.lru_gen", level="7", text="reclaim by generations"),
    ]  # fmt: skip
    found = waiting(facts, "reclaim", "while the kernel freed memory", remedies, ACHIEVED)
    if found is not None:
        yield found


RULE = Rule(
    code="heap.reclaim",
    title="Tasks wait for the kernel to free memory",
    cause="direct reclaim",
    suspects=_suspects,
    needs=NEEDS,
    refute="Raise the memory limit: the waits must vanish.",
)
