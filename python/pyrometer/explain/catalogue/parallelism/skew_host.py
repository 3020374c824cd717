"""What tasks read lies on few hosts: these have most of the work, or the others fetch it from them.

What it is
    Blocks of a file that one host wrote, partitions that were cached before the other executors
    had registered, or the output of a stage that ran on one host: data are not spread over the
    cluster.

Mechanism
    Spark runs a task near its data if it can, and holds it back for that (`spark.locality.wait`).
    So the hosts that have the data have the tasks, one after another, while slots elsewhere stand
    idle: the simulator lets tasks take any slot, as they could if the data were on all hosts. Those
    that run elsewhere after all read over the network: the simulator removes what they take longer.
    Where it is a shuffle, all of its blocks come through the network of a few hosts: the simulator
    removes waits for blocks, at most as far as spreading them over all hosts can shorten these.

Evidence
    Bytes (or rows) by the host that tasks near their data ran on: hosts that have 90 % of them and
    at most half of the slots, with more such tasks than slots. The time of tasks far from their
    data over that of tasks near them, for as much data: within stages, and with a level of its own
    for each host, so that a slow host, which is slow near its data as well, is not taken for one
    that is far away. Of shuffles, where the tasks of the stages before wrote them.

Remedy
    Spread the data: `hdfs balancer` or more replicas; cache once all executors are there
    (`spark.scheduler.minRegisteredResourcesRatio`); more tasks in the stage that writes a shuffle.
    Meanwhile `spark.locality.wait=0s` lets tasks run anywhere.

When it is wrong
    Reading from afar is as quick as from the host's own disk: then `spark.locality.wait=0s` alone
    saves as much. Where tasks read the same everywhere and one host takes longer, it is slow
    (`straggler.host`); where a few tasks read most, wherever they run, it is `skew.bytes`.

Source
    Locality and metrics of tasks in Spark's event log; "Data Locality" in Spark's tuning guide;
    Zaharia et al., Delay Scheduling, EuroSys 2010.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from pyrometer.core import units
from pyrometer.core.estimate import Estimate
from pyrometer.explain.change import Less, NoLocalityWait
from pyrometer.explain.evidence.hosts.data_places import Crowd, by_host, crowds, writers
from pyrometer.explain.evidence.hosts.far_reads import far_ratio
from pyrometer.explain.evidence.hosts.lost import hosts_of_place, named_hosts
from pyrometer.explain.evidence.places import bounds, largest, link, of_stage
from pyrometer.explain.evidence.saying import code, factor, machine
from pyrometer.explain.facts import Facts, exactly
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Evidence, Remedy
from pyrometer.explain.what_if import Extent
from pyrometer.simulation.measured import Floats, Stage
from pyrometer.store.sql.text import literal

SLOWER = "host"
"""Kind of the time: what `straggler.host` would take from the same tasks is the same."""
LATENCY = 0.25
"""Of the waits for blocks that goes at least: those for latency stay. Not measured; assumed."""


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    groups: dict[tuple[str, ...], list[Crowd]] = defaultdict(list)
    for crowd in crowds(facts):
        groups[crowd.hosts].append(crowd)
    everywhere = sum(_held_ns(facts, one) for one in _held_back(facts))
    is_far = any(one.far.any() for found in groups.values() for one in found)
    distance = far_ratio(facts) if is_far else None
    for hosts, found in groups.items():
        yield from _queued(facts, hosts, found, everywhere)
        if distance is not None and (distance.low or 0.0) > 1:
            yield from _far(facts, hosts, found, distance)
    yield from _fetched(facts)


def _held_back(facts: Facts) -> Iterator[Stage]:
    """Give the stages that ran near their data on some hosts only: the wait may concern them."""
    hosts = {one.host for one in facts.measured.executors} if facts.measured else set()
    yield from (one for one in facts.stages if one.hosts and set(one.hosts) & hosts < hosts)


def _held_ns(facts: Facts, stage: Stage) -> float:
    """Give what a stage took longer than its tasks need on all slots."""
    time = facts.tasks_of(stage.number).duration_ns
    least = max(float(time.max(initial=0.0)), float(time.sum()) / max(1, facts.slots))
    return max(0.0, stage.complete_ns - stage.submit_ns - least)


def _queued(
    facts: Facts, hosts: tuple[str, ...], found: Sequence[Crowd], everywhere: float
) -> Iterator[tuple[float, Suspect]]:
    measured = facts.measured
    if measured is None or measured.settings.locality_wait_ns <= 0:
        return
    lost = {one.stage.number: _held_ns(facts, one.stage) for one in found}
    whole = sum(lost.values())
    if whole <= 0:
        return
    share = min(1.0, whole / everywhere) if everywhere > 0 else 1.0
    worst = max(found, key=lambda one: lost[one.stage.number])
    count = sum(int(one.there.sum()) for one in found)
    yield whole, Suspect(
        place=of_stage(worst.stage, "data", len(found)).model_copy(update=hosts_of_place(hosts)),
        mechanism=(
            f"{_lies(worst)}, and {units.counted(int(worst.there.sum()), 'task')} took turns"
            f" there while slots of other hosts were free.{_more(found)}"
        ),
        change=(NoLocalityWait(sorted(lost)),),
        extent=Extent(share, share, share, count),
        evidence=_evidence(facts, worst),
        remedies=[*_spread(facts, worst), factor(
            "spark.locality.wait", "0s", "meanwhile, let tasks take any free slot")],
    )  # fmt: skip


def _far(
    facts: Facts, hosts: tuple[str, ...], found: Sequence[Crowd], distance: Estimate
) -> Iterator[tuple[float, Suspect]]:
    value, low, high = (1 - 1 / (x or 1.0) for x in (distance.value, distance.low, distance.high))
    less: dict[int, Floats | float] = {}
    for one in found:
        if one.far.any():
            time = facts.tasks_of(one.stage.number).duration_ns
            less[one.stage.number] = np.where(one.far, time * high, 0.0)
    if not less:
        return
    lost = {number: float(np.sum(ns)) for number, ns in less.items()}
    worst = max((one for one in found if one.stage.number in less),
                key=lambda one: lost[one.stage.number])  # fmt: skip
    count = sum(int(one.far.sum()) for one in found)
    ratio = units.digits(distance.value or 1.0)
    between = f"{units.digits(distance.low or 1.0)} to {units.digits(distance.high or 1.0)}"
    yield value / high * sum(lost.values()), Suspect(
        place=of_stage(worst.stage, "data", len(less)).model_copy(update=hosts_of_place(hosts)),
        mechanism=(
            f"{_lies(worst)}; {units.counted(count, 'task')} on other hosts read from afar, and"
            f" took {ratio} times as long ({between}), for as much.{_more(found)}"
        ),
        change=(Less(SLOWER, less),),
        extent=Extent(value / high, low / high, 1.0, count),
        evidence=[
            *_evidence(facts, worst),
            Evidence(what="time far from the data over that near it", unit="ratio", table="tasks",
                     estimate=bounds(distance.value or 1.0, distance.low or 1.0,
                                     distance.high or 1.0, distance.n, distance.method),
                     query="SELECT stage_id, host, locality, median(finish_wall_ns -"
                     " launch_wall_ns) FROM tasks GROUP BY ALL ORDER BY ALL", link="/timeline"),
        ],
        remedies=_spread(facts, worst),
    )  # fmt: skip


def _fetched(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    if facts.tasks.total("shuffle_fetch_wait_time_ns") <= 0:
        return
    waits = facts.spent_ns("shuffle_fetch_wait_time_ns")
    for number, times in waits.items():
        stage, tasks = facts.stages[number], facts.tasks_of(number)
        remote = np.nan_to_num(tasks["shuffle_read_remote_bytes"])
        waited = np.where(remote > 0, times, 0.0)
        lost = float(waited.sum())
        hosts, before = writers(facts, stage) if lost > 0 else ((), [])
        if not hosts:
            continue
        spread = len({one.host for one in facts.measured.executors}) if facts.measured else 1
        yield lost, Suspect(
            place=of_stage(stage, "data", 1).model_copy(update=hosts_of_place(hosts)),
            mechanism=(
                f"Nearly all blocks of the shuffle that stage {stage.stage_id} reads were written"
                f" on {named_hosts(hosts)}, by {_stages(before)};"
                f" {units.counted(tasks.count, 'task')} waited {units.duration(lost)} for"
                f" {units.size(float(remote.sum()))} from there."
            ),
            change=(Less("fetch_wait", {number: waited}),),
            extent=Extent(n=tasks.count).times(LATENCY, max(LATENCY, 1 - len(hosts) / spread)),
            evidence=[
                _written(facts, before, hosts),
                Evidence(what="fetch wait time", estimate=exactly(lost, tasks.count), unit="ns",
                         table="tasks", link=link(stage),
                         query="SELECT sum(shuffle_fetch_wait_time_ns) FROM tasks WHERE"
                         f" {_of(facts, [stage])} AND shuffle_read_remote_bytes > 0"),
            ],
            remedies=[
                code("have the stage that writes the shuffle run on all hosts: more partitions of"
                     " what it reads", "spark.read.json(path)",
                     "spark.read.json(path).repartition(200)"),
            ],
        )  # fmt: skip


def _lies(one: Crowd) -> str:
    own, every = (max(1, round(slots)) for slots in (one.slots, one.all_slots))
    return (
        f"{units.percent(one.share)} of what tasks of stage {one.stage.stage_id} read near their"
        f" data was on {named_hosts(one.hosts)}, which had {own} of {every} slots"
    )


def _more(found: Sequence[Crowd]) -> str:
    more = len(found) - 1
    return f" The same in {units.counted(more, 'more stage')}." if more else ""


def _stages(found: Sequence[Stage]) -> str:
    names = ", ".join(str(one.stage_id) for one in found[:3])
    return f"stage{'s' * (len(found) > 1)} {names}{', …' * (len(found) > 3)}"


def _of(facts: Facts, stages: Sequence[Stage]) -> str:
    app = 0 if facts.measured is None else facts.measured.app_index
    keys = ", ".join(f"({one.stage_id}, {one.attempt})" for one in stages)
    return f"app_index = {app} AND (stage_id, stage_attempt) IN ({keys})"


def _evidence(facts: Facts, one: Crowd) -> list[Evidence]:
    tasks, shown = facts.tasks_of(one.stage.number), link(one.stage)
    hosts = ", ".join(map(literal, one.hosts))
    where, near = _of(facts, [one.stage]), "locality IN ('PROCESS_LOCAL', 'NODE_LOCAL')"
    time = tasks.duration_ns
    return [
        Evidence(what="tasks that ran near the data there", unit="count", table="tasks",
                 link=shown,
                 estimate=exactly(float(one.there.sum()), tasks.count),
                 query="SELECT count(DISTINCT task_attempt_id) FROM tasks WHERE"
                 f" {where} AND {near} AND host IN ({hosts})"),
        Evidence(what="tasks of the stage", unit="count", table="tasks",
                 link=shown,
                 estimate=exactly(float(tasks.count), tasks.count),
                 query=f"SELECT count(DISTINCT task_attempt_id) FROM tasks WHERE {where}"),
        Evidence(what="longest task", unit="ns", table="tasks",
                 link=shown,
                 estimate=exactly(float(time.max()), tasks.count),
                 query=f"SELECT max(finish_wall_ns - launch_wall_ns) FROM tasks WHERE {where}"),
    ]  # fmt: skip


def _written(facts: Facts, before: Sequence[Stage], hosts: Sequence[str]) -> Evidence:
    total = 0.0
    for one in before:
        tasks = facts.tasks_of(one.number).succeeded()
        sizes = by_host(tasks, np.nan_to_num(tasks["shuffle_written_bytes"]))
        total += sum(size for host, size in sizes.items() if host in hosts)
    names = ", ".join(map(literal, hosts))
    return Evidence(
        what=f"bytes of the shuffle written on {named_hosts(hosts)}", unit="bytes", table="tasks",
        estimate=exactly(total, sum(one.tasks_count for one in before)), link="/timeline",
        query=f"SELECT sum(shuffle_written_bytes) FROM tasks WHERE {_of(facts, before)}"
        f" AND status = 'success' AND host IN ({names})",
    )  # fmt: skip


def _spread(facts: Facts, one: Crowd) -> list[Remedy]:
    """Say how what the stage reads gets to all hosts: of a cache by filling it later."""
    levels = facts.measured.tasks.level if facts.measured else np.zeros(0)
    if bool((levels[facts.place_of(one.stage.number)][one.there] == 0).all()):
        return [factor("spark.scheduler.minRegisteredResourcesRatio", "1.0",
                       "begin once all executors have registered: partitions are cached where they"
                       " are computed")]  # fmt: skip
    return [machine("spread the blocks of what is read over all hosts (hdfs balancer), or keep more"
                    " replicas of them (hdfs dfs -setrep)")]  # fmt: skip


RULE = Rule(
    code="skew.host",
    title="What tasks read lies on few hosts",
    cause="data placement skew",
    suspects=_suspects,
    explains=("partitioning.locality-wait", "shuffle.fetch-wait", "network.", "straggler.host"),
    refute="Run with spark.locality.wait=0s: if slots of the other hosts are still idle, tasks were"
    " not held back for their data.",
)
