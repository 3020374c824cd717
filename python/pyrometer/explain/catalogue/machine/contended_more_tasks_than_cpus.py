"""More tasks run at once than there are CPUs.

What it is
    More task slots than CPUs (`local[8]` on four CPUs, executors that together ask for more cores
    than the host has, a JVM that is bound to fewer CPUs than it has slots). Tasks take turns; each
    lasts longer, and none is done sooner.

Mechanism
    The simulator runs the same application with as many slots as CPUs, so that tasks do not wait
    for each other. Where the CPUs are the limit, it ends at the same time as before: waiting in
    turn costs nothing by itself. It is worth something where large tasks start late behind small
    ones, or memory is short (collections and spills have rules of their own).

    A task that was preempted finds another's data in the caches when it runs again, and loads its
    own once more. That takes between nothing and `MOST_SWITCH_NS`, by what fits into the caches,
    so that this saving is not sure before it is tried (`--verify`). Of a scan of Parquet with
    eight slots on two CPUs three blocks could not tell: two slots saved between -10 and 3 %.

    Where threads of the JVM ran on fewer CPUs than there are slots while other CPUs of the host
    were idle, they are not allowed to use those. The simulator removes waits of tasks for as long
    as the others were idle: at least the tasks' part of what all threads waited, at most all of it.

Evidence
    Slots against the CPUs that the application's threads ran on; waits of task threads for a CPU,
    without those behind other processes; how often task threads were preempted. For
    a JVM that is bound: the CPU of each reading of a
    thread while a stage ran, and idle time of the others. This is checked where one JVM runs all
    tasks, in the `MOST_STAGES` stages whose tasks waited longest, and reported for those with at
    least `FEWEST_READINGS`: fewer may have missed a CPU by chance.

Remedy
    As many slots as CPUs (`layout.tasks`, `spark.executor.cores`). For a JVM that is bound: all
    CPUs (`taskset`, `cpuset`, `numactl`, a pinning agent).

When it is wrong
    Where tasks wait for disks or the network, more tasks than CPUs keep the CPUs busy: fewer slots
    are slower, and the saving is negative.

Source
    A scan of Parquet with 20, 40 and 60 tasks on 40 CPUs: 20, 23 and 23 s, while executor run time
    went from 392 to 892 and 1354 s (Performance Analysis of a CPU-Intensive Workload, lab 11). A
    context switch costs the caches from microseconds to more than one millisecond: Li, Ding, Shen,
    Quantifying the Cost of Context Switch, 2007.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pyrometer.core import units
from pyrometer.explain.change import Less, Slots
from pyrometer.explain.evidence.cpus.bound_cpus import bound
from pyrometer.explain.evidence.saying import factor, machine, place, shown_by
from pyrometer.explain.evidence.task_costs import unexplained
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import PROFILE, Rule, Suspect, table
from pyrometer.explain.what_if import Extent
from pyrometer.simulation.measured import Floats

MOST_SWITCH_NS = 1e6
"""CPU time for loading caches again that a task needs at most when it is back on its CPU."""
MEAN_SWITCH = 0.17
"""Of it, on average, if any order of magnitude from 3 microseconds to the most is as likely."""
SWITCHED = """
SELECT coalesce(sum(n), 0)::BIGINT FROM (
  SELECT max(c.involuntary_switches_count) - min(c.involuntary_switches_count) AS n
  FROM thread_counters c JOIN w ON c.t_mono_ns BETWEEN w.start_mono_ns AND w.end_mono_ns
  WHERE (c.pid, c.tid) IN (SELECT DISTINCT pid, tid FROM spans)
  GROUP BY c.pid, c.tid, w.start_mono_ns)
"""
MOST_NAMED = 2
"""CPUs that are named; of more, their number."""


def _suspects(facts: Facts) -> Iterator[Suspect]:
    yield from _oversubscribed(facts)
    yield from _bound(facts)


def _bound(facts: Facts) -> Iterator[Suspect]:
    found = {number: one for number, one in bound(facts).items() if one.idle_ns > 0}
    lost = {number: min(one.queue_ns, one.idle_ns) for number, one in found.items()}
    total = sum(lost.values())
    if not total:
        return
    tasks = sum(lost[n] * one.queue_ns / one.threads_ns for n, one in found.items()) / total
    dearest = found[max(lost, key=lambda n: lost[n])]
    waited = sum(one.queue_ns for one in found.values())
    idle = sum(one.idle_ns for one in found.values())
    count = sum(one.readings_count for one in found.values())
    where = place(facts, "host", lost)
    yield Suspect(
        place=where,
        mechanism=(
            f"{units.counted(facts.slots, 'task')} ran at once on {_named(dearest.cpus)} alone, and"
            f" waited {units.duration(waited)} for {'it' if len(dearest.cpus) == 1 else 'them'},"
            f" while {_named(dearest.others)} stood idle for {units.duration(idle)}: the JVM's"
            f" threads may not use {'it' if len(dearest.others) == 1 else 'them'}."
        ),
        change=(facts.share_of_tasks("cpu_wait", lost),),
        extent=Extent((1 + tasks) / 2, tasks, 1.0, count),
        evidence=[
            shown_by("waits of tasks for a CPU", waited, "ns", "thread_counters",
                 "show --json: ledger, task/run_queue", "/ledger/task/run_queue", len(found)),
            shown_by("idle time of CPUs that the JVM was never on", idle, "ns", "os_series",
                 "SELECT scope, value FROM os_series WHERE name = 'cpu_idle_ns'", "/timeline",
                 len(found)),
            shown_by("readings of its threads on the others", count, "count", "thread_counters",
                 "SELECT cpu, count(*) FROM thread_counters GROUP BY cpu", "/timeline", count),
        ],
        remedies=[
            machine(f"let the JVM use {_named(dearest.others)}, too: look for what binds its"
                    " threads (taskset -pc PID, the cpuset of its control group)"),
        ],
        refute="Run without the binding: if tasks still wait as long for a CPU, it is not why.",
    )  # fmt: skip


def _named(cpus: Sequence[int]) -> str:
    if len(cpus) > MOST_NAMED:
        return units.counted(len(cpus), "CPU")
    return f"CPU{'' if len(cpus) == 1 else 's'} {' and '.join(map(str, cpus))}"


def _oversubscribed(facts: Facts) -> Iterator[Suspect]:
    known = facts.summary.contention
    cpus, slots = known.cpus_count, facts.slots
    queue = facts.ledger_ns("task/run_queue")
    if not cpus or slots <= cpus or not queue or _hosts(facts) > 1:
        return
    whole = known.run_queue_ns or sum(queue.values())
    others = known.behind_others_ns.value if known.behind_others_ns else 0.0
    own = 1 - min(1.0, (others or 0.0) / whole) if whole else 1.0
    # Behind others, too, fewer wait at once.
    less = own + (1 - own) * (1 - cpus / slots)
    lost = {number: waited * less for number, waited in queue.items()}
    total = sum(lost.values())
    at_once = f"{units.counted(slots, 'task')} ran at once on {units.counted(cpus, 'CPU')}"
    evidence = [
        shown_by("task slots", slots, "count", "executors",
             "SELECT sum(cores_count) FROM executors", "/ledger"),
        shown_by("CPUs that the application ran on", cpus, "count", "thread_counters",
             "show --json: contention.cpus_count", "/ledger"),
    ]  # fmt: skip
    remedies = [factor("layout.tasks", str(cpus), "run as many tasks at once as there are CPUs")]
    yield Suspect(
        place=place(facts, "setting", lost, setting="layout.tasks"),
        mechanism=(
            f"{at_once} and waited"
            f" {units.duration(total)} for each other; with {units.counted(cpus, 'slot')} each task"
            " would finish sooner, and the last one at about the same time."
        ),
        change=(_of_each(facts, lost), Slots(cpus / slots)),
        evidence=[
            *evidence,
            shown_by("waits of tasks for a CPU", total, "ns", "thread_counters",
                 "show --json: ledger, task/run_queue", "/ledger/task/run_queue", len(lost)),
        ],
        remedies=remedies,
    )  # fmt: skip
    switches = _switches(facts)
    count = switches * less
    cpu = {number: facts.cpu_ns.get(number, 0.0) for number in lost}
    loaded = {n: MOST_SWITCH_NS * count * ns / total for n, ns in lost.items()}
    cost = {n: min(ns, cpu[n]) for n, ns in loaded.items() if cpu[n] > 0}
    if not count or not cost:
        return
    yield Suspect(
        place=place(facts, "setting", cost, setting="layout.tasks"),
        mechanism=(
            f"{at_once} and preempted each other {units.count(round(count))} times. Each time a"
            f" task runs again it loads its data into the caches once more, for up to"
            f" {units.duration(MOST_SWITCH_NS)} of CPU."
        ),
        change=(facts.less_cpu("caches", {n: ns / cpu[n] for n, ns in cost.items()}),),
        extent=Extent(MEAN_SWITCH, 0.0, 1.0, round(count)),
        evidence=[
            *evidence,
            shown_by("involuntary switches of tasks", switches, "count", "thread_counters",
                 SWITCHED, "/ledger/task/run_queue", switches),
        ],
        remedies=remedies,
    )  # fmt: skip


def _switches(facts: Facts) -> int:
    """Count how often the kernel took tasks off their CPU in the window; 0 where nobody counted."""
    if not facts.has("spans") or not facts.scope.has_mono:
        return 0
    return int(facts.tables.scalar(SWITCHED) or 0)


def _of_each(facts: Facts, lost: Mapping[int, float]) -> Less:
    """Divide the waits of a stage by what of each task's time Spark counts as nothing else.

    A long task that outlasts the others waits less of its time than these.
    """
    found: dict[int, Floats | float] = {}
    for number, ns in lost.items():
        waited = unexplained(facts.tasks_of(number))
        total = float(waited.sum())
        if total <= 0:
            found.update(facts.share_of_tasks("cpu_wait", {number: ns}).ns)
        else:
            found[number] = waited * min(1.0, ns / total)
    return Less("cpu_wait", found)


def _hosts(facts: Facts) -> int:
    return len({one.host for one in facts.measured.executors}) if facts.measured else 0


RULE = Rule(
    code="contended.more-tasks-than-cpus",
    title="More tasks run at once than there are CPUs",
    cause="CPU oversubscription",
    suspects=_suspects,
    needs=(table("thread_counters", PROFILE, "no CPU time of threads"),),
    refute="Run with as many slots as CPUs: if that takes as long, tasks lose nothing by taking"
    " turns.",
)
