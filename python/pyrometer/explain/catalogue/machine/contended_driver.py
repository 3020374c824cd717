"""The driver and its program use CPUs that tasks wait for.

What it is
    In local mode, and where the driver shares its host with executors, the driver's threads and the
    user's program compete with tasks: a loop that asks for the progress of a job without a pause, a
    computation beside a query, a listener that keeps up with every task.

Mechanism
    CPU that the driver's threads and its Python program would leave goes to threads that waited for
    one: tasks get at least their part of all waits of the run, at most as much as they waited. What
    a driver needs for its jobs in any case is left out. The simulator removes that part of the
    tasks' waits.

Evidence
    CPU time of the driver's threads, and of Python processes that began before the first task and
    are no workers, and waits of threads for a CPU: both by the kernel's counters, in runs on one
    host.

Remedy
    Wait for a job instead of asking for it again and again, or pause between two questions; compute
    after the query; or give the driver a CPU of its own (a slot less, or another host).

When it is wrong
    Where what the driver does has to be done at that time: then only another CPU helps.

Source
    Run-queue time of /proc/PID/schedstat. Divided as for `contended.neighbour`.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.core import units
from pyrometer.explain.evidence.cpus.waits_behind import missing, queued, waits_behind
from pyrometer.explain.evidence.saying import code, machine, page, place, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Need, Rule, Suspect

ON_ONE_HOST = (
    "pyrometer run --profile full -- COMMAND, with the driver and all executors on one host"
)
ORDINARY = 0.2
"""CPUs that a driver needs for its jobs: not counted. Measured on six jobs of seconds without this
cause (2 slots, Spark 4.3, one run each, 2026-11-27): 0.09 to 0.24 while stages ran."""
_HOLDERS = """
(pid, tid) IN (SELECT (pid, tid) FROM w_threads WHERE role = 'driver')
OR pid IN (
  SELECT TRY_CAST(substr(scope, 9) AS BIGINT) FROM os_series
  WHERE scope LIKE 'process/%' AND name = 'start_time_mono_ns' AND value < {first}
    AND substr(scope, 9) IN (
      SELECT pid::VARCHAR FROM w_threads WHERE pid = tid AND comm LIKE 'python%')
    AND substr(scope, 9) NOT IN ({workers}))
"""
_WORKERS = """
SELECT pid::VARCHAR FROM samples
WHERE source = 'python' AND role = 'python' AND thread_name = 'Python worker'
"""


def _suspects(facts: Facts) -> Iterator[Suspect]:
    offset = facts.scope.offset_ns
    first = facts.tables.scalar("SELECT min(launch_wall_ns) FROM tasks")
    if offset is None or first is None:
        return
    workers = _WORKERS if facts.has("samples") else "''"
    holders = _HOLDERS.format(first=int(first) - offset, workers=workers)
    behind = waits_behind(facts, holders, ORDINARY)
    if not behind.lost:
        return
    where = place(facts, "driver", behind.lost)
    yield Suspect(
        place=where,
        mechanism=(
            "While tasks waited for a CPU, the driver's threads and its program used"
            f" {units.duration(behind.contended_ns)} of CPU beyond what jobs need of them; tasks"
            f" waited {units.duration(behind.low_ns)} to {units.duration(behind.high_ns)} behind"
            " them."
        ),
        change=(facts.share_of_tasks("cpu_wait", behind.lost),),
        extent=behind.extent,
        evidence=[
            shown_by("CPU time of the driver and its program while tasks waited",
                     behind.contended_ns, "ns", "thread_counters", "show --json: cpu.roles",
                     "/timeline", behind.pieces_count),
            queued(facts, page(where)),
        ],
        remedies=[
            code("do not ask for the progress of a job without a pause",
                 "while not future.done():\n    tracker.getActiveStageIds()",
                 "future.result()"),
            machine("give the driver a CPU of its own: one slot less than there are CPUs, or"
                    " another host"),
        ],
    )  # fmt: skip


RULE = Rule(
    code="contended.driver",
    title="The driver takes CPUs that tasks wait for",
    cause="busy driver beside tasks",
    suspects=_suspects,
    needs=(Need(missing, ON_ONE_HOST),),
    refute="Run with the driver on a host of its own: if tasks still wait as long for a CPU, it was"
    " not the driver.",
)
