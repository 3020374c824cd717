"""Several hosts as text: a line each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyrometer.accounts.ledger.schema import NO_AGENTS, HostLedger, View
from pyrometer.core import units
from pyrometer.terminal.drawing import Justify, Look, grid, indented, note, safe

if TYPE_CHECKING:
    from rich.console import RenderableType

MOST_HOSTS = 20
_MOST_WAYS = 6


def share_of(view: View, paths: Sequence[str]) -> float | None:
    """Give the share of some rows of a view together."""
    found = [row.share for row in view.rows if row.path in paths and row.share is not None]
    return sum(found) if found else None


def whose(hosts: Sequence[HostLedger]) -> str:
    """Say whose CPU time a core view is of."""
    return "the hosts'" if hosts else "the host's"


def host_lines(hosts: Sequence[HostLedger], look: Look) -> Iterator[RenderableType]:
    """List hosts, a line each: how well its clock is known, and where its time went."""
    if not any(one.observed for one in hosts):
        yield from _slot_lines(hosts, look)
        return
    columns = [("", "left"), ("clock", "right"), ("CPUs", "right")]
    columns += [("tasks", "right"), ("idle", "right"), ("closure", "right")]
    columns += [("slots idle", "right"), ("closure", "right")]
    rows = [
        [
            safe(one.host, 60),
            _clock(one),
            units.MISSING if one.cpus_count is None else str(one.cpus_count),
            *(units.percent(share_of(one.core_view, of)) for of in (("task",), ("idle", "iowait"))),
            _closure(one.core_view) if one.observed else _unobserved(one),
            units.percent(share_of(one.slot_view, ("idle",))),
            _closure(one.slot_view),
        ]
        for one in hosts[:MOST_HOSTS]
    ]
    yield indented(grid(look, columns, rows))  # type: ignore[arg-type]
    if len(hosts) > MOST_HOSTS:
        yield note(f"{MOST_HOSTS} of {len(hosts)} hosts; --json has all")
    if said := _probes(hosts):
        yield note(said)


def _slot_lines(hosts: Sequence[HostLedger], look: Look) -> Iterator[RenderableType]:
    """List hosts that nobody observed: their slots alone."""
    columns: list[tuple[str, Justify]] = [("", "left")]
    columns += [(name, "right") for name in ("slots × wall", "tasks", "slots idle", "closure")]
    rows = [
        [
            safe(one.host, 60),
            units.duration(one.slot_view.total_ns),
            *(units.percent(share_of(one.slot_view, (of,))) for of in ("task", "idle")),
            _closure(one.slot_view),
        ]
        for one in hosts[:MOST_HOSTS]
    ]
    yield indented(grid(look, columns, rows))
    if len(hosts) > MOST_HOSTS:
        yield note(f"{MOST_HOSTS} of {len(hosts)} hosts; --json has all")
    yield note(f"core view: {NO_AGENTS}")


def _probes(hosts: Sequence[HostLedger]) -> str:
    """Say by whom and at which tier hosts were observed, which were not, and what is on which."""
    by_whom: dict[str, list[str]] = {}
    for one in hosts:
        tier = f"at tier {one.tier}" if one.tier else ""
        whom = f"by {safe(', '.join(one.observed_by), 200)}" if one.observed_by else tier
        kind = whom if one.observed else "again" if one.same_machine else "not"
        by_whom.setdefault(kind, []).append(safe(one.host, 60))
    unseen, again = by_whom.pop("not", []), by_whom.pop("again", [])
    said = [f"{_some(names)} {whom}" for whom, names in sorted(by_whom.items()) if whom]
    shown = said if len(said) <= _MOST_WAYS else [*said[:_MOST_WAYS], "others in other ways"]
    parts = [f"observed: {', '.join(shown)}"] if said else []
    parts += [f"not observed: {_some(unseen)}"] if unseen else []
    parts += [f"on a machine that another host stands for: {_some(again)}"] if again else []
    pods = [
        f"{_some([safe(pod, 60) for pod in one.pods])} on {safe(one.host, 60)}"
        for one in hosts
        if one.pods
    ]
    return "; ".join([*parts, *pods[:_MOST_WAYS]])


def _some(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{len(names)} hosts"


def _unobserved(one: HostLedger) -> str:
    return "one machine" if one.same_machine else "no probe"


def _closure(view: View) -> str:
    closure = view.closure_ratio
    return units.MISSING if closure is None else units.percent(closure, signed=True)


def _clock(one: HostLedger) -> str:
    if one.clock == "axis":
        return "the axis"
    if one.bound_ns is not None:
        return f"± {units.duration(one.bound_ns)}"
    return "no bound" if one.clock in ("messages", "wall") else units.MISSING
