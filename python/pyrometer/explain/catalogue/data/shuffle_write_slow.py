"""Tasks are slow to write their shuffle data to disk.

What it is
    The map side of a shuffle writes its blocks to `spark.local.dir`; a slow or shared disk, or
    throttled write-back, holds the tasks up.

Mechanism
    Spark counts the time that each task spends writing shuffle data. From each task the simulator
    removes its own write time, as far as a faster disk can shorten it.

Evidence
    `Shuffle Write Time` of the tasks and the bytes that they wrote in it.

Remedy
    Faster local disks for `spark.local.dir`, larger buffers (`spark.shuffle.file.buffer`), or less
    data: aggregation or filters before the shuffle.

When it is wrong
    The counter includes compression where blocks are written straight through the compressor (few
    partitions), which a faster disk does not speed up: see `codec.compression`.

Source
    `Shuffle Write Time` in Spark's documentation of monitoring, "Executor Task Metrics".
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.core import units
from pyrometer.explain.change import Less
from pyrometer.explain.evidence.places import largest
from pyrometer.explain.facts import Facts, exactly
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Evidence, Place, Remedy
from pyrometer.explain.what_if import Extent

ACHIEVED = (0.1, 0.7)
"""Share of the write time that goes: bytes must be written whatever the disk, so never all of it
(0.7: to memory instead of a disk); a larger buffer alone saves system calls (0.1). Not
measured; assumed."""


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    if facts.tasks.total("shuffle_write_time_ns") <= 0:
        return
    waits = facts.spent_ns("shuffle_write_time_ns")
    folder = facts.setting("spark.local.dir") or "the system's own"
    for number, times in waits.items():
        lost = float(times.sum())
        if lost <= 0:
            continue
        stage, tasks = facts.stages[number], facts.tasks_of(number)
        written = tasks.total("shuffle_written_bytes")
        speed = units.rate(written / (lost / 1e9))
        sql = f"stage_id = {stage.stage_id} AND stage_attempt = {stage.attempt}"
        yield lost, Suspect(
            place=Place(layer="stage", stage_id=stage.stage_id, stage_attempt=stage.attempt,
                        stages_count=1, source=stage.called),
            mechanism=(
                f"{units.counted(tasks.count, 'task')} spent {units.duration(lost)} of"
                f" {units.duration(float(tasks.duration_ns.sum()))} writing {units.size(written)}"
                f" of shuffle data, {speed} each."
            ),
            change=(Less("shuffle_write", {number: times}),),
            extent=Extent(n=tasks.count).times(*ACHIEVED),
            evidence=[
                Evidence(what="shuffle write time", estimate=exactly(lost, tasks.count), unit="ns",
                         table="tasks", link=f"/stage/{stage.stage_id}/{stage.attempt}",
                         query=f"SELECT sum(shuffle_write_time_ns) FROM tasks WHERE {sql}"),
            ],
            remedies=[
                Remedy(kind="factor", factor="spark.shuffle.file.buffer", level="1m",
                       text="write in larger pieces"),
                Remedy(kind="machine", text=f"put spark.local.dir ({folder}) on faster disks,"
                       " or on more of them"),
            ],
        )  # fmt: skip


RULE = Rule(
    code="shuffle.write-slow",
    title="Shuffle data are written slowly",
    cause="slow shuffle write",
    suspects=_suspects,
    refute="Put spark.local.dir on a tmpfs: if the stage still lasts as long, it is not the"
    " writing.",
)
