"""Two tasks share each core's hardware threads, and memory cannot keep up.

What it is
    The host shows two CPUs for each core. With more tasks than cores, pairs of them share a core's
    units and caches: the CPUs look busy, and each task needs more CPU time.

Mechanism
    Sharing a core mostly raises throughput (by a fifth to a third). It does not where tasks wait
    for memory whose bandwidth is used up: then the second thread only adds traffic. The simulator
    removes what a scan of Parquet lost by it, as far as the bandwidth is used up.

Evidence
    Hardware threads per core (the host's card), task slots beside cores, memory traffic beside what
    the machine attains.

Remedy
    As many tasks as cores (`layout.tasks`), or `os.smt=off`.

When it is wrong
    Where tasks compute within the caches, the second thread gains: half the slots would cost more.

Source
    A scan of Parquet: 20 tasks on 20 cores 20 s, 40 tasks on their 40 hardware threads 23 s, at 85
    and 90 of 100 GB/s (Performance Analysis of a CPU-Intensive Workload, labs 10 and 11).
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.core import units
from pyrometer.explain.evidence.saying import factor, place, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Need, Rule, Suspect
from pyrometer.explain.what_if import Extent

LOST = 1 - 20 / 23
"""What that scan lost with two tasks on each core, at 0.9 of the attainable bandwidth."""
LOST_AT = 0.9


def _threads_per_core(facts: Facts) -> int | None:
    manifest = facts.scope.run.manifest
    card = manifest.host.card if manifest else None
    found = (card or {}).get("threads_per_core")
    return found if isinstance(found, int) else None


def _missing(facts: Facts) -> str | None:
    if _threads_per_core(facts) is None:
        return "no card of the host: its cores are not known"
    known = facts.summary.hardware.bandwidth
    return None if known.share_of_attainable else "memory traffic beside what is attained"


def _suspects(facts: Facts) -> Iterator[Suspect]:
    threads, used = _threads_per_core(facts), facts.summary.hardware.bandwidth.share_of_attainable
    cpus = facts.summary.contention.cpus_count or 0
    if not threads or threads < 2 or used is None or not used.value or not cpus:
        return
    cores = max(1, cpus // threads)
    if facts.slots <= cores:
        return
    # Nothing is lost while bandwidth is left; at 0.9 of it what the measured scan lost.
    part = min(1.0, used.value / LOST_AT)
    cost = facts.cpu_ns
    yield Suspect(
        place=place(facts, "host", cost, setting="layout.tasks"),
        mechanism=(
            f"{units.counted(facts.slots, 'task')} ran on {cores} cores of {threads} hardware"
            f" threads, with memory at {units.percent(used.value)} of the traffic that it attains:"
            " the second task on a core adds traffic, not work."
        ),
        change=(facts.less_cpu("memory", dict.fromkeys(cost, LOST)),),
        extent=Extent(part, max(0.0, part * (2 * part - 1)), 1.5 * part, used.n),
        evidence=[
            shown_by("memory traffic over what is attained", used, "ratio", "perf_counts",
                 "show --json: hardware.bandwidth.share_of_attainable", "/ledger"),
            shown_by("cores that the application ran on", cores, "count", "manifest",
                 "manifest.json: host.card.threads_per_core", "/ledger"),
        ],
        remedies=[factor("layout.tasks", str(cores), "run one task on each core")],
    )  # fmt: skip


RULE = Rule(
    code="contended.smt",
    title="Two tasks share each core while memory is the limit",
    cause="second hardware thread of a core",
    suspects=_suspects,
    needs=(
        Need(_missing, "pyrometer doctor --card, then run on a machine with hardware counters"),
    ),
    refute="Run with one task per core: if that takes longer, the second threads did useful work.",
)
