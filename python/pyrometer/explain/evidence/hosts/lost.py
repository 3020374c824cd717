"""What tasks lost on each of several hosts, and the change that takes it from the tasks there.

What one host's tasks waited for is taken from these: spread over all tasks of a stage it would
shorten each by next to nothing, and the longest, which ends the stage, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from pyrometer.accounts.ledger.parts import stage_times
from pyrometer.accounts.window import on_host
from pyrometer.core import units
from pyrometer.explain.change import Less
from pyrometer.explain.evidence.alike import MOST_NAMED
from pyrometer.explain.evidence.saying import place
from pyrometer.explain.facts import Facts
from pyrometer.explain.schema import Layer, Place
from pyrometer.simulation.measured import Floats

MOST_HOSTS = 8
"""Hosts that are looked at one by one, those with most of what is looked for."""
MOST_OF_IT = 0.9
"""Of what was lost: the fewest hosts that have so much of it are those that are named."""

Lost = Mapping[str | None, Mapping[int, float]]
"""Nanoseconds of tasks by host, and by number of the stage. Under None are those of a run on one
host; of several, those of all the hosts that are not named."""


def ledger_on(facts: Facts, host: str | None, path: str) -> dict[int, float]:
    """Give one row of the ledger of a host by number of the stage, where it is more than nothing.

    Parameters
    ----------
    host : str or None
        None, or any host of a run on one: the ledger of all tasks.
    """
    rows_of = rows_on(facts, host)
    return {number: rows[path] for number, rows in rows_of.items() if rows.get(path, 0.0) > 0}


def rows_on(facts: Facts, host: str | None) -> dict[int, dict[str, float]]:
    """Give all rows of the ledger of a host by number of the stage; the host as for `ledger_on`."""
    if host is None or not facts.tables.several_hosts:
        return facts.ledger
    known: dict[str, dict[int, dict[str, float]]] = facts.kept.setdefault("ledger_on", {})
    if host not in known:
        known[host] = {}
        with on_host(facts.scope, host) as own:
            for stage_id, attempt, times in stage_times(own, max(1, len(facts.stages))):
                number = facts.number(stage_id, attempt)
                if number is not None:
                    known[host][number] = dict(times)
    return known[host]


def lost_by_host(
    facts: Facts, path: str, hosts: Collection[str] | None = None
) -> dict[str | None, dict[int, float]]:
    """Give one row of the ledger by host, and of the hosts that are left together.

    Parameters
    ----------
    hosts : collection of str, optional
        The hosts to look at one by one; by default those with most of it.

    Returns
    -------
    dict
        Hosts that are known to have lost nothing stand there with nothing, where there are others
        under None: these are not among them.
    """
    whole = facts.ledger_ns(path)
    if not whole or not facts.tables.several_hosts:
        return {None: whole} if whole else {}
    each = _of_each(facts, path)
    if hosts is None:
        hosts = worst({host: {0: ns} for host, ns in each.items() if ns > 0})
    found: dict[str | None, dict[int, float]] = {
        host: ledger_on(facts, host, path) for host in hosts
    }
    nothing = {host for host, ns in each.items() if ns <= 0}
    if not found or set(facts.tasks.distinct("host")) - nothing - set(found):
        rest = dict(whole)
        for own in found.values():
            for number, ns in own.items():
                rest[number] = rest.get(number, 0.0) - ns
        # What rounding leaves is nothing that other hosts waited for.
        left = {n: ns for n, ns in rest.items() if ns > whole.get(n, 0.0) * 1e-6}
        found |= {None: left} if left else {}
    lost = {host: own for host, own in found.items() if own}
    return lost | {host: {} for host in sorted(nothing)} if None in lost else lost


def with_nothing(
    lost: Mapping[str | None, dict[int, float]], *others: Lost
) -> dict[str | None, dict[int, float]]:
    """Add hosts that other series know to have had nothing: they are not under None either."""
    known = {host for one in others for host, own in one.items() if host and not own}
    return {**{host: {} for host in sorted(known)}, **lost}


def _of_each(facts: Facts, path: str) -> dict[str, float]:
    """Give a row of the hosts that have a ledger of their own."""
    return {
        one.host: sum(float(row.value_ns or 0) for row in one.slot_view.rows if row.path == path)
        for one in facts.summary.ledger.hosts
        if not one.together
    }


def worst(lost: Lost) -> list[str]:
    """Give the hosts that are looked at one by one: those that lost most."""
    hosts = [host for host, own in lost.items() if host is not None and sum(own.values()) > 0]
    return sorted(hosts, key=lambda one: (-sum(lost[one].values()), one))[:MOST_HOSTS]


def by_stage(lost: Lost) -> dict[int, float]:
    """Add up all hosts, by number of the stage."""
    found: dict[int, float] = {}
    for own in lost.values():
        for number, ns in own.items():
            found[number] = found.get(number, 0.0) + ns
    return found


def less_on_hosts(facts: Facts, what: str, lost: Lost) -> Less:
    """Take time from the tasks of the hosts that lost it, in proportion to the time of these."""
    if set(lost) == {None}:
        return facts.share_of_tasks(what, lost[None])
    found: dict[int, Floats | float] = {}
    for host, own in lost.items():
        there = are_on(facts, host, lost)
        for number, ns in own.items():
            at = facts.place_of(number)
            mine = np.where(there[at], facts.tasks.duration_ns[at], 0.0)
            if ns > 0 and mine.sum() > 0:
                found[number] = found.get(number, 0.0) + mine * min(1.0, ns / mine.sum())
    return Less(what, found)


def are_on(facts: Facts, host: str | None, named: Collection[str | None]) -> Any:
    """Whether each task ran on a host; None stands for all hosts that are not named."""
    hosts = facts.tasks["host"]
    return hosts == host if host else ~np.isin(hosts, [one for one in named if one])


def carriers(lost: Lost) -> list[str]:
    """Name the fewest hosts that have nearly all of what was lost; none where they are not known.

    Examples
    --------
    >>> carriers({"a": {0: 1.0}, "b": {0: 60.0, 1: 39.0}}), carriers({None: {0: 5.0}})
    (['b'], [])
    """
    each = {host: sum(own.values()) for host, own in lost.items()}
    whole, found, have = sum(each.values()), list[str](), 0.0
    for host in sorted(each, key=lambda one: (-each[one], one or "")):
        if have >= MOST_OF_IT * whole:
            break
        if host is None:
            return []
        found.append(host)
        have += each[host]
    return found


def place_on_hosts(facts: Facts, layer: Layer, lost: Lost, **more: Any) -> Place:
    """Name the stage that a cause costs most, and the host, or the hosts, that have it."""
    names = carriers(lost)
    return place(facts, layer, by_stage(lost), **hosts_of_place(names), **more)


def few_carriers(facts: Facts, lost: Lost) -> list[str]:
    """Name them where they are no more than half of the hosts that ran tasks.

    What all hosts of a cluster wait for is the cluster's, and none of theirs.
    """
    names = carriers(lost)
    return names if 2 * len(names) <= len(facts.tasks.distinct("host")) else []


def place_on_few(facts: Facts, layer: Layer, lost: Lost, **more: Any) -> Place:
    """Name the stage that a cause costs most, and hosts only where it is theirs."""
    hosts = hosts_of_place(few_carriers(facts, lost))
    return place(facts, layer, by_stage(lost), **hosts, **more)


def hosts_of_place(names: Sequence[str]) -> dict[str, Any]:
    """Give the attributes of a place on one host, or on several."""
    if len(names) < 2:
        return {"host": names[0]} if names else {}
    return {"places_count": len(names), "largest": list(names[:MOST_NAMED])}


def named_hosts(names: Iterable[str]) -> str:
    """Name a few hosts, count many.

    Examples
    --------
    >>> named_hosts(["a", "b"]), named_hosts(["a", "b", "c", "d"])
    ('a and b', 'a, b, c and 1 more host')
    """
    found = list(names)
    rest = found[MOST_NAMED:]
    last = units.counted(len(rest), "more host") if rest else found.pop()
    return " and ".join(filter(None, (", ".join(found[:MOST_NAMED]), last)))


def most_was_on(names: Sequence[str], lost: Lost) -> str:
    """Say on which hosts most of what was lost was; nothing where none is named.

    Examples
    --------
    >>> most_was_on(["b"], {"a": {0: 1.0}, "b": {0: 60.0}}), most_was_on([], {None: {0: 5.0}})
    (' Nearly all of it was on b.', '')
    """
    if not names:
        return ""
    others = any(ns > 0 for host, own in lost.items() if host not in names for ns in own.values())
    return f" {'Nearly all' if others else 'All'} of it was on {named_hosts(names)}."
