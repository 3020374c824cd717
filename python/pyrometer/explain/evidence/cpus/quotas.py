"""Quotas of control groups: of the application's own, and of those above it or its processes.

Series of the root process's group have the scope ``cgroup``; those of others that rule a process of
the run and have a quota are ``cgroup/<path>``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from pyrometer.explain.evidence.host_series import growth_of_each
from pyrometer.explain.facts import Facts

OWN = "cgroup"
GROUPS = "cgroup%"
"""Scopes of all of them, as a pattern of LIKE."""
_QUOTAS = (
    "SELECT host, scope, min(value) FILTER (name = 'cpu_quota_ns')::DOUBLE"
    " / min(value) FILTER (name = 'cpu_period_ns') AS cpus,"
    " min(t_mono_ns) FILTER (name = 'cpu_quota_ns') AS since,"
    " max(t_mono_ns) FILTER (name = 'cpu_quota_ns') AS until"
    f" FROM os_series WHERE scope LIKE '{GROUPS}' AND name IN ('cpu_quota_ns', 'cpu_period_ns')"
    " GROUP BY host, scope HAVING cpus IS NOT NULL"
)
QUOTA_QUERY = f"SELECT min(cpus) FROM ({_QUOTAS})"
"""The CPUs of the least quota of all hosts."""


@dataclass(frozen=True)
class Quota:
    """What a control group may use, at least, while the quota was read; times are of the wall."""

    host: str
    scope: str
    cpus: float
    since_ns: float
    until_ns: float


def quotas(facts: Facts, hosts: Collection[str] = ()) -> list[Quota]:
    """Give the quotas of control groups, the least first.

    Parameters
    ----------
    hosts : collection of str
        Where; by default, anywhere.
    """
    offset = facts.scope.offset_ns
    if offset is None or not facts.has("os_series"):
        return []
    rows = facts.tables.query(f"{_QUOTAS} ORDER BY cpus, host, scope")
    return [
        Quota(host, scope, cpus, since + offset, until + offset)
        for host, scope, cpus, since, until in rows
        if not hosts or host in hosts
    ]


def most_throttled(facts: Facts, hosts: Collection[str] = ()) -> str | None:
    """Give the scope of the groups that were stopped longest while stages ran."""
    stopped: dict[str, float] = defaultdict(float)
    for (host, scope), ns in growth_of_each(facts, GROUPS, "cpu_throttled_ns").items():
        if not hosts or host in hosts:
            stopped[scope] += ns
    return max(stopped, key=lambda scope: stopped[scope], default=None)
