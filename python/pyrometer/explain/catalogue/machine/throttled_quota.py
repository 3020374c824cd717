"""The control group's CPU quota stops the application.

What it is
    A container may use only so much CPU time in each period (100 ms). JVMs have many threads:
    tasks, the collector and compilers use the quota up early, and for the rest of the period
    everything in the container stands still, whether CPUs are idle or not.

Mechanism
    The simulator removes time that task threads waited for a CPU while their group was stopped: at
    most as long as the kernel says the group was throttled. Where the host had no idle CPUs, a
    larger quota only turns this wait into another: that part is not counted at the low end.

Evidence
    `cpu.stat` of the group (periods throttled, time throttled), waits of task threads for a CPU,
    idle time of the host.

Remedy
    A larger quota (`cpu.quota`), or none and a share (`cpu.weight`) instead; fewer task slots than
    the quota has CPUs, and threads of collector and compilers sized by it.

When it is wrong
    Where the host itself is busy, the quota is not what the application lacks.

Source
    Documentation of the Linux kernel, "CFS Bandwidth Control"; kubernetes#67577,
    apache-spark-on-k8s#352.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from pyrometer.core import units
from pyrometer.explain.evidence.host_series import growth, level
from pyrometer.explain.evidence.saying import factor, page, place, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import PROFILE, Rule, Suspect, table
from pyrometer.explain.what_if import Extent


def _suspects(facts: Facts) -> Iterator[Suspect]:
    stopped = growth(facts, "cgroup", "cpu_throttled_ns")
    if not stopped:
        return
    lost = {}
    for number, ns in stopped.items():
        rows = facts.ledger.get(number, {})
        waited = rows.get("task/run_queue")
        if waited is None:  # without the kernel's clocks of threads: all that is not CPU
            own = facts.tasks_of(number)
            waited = max(0.0, float(own.duration_ns.sum()) - facts.cpu_ns.get(number, 0.0))
        lost[number] = min(ns, waited)
    total = sum(lost.values())
    if total <= 0:
        return
    idle = sum(growth(facts, "host", "cpu_idle_ns").get(number, 0.0) for number in lost)
    throttled = sum(stopped.values())
    quota = quota_of(facts)
    periods = sum(growth(facts, "cgroup", "cpu_throttled_periods_count").values())
    limit = f" of {units.short(quota)} CPUs" if quota else ""
    cpus = (facts.summary.contention.host_cpus_count or 0) or math.ceil(quota or 1) + 1
    where = place(facts, "host", lost, setting="cpu.quota")
    yield Suspect(
        place=where,
        mechanism=(
            f"The quota{limit} throttled the application in {units.count(round(periods))} periods,"
            f" by {units.duration(throttled)} of CPU time while stages ran; tasks spent"
            f" {units.duration(total)} of it waiting."
        ),
        change=(facts.share_of_tasks("cpu_wait", lost),),
        extent=Extent(1.0, min(1.0, idle / throttled), 1.0, round(periods) or 1),
        evidence=[
            shown_by("time throttled while stages ran", throttled, "ns", "os_series",
                 "SELECT max(value) - min(value) FROM os_series WHERE scope = 'cgroup'"
                 " AND name = 'cpu_throttled_ns'", page(where), round(periods) or 1),
            shown_by("idle CPU time of the host meanwhile", idle, "ns", "os_series",
                 "show --json: ledger.core_view", "/ledger/idle"),
        ],
        remedies=[
            factor("cpu.quota", units.short(float(max(cpus, math.ceil(quota or 1)))),
                   "allow as many CPUs as the host has"),
        ],
    )  # fmt: skip


def quota_of(facts: Facts) -> float | None:
    """Give the CPUs that the control group's quota allows; None where it has none."""
    quota, period = level(facts, "cgroup", "cpu_quota_ns"), level(facts, "cgroup", "cpu_period_ns")
    return quota / period if quota and period else None


RULE = Rule(
    code="throttled.quota",
    title="The CPU quota stops the application",
    cause="CFS throttling",
    suspects=_suspects,
    needs=(table("os_series", PROFILE, "no series of the control group"),),
    explains=("contended.",),
    refute="Run with the quota doubled: if tasks still wait as long for a CPU, it is not the"
    " quota.",
)
