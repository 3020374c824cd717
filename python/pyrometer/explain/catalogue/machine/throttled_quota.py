"""The control group's CPU quota stops the application.

What it is
    A container may use only so much CPU time in each period (100 ms). JVMs have many threads:
    tasks, the collector and compilers use the quota up early, and for the rest of the period
    everything in the container stands still, whether CPUs are idle or not. The quota may be that of
    a group above: of a pod, of a slice.

Mechanism
    The simulator removes time that task threads waited for a CPU while their group was stopped: at
    most as long as the kernel says the group was throttled, host by host. Where one had
    no idle CPUs, a larger quota only turns this wait into another: that part is not counted at the
    low end.

Evidence
    `cpu.stat` of the application's groups and of those above them, as far as they are visible
    (periods throttled, time throttled), waits of task threads for a CPU, idle time of the host.

Remedy
    A larger quota (`cpu.quota`; that of a group above, where it is set), or none and a share
    (`cpu.weight`) instead; fewer task slots than the quota has CPUs, and threads of collector and
    compilers sized by it.

When it is wrong
    Where the host itself is busy, the quota is not what the application lacks.

Source
    Documentation of the Linux kernel, "CFS Bandwidth Control"; kubernetes#67577,
    apache-spark-on-k8s#352.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from pyrometer.core import units
from pyrometer.explain.evidence.cpus.quotas import GROUPS, OWN, most_throttled, quotas
from pyrometer.explain.evidence.host_series import growth_by_host, growth_query
from pyrometer.explain.evidence.hosts.lost import (
    Lost,
    are_on,
    carriers,
    less_on_hosts,
    lost_by_host,
    most_was_on,
    place_on_hosts,
    with_nothing,
    worst,
)
from pyrometer.explain.evidence.saying import factor, machine, page, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import PROFILE, Rule, Suspect, table
from pyrometer.explain.what_if import Extent

IDLE = "cpu_idle_ns"


def _suspects(facts: Facts) -> Iterator[Suspect]:
    hosts = worst(growth_by_host(facts, GROUPS, "cpu_throttled_ns"))
    stopped = growth_by_host(facts, GROUPS, "cpu_throttled_ns", hosts)
    waits = lost_by_host(facts, "task/run_queue", hosts)
    lost = {
        host: {
            number: min(ns, _waited(facts, stopped, waits, host, number))
            for number, ns in own.items()
        }
        for host, own in stopped.items()
    }
    lost = with_nothing(lost, waits)
    total = sum(sum(own.values()) for own in lost.values())
    if total <= 0:
        return
    spare = growth_by_host(facts, "host", IDLE, hosts)
    idle = {h: sum(spare.get(h, {}).get(number, 0.0) for number in own) for h, own in lost.items()}
    held = {host: sum(own.values()) for host, own in stopped.items()}
    throttled = sum(held.values())
    could = sum(min(idle[host], ns) for host, ns in held.items())
    names = carriers(lost)
    scope = most_throttled(facts, names) or OWN
    limits = [one.cpus for one in quotas(facts, names) if one.scope == scope]
    quota = limits[0] if limits else None
    above = scope.removeprefix(OWN)
    counted = growth_by_host(facts, GROUPS, "cpu_throttled_periods_count", hosts)
    periods = sum(sum(own.values()) for own in counted.values())
    limit = f" of {units.short(quota)} CPUs" if quota else ""
    if above:
        limit += f" of control group {above}"
    cpus = _cpus_of(facts, names) or math.ceil(quota or 1) + 1
    where = place_on_hosts(facts, "host", lost, setting="cpu.quota")
    apart = [] if None in held else [host for host, ns in held.items() if host and ns]
    spare_query = growth_query(facts, "host", IDLE, hosts=apart)
    yield Suspect(
        place=where,
        mechanism=(
            f"The quota{limit} throttled the application in {units.count(round(periods))} periods,"
            f" by {units.duration(throttled)} of CPU time while stages ran; tasks spent"
            f" {units.duration(total)} of it waiting.{most_was_on(names, lost)}"
        ),
        change=(less_on_hosts(facts, "cpu_wait", lost),),
        extent=Extent(1.0, could / throttled, 1.0, round(periods) or 1),
        evidence=[
            shown_by("time throttled while stages ran", throttled, "ns", "os_series",
                 growth_query(facts, GROUPS, "cpu_throttled_ns"), page(where),
                 round(periods) or 1),
            shown_by("idle CPU time there while stages ran",
                 float(facts.tables.scalar(spare_query) or 0), "ns", "os_series", spare_query,
                 "/ledger/idle"),
        ],
        remedies=[
            machine(f"allow control group {above} as many CPUs as the host has") if above else
            factor("cpu.quota", units.short(float(max(cpus, math.ceil(quota or 1)))),
                   "allow as many CPUs as the host has"),
        ],
    )  # fmt: skip


def _waited(facts: Facts, stopped: Lost, waits: Lost, host: str | None, number: int) -> float:
    """Give what a stage's tasks on a host waited for a CPU, at most."""
    if "task/run_queue" in facts.ledger.get(number, {}):
        return waits.get(host, {}).get(number, 0.0)
    # Without the kernel's clocks of threads: all that is not CPU.
    own, there = facts.tasks_of(number), are_on(facts, host, stopped)[facts.place_of(number)]
    cpu = np.nan_to_num(own["executor_cpu_time_ns"])[there].sum()
    return max(0.0, float(own.duration_ns[there].sum() - cpu))


def _cpus_of(facts: Facts, names: Sequence[str]) -> int:
    hosts = [one for one in facts.summary.ledger.hosts if one.host in names]
    known = [one.cpus_count for one in hosts] or [facts.summary.contention.host_cpus_count]
    return max(one or 0 for one in known)


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
