"""Accounts of each of several hosts, and their sum.

What a probe did not see is never spread over other hosts: a host without one is a row of its own,
without a value. Its CPUs count in the total where their number is known, so that the account stays
open by them; where it is not known, no closure is said. The CPUs of hosts that are one machine
count once, and the threads of each of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pyrometer.accounts.busy import TICK_NS
from pyrometer.accounts.cpu import NO_CLOCK, NO_PROBE, observers_by_host, tiers_by_host
from pyrometer.accounts.ledger.core_view import (
    core_view,
    cpus_by_host,
    cpus_count,
)
from pyrometer.accounts.ledger.host_slots import host_slots
from pyrometer.accounts.ledger.rows import addends
from pyrometer.accounts.ledger.schema import HostLedger, Row, View
from pyrometer.accounts.ledger.slot_view import slot_view
from pyrometer.accounts.ledger.together import groups
from pyrometer.accounts.ledger.unobserved import (
    NOTHING_RAN,
    no_core_view,
    slot_views,
    unobserved_hosts,
)
from pyrometer.accounts.machine_schema import Method
from pyrometer.accounts.window import on_host
from pyrometer.core import schema
from pyrometer.core.doubt import Doubt
from pyrometer.core.units import counted, duration
from pyrometer.store.axis.one_machine import of_one_machine
from pyrometer.window.scope import Scope

NOT_OBSERVED = "not_observed"
# The weakest of what a row of several hosts is made of.
_METHODS: tuple[Method, ...] = ("exact", "sampled", "apportioned", "by_complement")

# Executors that were there in the window, and where by the event log and by the plugin.
_EXECUTORS = """
SELECT DISTINCT e.host, p.host
FROM executors e LEFT JOIN apps a USING (app_index)
LEFT JOIN processes p ON p.app_id = a.app_id AND p.executor_id = e.executor_id
WHERE e.host IS NOT NULL AND e.executor_id <> 'driver' AND EXISTS (SELECT 1 FROM w
  WHERE coalesce(e.add_wall_ns, w.start_wall_ns) < w.end_wall_ns
    AND coalesce(e.remove_wall_ns, w.end_wall_ns) > w.start_wall_ns)
ORDER BY 1
"""
# Lines of hosts' clocks that lie in the window, as far as they have records there.
_BOUNDS = """
SELECT host, max(bound_ns), count(*) FILTER (bound_ns IS NULL) FROM (
  SELECT host, c.bound_ns, c.from_mono_ns + c.offset_ns AS since,
    lead(c.from_mono_ns + c.offset_ns) OVER own AS until
  FROM host_clocks c JOIN hosts h USING (host)
  WINDOW own AS (PARTITION BY host ORDER BY c.from_mono_ns)
  QUALIFY c.from_mono_ns <= h.last_mono_ns
    AND coalesce(lead(c.from_mono_ns) OVER own, h.first_mono_ns + 1) > h.first_mono_ns) l
JOIN w ON l.since < w.end_mono_ns AND coalesce(l.until, w.end_mono_ns) >= w.start_mono_ns
GROUP BY host
"""


@dataclass(frozen=True)
class Host:
    """A host of a run; ``clock`` is ``None`` where no stream is from it.

    ``machine`` has the names of all hosts that are the same machine, where there are others. Only
    the first of them is observed: what its probe read of the CPUs is of all of it, and threads
    that others saw are in its account.
    """

    name: str
    observed: bool
    cpus_count: int | None
    clock: str | None
    machine: tuple[str, ...] = ()


def core_of_hosts(scope: Scope) -> tuple[View, list[HostLedger]]:
    """Build the core view of all hosts together, and the accounts of each where they are several.

    Returns
    -------
    View
        Of one host, its own; of several, their sum.
    list of HostLedger
        None for one host.
    """
    if not scope.has("thread_counters") or not scope.has("os_series"):
        unseen_hosts = unobserved_hosts(scope)
        return no_core_view(scope, unseen_hosts) if unseen_hosts else core_view(scope), unseen_hosts
    hosts = hosts_of_run(scope)
    if len(hosts) < 2:
        return core_view(scope), []
    tiers, observers = tiers_by_host(scope), observers_by_host(scope)
    pods: dict[str, list[str]] = {}
    for name, host in scope.tables.query("SELECT name, host FROM host_names ORDER BY number"):
        pods.setdefault(host, []).append(name)
    observed = [one.name for one in hosts if one.observed]
    named = {one.name: one for one in hosts}
    bounds = _bounds(scope, hosts)
    ledgers = []
    for group in groups(scope, observed, {one.name: one.cpus_count for one in hosts}, tiers):
        members = [named[name] for name in group]
        ledger = _ledger(scope, members, bounds, tiers.get(group[0]))
        ledger.observed_by = observers.get(group[0], []) if len(group) == 1 else []
        ledger.pods = [pod for name in group for pod in pods.get(name, [])]
        ledgers.append(ledger)
    again = [one.name for one in hosts if not one.observed and one.machine]
    for group in groups(scope, again, cpus_by_host(scope), tiers) if again else []:
        ledgers.append(_ledger(scope, [named[name] for name in group], bounds, None))
    unseen = [one for one in hosts if not one.observed and not one.machine]
    ledgers += [_ledger(scope, [one], bounds, None) for one in unseen]
    if not scope.tables.several_hosts:
        _add_slots(scope, ledgers)
    return total(scope, ledgers), ledgers


def hosts_of_run(scope: Scope) -> list[Host]:
    """Name the hosts of a run: those that wrote streams, and those of executors in the window."""
    tables = scope.tables
    watched = {host for (host,) in tables.query("SELECT DISTINCT host FROM os_series") if host}
    watched &= {host for (host,) in tables.query("SELECT DISTINCT host FROM thread_counters")}
    if tables.several_hosts:
        cpus = cpus_by_host(scope)
        rows = tables.query("SELECT host, clock FROM hosts ORDER BY number")
        found = [
            Host(name, name in watched and clock != "unknown", cpus.get(name), clock)
            for name, clock in rows
        ]
        found = _once(scope, found)
    else:
        # Tables that an older version made may hold rows of several, on clocks nobody compared.
        cpus_known = cpus_count(scope)
        found = [Host(name, True, cpus_known, "axis") for name in sorted(watched)[:1]]
    known = {host.name for host in found} | watched
    elsewhere = _elsewhere(scope, known)
    return [*found, *(Host(name, False, None, None) for name in elsewhere)]


def _once(scope: Scope, hosts: Sequence[Host]) -> list[Host]:
    """Let the first of the hosts that are one machine stand for it."""
    found = {one.name: one for one in hosts}
    for names in of_one_machine(scope.tables, [one.name for one in hosts if one.observed]):
        for name in names:
            found[name] = replace(found[name], machine=tuple(names))
        for name in names[1:]:
            found[name] = replace(found[name], observed=False, cpus_count=None)
    return list(found.values())


def _elsewhere(scope: Scope, known: set[str]) -> list[str]:
    """Name hosts of executors, as the event log does, that wrote no stream."""
    if not scope.window.intervals:
        return []
    drivers = {
        host for (host,) in scope.tables.query(
            "SELECT DISTINCT host FROM executors WHERE executor_id = 'driver' AND host IS NOT NULL"
        )
    }  # fmt: skip
    short = {name.partition(".")[0] for name in known}
    found = []
    for logged, recorded in scope.tables.query(_EXECUTORS):
        here = recorded in known or logged in known or logged in drivers
        if not here and not (logged[:1].isalpha() and logged.partition(".")[0] in short):
            found.append(logged)
    return list(dict.fromkeys(found))


def _ledger(
    scope: Scope, hosts: Sequence[Host], bounds_of: Mapping[str, int | None], tier: str | None
) -> HostLedger:
    """Build the account of a host, or of several together, which are all observed."""
    name, host = scope.window.name, hosts[0]
    bounds = [bounds_of[one.name] for one in hosts]
    clocks = {one.clock for one in hosts}
    found = HostLedger(
        host=host.name if len(hosts) == 1 else f"{len(hosts)} hosts together",
        together=[] if len(hosts) == 1 else [one.name for one in hosts],
        observed=host.observed,
        tier=tier if host.observed else None,
        cpus_count=None
        if None in [one.cpus_count for one in hosts]
        else sum(one.cpus_count or 0 for one in hosts),
        clock=host.clock if len(clocks) == 1 else "mixed",
        bound_ns=None if None in bounds else max(bound or 0 for bound in bounds),
        same_machine=sorted({name for one in hosts for name in one.machine} - {host.name}),
        core_view=View(window=name, reason=_why(host)),
        slot_view=View(window=name, reason=NOTHING_RAN),
    )
    if not scope.tables.several_hosts:
        if host.observed:
            found.core_view = core_view(scope)
        return found
    names = [one.name for one in hosts]
    pods = {pod: one.name for one in hosts if one.observed for pod in one.machine[1:]}
    with on_host(scope, *names) as own:
        if host.observed and not pods:
            found.core_view = core_view(own)
        found.slot_view = _slots(own)
    if pods:
        with on_host(scope, *names, machines=pods) as whole:
            found.core_view = core_view(whole)
    return found


def _add_slots(scope: Scope, ledgers: Sequence[HostLedger]) -> None:
    """Give hosts their slot views where streams are of the first alone: by the event log."""
    elsewhere = [one.host for one in ledgers[1:]]
    here = [host for host in host_slots(scope) if host not in elsewhere]
    views = slot_views(scope, [here, *([host] for host in elsewhere)])
    for one, view in zip(ledgers, views, strict=True):
        one.slot_view = view


def _slots(own: Scope) -> View:
    """Build the slot view of one host; why slots were idle is only known of all together."""
    if not own.tables.scalar("SELECT count(*) FROM executors WHERE cores_count > 0"):
        return View(window=own.window.name, reason=NOTHING_RAN)
    view = slot_view(own)
    view.rows = [row for row in view.rows if row.parent != "idle"]
    return view


def _why(host: Host) -> str:
    if host.machine:
        return f"it is the machine of {host.machine[0]}, whose account has its threads, too"
    if host.clock is None:
        return f"{NO_PROBE}: nothing was recorded there"
    return NO_CLOCK if host.clock == "unknown" else NO_PROBE


def _bounds(scope: Scope, hosts: Sequence[Host]) -> dict[str, int | None]:
    """Give how far off times of each host may be in the window; ``None`` where nobody knows."""
    found: dict[str, int | None] = {one.name: None for one in hosts}
    found |= {one.name: 0 for one in hosts if one.clock == "axis"}
    by_messages = {one.name for one in hosts if one.clock == "messages"}
    if by_messages:
        found |= {
            host: None if without or bound is None else int(bound)
            for host, bound, without in scope.tables.query(_BOUNDS)
            if host in by_messages
        }
    return found


def total(scope: Scope, ledgers: Sequence[HostLedger]) -> View:
    """Add up the core views of hosts; those that were not observed stay apart."""
    views = [one.core_view for one in ledgers]
    length = scope.window.length_ns
    missing = [
        one for one in ledgers
        if one.core_view.total_ns is None and (one.observed or not one.same_machine)
    ]  # fmt: skip
    known = [one.cpus_count * length for one in missing if one.cpus_count]
    seen = sum(view.total_ns or 0 for view in views)
    if not seen:
        return View(window=scope.window.name, reason=views[0].reason if views else NO_PROBE)
    whole = seen + sum(known)
    rows = [*_added([view.rows for view in views]), *_missing(missing, length)]
    memos = _added([view.memos for view in views])
    for row in [*rows, *memos]:
        row.share = None if row.value_ns is None else row.value_ns / whole
    counted_ns = sum(sum(addends(view.rows).values()) for view in views)
    errors = [(v.sampling_error_ratio or 0) * (v.total_ns or 0) for v in views]
    sampled = any(view.sampling_error_ratio is not None for view in views)
    return View(
        window=scope.window.name,
        total_ns=whole,
        rows=rows,
        memos=memos,
        closure_ratio=(counted_ns - whole) / whole if len(known) == len(missing) else None,
        unclassified_ratio=sum((v.unclassified_ratio or 0) * (v.total_ns or 0) for v in views)
        / whole,
        sampling_error_ratio=math.hypot(*errors) / whole if sampled else None,
        resolution_ns=sum(view.resolution_ns or 0 for view in views),
        reason=_open(missing),
    )


def _open(missing: Sequence[HostLedger]) -> str | None:
    """Say which hosts keep the account open."""
    if not missing:
        return None
    names = ", ".join(one.host for one in missing)
    said = f"not observed: {names}; what ran there is in no other row"
    unknown = [one.host for one in missing if not one.cpus_count]
    if unknown:
        said += f", and the number of CPUs of {', '.join(unknown)} is not known"
    return said


def _missing(missing: Sequence[HostLedger], length_ns: int) -> list[Row]:
    if not missing:
        return []
    rows = [
        Row(
            path=NOT_OBSERVED,
            method="unavailable",
            source=f"{counted(len(missing), 'host')} that no probe saw",
        )
    ]
    for one in missing:
        cpus = "of which the number of CPUs is not known"
        if one.cpus_count:
            cpus = f"{counted(one.cpus_count, 'CPU')}, {duration(one.cpus_count * length_ns)}"
        rows.append(
            Row(
                path=f"{NOT_OBSERVED}/{one.host.replace('/', '_')}",
                parent=NOT_OBSERVED,
                method="unavailable",
                source=f"{one.core_view.reason}; {cpus}",
            )
        )
    return rows


def _added(hosts: Sequence[Sequence[Row]]) -> list[Row]:
    """Add rows of the same path; what one host lacks is said where the others have it."""
    by_path: dict[str, list[Row]] = {}
    for rows in hosts:
        for row in rows:
            by_path.setdefault(row.path, []).append(row)
    return [_sum(rows) for rows in by_path.values()]


def _sum(rows: Sequence[Row]) -> Row:
    known = [row for row in rows if row.value_ns is not None]
    first = (known or rows)[0]
    if len(rows) == 1 or not known:
        return first.model_copy()
    lacking = len(rows) - len(known)
    intervals = any(row.low_ns is not None for row in known)
    counts = [row.n for row in known if row.n is not None]
    return first.model_copy(
        update={
            "value_ns": sum(row.value_ns or 0 for row in known),
            "low_ns": sum(_end(row, row.low_ns) for row in known) if intervals else None,
            "high_ns": sum(_end(row, row.high_ns) for row in known) if intervals else None,
            "n": sum(counts) if counts else None,
            "method": max((row.method for row in known), key=_METHODS.index),
            "source": first.source + (f"; {lacking} of {len(rows)} hosts lack it" * bool(lacking)),
        }
    )


def _end(row: Row, end: int | None) -> int:
    return (row.value_ns or 0) if end is None else end


def clock_doubts(scope: Scope, hosts: Sequence[HostLedger]) -> list[Doubt]:
    """Doubt hosts whose times in the window may be further off than the core view resolves."""
    if not hosts or not scope.has_mono:
        return []
    shortest = min(one.end_wall_ns - one.start_wall_ns for one in scope.window.intervals)
    resolved = min(TICK_NS, shortest // 100)
    wide = [one for one in hosts if one.observed and (one.bound_ns or 0) > resolved]
    if not wide:
        return []
    worst = max(wide, key=lambda one: one.bound_ns or 0)
    text = (
        f"Times of {counted(len(wide), 'host')} may be off by more than {duration(resolved)} in"
        f" this window, those of {worst.host} by {duration(worst.bound_ns)}."
    )
    return [schema.doubt("clock_bound_wide", text)]
