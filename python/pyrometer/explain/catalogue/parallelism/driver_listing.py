"""The driver lists files before a query can start.

What it is
    A table of very many files or partitions: the driver asks the file system for each directory.

Mechanism
    The listing is over before the first task is launched. Its time grows with the number of files;
    with files of 128 MiB there are fewer. The simulator removes what the surplus files cost. Where
    there are more than 32 paths, a job of its own lists them; jobs that list the same paths are one
    cause. A pattern in a path is compared with every name in the folders that it goes through,
    however few match, before the query begins; and `MSCK REPAIR TABLE` looks into every folder of a
    table, in its driver and in tasks.

    Iceberg lists nothing: it reads manifests, which name the files. What that takes grows with
    their number and with that of the files; opening one costs as much as some hundred files in it.
    A rewrite leaves few manifests, of ten thousand files each; what few take stays (`ORDINARY_NS`).

Evidence
    Spark's metric "metadata time" of a scan, with "number of files read" and "size of files read";
    of Iceberg "total planning duration (ms)" with "number of scanned data manifests" and "number of
    result data files"; jobs that say what they list; the time of queries that repair a table; CPU
    samples of the driver and of its threads in what finds files and partitions, with the waits of
    as much of the stretch.

Remedy
    Compact the files; partition less finely; filter on partition columns of a table that the
    catalog knows; name files and folders instead of a pattern; add the partitions that are new. In
    Iceberg `rewrite_data_files` and `rewrite_manifests`.

When it is wrong
    The files were listed for another reason too, or the file system is slow however many there are:
    a driver that waits for it uses no CPU. A table that is repaired for the first time.

Source
    `FileSourceScanExec` of Spark ("metadata time"); "Partition Discovery" in its SQL guide; files
    of 128 MiB: default of `spark.sql.files.maxPartitionBytes`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from pyrometer.core import units
from pyrometer.explain.change import Less, LessGap
from pyrometer.explain.evidence.alike import alike
from pyrometer.explain.evidence.driver_time import Stretch, jobs_of, nodes_of, stretches, words_of
from pyrometer.explain.evidence.driver_work import Work, works
from pyrometer.explain.evidence.places import largest, where
from pyrometer.explain.evidence.plan_nodes import Plan, plans
from pyrometer.explain.evidence.saying import code, compact, data, shown_by, timeline
from pyrometer.explain.evidence.tables import iceberg
from pyrometer.explain.evidence.tables.manifests import Planning, plannings
from pyrometer.explain.facts import Facts, exactly
from pyrometer.explain.rule import SQL_PLANS, Rule, Suspect
from pyrometer.explain.schema import Evidence, Place
from pyrometer.explain.what_if import Extent

_SCANS = """
SELECT m.sql_id, m.node_id,
  max(m.value_sum) FILTER (m.metric = 'metadata time') * 1e6 AS listed_ns,
  max(m.value_sum) FILTER (m.metric = 'number of files read') AS files,
  max(m.value_sum) FILTER (m.metric = 'size of files read') AS bytes
FROM node_metrics m WHERE m.app_index = $1 AND m.stage_id IS NULL AND m.metric IN
  ('metadata time', 'number of files read', 'size of files read')
GROUP BY ALL HAVING listed_ns > 0 AND files > 0 ORDER BY listed_ns DESC
"""


LISTING = "Listing leaf files and directories for "
"""Description of the jobs by which Spark lists more paths than
``spark.sql.sources.parallelPartitionDiscovery.threshold``: `InMemoryFileIndex`."""
LISTED_BY_A_JOB = (0.8, 1.0)
"""Of such a job, as of a pattern: few files are listed in milliseconds each. Assumed."""
_REPAIRS = re.compile(r"^Execute (RepairTable|AlterTableRecoverPartitions)Command")


def listing(facts: Facts) -> dict[int, str]:
    """Give the stages of jobs that only list files, by number, with what they list."""
    if facts.measured is None or not facts.has("jobs"):
        return {}
    rows = facts.tables.query(
        "SELECT job_id, description FROM jobs WHERE app_index = $1"
        " AND starts_with(description, $2)",
        [facts.measured.app_index, LISTING],
    )
    said = {int(job): str(text) for job, text in rows}
    return {
        one.number: said[one.job_id]
        for one in facts.stages if one.job_id in said and one.tasks_count
    }  # fmt: skip


def _jobs(facts: Facts) -> Iterator[tuple[str, float, Suspect]]:
    """Find jobs that only list files: what they list, and the time of their tasks."""
    for number, text in listing(facts).items():
        stage = facts.stages[number]
        tasks = facts.tasks_of(stage.number)
        spent = float(tasks.duration_ns.sum())
        paths = text.removeprefix(LISTING).split(":")[0]
        yield text, spent, Suspect(
            place=Place(layer="driver", stage_id=stage.stage_id, stage_attempt=stage.attempt,
                        stages_count=1, source=stage.called),
            mechanism=(
                f"A job of {units.counted(tasks.count, 'task')} listed {paths}, in"
                f" {units.duration(spent)} of tasks, before they were read."
            ),
            change=(Less("listing", {stage.number: 1.0}),),
            extent=Extent(n=tasks.count).times(*LISTED_BY_A_JOB),
            evidence=[
                Evidence(what="time of the tasks that list", estimate=exactly(spent, tasks.count),
                         unit="ns", table="tasks", link=f"/stage/{stage.stage_id}/{stage.attempt}",
                         query="SELECT sum(finish_wall_ns - launch_wall_ns) FROM tasks WHERE"
                         f" {where(stage)}"),
            ],
            remedies=[
                data("compact the files, or partition less finely",
                          'df.write.partitionBy("day", "hour", "minute").parquet(path)',
                          'df.write.partitionBy("day").parquet(path)'),
            ],
        )  # fmt: skip


def _repairs(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    """Find queries that look through all folders of a table for partitions."""
    for plan in plans(facts):
        sql = plan.sql
        begin, end = sql.start_wall_ns, sql.end_wall_ns
        if begin is None or end is None or not _is_repair(plan):
            continue
        length = float(end - begin)
        jobs = {job.job_id for job in jobs_of(facts) if job.sql_id == sql.sql_id}
        stages = [one for one in facts.stages if one.job_id in jobs and one.tasks_count]
        less = nodes_of(facts, [(begin, end)])
        tasks = sum(one.tasks_count for one in stages)
        in_tasks = f", with {units.counted(tasks, 'task')}" if tasks else ""
        yield length, Suspect(
            place=Place(layer="driver", sql_id=sql.sql_id, source=sql.description),
            mechanism=(
                f"SQL execution {sql.sql_id} repaired a table for {units.duration(length)}"
                f"{in_tasks}: all folders of it are looked into, however few are new."
            ),
            change=(LessGap(less, what="listing"),
                    Less("listing", {one.number: 1.0 for one in stages})),
            extent=Extent().times(*LISTED_BY_A_JOB),
            evidence=[
                shown_by("time of the query", length, "ns", "sql_executions",
                         "SELECT end_wall_ns - start_wall_ns FROM sql_executions WHERE sql_id ="
                         f" {sql.sql_id}", timeline(begin, end)),
            ],
            remedies=[
                code("add the partitions that are new",
                     "MSCK REPAIR TABLE sales",
                     "ALTER TABLE sales ADD IF NOT EXISTS PARTITION (day = '2026-03-01')"),
            ],
        )  # fmt: skip


def _is_repair(plan: Plan) -> bool:
    return any(_REPAIRS.match(one.name) for one in plan.sql.nodes)


def _sampled(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    """Find what the driver listed before a query, by its samples."""
    kept = [
        one for one in stretches(facts)
        if one.kind in ("planning", "in_query", "between") and one.after is not None
    ]  # fmt: skip
    repairs = {plan.sql.sql_id for plan in plans(facts) if _is_repair(plan)}
    before: dict[tuple[int | None, int], list[tuple[Stretch, Work]]] = defaultdict(list)
    for one, did in zip(kept, works(facts, kept) or [], strict=False):
        job = one.after
        if job is not None and did.listed_ns > 0 and job.sql_id not in repairs:
            before[job.root_sql_id, -1 if job.sql_id is not None else job.job_id].append((one, did))
    for mine in before.values():
        yield from _of_samples(facts, mine)


def _of_samples(
    facts: Facts, mine: Sequence[tuple[Stretch, Work]]
) -> Iterator[tuple[float, Suspect]]:
    listed = sum(did.listed_ns for _, did in mine)
    most = [(one, did.at_most(did.listed_ns)) for one, did in mine]
    whole = sum(ns for _, ns in most)
    less = nodes_of(facts, [(one.end - ns, one.end) for one, ns in most])
    # Samples have a weight each, that of all of the thread's over their number.
    error = sum(did.error_ns * min(1.0, did.listed_ns / (did.spark_ns or 1.0)) for _, did in mine)
    job = mine[-1][0].after
    if not less or job is None:
        return
    longest = max(mine, key=lambda pair: pair[1].listed_ns)[0]
    yield whole, Suspect(
        place=Place(layer="driver", sql_id=job.root_sql_id, source=job.source),
        mechanism=(
            f"The driver looked for files and partitions for {units.duration(listed)} of CPU before"
            f" {words_of(job)}: every name in the folders is looked at, however few are read."
        ),
        change=(LessGap(less, what="listing"),),
        extent=Extent(
            (listed / whole + 1) / 2, max(0.0, listed - error) / whole, 1.0
        ).times(*LISTED_BY_A_JOB),
        evidence=[
            shown_by("CPU of the driver that finds files and partitions", listed, "ns", "samples",
                     None, timeline(longest.start, longest.end)),
        ],
        remedies=[
            code("name the files or folders instead of a pattern over many, and keep others"
                 " elsewhere; or compact them",
                 'spark.read.parquet("landing/*/*/part.parquet")',
                 "spark.read.parquet(*paths)"),
        ],
    )  # fmt: skip


def _of_manifests(one: Planning) -> tuple[float, Suspect]:
    total, extent, node = sum(one.less.values()), one.extent, one.node
    procedures = ["rewrite_data_files"] * (one.files > one.wanted) + ["rewrite_manifests"]
    link = f"/sql/{one.sql_id}/{node.node_id}"
    return extent.value * total, Suspect(
        place=Place(layer="data", sql_id=one.sql_id, node_id=node.node_id,
                    operator=node.name.strip()),
        mechanism=(
            f"The driver read {units.counted(one.manifests, 'manifest')} that name"
            f" {units.counted(one.entries, 'file')} for {units.duration(one.took_ns)} before the"
            f" scan of {units.counted(one.files, 'file')} with {units.size(one.size_bytes)}."
        ),
        change=(LessGap(one.less, what="listing"),),
        extent=extent,
        evidence=[
            Evidence(what="total planning duration", estimate=exactly(one.took_ns), unit="ns",
                     table="node_metrics", link=link,
                     query="SELECT value_sum * 1000000 FROM node_metrics WHERE metric = 'total"
                     f" planning duration (ms)' AND sql_id = {one.sql_id} AND node_id ="
                     f" {node.node_id}"),
        ],
        remedies=[iceberg.maintained(node, "rewrite the manifests, and small files", *procedures)],
    )  # fmt: skip


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    if facts.measured is None:
        return
    yield from alike(_jobs(facts))
    yield from _repairs(facts)
    yield from _sampled(facts)
    if not facts.has("node_metrics"):
        return
    yield from map(_of_manifests, plannings(facts))
    before: dict[int | None, list[Stretch]] = defaultdict(list)
    for stretch in stretches(facts):
        if stretch.kind in ("planning", "in_query") and stretch.after is not None:
            before[stretch.after.sql_id].append(stretch)
    rows = facts.tables.query(_SCANS, [facts.measured.app_index])
    for sql_id, node_id, listed, files, size in rows:
        left = float(listed)
        spans: list[tuple[float, float]] = []
        for one in before[sql_id]:
            took = min(left, float(one.length))
            if took > 0:
                spans.append((one.end - took, float(one.end)))
            left -= took
        less = nodes_of(facts, spans)
        wanted, remedy = compact(size or 0, 1)
        share = 1 - wanted / files
        if not less or share <= 0:
            continue
        yield share * sum(less.values()), Suspect(
            place=Place(layer="data", sql_id=sql_id, node_id=node_id, operator="Scan"),
            mechanism=(
                f"The driver listed {units.counted(int(files), 'file')} of {units.size(size)} for"
                f" {units.duration(listed)} before the scan; {units.counted(wanted, 'file')} would"
                " hold the same."
            ),
            change=(LessGap(less, what="listing"),),
            extent=Extent(share, share / 2, share, int(files)),
            evidence=[
                Evidence(what="metadata time", estimate=exactly(float(listed)), unit="ns",
                         table="node_metrics", link=f"/sql/{sql_id}/{node_id}",
                         query="SELECT value_sum * 1000000 FROM node_metrics WHERE metric ="
                         f" 'metadata time' AND sql_id = {sql_id} AND node_id = {node_id}"),
            ],
            remedies=[remedy],
        )  # fmt: skip


RULE = Rule(
    code="driver.listing",
    title="Listing files takes long",
    cause="file listing",
    suspects=_suspects,
    needs=(SQL_PLANS,),
    explains=(
        "driver.gap",
        "driver.planning",
        "driver.scheduler-saturated",
        "partitioning.too-many",
        "serialisation.closure",
    ),
    refute="Read a compacted copy: if the metadata time stays the same, the file system is slow.",
)
