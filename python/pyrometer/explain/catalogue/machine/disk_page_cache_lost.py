"""Files are read from disk again because the page cache lost them.

What it is
    The kernel keeps files in memory that is otherwise unused. A heap, a neighbour or the limit of
    the control group leaves too little, and pages are evicted that are read again soon after.

Mechanism
    The kernel counts pages that it reads back shortly after it evicted them (refaults). The
    simulator removes the tasks' wait for disks in proportion to the share of refaulted bytes in all
    bytes read from disks, host by host.

Evidence
    Refaults of file pages and bytes read from block devices, of the control group; waits of tasks
    for block devices. Of the refaults, those that the kernel took for part of the working set, and
    those that had been part of it when they were evicted: memory for these was too small, while
    others may come from one large read.

Remedy
    A larger limit of memory (`cgroup.memory`), or a smaller heap: the page cache gets what the heap
    does not take.

When it is wrong
    First reads are not refaults; data larger than any memory is read again whatever the limit.

Source
    `workingset_refault_file`, `workingset_activate_file` and `workingset_restore_file` in Linux's
    documentation of control groups; `mm/workingset.c`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyrometer.core import units
from pyrometer.explain.catalogue.machine.disk_slow import WAITS, disk_waits
from pyrometer.explain.evidence.host_series import growth, growth_by_host, growth_query, level
from pyrometer.explain.evidence.hosts.lost import (
    carriers,
    less_on_hosts,
    lost_by_host,
    most_was_on,
    place_on_hosts,
    with_nothing,
    worst,
)
from pyrometer.explain.evidence.saying import factor, machine, page, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import PROFILE, Rule, Suspect, table
from pyrometer.explain.schema import Evidence
from pyrometer.explain.what_if import Extent

PAGE_BYTES = 4096
"""Of a host whose recording does not say: all of x86, and most of Arm."""
REFAULTS = "refaulted_file_pages_count"
ACHIEVED = (0.5, 1.0)
"""With twice the memory some pages are still evicted. Not measured; assumed."""


def _suspects(facts: Facts) -> Iterator[Suspect]:
    hosts = worst(growth_by_host(facts, "cgroup", REFAULTS))
    again = growth_by_host(facts, "cgroup", REFAULTS, hosts)
    if not again:
        return
    read = growth_by_host(facts, "cgroup", "io_read_bytes", hosts)
    waits: Mapping[str | None, Mapping[int, float]] = (
        lost_by_host(facts, WAITS, hosts) if facts.tables.several_hosts
        else {None: disk_waits(facts, None)}
    )  # fmt: skip
    page_bytes = int(level(facts, "host", "page_size_bytes", hosts) or PAGE_BYTES)
    lost = {
        host: {
            number: waits[host][number] * min(1.0, pages * page_bytes / read[host][number])
            for number, pages in own.items()
            if number in waits.get(host, {}) and number in read.get(host, {})
        }
        for host, own in again.items()
    }
    if not any(lost.values()):
        return
    lost = with_nothing(lost, again, waits)
    total, pages, size = (
        sum(found[host][number] for host, own in lost.items() for number in own)
        for found in (lost, again, read)
    )
    names = carriers(lost)
    limit = level(facts, "cgroup", "memory_limit_bytes", names)
    where = place_on_hosts(facts, "host", lost, setting="cgroup.memory" if limit else None)
    remedy = (
        factor("cgroup.memory", f"{max(1, round(2 * limit / (1 << 20)))}m",
               "double the memory that application and page cache share")
        if limit
        else machine("give the application a smaller heap, or the host more memory")
    )  # fmt: skip
    yield Suspect(
        place=where,
        mechanism=(
            f"{units.size(pages * page_bytes)} of {units.size(size)} read from"
            f" disks had been in the page cache shortly before; tasks waited"
            f" {units.duration(total)} for them.{most_was_on(names, lost)}"
        ),
        change=(less_on_hosts(facts, "io_wait", lost),),
        extent=Extent(n=round(pages)).times(*ACHIEVED),
        evidence=[
            shown_by("file pages read back while stages ran",
                 page_bytes * sum(growth(facts, "cgroup", REFAULTS).values()), "bytes", "os_series",
                 growth_query(facts, "cgroup", REFAULTS, page_bytes), page(where), round(pages)),
            *_working_set(facts, page(where), page_bytes),
        ],
        remedies=[remedy],
    )  # fmt: skip


_WORKING_SET = {
    "activated_file_pages_count": "of them, pages that the kernel then took for part of the working"
    " set",
    "restored_file_pages_count": "of them, pages that had been part of the working set when they"
    " were evicted",
    "shadow_nodes_reclaimed_count": "records of evicted pages that were freed themselves: refaults"
    " of these are not counted",
}


def _working_set(facts: Facts, link: str, page_bytes: int) -> Iterator[Evidence]:
    """Show which refaults were of pages in use, by kind, as far as the kernel counted any."""
    for name, what in _WORKING_SET.items():
        count = sum(growth(facts, "cgroup", name).values())
        if count:
            size, unit = (page_bytes, "bytes") if name.endswith("pages_count") else (1, "count")
            query = growth_query(facts, "cgroup", name, size)
            yield shown_by(what, size * count, unit, "os_series", query, link, round(count))


RULE = Rule(
    code="disk.page-cache-lost",
    title="The page cache lost what is read again",
    cause="page cache eviction",
    suspects=_suspects,
    needs=(table("os_series", PROFILE, "no series of the control group"),),
    explains=("disk.slow",),
    refute="Run with twice the memory limit: if just as many pages are read back, it is not the"
    " limit.",
)
