"""A query writes many small files.

What it is
    Each task writes a file for each partition value that it meets, or a new one every so many rows:
    thousands of files of a few kilobytes, each created, closed and committed.

Mechanism
    With files of 128 MiB, at least one for each slot, there are fewer. Where one file for each
    partition value does away with most of the others (`MOST_OF`), tasks times values are the cause:
    rows of a value are brought together, at the price of a shuffle. Otherwise there are simply too
    many values, and a coarser division, or none, leaves a few files; in the interval, between none
    and a tenth of them stay.

    From the tasks that wrote, the simulator removes what the surplus files cost, never more than
    their share of the tasks' time; from the commit, by the driver alone, their share of it. What
    all files cost is the time of tasks in code that begins and ends them, by samples of the wall
    clock, less `FIRST_NS` for each slot, as the first files load and compile that code. Without
    such samples, each has CPU of `LEAST_NS`, and about half of the tasks' time that no counter
    explains: at least `LEAST_NS`, at most `MOST_NS` (`REMOTE` where files are not local).

Evidence
    Spark's metrics of the write: "number of written files", "written output", "number of dynamic
    part", "job commit time"; without the last, the time from the last task to the end of the query.
    Samples of the wall clock in Spark's writers of files, or run times against CPU times.

Remedy
    Divide by a coarser column, or not at all, where the values alone are many; else shuffle by the
    partition columns before the write, or write with fewer tasks; leave
    `spark.sql.files.maxRecordsPerFile` unset.

When it is wrong
    Few tasks write what many have computed: `coalesce` takes these slots from the work before it,
    `repartition` does not. Files may be small on purpose, for a reader that wants them so: a query
    that asks for one partition value reads more where the division is coarser.

Source
    `BasicWriteJobStatsTracker` of Spark. A local Parquet file of 20 rows took 20.9 ms of a task,
    3.3 ms of it on a CPU, and 0.4 ms of the commit (1 000 of them against one of the same rows, one
    slot, beside other work, one run on 2026-11-25). 300,000 rows into 584 files and 146 folders
    took 29.1 s of tasks, 85 % of it in code that begins and ends files; into 32 files and 8 folders
    7.1 s (two slots, busy machine, one run each, 2026-11-26).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyrometer.accounts.plan_schema import Node
from pyrometer.core import units
from pyrometer.explain.change import Less, LessGap
from pyrometer.explain.evidence.driver_time import JobTime, jobs_of, nodes_of
from pyrometer.explain.evidence.places import largest
from pyrometer.explain.evidence.plan_nodes import Plan, metric, plans
from pyrometer.explain.evidence.saying import WANTED_FILE_BYTES, code, factor, place, shown_by
from pyrometer.explain.evidence.stack_shares import Shares, through
from pyrometer.explain.evidence.task_costs import unexplained
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SQL_PLANS, Rule, Suspect
from pyrometer.explain.schema import Evidence, Remedy
from pyrometer.explain.what_if import Extent

LEAST_NS, MOST_NS = 3.3e6, 21e6
"""Cost of a local file in its task, where no samples say: on a CPU alone, and with all waits."""
REMOTE = (20e6, 300e6)
"""The same of an object store. Not measured; assumed."""
ACHIEVED = (0.7, 1.0)
"""Of the time in code that begins and ends files: rows are still compressed when one ends. In the
runs above 0.9 of it went."""
WRITERS = (
    r"^org\.apache\.spark\.sql\.execution\.datasources\.\w*DataWriter"
    r"\.(renew|close|release|newOutputWriter)\w*"
)
"""Code that begins and ends a file."""
FIRST_NS = (1e9, 2e9, 0.0)
"""Of that time, in each slot, what loading and compiling the code took: usual, most, least. 1.1 s
in the run of 32 files above."""
FEWEST_SAMPLES = 20
"""Samples of the wall clock of the tasks that wrote, to go by them."""
MOST_OF = 2 / 3
"""Of the files beyond those needed, that a file for each value must take away."""
COARSER = 0.1
"""Files that a coarser division leaves at most, over those that were written. Assumed."""
COMMIT = (0.5, 0.9)
"""Of the commit's share of the other files: least, and usual. Not measured; assumed."""
RATE = 50e6
"""Bytes that a slot shuffles in a second. Not measured; assumed."""
ROWS = "spark.sql.files.maxRecordsPerFile"
_DIVIDED = re.compile(r", (?:true|false), \[([^\]]+)\], ")
_NAME = re.compile(r"([\w.]+)#\d+")
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


@dataclass(frozen=True)
class Written:
    """What a query wrote.

    Attributes
    ----------
    values : int
        Folders of partition values; 0 where the table is not divided.
    ran_ns : mapping of int to float
        Time of the tasks that wrote, by number of the stage.
    needed : int
        Files that would hold the same, whatever the values.
    """

    node: Node
    files: int
    size: int
    values: int
    ran_ns: Mapping[int, float]
    tasks_count: int
    needed: int

    @property
    def too_many_values(self) -> bool:
        """Whether a file for each value would leave too many."""
        spare = self.files - self.needed
        return self.values > self.needed and self.files - self.values < MOST_OF * spare

    @property
    def wanted(self) -> int:
        """Files that the remedy leaves."""
        return self.needed if self.too_many_values else max(self.needed, self.values)

    @property
    def shuffled_ns(self) -> float:
        """What a shuffle costs that the remedy needs: that of tasks that write several files."""
        if self.too_many_values or self.files <= self.tasks_count:
            return 0.0
        return self.size / RATE * 1e9


@dataclass(frozen=True)
class Spent:
    """What files cost the tasks that wrote them, in nanoseconds, and what says so."""

    value: float
    low: float
    high: float
    n: int
    shown: Evidence | None = None


def _spent(facts: Facts, written: Written, link: str) -> Spent:
    """Give what beginning and ending all files took the tasks."""
    whole = sum(written.ran_ns.values())
    found = through(facts, WRITERS, event="wall") if facts.has("samples") else Shares({}, {})
    mine = Shares(
        {n: hits for n, hits in found.hits.items() if n in written.ran_ns},
        {n: total for n, total in found.totals.items() if n in written.ran_ns},
    )
    if mine.found and mine.n >= FEWEST_SAMPLES:
        spent = sum(mine.by_stage.get(n, 0.0) * ns for n, ns in written.ran_ns.items())
        extent = mine.extent(*ACHIEVED)
        share = shown_by("share of the tasks' time in beginning and ending files", mine.estimate,
                         "ratio", "samples", "show --json: waits", link, mine.n)  # fmt: skip
        used = min(max(1, facts.slots), written.tasks_count)
        value, low, high = (
            min(whole, max(0.0, spent - used * first) * end)
            for first, end in zip(
                FIRST_NS, (extent.value, extent.low, extent.high), strict=True
            )
        )  # fmt: skip
        return Spent(value, low, high, mine.n, share)
    is_remote = _REMOTE.search(written.node.simple_string or "")
    least, most = REMOTE if is_remote else (LEAST_NS, MOST_NS)
    waited = sum(float(unexplained(facts.tasks_of(n)).sum()) for n in written.ran_ns)
    each = waited / written.files
    usual, high = (min(max(least, LEAST_NS + part), most) for part in (each / 2, each))
    low, value, high = (min(whole, written.files * one) for one in (least, usual, high))
    return Spent(value, low, high, written.files)


def _written(facts: Facts, node: Node, files: int, wrote: Sequence[JobTime]) -> Written | None:
    size = metric(node, "written output", "bytes of written output")
    stages = [job.stage.number for job in wrote if job.stage is not None]
    if size is None or not stages:
        return None
    found = Written(
        node, files, size, metric(node, "number of dynamic part") or 0,
        {n: float(facts.tasks_of(n).duration_ns.sum()) for n in stages},
        sum(facts.tasks_of(n).count for n in stages),
        max(math.ceil(size / WANTED_FILE_BYTES), facts.slots, 1),
    )  # fmt: skip
    return found if found.wanted < files and sum(found.ran_ns.values()) > 0 else None


def _suspect(
    facts: Facts, plan: Plan, node: Node, files: int, jobs: list[JobTime]
) -> tuple[float, Suspect] | None:
    wrote = [
        job
        for job in jobs
        if job.stage is not None and facts.tasks_of(job.stage.number).total("output_bytes") > 0
    ]
    written = _written(facts, node, files, wrote)
    if written is None:
        return None
    link = f"/sql/{plan.sql.sql_id}/{node.node_id}"
    ran, whole = written.ran_ns, sum(written.ran_ns.values())
    spent = _spent(facts, written, link)
    share = 1 - written.wanted / files
    at_least = 1 - max(written.wanted / files, COARSER * written.too_many_values)
    took, gaps = _commit(facts, node, wrote[-1])
    gone = sum(gaps.values())
    middle = max(0.0, spent.value * (share + at_least) / 2 - written.shuffled_ns)
    value = middle + COMMIT[1] * gone * share
    if value <= 0:
        return None
    low = max(0.0, spent.low * at_least - written.shuffled_ns) + COMMIT[0] * gone * at_least
    label = f"files {plan.sql.sql_id} {node.node_id}"
    less = facts.share_of_tasks(label, {n: middle * ns / whole for n, ns in ran.items()})
    metrics = "show --json: sql[].nodes[].metrics"
    folders = f" in {units.counted(written.values, 'folder')}" if written.values else ""
    suspect = Suspect(
        place=place(facts, "data", ran, sql_id=plan.sql.sql_id, node_id=node.node_id,
                    operator=node.name.strip()),
        mechanism=(
            f"{units.counted(written.tasks_count, 'task')} wrote {units.counted(files, 'file')} of"
            f" {units.size(written.size / files)} on average{folders} in {units.duration(whole)},"
            f" about {units.duration(spent.value)} of it to begin and end them, and the commit"
            f" took {units.duration(took)}; {units.counted(written.wanted, 'file')} would hold the"
            " same."
        ),
        change=_change(less, {n: COMMIT[1] * ns * share for n, ns in gaps.items()}),
        extent=Extent(1.0, low / value, (spent.high * share + gone * share) / value, spent.n),
        evidence=[
            shown_by("files written", float(files), "count", "node_metrics", metrics, link),
            shown_by("size of files written", float(written.size), "bytes", "node_metrics",
                     metrics, link),
            shown_by("commit", took, "ns", "node_metrics", metrics, link),
            *([spent.shown] if spent.shown else []),
        ],
        remedies=_remedies(facts, written),
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


def _remedies(facts: Facts, written: Written) -> list[Remedy]:
    found = []
    listed = _DIVIDED.search(written.node.simple_string or "")
    names = ", ".join(f'"{name}"' for name in _NAME.findall(listed[1])) if listed else ""
    names = names or '"day"'
    if written.too_many_values:
        found.append(
            code("divide by a coarser column, or not at all",
                 f"df.write.partitionBy({names}).parquet(path)",
                 'df.withColumn("coarse", …).write.partitionBy("coarse").parquet(path)')
        )  # fmt: skip
    if written.values and written.values < written.files:
        found.append(
            code("bring the rows of a partition together before the write",
                 f"df.write.partitionBy({names}).parquet(path)",
                 f"df.repartition({names}).write.partitionBy({names}).parquet(path)")
        )  # fmt: skip
    if not written.values:
        how = "repartition" if written.files > written.tasks_count else "coalesce"
        found.append(
            code(f"write {units.counted(written.wanted, 'file')}", "df.write.parquet(path)",
                 f"df.{how}({written.wanted}).write.parquet(path)")
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
    refute="Write the same rows into a tenth as many files: if the write still takes as long, it is"
    " the rows.",
)
