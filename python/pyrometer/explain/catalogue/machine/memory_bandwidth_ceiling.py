"""Memory delivers all it can: more cores do not help.

What it is
    Scans, sorts and hash tables larger than caches move bytes. When the memory controllers are
    busy, every task waits longer for each byte, and further tasks only share what there is.

Mechanism
    With the traffic near what the machine attains, a part of the tasks' CPU time is spent waiting
    in the memory's queue. The simulator removes, at most, the loaded memory's share of the tasks'
    cycles.

Evidence
    Bytes of memory controllers per second beside what the host's card attains; cycles that the CPU
    says it stalled for memory; latency of memory idle and loaded, by the card.

Remedy
    Fewer bytes: only the columns that are needed, narrower types, filters before joins; hosts with
    more memory channels; the same tasks on more hosts.

When it is wrong
    Traffic of others counts as well; a machine with idle cores and traffic below the ceiling has
    other limits.

Source
    A scan of Parquet: speed-up 9.7 with 10 and 15.6 with 20 tasks at 84 of 100 GB/s (Performance
    Analysis of a CPU-Intensive Workload, labs 9 and 10); a queue's wait grows with its load.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.core import units
from pyrometer.explain.evidence.saying import code, machine, place, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Need, Rule, Suspect
from pyrometer.explain.what_if import Extent


def stalled_share(facts: Facts) -> tuple[float, bool]:
    """Give the share of cycles that wait for memory, and whether it was counted."""
    parts = facts.summary.hardware.cpi.parts
    mine = [one.share for one in parts if "memory" in one.part or "backend" in one.part]
    return (min(1.0, sum(mine)), True) if mine else (1.0, False)


def _missing(facts: Facts) -> str | None:
    known = facts.summary.hardware.bandwidth
    if known.share_of_attainable is None:
        return known.reason or "memory traffic beside what the machine attains"
    return None


def _suspects(facts: Facts) -> Iterator[Suspect]:
    used = facts.summary.hardware.bandwidth.share_of_attainable
    if used is None or not used.value:
        return
    stalled, counted = stalled_share(facts)
    latency = _queued(facts)
    most = stalled * latency * min(1.0, used.value)
    low = most / 2 if counted and used.low and used.low >= _LOADED else 0.0
    cost = facts.cpu_ns
    yield Suspect(
        place=place(facts, "host", cost),
        mechanism=(
            f"Memory moved {units.rate(facts.summary.hardware.bandwidth.bytes_per_s)},"
            f" {units.percent(used.value)} of what this machine attains, and"
            f" {units.percent(stalled) if counted else 'an unknown part'} of the cycles of tasks"
            " waited for it."
        ),
        change=(facts.less_cpu("memory", dict.fromkeys(cost, most)),),
        extent=Extent((1 + low / most) / 2 if most else 0.0, low / most if most else 0.0, 1.0,
                      used.n),
        evidence=[
            shown_by("memory traffic over what is attained", used, "ratio", "perf_counts",
                 "show --json: hardware.bandwidth.share_of_attainable", "/ledger"),
        ],
        remedies=[
            code("read fewer columns, narrower types; filter before the join"),
            machine("use hosts with more memory channels, or more hosts for the same tasks"),
        ],
    )  # fmt: skip


_LOADED = 0.8
"""A queue at this load waits four services long (M/M/1); below, the low end counts nothing."""
_USUAL_QUEUED = 0.5


def _queued(facts: Facts) -> float:
    """Give the part of a loaded memory's latency that is waiting, by the host's card."""
    manifest = facts.scope.run.manifest
    card = (manifest.host.card if manifest else None) or {}
    idle, loaded = (card.get(name) or {} for name in ("latency_ns", "latency_loaded_ns"))
    if idle.get("value") and loaded.get("value"):
        return float(max(0.0, 1 - idle["value"] / loaded["value"]))
    return _USUAL_QUEUED


RULE = Rule(
    code="memory-bandwidth.ceiling",
    title="Memory bandwidth is used up",
    cause="memory bandwidth ceiling",
    suspects=_suspects,
    needs=(Need(_missing, "run on one host that shows hardware counters and has a host card"),),
    explains=("contended.smt",),
    refute="Run half as many tasks at once: if it takes about as long, memory was the limit; if"
    " twice as long, it was not.",
)
