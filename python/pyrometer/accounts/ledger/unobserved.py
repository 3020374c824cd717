"""Hosts that nobody observed: what the event log says of their slots.

Their CPUs have no account. Where an agent, or a probe, saw none of a run's hosts, all are such.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyrometer.accounts.ledger.host_slots import HostSlots, host_slots, several_hosts
from pyrometer.accounts.ledger.schema import NO_AGENTS, HostLedger, View
from pyrometer.accounts.ledger.slot_view import NO_CORES, host_view, slots_known
from pyrometer.accounts.ledger.sums import Group, prepare, sums
from pyrometer.store.sql.text import literal
from pyrometer.window.scope import Scope

MOST_OWN = 64
"""Hosts with an account of their own; of more, those with least task time have one together."""
NO_AGENT = "not observed: no agent on this host"
NOTHING_RAN = "no executor ran there"

_CLOCKS = """
SELECT host, clock, cpus_count, CASE WHEN clock = 'axis' THEN 0 ELSE bound_ns END FROM hosts
"""


def unobserved_hosts(scope: Scope) -> list[HostLedger]:
    """Account for the slots of each host of a run of which no probe saw any; none of one host."""
    found = list(host_slots(scope)) if several_hosts(scope) else []
    if len(found) < 2:
        return []
    own, rest = sorted(found[:MOST_OWN]), sorted(found[MOST_OWN:])
    groups = [[host] for host in own] + ([rest] if rest else [])
    clocks = {
        host: {"clock": clock, "cpus_count": cpus, "bound_ns": bound}
        for host, clock, cpus, bound in scope.tables.query(_CLOCKS)
    }
    return [
        HostLedger(
            host=group[0] if len(group) == 1 else f"{len(group)} hosts together",
            together=group if len(group) > 1 else [],
            observed=False,
            core_view=View(window=scope.window.name, reason=NO_AGENT),
            slot_view=view,
            **(clocks.get(group[0], {}) if len(group) == 1 else {}),
        )
        for group, view in zip(groups, slot_views(scope, groups), strict=True)
    ]


def no_core_view(scope: Scope, hosts: Sequence[HostLedger]) -> View:
    """Say in place of a core view that none of the hosts was observed."""
    names = ", ".join(one.host for one in hosts[:_NAMED])
    more = f" and {len(hosts) - _NAMED} more" if len(hosts) > _NAMED else ""
    return View(window=scope.window.name, reason=f"{NO_AGENTS}: {names}{more}")


_NAMED = 4


def slot_views(scope: Scope, groups: Sequence[Sequence[str]]) -> list[View]:
    """Build the slot view of each of several groups of hosts, all from one sweep and one sum."""
    name = scope.window.name
    if not slots_known(scope):
        return [View(window=name, reason=NO_CORES) for _ in groups]
    found = host_slots(scope)
    prepare(scope)
    numbers = ", ".join(
        f"({literal(host)}, {number})" for number, group in enumerate(groups) for host in group
    )
    scope.tables.define(
        "l_groups",
        "SELECT t.task, n.number FROM l_tasks t JOIN h_places p USING (app_index, executor_id)"
        f" JOIN (VALUES {numbers}) n(host, number) USING (host)",
    )
    mine = sums(scope, [Group(number, {}, 0) for number in range(len(groups))])
    views = []
    for number, group in enumerate(groups):
        there = [found[host] for host in group if host in found]
        whole = HostSlots.together(there)
        views.append(
            host_view(scope, mine[number], whole)
            if whole.total_ns
            else View(window=name, reason=NOTHING_RAN)
        )
    return views
