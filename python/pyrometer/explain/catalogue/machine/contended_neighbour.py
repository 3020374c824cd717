"""Other programs on the host hold CPUs that tasks wait for.

What it is
    Another job, a backup, a build or a container uses the same CPUs; or a program that the
    application's own script started alongside its queries.

Mechanism
    While task threads stood in the run queue, others held their share of the busy CPU time. The
    simulator removes that part of the wait, within the bounds that the kernel's counters allow, on
    each host from the tasks there, and the same part of the waits of the driver's busiest thread
    while no job ran, where tasks wait on the driver's host. CPU that programs of
    the application's script would leave goes to threads that waited for one: tasks get at least
    their part of all waits of it, at most as much as they waited.

Evidence
    CPU time of other processes on the application's CPUs; waits of task threads for a CPU; who took
    the most. Programs of the script are processes of the run that no JVM and no Python worker
    started; they are looked for in runs on one host.

Remedy
    CPUs of your own (`host.cpus`, exclusive sets), a larger weight of the control group
    (`cgroup.cpu_weight`), another host, another time. Programs of the script: after the queries.

When it is wrong
    Where the application's own threads (compilers, the collector, more tasks than CPUs) hold the
    CPUs: that part is not counted here. A program of the script that queries themselves use, such
    as a database, does their work.

Source
    Run-queue time of /proc/PID/schedstat, /proc/stat; how it is divided:
    `pyrometer.accounts.contention`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyrometer.accounts.machine_schema import HostContention
from pyrometer.core import units
from pyrometer.core.estimate import Estimate
from pyrometer.explain.change import LessGap
from pyrometer.explain.evidence.alike import MOST_NAMED
from pyrometer.explain.evidence.cpus.programs_beside import beside
from pyrometer.explain.evidence.cpus.waits_behind import queued
from pyrometer.explain.evidence.driver_time import nodes_of, stretches
from pyrometer.explain.evidence.driver_work import works
from pyrometer.explain.evidence.hosts.lost import (
    by_stage,
    carriers,
    hosts_of_place,
    ledger_on,
    less_on_hosts,
)
from pyrometer.explain.evidence.saying import code, factor, machine, place, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import PROFILE, Need, Rule, Suspect
from pyrometer.explain.what_if import Extent

LEAST_NS = 1e8
"""Shorter waits of the driver are not looked at: a thread is read every 50 ms, and both ends of a
stretch may lie between two readings."""

_USED = (
    "SELECT sum(ran) FROM (SELECT max(run_ns) - min(run_ns) AS ran FROM thread_counters"
    " WHERE pid IN ({}) GROUP BY pid, tid)"
)


def _missing(facts: Facts) -> str | None:
    known = facts.summary.contention  # of several hosts, that with most waits behind others
    return None if known.behind_others_ns else known.reason or "waits for CPUs were not divided"


def _suspects(facts: Facts) -> Iterator[Suspect]:
    yield from _others(facts)
    yield from _own_programs(facts)


def _own_programs(facts: Facts) -> Iterator[Suspect]:
    found = beside(facts)
    if found is None or not found.behind.lost:
        return
    behind = found.behind
    names = ", ".join(f"{comm} ({units.duration(ns)})" for comm, ns in found.names)
    yield Suspect(
        place=place(facts, "host", behind.lost),
        mechanism=(
            f"{units.counted(len(found.pids), 'program')} that the application started beside Spark"
            f" used {units.duration(behind.held_ns)} of CPU: {names}; tasks waited"
            f" {units.duration(behind.low_ns)} to {units.duration(behind.high_ns)} behind them."
        ),
        change=(facts.share_of_tasks("cpu_wait", behind.lost),),
        extent=behind.extent,
        evidence=[
            shown_by("CPU time of programs beside Spark", behind.held_ns, "ns", "thread_counters",
                     _USED.format(", ".join(map(str, found.pids))), "/timeline",
                     behind.pieces_count),
            queued(facts, "/ledger/task/run_queue"),
        ],
        remedies=[
            code("start the programs when the queries are done, or on another host",
                 "packer = subprocess.Popen(pack)\ndf.write.parquet(path)",
                 "df.write.parquet(path)\nsubprocess.run(pack)"),
        ],
        refute="Run without these programs: if tasks still wait as long for a CPU, they are not"
        " why.",
    )  # fmt: skip


@dataclass(frozen=True)
class _Behind:
    """What others took on a host, and the part of waits for a CPU in which they held it."""

    known: HostContention
    behind: Estimate
    queue: dict[int, float]

    @property
    def part(self) -> float:
        """Of all waits for a CPU there."""
        whole = max(sum(self.queue.values()), self.known.run_queue_ns or 0.0)
        return min(1.0, (self.behind.value or 0.0) / whole)

    @property
    def lost(self) -> dict[int, float]:
        """Waits of tasks behind others, by number of the stage."""
        return {number: waited * self.part for number, waited in self.queue.items()}


def _on_hosts(facts: Facts) -> dict[str | None, _Behind]:
    """Give the hosts on which tasks waited behind others; under None that of a run on one."""
    found = {}
    for known in facts.summary.contention.hosts or [facts.summary.contention]:
        behind = known.behind_others_ns
        queue = ledger_on(facts, known.host, "task/run_queue")
        if behind is not None and behind.value and queue:
            found[known.host] = _Behind(known, behind, queue)
    return found


def _others(facts: Facts) -> Iterator[Suspect]:
    found = _on_hosts(facts)
    if not found:
        return
    lost = {host: one.lost for host, one in found.items()}
    behind = _sum([one.behind for one in found.values()])
    value = behind.value or 0.0
    here = found.get(_driver_host(facts) if facts.tables.several_hosts else None)
    driver = {} if here is None else {n: ns * here.part for n, ns in _driver_waits(facts).items()}
    used = sum(one.known.others_ns or 0 for one in found.values())
    manifest = facts.scope.run.manifest
    own = manifest.host.hostname if manifest else None
    where = hosts_of_place(carriers(lost) or ([own] if own else []))
    yield Suspect(
        place=place(facts, "host", by_stage(lost), **where),
        mechanism=(
            f"Other programs used {units.duration(used)} of the application's CPUs"
            f" ({_shares(found)}){_takers(found)}; tasks waited {units.duration(value)}"
            f" behind them{_and_the_driver(sum(driver.values()))}."
        ),
        change=(less_on_hosts(facts, "cpu_wait", lost), LessGap(driver, what="cpu_wait")),
        extent=Extent(
            1.0, (behind.low or 0.0) / value, (behind.high or value) / value, behind.n
        ),
        evidence=[
            shown_by("waits of tasks behind others", behind, "ns", "thread_counters",
                 _path(found, "behind_others_ns"), "/ledger/task/run_queue"),
            shown_by("CPU time of others", used, "ns", "os_series",
                 _path(found, "others_ns"), "/timeline"),
        ],
        remedies=[
            factor("cgroup.cpu_weight", "1000", "give the application most of the CPUs when others"
                   " want them, too"),
            machine("move the others to another host or to other CPUs"),
        ],
    )  # fmt: skip


def _path(found: Mapping[str | None, _Behind], name: str) -> str:
    """Say where a number of the host stands, or those of several, which are added up."""
    hosts = ", ".join(host for host in found if host)
    return f"show --json: contention.{f'hosts[].{name} of {hosts}' if hosts else name}"


def _sum(found: Sequence[Estimate]) -> Estimate:
    """Add up the waits of hosts: what bounds one is the same for all."""
    return found[0].model_copy(
        update={
            "value": sum(one.value or 0.0 for one in found),
            "low": sum(one.low or 0.0 for one in found),
            "high": sum(one.high or one.value or 0.0 for one in found),
            "n": sum(one.n for one in found),
        }
    )


def _shares(found: Mapping[str | None, _Behind]) -> str:
    """Say what part of the CPUs others had, host by host."""
    order = sorted(found, key=lambda host: -(found[host].behind.value or 0.0))
    said = [
        units.percent(found[host].known.others_ratio) + (f" on {host}" if host else "")
        for host in order[:MOST_NAMED]
    ]
    more = len(order) - len(said)
    return ", ".join(said) + (f", and {units.counted(more, 'more host')}" if more else "")


def _takers(found: Mapping[str | None, _Behind]) -> str:
    takers = [taker for one in found.values() for taker in one.known.takers[:3]]
    named = ", ".join(f"{one.comm} ({units.duration(one.cpu_ns)})" for one in takers)
    return f": {named}" if named else ""


def _driver_host(facts: Facts) -> str | None:
    """Name the host of the driver's samples."""
    found: str | None = facts.tables.scalar(
        "SELECT any_value(host) FROM samples WHERE role = 'driver'"
    )
    return found


def _driver_waits(facts: Facts) -> dict[int, float]:
    """Give what the driver waited for a CPU while no job ran, by node of the graph."""
    kept = stretches(facts)
    found: dict[int, float] = {}
    known = works(facts, kept)
    if known is None:
        return found
    for one, did in zip(kept, known, strict=True):
        if did.waited_ns > LEAST_NS:
            for node, ns in nodes_of(facts, [(one.start, one.end)]).items():
                found[node] = found.get(node, 0.0) + ns * did.waited_ns / one.length
    return found


def _and_the_driver(waited: float) -> str:
    return f", and the driver {units.duration(waited)}" if waited >= LEAST_NS else ""


RULE = Rule(
    code="contended.neighbour",
    title="Other programs hold the CPUs",
    cause="noisy neighbour",
    suspects=_suspects,
    needs=(Need(_missing, PROFILE),),
    refute="Run again with the others stopped: if tasks still wait as long for a CPU, the others"
    " were not why.",
)
