"""Large files are read by one task each, because they cannot be split.

What it is
    A gzip file can only be read from its beginning; a Parquet file is read by row groups, an
    ORC file by stripes. However many cores are free, one task reads all of it.

Mechanism
    Spark cuts what can be cut into pieces of at most `spark.sql.files.maxPartitionBytes` (for RDDs:
    a block), and scans into as many pieces as there are slots, down to
    `spark.sql.files.openCostInBytes`. A task that read more had something that could not be cut.
    The simulator schedules the stage with its bytes in pieces of that size. A file of one row group
    is cut into pieces all the same: the task with the middle of the group reads all of its rows,
    the others none. There the simulator divides the work evenly over the tasks.

Evidence
    Bytes read by the largest task against the largest piece that Spark would cut; tasks of the
    stage. Of row groups: tasks of a scan of Parquet or ORC that read no row, where no filter was
    pushed down that leaves groups out, and no more files were read than tasks had rows.

Remedy
    Write the data in a format that can be split (Parquet, or bzip2 and zstd for text), or in more,
    smaller files; with smaller row groups (`parquet.block.size`, `orc.stripe.size`); or read it
    once, and repartition where much work follows.

When it is wrong
    Where the stage had no idle slots, nothing is gained, and the simulator says so. Blocks that
    come from the cache are not files, and are left out.

Source
    `spark.sql.files.maxPartitionBytes` in Spark's documentation of SQL performance tuning,
    "Other Configuration Options"; the size of pieces: `FilePartition.maxSplitBytes` in Spark's
    source; splitting of compressed files: Hadoop, `SplittableCompressionCodec`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pyrometer.core import units
from pyrometer.explain.catalogue.parallelism.skew_bytes import spread
from pyrometer.explain.change import Change, Recount
from pyrometer.explain.divided import Divided
from pyrometer.explain.evidence.places import largest, of_stage, of_tasks, slots_at
from pyrometer.explain.evidence.saying import data, shown_by
from pyrometer.explain.evidence.scans.row_groups import SMALLER_GROUPS, Undivided, undivided
from pyrometer.explain.facts import Facts, exactly
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Evidence, Place
from pyrometer.explain.what_if import Extent
from pyrometer.simulation.measured import Floats, Stage
from pyrometer.trial.factors import size_of

DEFAULT = "128m"
OPEN_COST = "4m"
ACHIEVED = (0.7, 1.0)
"""Smaller pieces are never cut as evenly as the simulator cuts them, and columns of a format that
can be split are cheaper to read, if anything."""


def _size(facts: Facts, name: str, default: str) -> float:
    text = facts.setting(name, default) or default
    try:
        return float(size_of(name, text.lower().removesuffix("b")))
    except Exception:  # a setting that says no size is not a reason to say nothing
        return float(size_of(name, default))


def piece(facts: Facts, read_bytes: float, files: int) -> float:
    """Give the largest piece of so many files that Spark's scan gives to one task, in bytes."""
    most = _size(facts, "spark.sql.files.maxPartitionBytes", DEFAULT)
    least = _size(facts, "spark.sql.files.openCostInBytes", OPEN_COST)
    wanted = facts.setting("spark.sql.files.minPartitionNum", "") or ""
    number = int(wanted) if wanted.isdigit() and int(wanted) else max(1, facts.slots)
    return min(most, max(least, (read_bytes + files * least) / number))


def _from_files(facts: Facts) -> dict[int, bool]:
    """Stages that read files, and nothing from a cache or a shuffle: whether by a scan of SQL."""
    if facts.measured is None:
        return {}
    rows = facts.tables.query(
        "SELECT stage_id, coalesce(stage_attempt, 0), contains(rdd_names, 'FileScanRDD')"
        " FROM stages WHERE app_index = $1"
        " AND regexp_matches(rdd_names, 'HadoopRDD|FileScanRDD|\"/|\"[a-z0-9]+:/')",
        [facts.measured.app_index],
    )
    found = {facts.number(stage, attempt): bool(scan) for stage, attempt, scan in rows}
    return {number: scan for number, scan in found.items() if number is not None}


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    few_groups = undivided(facts)
    for one in few_groups:
        yield float(one.size), _of_groups(facts, one)
    known = {one.stage.number for one in few_groups}
    for weight, stage, suspect in _of_files(facts):
        if stage.number not in known:
            yield weight, suspect


def _of_groups(facts: Facts, one: Undivided) -> Suspect:
    time = facts.tasks_of(one.stage.number).duration_ns
    link = f"/sql/{one.plan.sql.sql_id}/{one.node.node_id}"
    return Suspect(
        place=of_stage(one.stage, "data").model_copy(
            update={
                "sql_id": one.plan.sql.sql_id, "node_id": one.node.node_id,
                "operator": one.node.name.strip(),
            }
        ),
        mechanism=(
            f"{units.counted(one.files, 'file')} of {units.size(one.size)}"
            f" {'was' if one.files == 1 else 'in all were'} cut into pieces for"
            f" {units.counted(one.tasks, 'task')}, of which {one.with_rows} read all rows: a row"
            " group is read by one task."
        ),
        change=(spread(facts, one.stage, time),),
        extent=Extent(n=one.tasks).times(*ACHIEVED),
        evidence=[
            of_tasks("tasks that read a row", float(one.with_rows), "count",
                     "count(*) FILTER (input_records_count > 0)", one.stage, one.tasks),
            shown_by("files read", float(one.files), "count", "node_metrics",
                     "show --json: sql[].nodes[].metrics", link),
        ],
        remedies=[SMALLER_GROUPS],
    )  # fmt: skip


def _of_files(facts: Facts) -> Iterator[tuple[float, Stage, Suspect]]:
    if not facts.tasks.known("input_bytes"):
        return
    files = _from_files(facts)
    block = _size(facts, "spark.sql.files.maxPartitionBytes", DEFAULT)
    for stage in facts.stages:
        if stage.number not in files or not stage.tasks_count:
            continue
        amount = np.nan_to_num(facts.tasks_of(stage.number)["input_bytes"])
        # Files are at most as many as tasks that could not be cut.
        scan = files[stage.number]
        size = piece(facts, float(amount.sum()), amount.size) if scan else block
        pieces = float(np.maximum(1, np.ceil(amount / size)).sum())
        if pieces <= amount.size:
            continue
        change = _divided(facts, stage, amount, size)
        ratio = pieces / amount.size
        sql = f"stage_id = {stage.stage_id} AND stage_attempt = {stage.attempt}"
        yield float(amount.sum()), stage, Suspect(
            place=Place(layer="data", stage_id=stage.stage_id, stage_attempt=stage.attempt,
                        stages_count=1, source=stage.called),
            mechanism=(
                f"{_tasks(amount)}, where pieces of {units.size(size)} would make"
                f" {pieces:.0f} tasks for {units.counted(facts.slots, 'slot')}."
            ),
            change=change or (Recount({stage.number: ratio}),),
            extent=Extent(n=int(amount.size)).times(*ACHIEVED),
            evidence=[
                Evidence(what="most that a task read", unit="bytes", table="tasks",
                         estimate=exactly(float(amount.max()), amount.size),
                         link=f"/stage/{stage.stage_id}/{stage.attempt}",
                         query=f"SELECT max(input_bytes) FROM tasks WHERE {sql}"),
            ],
            remedies=[
                data("write the files so that they can be split",
                          'df.write.option("compression", "gzip").csv(path)',
                          "df.write.parquet(path)"),
            ],
        )  # fmt: skip


def _tasks(amount: Floats) -> str:
    total = units.size(float(amount.sum()))
    if amount.size == 1:
        return f"1 task read {total}"
    return f"{amount.size} tasks read {total}, the largest {units.size(float(amount.max()))} alone"


def _divided(facts: Facts, stage: Stage, amount: Floats, size: float) -> Change | None:
    """Share the time of tasks that leave slots idle; the work stays, and so do the cores."""
    slots = slots_at(facts, stage)
    if amount.size >= slots:
        return None
    parts = np.minimum(np.maximum(1.0, np.ceil(amount / size)), slots / amount.size)
    return (Divided({stage.number: 1 - 1 / parts}),)


RULE = Rule(
    code="scan.not-splittable",
    title="Large files are read by one task each",
    cause="input that cannot be split",
    suspects=_suspects,
    explains=("skew.", "partitioning."),
    refute="Write the input in more files: if the stage still lasts as long, it did not lack"
    " tasks.",
)
