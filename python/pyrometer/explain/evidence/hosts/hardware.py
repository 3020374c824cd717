"""Whether hosts have the same hardware, as far as a run knows it: CPUs, and memory where probed."""

from __future__ import annotations

from collections.abc import Collection

from pyrometer.core import units
from pyrometer.explain.facts import Facts

CPUS_QUERY = (
    "SELECT host, max((facts->>'$.cpus_count')::BIGINT) AS cpus FROM processes"
    " WHERE role = 'executor' GROUP BY host ORDER BY host"
)
"""CPUs that JVMs of executors count on their hosts."""
_MEMORY = (
    "SELECT host, max(value)::DOUBLE FROM os_series WHERE scope = 'host'"
    " AND name = 'mem_total_bytes' GROUP BY host"
)
CLOSE = 0.05
"""Of the memory: what the firmware keeps for itself is not the same on all hosts."""


def alike(facts: Facts, hosts: Collection[str]) -> tuple[int, str] | None:
    """Give the CPUs of each of some hosts, and words for what they have alike.

    None where they differ, or where the CPUs of one are not known: nothing says then that one
    should be as fast as another.
    """
    cpus = _of(facts, hosts, "processes", CPUS_QUERY)
    if len(cpus) != len(hosts) or len(set(cpus.values())) != 1:
        return None
    (count,) = set(cpus.values())
    words = units.counted(round(count), "CPU")
    memory = _of(facts, hosts, "os_series", _MEMORY)
    if not memory:
        return round(count), words
    if len(memory) != len(hosts) or min(memory.values()) < (1 - CLOSE) * max(memory.values()):
        return None
    return round(count), f"{words} and {units.size(max(memory.values()))} of memory"


def _of(facts: Facts, hosts: Collection[str], table: str, query: str) -> dict[str, float]:
    rows = facts.tables.query(query) if facts.has(table) else []
    return {host: float(value) for host, value in rows if host in hosts and value is not None}
