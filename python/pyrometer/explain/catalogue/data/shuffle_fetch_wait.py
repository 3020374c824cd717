"""Tasks wait for shuffle blocks of other executors.

What it is
    A task has consumed what it fetched and the next blocks are not there yet: the network, the
    disks of the executors that wrote them, or their busy CPUs are slower than the task.

Mechanism
    Spark counts the time for which each task was blocked on a fetch. Without it, each task is
    shorter by its own wait, exactly. What those who serve blocks did meanwhile says what is slow,
    and not how much of it goes: more requests hide a disk that is not full as they do latency. So
    it is in the words and the remedies, and not in the saving.

Evidence
    `Fetch Wait Time` of the tasks, and the bytes fetched from other executors. Where probes saw
    the threads that serve blocks on all hosts, what these did in all such waits of the window
    (`shuffle_fetch/remote/…` of the ledger), with intervals that hold whoever served.

Remedy
    More requests in flight (`spark.reducer.maxSizeInFlight`), less data in the shuffle
    (columns, aggregation before it), or fewer, larger blocks (fewer partitions). Where most of it
    is a disk, a CPU or the collector on the serving hosts: that, first.

When it is wrong
    Where tasks wait for the first blocks, which no buffer shortens; and where the network is full:
    then only less data helps.

Source
    `Fetch Wait Time` in Spark's documentation of monitoring, "Executor Task Metrics".
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pyrometer.core import units
from pyrometer.explain.change import Less
from pyrometer.explain.evidence.hosts.lost import few_carriers, most_was_on
from pyrometer.explain.evidence.hosts.served import busy_servers, evidence, in_words, served
from pyrometer.explain.evidence.places import largest
from pyrometer.explain.evidence.saying import code, machine
from pyrometer.explain.facts import Facts, exactly
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Evidence, Place, Remedy
from pyrometer.explain.what_if import Extent

ACHIEVED = (0.25, 1.0)
"""Share of the waits that goes: twice the data in flight cannot help a full network, and hides
latency wholly where that was all; a quarter is what is saved where only half of the waits were for
latency, and half of those remain. Not measured; assumed."""

_SERVERS = {
    "disk": "relieve the disks that shuffle blocks are read from: more or faster ones in"
    " spark.local.dir, or memory that keeps the blocks in the page cache",
    "cpu": "leave CPUs for the threads that serve shuffle blocks: fewer slots than CPUs on each"
    " host",
    "heap": "shorten the pauses of the collector on the executors that serve shuffle blocks, or"
    " serve them from an external shuffle service",
}


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    if facts.tasks.total("shuffle_fetch_wait_time_ns") <= 0:
        return
    far = facts.tasks.total("shuffle_read_remote_bytes") > 0
    parts = served(facts) if far else {}
    slow = [machine(text) for text in [_SERVERS.get(busy_servers(parts) or "")] if text]
    waits = facts.spent_ns("shuffle_fetch_wait_time_ns")
    size = facts.setting("spark.reducer.maxSizeInFlight", "48m") or "48m"
    for number, times in waits.items():
        lost = float(times.sum())
        if lost <= 0:
            continue
        stage, tasks = facts.stages[number], facts.tasks_of(number)
        remote = tasks.total("shuffle_read_remote_bytes")
        sql = f"stage_id = {stage.stage_id} AND stage_attempt = {stage.attempt}"
        sums = np.bincount(tasks.codes("host"), times)
        each = {
            tasks.names["host"][code] or None: {number: float(sums[code])}
            for code in np.flatnonzero(sums)
        }
        names = few_carriers(facts, each)
        yield lost, Suspect(
            place=Place(layer="stage", stage_id=stage.stage_id, stage_attempt=stage.attempt,
                        stages_count=1, source=stage.called,
                        host=names[0] if len(names) == 1 else None),
            mechanism=(
                f"{units.counted(tasks.count, 'task')} waited {units.duration(lost)} of"
                f" {units.duration(float(tasks.duration_ns.sum()))} for shuffle blocks, of which"
                f" {units.size(remote)} came from other executors.{most_was_on(names, each)}"
                f"{in_words(parts) if remote else ''}"
            ),
            change=(Less("fetch_wait", {number: times}),),
            extent=Extent(n=tasks.count).times(*ACHIEVED),
            evidence=[
                Evidence(what="fetch wait time", estimate=exactly(lost, tasks.count), unit="ns",
                         table="tasks", link=f"/stage/{stage.stage_id}/{stage.attempt}",
                         query=f"SELECT sum(shuffle_fetch_wait_time_ns) FROM tasks WHERE {sql}"),
                *(evidence(parts) if remote else ()),
            ],
            remedies=[
                *(slow if remote else ()),
                Remedy(kind="factor", factor="spark.reducer.maxSizeInFlight", level="192m",
                       text=f"keep 192m in flight for each task instead of {size}"),
                code("shuffle fewer columns",
                     'a.join(b, "k").select("k", "v")',
                     'a.select("k", "v").join(b.select("k"), "k")'),
            ],
        )  # fmt: skip


RULE = Rule(
    code="shuffle.fetch-wait",
    title="Tasks wait for shuffle blocks",
    cause="shuffle fetch wait",
    suspects=_suspects,
    refute="Raise spark.reducer.maxSizeInFlight: if the waits stay, it is the network.",
)
