"""Tasks wait for a slow disk.

What it is
    Input, shuffle files or spills lie on a device that needs milliseconds for a request: a spinning
    disk, a network volume at its limit, a device with a long queue. Or a control group lets few
    bytes a second be read: requests then wait before they reach a device, however fast that is.

Mechanism
    The simulator removes the tasks' wait for block devices, less what a usual solid-state disk (1
    ms, low end) or a fast local one (0.1 ms, high end) would take for the same requests. Under a
    limit on reading they are removed as far as the bytes that were read take so long at it. In runs
    on several hosts each is judged by its own devices, and only waits of tasks there are removed.

Evidence
    Waits of tasks for block devices, by kernel stacks or states; the mean time of a request of the
    device that took most time beyond a fast one's, by the kernel's counters; the limit of the
    control group, and the bytes that it read.

Remedy
    A higher limit (`cgroup.read_bps`); a faster disk for `spark.local.dir` or the data; more disks;
    compression where CPUs are idle; enough memory for the page cache (`cache.state=warm` shows what
    that would give).

When it is wrong
    Where requests are quick and many (small reads), another access pattern helps, not another disk.

Source
    /proc/diskstats, wait states of the probe. Latency of devices: usual data sheets.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from pyrometer.core import units
from pyrometer.explain.evidence.host_series import (
    growth_by_host,
    growth_of_each,
    growth_query,
    level,
)
from pyrometer.explain.evidence.hosts.lost import MOST_HOSTS, less_on_hosts, named_hosts, rows_on
from pyrometer.explain.evidence.saying import factor, machine, page, place, shown_by
from pyrometer.explain.evidence.scans.remote_scans import remote_scans
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import PROFILE, Rule, Suspect, table
from pyrometer.explain.schema import Evidence, Remedy
from pyrometer.explain.what_if import Extent

USUAL_NS, FAST_NS = 1e6, 1e5
"""Time of a request on a solid-state disk behind a network or a bus, and on a fast local one."""
WAITS = "task/waiting/block_io"
READERS = "task/waiting/helper/Scan"


@dataclass(frozen=True)
class Disk:
    """What a device of a host did while stages ran: time in requests, and their number."""

    host: str
    name: str
    spent_ns: float
    count: float

    @property
    def mean_ns(self) -> float:
        """Mean time of a request."""
        return self.spent_ns / self.count

    @property
    def beyond_ns(self) -> float:
        """Time that a fast one would not have taken."""
        return self.spent_ns - FAST_NS * self.count


@dataclass(frozen=True)
class Limit:
    """What a host's control group may read in a second, and what it read while stages ran."""

    per_s: float
    bytes: float

    @property
    def held_ns(self) -> float:
        """Time that the bytes take at the limit."""
        return self.bytes / self.per_s * 1e9


@dataclass(frozen=True)
class HostWaits:
    """Waits of tasks on a host whose disk is slow or limited, by number of the stage.

    Attributes
    ----------
    slots : int
        Tasks that may wait at once.
    """

    disk: Disk
    ns: dict[int, float]
    limit: Limit | None
    slots: int

    @property
    def total_ns(self) -> float:
        """All of them."""
        return sum(self.ns.values())

    @property
    def by_limit_ns(self) -> float:
        """As much of them as the limit on reading can be the reason of."""
        return min(self.total_ns, self.limit.held_ns * self.slots) if self.limit else 0.0

    def spared_ns(self, request_ns: float) -> float:
        """Give what would be left out if requests took no longer than that, and had no limit."""
        by_device = self.total_ns * max(0.0, 1 - request_ns / self.disk.mean_ns)
        return max(by_device, self.by_limit_ns - request_ns * self.disk.count)

    @property
    def is_limited(self) -> bool:
        """Whether it is the limit that takes most of the time, and not the device."""
        return self.by_limit_ns > self.total_ns * max(0.0, 1 - FAST_NS / self.disk.mean_ns)


def limits(facts: Facts) -> dict[str | None, Limit]:
    """Give the limit on reading of each host that has one; under None in a run on one host."""
    found = {}
    for host, own in growth_by_host(facts, "cgroup", "io_read_bytes").items():
        most = level(facts, "cgroup", "io_read_limit_bytes_per_s", [host] if host else ())
        if most:
            found[host] = Limit(most, sum(own.values()))
    return found


def disk_waits(facts: Facts, host: str | None) -> dict[int, float]:
    """Give what a host's tasks waited for block devices, by number of the stage.

    Readers of a scan wait in threads of their own, and the task for these: where the scan is of
    local files, that counts as well, up to the time that requests took while stages ran. Beyond it
    readers computed, or waited for a CPU.
    """
    remote = {number for scan in remote_scans(facts) for number in scan.numbers}
    own: dict[int, float] = {}
    readers: dict[int, float] = {}
    for number, rows in rows_on(facts, host).items():
        own[number] = rows.get(WAITS, 0.0)
        local = number not in remote
        readers[number] = sum(ns for path, ns in rows.items() if local and path.startswith(READERS))
    total = sum(readers.values())
    most = _requests_ns(facts, host) if total else None
    share = 1.0 if most is None else min(1.0, most / total)
    found = {number: ns + share * readers[number] for number, ns in own.items()}
    return {number: ns for number, ns in found.items() if ns > 0}


def _requests_ns(facts: Facts, host: str | None) -> float | None:
    """Give the time that reading took while stages ran, over all requests; None if unknown.

    A limit on reading holds requests back before a device counts them.
    """
    spent = [
        ns for (of, _), ns in growth_of_each(facts, "disk/%", "read_time_ns").items()
        if host in (None, of)
    ]  # fmt: skip
    if not spent:
        return None
    held = limits(facts)
    limit = held.get(host) or held.get(None)
    return sum(spent) + (limit.held_ns * max(1, facts.slots) if limit else 0.0)


def slow_disks(facts: Facts, limited: Collection[str | None] = ()) -> list[Disk]:
    """Give the slowest device of each host, by its time beyond a fast one's, the worst first.

    Parameters
    ----------
    limited : collection of str
        Hosts whose device counts however fast it is; None stands for the only one.
    """
    spent: dict[tuple[str, str], float] = defaultdict(float)
    count: dict[tuple[str, str], float] = defaultdict(float)
    for kind in ("read", "write"):
        for sums, name in ((spent, f"{kind}_time_ns"), (count, f"{kind}s_count")):
            for series, grown in growth_of_each(facts, "disk/%", name).items():
                sums[series] += grown
    disks = [
        Disk(host, scope.removeprefix("disk/"), spent[host, scope], requests)
        for (host, scope), requests in count.items()
        if requests
    ]
    worst: dict[str, Disk] = {}
    for disk in sorted(disks, key=lambda one: (-one.beyond_ns, str(one.host), one.name)):
        if disk.beyond_ns > 0 or {disk.host, None} & set(limited):
            worst.setdefault(disk.host, disk)
    return list(worst.values())[: MOST_HOSTS if facts.tables.several_hosts else 1]


def _suspects(facts: Facts) -> Iterator[Suspect]:
    limited = limits(facts)
    known = [
        HostWaits(disk, disk_waits(facts, disk.host),
                  limited.get(disk.host) or limited.get(None), max(1, facts.slots))
        for disk in slow_disks(facts, limited)
    ]  # fmt: skip
    known = sorted((one for one in known if one.ns), key=lambda one: -one.spared_ns(FAST_NS))
    if not known:
        return
    worst = known[0]
    disk, total = worst.disk, sum(one.total_ns for one in known)
    low, high = (sum(one.spared_ns(ns) for one in known) / total for ns in (USUAL_NS, FAST_NS))
    several = facts.tables.several_hosts
    lost = {one.disk.host if several else None: one.ns for one in known}
    where = place(facts, "host", worst.ns, host=disk.host)
    count = round(disk.count)
    yield Suspect(
        place=where,
        mechanism=(
            f"Tasks{_on(facts, known)} waited {units.duration(total)} for block devices;"
            f" {_why(facts, worst)}"
        ),
        change=(less_on_hosts(facts, "io_wait", lost),),
        extent=Extent((low + high) / 2, low, high, count),
        evidence=[
            shown_by("waits of tasks for block devices", total, "ns", "thread_states",
                     _query(facts, known), page(where), sum(len(one.ns) for one in known)),
            shown_by("mean time of a request", disk.mean_ns, "ns", "os_series",
                     "show --json: io_latency", "/ledger/task/waiting/block_io", count),
            *_read(facts, worst),
        ],
        remedies=[
            *_higher(worst),
            factor("cache.state", "warm", "see what it takes with the data in the page cache"),
            machine("put spark.local.dir and the data on a faster disk, or on several"),
        ],
    )  # fmt: skip


def _why(facts: Facts, worst: HostWaits) -> str:
    """Say what takes most of the time: the limit, or the device."""
    disk, limit, on = worst.disk, worst.limit, _on(facts, [worst])
    if limit and worst.is_limited:
        return (
            f"the control group{on} lets {units.rate(limit.per_s)} be read, at which the"
            f" {units.size(limit.bytes)} that were read take {units.duration(limit.held_ns)}."
        )
    return (
        f"{disk.name}{on} needed {units.duration(disk.mean_ns)} for a request, over"
        f" {units.count(round(disk.count))} requests."
    )


def _read(facts: Facts, worst: HostWaits) -> Iterator[Evidence]:
    if worst.limit and worst.is_limited:
        hosts = [worst.disk.host] if facts.tables.several_hosts else []
        query = growth_query(facts, "cgroup", "io_read_bytes", hosts=hosts)
        yield shown_by("read while stages ran", worst.limit.bytes, "bytes", "os_series", query,
                       "/ledger/task/waiting/block_io", round(worst.disk.count))  # fmt: skip


def _higher(worst: HostWaits) -> Iterator[Remedy]:
    if worst.limit and worst.is_limited:
        twice = str(round(2 * worst.limit.per_s))
        yield factor("cgroup.read_bps", twice, "let the control group read twice as much a second")


def _on(facts: Facts, known: Sequence[HostWaits]) -> str:
    """Name the hosts of a run on several."""
    if not facts.tables.several_hosts:
        return ""
    return f" on {named_hosts(one.disk.host for one in known)}"


def _query(facts: Facts, known: Sequence[HostWaits]) -> str:
    if not facts.tables.several_hosts:
        return "show --json: ledger, task/waiting/block_io"
    hosts = ", ".join(one.disk.host for one in known)
    return f"ledger --json: hosts[].slot_view of {hosts}, task/waiting/block_io"


RULE = Rule(
    code="disk.slow",
    title="Tasks wait for a slow disk",
    cause="disk latency",
    suspects=_suspects,
    needs=(table("os_series", PROFILE, "no series of disks"),),
    refute="Run with the data in the page cache and spark.local.dir in memory: if tasks still wait"
    " as long, it is not the disk.",
)
