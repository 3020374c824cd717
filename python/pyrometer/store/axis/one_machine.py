"""Hosts of a run that are one machine: pods and containers, each of which takes all of it for its.

A pod has a host name of its own, and reads the counters of its node. Where no agent of the node
says so (:mod:`pyrometer.store.services.machines`), two things show it together:

- CLOCK_MONOTONIC of one kernel has one beginning: Unix time less that clock is the same, to the
  microsecond, for all who read both there. Machines that were started in one moment are told apart
  by
- the idle time of all CPUs since then: readings of one kernel's counter, whoever took them, only
  grow, and by no more than the time between them on all CPUs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from pyrometer.core import schema
from pyrometer.core.doubt import Doubt
from pyrometer.store.sql.host_views import RECORDED
from pyrometer.store.sql.text import literal
from pyrometer.store.tables import Tables

SAME_CLOCK_NS = 10**6
"""Readings of both clocks one after the other are not further apart, in the middle of many."""
SLACK_NS = 10**9
"""A reading may be so much older than its time says, for each CPU."""
SHOWN = 5
"""Machines that the doubt names; the rest are counted."""

_AHEAD = """
SELECT host, quantile_disc(TRY_CAST(wall_ns::HUGEINT - mono_ns AS BIGINT), 0.5) AS ahead
FROM {where}clock_pairs WHERE host IN ({names}) GROUP BY host
HAVING ahead IS NOT NULL ORDER BY ahead, host
"""
_IDLE = """
SELECT host, count(DISTINCT scope) FILTER (scope LIKE 'cpu/%'),
  min(t_mono_ns) FILTER (scope = 'host'), arg_min(value, t_mono_ns) FILTER (scope = 'host'),
  max(t_mono_ns) FILTER (scope = 'host'), arg_max(value, t_mono_ns) FILTER (scope = 'host')
FROM {where}os_series WHERE name = 'cpu_idle_ns' AND host IN ({names}) GROUP BY host
"""


class _Idle(NamedTuple):
    """First and last reading of the idle time of all CPUs of a host."""

    cpus: int
    first_ns: int
    first: int
    last_ns: int
    last: int


def of_one_machine(tables: Tables, hosts: Sequence[str]) -> list[list[str]]:
    """Find hosts that are one machine.

    Parameters
    ----------
    tables : Tables
        Of the run: as recorded, or on one axis.
    hosts : sequence of str
        Names of hosts, in order.

    Returns
    -------
    list of list of str
        Of each such machine all names, in that order; two at least.
    """
    where = f"{RECORDED}." if tables.several_hosts else ""

    def asked(sql: str, names: Sequence[str]) -> list[tuple[Any, ...]]:
        return tables.query(sql.format(where=where, names=", ".join(map(literal, names))))

    alike = _near(asked(_AHEAD, hosts)) if len(hosts) > 1 else []
    found: list[list[str]] = []
    for names in alike:
        idle = {host: _Idle(*map(int, row)) for host, *row in asked(_IDLE, names) if all(row[:2])}
        machines: list[list[str]] = []
        for name in (host for host in hosts if host in idle):
            mine = next(
                (one for one in machines if _is_one([idle[host] for host in (*one, name)])), None
            )
            if mine is None:
                machines.append([name])
            else:
                mine.append(name)
        found += [one for one in machines if len(one) > 1]
    return found


def doubts_of_machines(machines: Sequence[Sequence[str]]) -> list[Doubt]:
    """Doubt what hosts that are one machine counted of it, each for itself."""
    if not machines:
        return []
    some = "; ".join(", ".join(names) for names in machines[:SHOWN])
    more = f"; and {len(machines) - SHOWN} more" if len(machines) > SHOWN else ""
    text = f"By their clocks and the idle time of their CPUs these are one machine: {some}{more}."
    return [schema.doubt("hosts_of_one_machine", text)]


def _near(ahead: Sequence[tuple[Any, ...]]) -> list[list[str]]:
    """Group hosts whose clocks began at one moment; alone is none."""
    groups: list[list[str]] = []
    before: int | None = None
    for host, ns in ahead:
        if before is None or ns - before > SAME_CLOCK_NS:
            groups.append([])
        groups[-1].append(host)
        before = ns
    return [one for one in groups if len(one) > 1]


def _is_one(readings: Sequence[_Idle]) -> bool:
    """Whether readings, taken together, are of one counter."""
    cpus = readings[0].cpus
    if any(one.cpus != cpus for one in readings):
        return False
    ends = [(one.first_ns, one.first) for one in readings]
    ends += [(one.last_ns, one.last) for one in readings]
    return all(
        -SLACK_NS * cpus <= after - before <= (until - since + SLACK_NS) * cpus
        for (since, before), (until, after) in pairwise(sorted(ends))
    )
