"""Which of very many hosts have an account of their own, and which have one together.

An account of a host reads its rows for itself, at the same cost however few they are. Where hosts
are more than `MOST_OWN`, those on which the run worked most and those on which others did are
accounted for one by one, and the rest together: nothing of it is left out, and its rows are sums.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from pyrometer.accounts.ledger.core_view import UNSEEN
from pyrometer.window.counters import BUSY
from pyrometer.window.scope import Scope

MOST_OWN = 16
"""Hosts with an account of their own, where there are more."""

_USED = f"""
SELECT host,
  sum(growth) FILTER (scope LIKE 'process/%' AND name = 'cpu_ns'),
  sum(growth) FILTER (scope = 'host' AND name IN ({", ".join(f"'{name}'" for name in BUSY)})),
  count(*) FILTER (scope = 'host' AND name = 'cpu_idle_ns')
FROM w_series GROUP BY host
"""
# What one host counts and another does not makes rows that cannot be added up.
_KINDS = """
SELECT host, bool_or(scope = 'host' AND name = 'psi_irq_full_ns'),
  bool_or(scope = 'host' AND name = 'cpu_threads_ns'),
  bool_or(scope = 'host' AND name = 'cpu_switched_ns'), bool_or(scope LIKE 'kernel/%')
FROM os_series GROUP BY host
"""


def groups(
    scope: Scope,
    observed: Sequence[str],
    cpus: Mapping[str, int | None],
    tiers: Mapping[str, str],
) -> list[list[str]]:
    """Divide hosts into those that are accounted for together.

    Parameters
    ----------
    scope : Scope
        A run cut to a window, with ``w_series``.
    observed : sequence of str
        The hosts, that of the axis first.
    cpus, tiers : mapping
        CPUs of each, and how well its threads were seen.

    Returns
    -------
    list of list of str
        Each host in one list; one with an account of its own is alone there.
    """
    if len(observed) <= MOST_OWN:
        return [[host] for host in observed]
    used = {host: rest for host, *rest in scope.tables.query(_USED)}
    joinable = {host for host in observed if used.get(host, [0, 0, 0])[2] and cpus.get(host)}
    own = {*observed[:1], *(host for host in observed if host not in joinable)}
    own.update(_most(joinable - own, used, MOST_OWN // 2, _of_the_run))
    own.update(_most(joinable - own, used, MOST_OWN // 2 - 1, _of_others))
    kinds = _kinds(scope, tiers)
    together: dict[Any, list[str]] = defaultdict(list)
    for host in observed:
        if host not in own:
            together[kinds.get(host)].append(host)
    return [*([host] for host in observed if host in own), *together.values()]


def _most(hosts: set[str], used: Mapping[str, Sequence[Any]], count: int, by: Any) -> list[str]:
    return sorted(hosts, key=lambda host: (-by(*used[host][:2]), host))[:count]


def _of_the_run(followed: float | None, busy: float | None) -> float:
    return followed or 0


def _of_others(followed: float | None, busy: float | None) -> float:
    return (busy or 0) - (followed or 0)


def _kinds(scope: Scope, tiers: Mapping[str, str]) -> dict[str, tuple[Any, ...]]:
    exits = {
        host
        for (host,) in scope.tables.query(
            f"SELECT DISTINCT host FROM thread_counters WHERE (pid, tid) IN ({UNSEEN})"
        )
    }
    return {
        host: (*counts, tiers.get(host), host in exits)
        for host, *counts in scope.tables.query(_KINDS)
    }
