"""A scan reads many small files.

What it is
    A table in thousands of files of a few kilobytes: each is opened, its footer read and a reader
    created, for few rows.

Mechanism
    Opening costs the same whatever a file holds. With files of 128 MiB, and at least one for each
    slot and each bucket that is read, there are fewer. From the tasks of the scan the simulator
    removes what opening the surplus files cost: the scan's own time beyond what its bytes need at
    `RATE`, or, without that metric, its tasks' time; in either case at most `MOST_NS` for each
    file, or `MOST_REMOTE_NS` where they are not local.

Evidence
    Spark's metrics of the scan: "number of files read", "size of files read", "scan time" (of
    columnar formats: all that its tasks wait for batches, opening included); of Iceberg "number of
    result data files" and "total data file size (bytes)", without a time.

Remedy
    Compact the files (`rewrite_data_files` in Iceberg, `OPTIMIZE` in Delta Lake), or write fewer.

When it is wrong
    Rows are many and the format is slow to decode: then the scan's time is not the files'. `--all`
    shows how far down the interval goes. Each file is of another partition: then only a table that
    is divided less finely has fewer.

Source
    `FileSourceScanExec` of Spark; `spark.sql.files.openCostInBytes` in its SQL tuning guide, which
    takes opening a file for as costly as scanning 4 MiB. Local Parquet files of 9 KiB took 3.4 ms
    each (1 500 of them on two slots, one run on 2026-11-25).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pyrometer.accounts.plan_schema import Node
from pyrometer.core import units
from pyrometer.explain.evidence.places import largest
from pyrometer.explain.evidence.plan_nodes import Plan, metric, plans
from pyrometer.explain.evidence.saying import place, shown_by
from pyrometer.explain.evidence.scans.buckets import buckets_of
from pyrometer.explain.evidence.tables import iceberg
from pyrometer.explain.evidence.tables.compaction import compacted
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SQL_PLANS, Rule, Suspect
from pyrometer.explain.what_if import Extent

RATE, SLOWEST_RATE = 200e6, 50e6
"""Bytes of a file that a task decodes in a second: what is expected, and the least. Scans of 4 to
30 files of Parquet and ORC took 63 to 1 400 MB/s (24 scans on two slots, 2026-11-26)."""
TEXT_RATE, SLOWEST_TEXT_RATE = 50e6, 2e6
"""The same of tasks whose format has no metric of its scan, with all that they do. Assumed."""
MOST_NS, MOST_REMOTE_NS = 10e6, 300e6
"""Cost of opening a file, at most: local, and of an object store. Not measured; assumed."""
UNKNOWN = 0.1
"""Of the time of tasks whose format has no metric of its scan, at least: assumed."""
_REMOTE = re.compile(r"Location: \w+(?:\(\d+ paths\))?\[(?!file:)\w+:")


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    for plan in plans(facts):
        for node in plan.sql.nodes:
            if (one := _suspect(facts, plan, node)) is not None:
                yield one


def _suspect(facts: Facts, plan: Plan, node: Node) -> tuple[float, Suspect] | None:
    read = _read(node) or iceberg.files_read(node)
    if read is None:
        return None
    files, size = read
    wanted, remedy = compacted(node, size, max(facts.slots, buckets_of(node) or 0))
    numbers = [n for n in map(facts.number, node.stage_ids) if n is not None]
    ran = {n: float(facts.tasks_of(n).duration_ns.sum()) for n in numbers}
    whole = sum(ran.values())
    if wanted >= files or whole <= 0:
        return None
    scan_ms = metric(node, "scan time")
    time = min(whole, scan_ms * 1e6) if scan_ms else whole
    remote = _REMOTE.search(node.simple_string or "") or iceberg.is_remote(facts, node)
    most = (files - wanted) * (MOST_REMOTE_NS if remote else MOST_NS)
    upper = min(time * (1 - wanted / files), most)
    rates = (RATE, SLOWEST_RATE) if scan_ms else (TEXT_RATE, SLOWEST_TEXT_RATE)
    value, least = (max(0.0, 1 - size / rate * 1e9 / time) for rate in rates)
    if not scan_ms:
        least = max(UNKNOWN, least)
        value = (least + max(least, value)) / 2
    if upper <= 0 or value <= 0:
        return None
    link = f"/sql/{plan.sql.sql_id}/{node.node_id}"
    lost = {n: upper * ns / whole for n, ns in ran.items()}
    how = "its scan took" if scan_ms else "its tasks took"
    return value * upper, Suspect(
        place=place(facts, "data", lost, sql_id=plan.sql.sql_id, node_id=node.node_id,
                    operator=node.name.strip()),
        mechanism=(
            f"{units.counted(files, 'file')} of {units.size(size / files)} on average were read,"
            f" and {how} {units.duration(time)} of tasks, {units.duration(time / files)} a file;"
            f" {units.counted(wanted, 'file')} would hold the same."
        ),
        change=(facts.share_of_tasks(f"files {plan.sql.sql_id} {node.node_id}", lost),),
        extent=Extent(value, least, 1.0, files),
        evidence=[
            shown_by("files read", float(files), "count", "node_metrics",
                     "show --json: sql[].nodes[].metrics", link),
            shown_by("size of files read", size, "bytes", "node_metrics",
                     "show --json: sql[].nodes[].metrics", link),
            shown_by("time of the scan" if scan_ms else "time of its tasks", time, "ns",
                     "node_metrics" if scan_ms else "tasks",
                     "show --json: sql[].nodes[].metrics", link),
        ],
        remedies=[remedy],
    )  # fmt: skip


def _read(node: Node) -> tuple[int, float] | None:
    files, size = metric(node, "number of files read"), metric(node, "size of files read")
    return (files, float(size)) if files and size is not None else None


RULE = Rule(
    code="scan.small-files-read",
    title="Many small files are read",
    cause="small files",
    suspects=_suspects,
    needs=(SQL_PLANS,),
    explains=(
        "partitioning.too-many",
        "driver.listing",
        "driver.scheduler-saturated",
        "scan.remote-storage-latency",
    ),
    refute="Read a compacted copy: if the scan still takes as long, it is the rows.",
)
