"""Block devices of the hosts: time and number of their requests, queue and utilisation.

From the kernel's counters of each whole device. A device that lies on others, such as a logical
volume or a software RAID, has requests of its own, and those below it are the same bytes again:
sums are over devices that lie on none.
"""

from __future__ import annotations

import re
from collections import defaultdict

from pyrometer.accounts.cpu import NO_CLOCK, NO_PROBE
from pyrometer.accounts.machine_schema import Disk, Disks
from pyrometer.core.estimate import Estimate
from pyrometer.window.scope import Scope

LAYERED = re.compile(r"disk/(dm-|md|loop|zram|ram|bcache|drbd)\d")
"""Devices that lie on others, or in memory: what goes through them is counted on the disk below."""
_TICK_NS = 1_000_000
"""Resolution of the kernel's sums of time."""
_MANY = 1000
"""Requests that cannot all take less than a microsecond."""


def disks(scope: Scope) -> Disks:
    """Account for the block devices.

    Parameters
    ----------
    scope : Scope
        A run cut to a window, with ``w_series``.
    """
    if not scope.has("os_series"):
        return Disks(reason=NO_PROBE)
    if not scope.has_mono:
        return Disks(reason=NO_CLOCK)
    grown: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for host, device, name, growth in scope.tables.query(
        "SELECT host, scope, name, growth FROM w_series WHERE scope LIKE 'disk/%'"
    ):
        grown[host, device][name] = int(growth)
    if not grown:
        return Disks(reason="the kernel showed the probe no block device (/proc/diskstats)")
    watched = _watched(scope)
    several = scope.tables.several_hosts
    found = [
        _disk(host if several else None, device, counted, watched.get(host, 0))
        for (host, device), counted in grown.items()
        if counted.get("reads_count") or counted.get("writes_count")
    ]
    found.sort(key=lambda one: (-(one.queue_depth or 0.0), one.host or "", one.device))
    base = [one for one in found if not one.lies_on_others]
    return Disks(
        devices=found,
        requests_count=sum(one.requests_count for one in base),
        read_bytes=sum(one.read_bytes for one in base),
        written_bytes=sum(one.written_bytes for one in base),
    )


def _watched(scope: Scope) -> dict[str, int]:
    """Give the time of the window that lies between the readings of each host."""
    return {
        host: int(watched)
        for host, watched in scope.tables.query(
            "SELECT host, sum(greatest(0, least(until, w.end_mono_ns)"
            "  - greatest(since, w.start_mono_ns)))::BIGINT"
            " FROM (SELECT host, min(t_mono_ns) AS since, max(t_mono_ns) AS until FROM os_series"
            "  WHERE scope NOT LIKE 'process/%' GROUP BY host), w GROUP BY host"
        )
    }


def _disk(host: str | None, scope: str, counted: dict[str, int], watched: int) -> Disk:
    reads, writes = counted.get("reads_count", 0), counted.get("writes_count", 0)
    reading, writing = (counted.get(f"{kind}_time_ns", 0) for kind in ("read", "write"))
    busy = counted.get("busy_time_ns", 0)
    timed = reads + writes < _MANY or reading + writing + busy > 0
    per = watched if timed else 0
    return Disk(
        host=host,
        device=scope.removeprefix("disk/"),
        lies_on_others=LAYERED.match(scope) is not None,
        requests_count=reads + writes,
        read_bytes=counted.get("read_bytes", 0),
        written_bytes=counted.get("written_bytes", 0),
        await_ns=_await(reading + writing, reads + writes, 2) if timed else None,
        read_await_ns=_await(reading, reads, 1) if timed else None,
        write_await_ns=_await(writing, writes, 1) if timed else None,
        queue_depth=(reading + writing) / per if per else None,
        busy_ratio=min(1.0, busy / per) if per else None,
        reason=None if timed else "this kernel keeps no times of requests of such a device",
    )


def _await(spent_ns: int, requests: int, sums: int) -> Estimate | None:
    """Divide; each sum may be a tick off at either end."""
    if not requests:
        return None
    off = sums * _TICK_NS
    return Estimate(
        value=spent_ns / requests,
        low=max(0, spent_ns - off) / requests,
        high=(spent_ns + off) / requests,
        level=1.0,
        n=requests,
        method="resolution of the counters",
    )
