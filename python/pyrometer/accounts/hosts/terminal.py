"""Hosts by the event log as text: slots and tasks of each, and what tasks did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pyrometer.accounts.hosts.schema import Hosts, HostTasks
from pyrometer.core import units
from pyrometer.terminal.drawing import NARROW, Justify, Look, grid, indented, note, ratio, safe

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

MOST_HOSTS = 20
_REMOTE = ("remote", "shuffle_read_remote_bytes")
_WORK = (
    ("CPU", "executor_cpu_time_ns"),
    ("GC", "jvm_gc_time_ns"),
    ("fetch wait", "shuffle_fetch_wait_time_ns"),
    ("input", "input_bytes"),
    ("shuffle", "shuffle_read_total_bytes"),
    _REMOTE,
    ("written", "shuffle_written_bytes"),
    ("spilled", "disk_spilled_bytes"),
)


def task_lines(found: Hosts, look: Look) -> Iterator[RenderableType]:
    """List hosts, a line each: their slots and tasks, then what the tasks did."""
    shown = found.hosts[:MOST_HOSTS]
    names = [one.host for one in shown]
    name_of = dict(zip(names, short(names), strict=True))
    yield indented(_slots(shown, name_of, look))
    columns_of = _WORK if look.width >= NARROW else [one for one in _WORK if one != _REMOTE]
    work = [(title, name) for title, name in columns_of if any(_total(o, name) for o in shown)]
    if work:
        columns: list[tuple[str, Justify]] = [("", "left")]
        columns += [(title, "right") for title, _ in work]
        rows = [
            [safe(name_of[one.host], 60), *(units.quantity(n, _total(one, n)) for _, n in work)]
            for one in shown
        ]
        yield indented(grid(look, columns, rows))
    if found.hosts_count > len(shown):
        yield note(f"{len(shown)} of {found.hosts_count} hosts, those with most task time first")
    for said in found.uneven:
        yield note(safe(said, 300))


def _total(one: HostTasks, name: str) -> int | None:
    """Add up attempts of both kinds; what successful ones lack is not known."""
    known, failed = one.totals.get(name), one.failed.totals.get(name)
    return None if known is None else known + (failed or 0)


def short(hosts: Sequence[str]) -> list[str]:
    """Leave out the domain that all hosts have in common.

    Examples
    --------
    >>> short(["a1.east.example.com", "b.west.example.com"]), short(["10.0.0.1", "10.1.0.1"])
    (['a1.east', 'b.west'], ['10.0.0.1', '10.1.0.1'])
    """
    parts = [host.split(".") for host in hosts]
    if not parts or any(one[-1].isdigit() for one in parts):
        return list(hosts)
    same = 0
    while all(len(one) > same + 1 and one[-same - 1] == parts[0][-same - 1] for one in parts):
        same += 1
    return [".".join(one[: len(one) - same]) for one in parts]


def _slots(shown: Sequence[HostTasks], name_of: Mapping[str, str], look: Look) -> Table:
    columns: list[tuple[str, Justify]] = [
        ("", "left"), ("slots", "right"), ("used", "right"), ("tasks", "right"),
        ("task time", "right"), ("a task takes", "right"),
    ]  # fmt: skip
    rows = [
        [
            safe(name_of[one.host], 60),
            units.count(one.slots_count),
            units.percent(_used(one)),
            _tasks(one),
            units.duration(one.task_ns),
            ratio(one.task_time_ratio, " ×"),
        ]
        for one in shown
    ]
    return grid(look, columns, rows)


def _used(one: HostTasks) -> float | None:
    return None if one.used_ns is None or not one.slots_ns else one.used_ns / one.slots_ns


def _tasks(one: HostTasks) -> str:
    lost = one.failed.totals.get("tasks_count")
    return f"{units.count(one.totals.get('tasks_count'))}{f' (−{units.count(lost)})' * bool(lost)}"
