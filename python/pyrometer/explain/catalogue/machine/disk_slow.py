"""Tasks wait for a slow disk.

What it is
    Input, shuffle files or spills lie on a device that needs milliseconds for a request: a spinning
    disk, a network volume at its limit, a device with a long queue.

Mechanism
    The simulator removes the tasks' wait for block devices, less what a usual solid-state disk (1
    ms, low end) or a fast local one (0.1 ms, high end) would take for the same requests.

Evidence
    Waits of tasks for block devices, by kernel stacks or states; the device's mean time of a
    request, by the kernel's counters.

Remedy
    A faster disk for `spark.local.dir` or the data; more disks; compression where CPUs are idle;
    enough memory for the page cache (`cache.state=warm` shows what that would give).

When it is wrong
    Where requests are quick and many (small reads), another access pattern helps, not another disk.

Source
    /proc/diskstats, wait states of the probe. Latency of devices: usual data sheets.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.core import units
from pyrometer.explain.evidence.host_series import growth
from pyrometer.explain.evidence.saying import factor, machine, page, place, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import PROFILE, Rule, Suspect, table
from pyrometer.explain.what_if import Extent

USUAL_NS, FAST_NS = 1e6, 1e5
"""Time of a request on a solid-state disk behind a network or a bus, and on a fast local one."""
WAITS = "task/waiting/block_io"


def request(facts: Facts) -> tuple[str | None, float, int]:
    """Give the device with the most time in requests, their mean time, and their number."""
    devices = facts.tables.query(
        "SELECT DISTINCT scope FROM os_series WHERE scope LIKE 'disk/%' ORDER BY 1"
    )
    found: tuple[str | None, float, int] = (None, 0.0, 0)
    most = 0.0
    for (scope,) in devices:
        spent, count = 0.0, 0.0
        for kind in ("read", "write"):
            spent += sum(growth(facts, scope, f"{kind}_time_ns").values())
            count += sum(growth(facts, scope, f"{kind}s_count").values())
        if count and spent > most:
            most, found = spent, (scope.removeprefix("disk/"), spent / count, round(count))
    return found


def _suspects(facts: Facts) -> Iterator[Suspect]:
    lost = facts.ledger_ns(WAITS)
    total = sum(lost.values())
    if total <= 0:
        return
    device, mean, count = request(facts)
    if not count:
        return
    low, high = (max(0.0, 1 - limit / mean) for limit in (USUAL_NS, FAST_NS))
    where = place(facts, "host", lost, host=device)
    yield Suspect(
        place=where,
        mechanism=(
            f"Tasks waited {units.duration(total)} for block devices; {device} needed"
            f" {units.duration(mean)} for a request, over {units.count(count)} requests."
        ),
        change=(facts.share_of_tasks("io_wait", lost),),
        extent=Extent((low + high) / 2, low, high, count),
        evidence=[
            shown_by("waits of tasks for block devices", total, "ns", "thread_states",
                 "show --json: ledger, task/waiting/block_io", page(where), len(lost)),
            shown_by("mean time of a request", mean, "ns", "os_series",
                 "show --json: io_latency", "/ledger/task/waiting/block_io", count),
        ],
        remedies=[
            factor("cache.state", "warm", "see what it takes with the data in the page cache"),
            machine("put spark.local.dir and the data on a faster disk, or on several"),
        ],
    )  # fmt: skip


RULE = Rule(
    code="disk.slow",
    title="Tasks wait for a slow disk",
    cause="disk latency",
    suspects=_suspects,
    needs=(table("os_series", PROFILE, "no series of disks"),),
    refute="Run with the data in the page cache and spark.local.dir in memory: if tasks still wait"
    " as long, it is not the disk.",
)
