"""More tasks run at once than there are CPUs.

What it is
    More task slots than CPUs (`local[8]` on four CPUs, executors that together ask for more cores
    than the host has). Tasks take turns; each lasts longer, and none is done sooner.

Mechanism
    Simulated is the same application with as many slots as CPUs, whose tasks do not wait for each
    other. Where the CPUs are the limit that ends as early or as late as before: oversubscription
    costs little by itself, and the finding says so. It is worth something where large tasks start
    late behind small ones, or memory is short (collections and spills have rules of their own).

Evidence
    Slots beside the CPUs that the application's threads ran on; waits of task threads for a CPU,
    without those behind other processes.

Remedy
    As many slots as CPUs (`layout.tasks`, `spark.executor.cores`).

When it is wrong
    Where tasks wait for disks or the network, more tasks than CPUs keep the CPUs busy: fewer slots
    are slower, and the saving is negative.

Source
    A scan of Parquet with 20, 40 and 60 tasks on 40 CPUs: 20, 23 and 23 s, while executor run time
    went from 392 to 892 and 1354 s (Performance Analysis of a CPU-Intensive Workload, lab 11).
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.core import units
from pyrometer.explain.change import Slots
from pyrometer.explain.evidence.saying import factor, place, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import PROFILE, Rule, Suspect, table


def _suspects(facts: Facts) -> Iterator[Suspect]:
    known = facts.summary.contention
    cpus, slots = known.cpus_count, facts.slots
    queue = facts.ledger_ns("task/run_queue")
    if not cpus or slots <= cpus or not queue or _hosts(facts) > 1:
        return
    whole = known.run_queue_ns or sum(queue.values())
    others = known.behind_others_ns.value if known.behind_others_ns else 0.0
    own = 1 - min(1.0, (others or 0.0) / whole) if whole else 1.0
    lost = {number: waited * own for number, waited in queue.items()}
    total = sum(lost.values())
    yield Suspect(
        place=place(facts, "setting", lost, setting="layout.tasks"),
        mechanism=(
            f"{units.counted(slots, 'task')} ran at once on {units.counted(cpus, 'CPU')} and waited"
            f" {units.duration(total)} for each other; with {units.counted(cpus, 'slot')} each"
            " would be done sooner, and all of them about as late."
        ),
        change=(facts.share_of_tasks("cpu_wait", lost), Slots(cpus / slots)),
        evidence=[
            shown_by("task slots", slots, "count", "executors",
                 "SELECT sum(cores_count) FROM executors", "/ledger"),
            shown_by("CPUs that the application ran on", cpus, "count", "thread_counters",
                 "show --json: contention.cpus_count", "/ledger"),
            shown_by("waits of tasks for a CPU", total, "ns", "thread_counters",
                 "show --json: ledger, task/run_queue", "/ledger/task/run_queue", len(lost)),
        ],
        remedies=[factor("layout.tasks", str(cpus), "run as many tasks at once as there are CPUs")],
    )  # fmt: skip


def _hosts(facts: Facts) -> int:
    return len({one.host for one in facts.measured.executors}) if facts.measured else 0


RULE = Rule(
    code="contended.more-tasks-than-cpus",
    title="More tasks run at once than there are CPUs",
    cause="CPU oversubscription",
    suspects=_suspects,
    needs=(table("thread_counters", PROFILE, "no CPU time of threads"),),
    refute="Run with as many slots as CPUs: mostly that takes as long, which is what the rule"
    " expects.",
)
