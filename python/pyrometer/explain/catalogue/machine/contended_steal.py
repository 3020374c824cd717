"""The hypervisor gives the virtual CPUs less than whole ones.

What it is
    The virtual machine shares its host's CPUs: while another guest runs, this one's threads believe
    they run and do not.

Mechanism
    The simulator removes the time stolen while tasks ran, in proportion to their time on CPUs, from
    the tasks of each host what was stolen there.

Evidence
    Steal time of the CPUs that the application used.

Remedy
    A machine type with dedicated CPUs, or another host.

When it is wrong
    Hypervisors that do not report steal hide it: then tasks only seem to need more CPU.

Source
    /proc/stat, steal: Linux manual page proc_stat(5).
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.core import units
from pyrometer.explain.evidence.hosts.lost import (
    by_stage,
    carriers,
    less_on_hosts,
    lost_by_host,
    most_was_on,
    place_on_hosts,
)
from pyrometer.explain.evidence.saying import machine, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import PROFILE, Rule, Suspect, table
from pyrometer.explain.what_if import Extent
from pyrometer.window.counters import growth


def _suspects(facts: Facts) -> Iterator[Suspect]:
    lost = lost_by_host(facts, "task/steal")
    stages, known = by_stage(lost), facts.summary.contention
    total = sum(stages.values())
    if total <= 0:
        return
    taken = known.steal_ns
    if known.host is not None:
        taken = growth(facts.scope, "scope = 'host'").get("cpu_steal_ns")
    ticks = max(1, round((taken or total) / 1e7))
    yield Suspect(
        place=place_on_hosts(facts, "host", lost),
        mechanism=(
            f"The hypervisor took {units.duration(taken or total)} of the CPUs,"
            f" {units.duration(total)} of it from tasks of {units.counted(len(stages), 'stage')}."
            f"{most_was_on(carriers(lost), lost)}"
        ),
        change=(less_on_hosts(facts, "steal", lost),),
        extent=Extent(1.0, 0.5, 1.0, ticks),
        evidence=[
            shown_by("stolen while tasks ran", total, "ns", "os_series",
                 "show --json: ledger, task/steal", "/ledger/task/steal", ticks),
        ],
        remedies=[machine("use a machine type with CPUs of its own")],
    )  # fmt: skip


RULE = Rule(
    code="contended.steal",
    title="The hypervisor takes CPU time",
    cause="steal time",
    suspects=_suspects,
    needs=(table("os_series", PROFILE, "no series of the host"),),
    refute="Run on dedicated CPUs: if tasks still last as long, steal is not why.",
)
