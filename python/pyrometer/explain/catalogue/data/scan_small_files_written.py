"""A query writes many small files.

What it is
    Each task writes a file for each partition value that it meets, or a new one every so many rows:
    thousands of files of some kilobytes, each created, closed and committed.

Mechanism
    With files of 128 MiB, at least one for each slot and for each partition value, there are
    fewer. Taken from the tasks that wrote is what the other files cost, between `LEAST_NS` and
    `MOST_NS` each (`REMOTE` where they are not local), never more than their share of the tasks'
    time; and from the commit, by the driver alone, their share of it. A shuffle that the remedy
    needs, where each task writes several files, is left in the interval.

Evidence
    Spark's metrics of the write: "number of written files", "written output", "number of dynamic
    part", "job commit time"; without the last, the time from the last task to the end of the query.

Remedy
    Shuffle by the partition columns before the write, or write with fewer tasks; let
    `spark.sql.files.maxRecordsPerFile` be.

When it is wrong
    Few tasks write what many have computed: `coalesce` takes these slots from the work before it,
    `repartition` does not. Files may be small on purpose, for a reader that wants them so.

Source
    `BasicWriteJobStatsTracker` of Spark. A local Parquet file of 20 rows took 20.9 ms of a task,
    3.3 ms of it on a CPU, and 0.4 ms of the commit (1 000 of them against one of the same rows, one
    slot, beside other work, one run on 2026-11-25).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from pyrometer.accounts.plan_schema import Node
from pyrometer.core import units
from pyrometer.explain.change import Less, LessGap
from pyrometer.explain.evidence.driver_time import JobTime, jobs_of, nodes_of
from pyrometer.explain.evidence.places import largest
from pyrometer.explain.evidence.plan_nodes import Plan, metric, plans
from pyrometer.explain.evidence.saying import WANTED_FILE_BYTES, code, factor, place, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SQL_PLANS, Rule, Suspect
from pyrometer.explain.schema import Remedy
from pyrometer.explain.what_if import Extent

LEAST_NS, USUAL_NS, MOST_NS = 3.3e6, 10e6, 21e6
"""Cost of a local file in its task: on a CPU alone, usual, and with all waits. See above; the
middle is assumed."""
REMOTE = (20e6, 100e6, 300e6)
"""The same of an object store. Not measured; assumed."""
COMMIT = (0.5, 0.9)
"""Of the commit's share of the other files: least, and usual. Not measured; assumed."""
RATE = 50e6
"""Bytes that a slot shuffles in a second. Not measured; assumed."""
ROWS = "spark.sql.files.maxRecordsPerFile"
_REMOTE = re.compile(r"(?<![\w.])(?!file:|map:)[a-z][a-z0-9]+:/", re.IGNORECASE)


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    written = [
        (plan, node, files)
        for plan in plans(facts)
        for node in plan.sql.nodes
        if (files := metric(node, "number of written files"))
    ]
    if not written:
        return
    jobs = jobs_of(facts)
    for plan, node, files in written:
        own = [job for job in jobs if job.sql_id == plan.sql.sql_id]
        found = _suspect(facts, plan, node, files, own)
        if found is not None:
            yield found


def _suspect(
    facts: Facts, plan: Plan, node: Node, files: int, jobs: list[JobTime]
) -> tuple[float, Suspect] | None:
    size = metric(node, "written output", "bytes of written output")
    wrote = [
        job
        for job in jobs
        if job.stage is not None and facts.tasks_of(job.stage.number).total("output_bytes") > 0
    ]
    parts = metric(node, "number of dynamic part") or 0
    wanted = max(math.ceil((size or 0) / WANTED_FILE_BYTES), facts.slots, parts, 1)
    if size is None or not wrote or wanted >= files:
        return None
    tasks = [facts.tasks_of(job.stage.number) for job in wrote if job.stage is not None]
    ran = {
        job.stage.number: float(own.duration_ns.sum())
        for job, own in zip(wrote, tasks, strict=True)
        if job.stage is not None
    }
    whole, share, fewer = sum(ran.values()), 1 - wanted / files, files - wanted
    costs = REMOTE if _REMOTE.search(node.simple_string or "") else (LEAST_NS, USUAL_NS, MOST_NS)
    least, usual, most = (min(whole * share, fewer * each) for each in costs)
    took, gaps = _commit(facts, node, wrote[-1])
    gone = sum(gaps.values()) * share
    tasks_count = sum(own.count for own in tasks)
    shuffled = size / RATE * 1e9 if files > tasks_count else 0.0
    middle = max(0.0, usual - shuffled)
    value = middle + COMMIT[1] * gone
    if value <= 0:
        return None
    low = max(0.0, least - shuffled) + COMMIT[0] * gone
    label = f"files {plan.sql.sql_id} {node.node_id}"
    less = facts.share_of_tasks(label, {n: middle * ns / whole for n, ns in ran.items()})
    link = f"/sql/{plan.sql.sql_id}/{node.node_id}"
    metrics = "show --json: sql[].nodes[].metrics"
    suspect = Suspect(
        place=place(facts, "data", ran, sql_id=plan.sql.sql_id, node_id=node.node_id,
                    operator=node.name.strip()),
        mechanism=(
            f"{units.counted(tasks_count, 'task')} wrote {units.counted(files, 'file')} of"
            f" {units.size(size / files)} on average in {units.duration(whole)}, and the commit"
            f" took {units.duration(took)}; {units.counted(wanted, 'file')} would hold the same."
        ),
        change=_change(less, {n: COMMIT[1] * ns * share for n, ns in gaps.items()}),
        extent=Extent(1.0, low / value, (most + gone) / value, files),
        evidence=[
            shown_by("files written", float(files), "count", "node_metrics", metrics, link),
            shown_by("size of files written", float(size), "bytes", "node_metrics", metrics, link),
            shown_by("commit", took, "ns", "node_metrics", metrics, link),
        ],
        remedies=_remedies(facts, wanted, parts, several=files > tasks_count),
    )  # fmt: skip
    return value, suspect


def _change(less: Less, gaps: dict[int, float]) -> tuple[Less] | tuple[Less, LessGap]:
    return (less, LessGap(gaps, less.stages, "commit")) if gaps else (less,)


def _commit(facts: Facts, node: Node, job: JobTime) -> tuple[float, dict[int, float]]:
    """Give the time of the commit, and the driver's time in it by node of the graph."""
    if job.stage is None or job.sql_end is None:
        return 0.0, {}
    start, end = min(job.stage.complete_ns, job.end), job.sql_end
    known = metric(node, "job commit time")
    took = max(0.0, float(end - start)) if known is None else known * 1e6
    gaps = nodes_of(facts, [(float(start), float(end))]) if end > start else {}
    part = min(1.0, took / (end - start)) if end > start else 0.0
    return took, {number: ns * part for number, ns in gaps.items()}


def _remedies(facts: Facts, wanted: int, parts: int, several: bool) -> list[Remedy]:
    found = []
    if parts:
        found.append(
            code("bring the rows of a partition together before the write",
                 'df.write.partitionBy("day").parquet(path)',
                 'df.repartition("day").write.partitionBy("day").parquet(path)')
        )  # fmt: skip
    else:
        how = "repartition" if several else "coalesce"
        found.append(
            code(f"write {units.counted(wanted, 'file')}", "df.write.parquet(path)",
                 f"df.{how}({wanted}).write.parquet(path)")
        )  # fmt: skip
    rows = facts.setting(ROWS, "0") or "0"
    if rows.isdigit() and int(rows) > 0:
        found.insert(0, factor(ROWS, "0", f"do not begin a file every {rows} rows"))
    return found


RULE = Rule(
    code="scan.small-files-written",
    title="Many small files are written",
    cause="small files",
    suspects=_suspects,
    needs=(SQL_PLANS,),
    explains=("driver.commit", "partitioning.too-many"),
    refute="Write the same rows as a tenth of the files: if the write takes as long, it is the"
    " rows.",
)
