"""Tasks use memory of another NUMA node.

What it is
    A JVM that spans nodes has its heap on one and threads on another: each load crosses the link.

Mechanism
    A remote load takes about one and a half to twice as long. The simulator removes what binding
    JVMs to their nodes saved in a published study, in proportion to the remote share.

Evidence
    Share of memory traffic, or of reads, that the local node served.

Remedy
    One executor for each node, bound to it (`numa.bind=bind` with `layout.executors`).

When it is wrong
    Work that fits into caches does not notice; a JVM on one node loses the other's bandwidth.

Source
    Spark on shared NUMA systems, experiment 2: four JVMs bound to their nodes were 1.07 to 1.25
    times as fast as unbound ones, whose memory was remote three times in four.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.core import units
from pyrometer.explain.evidence.saying import factor, place, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Need, Rule, Suspect
from pyrometer.explain.what_if import Extent

REMOTE_THERE = 0.75
SAVED_THERE = (1 - 1 / 1.07, 1 - 1 / 1.25)
"""What binding saved in the seed, at so much remote traffic."""


def _missing(facts: Facts) -> str | None:
    known = facts.summary.hardware.bandwidth
    return None if known.local_ratio is not None else "which node's memory served is not known"


def _suspects(facts: Facts) -> Iterator[Suspect]:
    known = facts.summary.hardware.bandwidth
    remote = 1 - (known.local_ratio if known.local_ratio is not None else 1.0)
    if remote <= 0:
        return
    nodes = max(2, len(known.nodes))
    low, high = (one * remote / REMOTE_THERE for one in SAVED_THERE)
    cost = facts.cpu_ns
    yield Suspect(
        place=place(facts, "host", cost, setting="numa.bind"),
        mechanism=(
            f"{units.percent(remote)} of memory traffic crossed to another NUMA node (by"
            f" {known.local_by or 'counters'})."
        ),
        change=(facts.less_cpu("memory", dict.fromkeys(cost, high)),),
        extent=Extent((low + high) / 2 / high, low / high, 1.0, len(known.nodes) or 1),
        evidence=[
            shown_by("traffic that the local node served", known.local_ratio or 0.0, "ratio",
                 "perf_counts", "show --json: hardware.bandwidth.local_ratio", "/ledger"),
        ],
        remedies=[
            factor("numa.bind", "bind", "one executor on each node, bound to it",
                   **{"layout.executors": str(nodes)}),
        ],
    )  # fmt: skip


RULE = Rule(
    code="numa.remote",
    title="Memory of another NUMA node is used",
    cause="remote NUMA access",
    suspects=_suspects,
    needs=(Need(_missing, "run on a machine that shows counters of its memory nodes"),),
    refute="Bind executors to nodes: if tasks still need as much CPU, remote memory is not why.",
)
