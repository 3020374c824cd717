"""Large files are read by one task each, because they cannot be split.

What it is
    A gzip file can only be read from its beginning; a Parquet file is read by row groups, an
    ORC file by stripes. However many cores are free, one task reads all of it.

Mechanism
    Spark cuts what can be cut into pieces of at most `spark.sql.files.maxPartitionBytes` (of
    RDDs: a block). A task that read more had something that could not be cut. The simulator
    schedules the stage with its bytes in pieces of that size.

Evidence
    Bytes read by the largest task beside the largest piece that Spark would cut; tasks of the
    stage.

Remedy
    Write the data in a format that can be split (Parquet, or bzip2 and zstd for text), or in
    more, smaller files; read once, repartition where much follows.

When it is wrong
    Where the stage had no idle slots, nothing is gained, and the simulator says so. Blocks that
    come from the cache are not files, and are left out.

Source
    `spark.sql.files.maxPartitionBytes` in Spark's documentation of SQL performance tuning,
    "Other Configuration Options"; splitting of compressed files: Hadoop,
    `SplittableCompressionCodec`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pyrometer.core import units
from pyrometer.explain.change import Recount
from pyrometer.explain.facts import Facts, exactly
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Evidence, Place, Remedy
from pyrometer.explain.what_if import Extent
from pyrometer.trial.factors import size_of

DEFAULT = "128m"
ACHIEVED = (0.7, 1.0)
"""Smaller pieces are never cut as evenly as the simulator cuts them, and columns of a format that
can be split are cheaper to read, if anything."""
MOST = 5


def _piece(facts: Facts) -> float:
    text = facts.setting("spark.sql.files.maxPartitionBytes", DEFAULT) or DEFAULT
    try:
        return float(size_of("spark.sql.files.maxPartitionBytes", text.lower().removesuffix("b")))
    except Exception:  # a setting that says no size is not a reason to say nothing
        return float(128 << 20)


def _from_files(facts: Facts) -> set[int]:
    """Numbers of stages that read files, and nothing from a cache or a shuffle."""
    rows = facts.tables.query(
        "SELECT stage_id, coalesce(stage_attempt, 0), rdd_names FROM stages"
        " WHERE regexp_matches(rdd_names, 'HadoopRDD|FileScanRDD|\"/|\"[a-z0-9]+:/')"
    )
    found = {facts.number(stage, attempt) for stage, attempt, _ in rows}
    return {number for number in found if number is not None}


def _suspects(facts: Facts) -> Iterator[Suspect]:
    if not facts.tasks.known("input_bytes"):
        return
    piece, files = _piece(facts), _from_files(facts)
    found = []
    for stage in facts.stages:
        if stage.number not in files or not stage.tasks_count:
            continue
        amount = np.nan_to_num(facts.tasks_of(stage.number)["input_bytes"])
        pieces = float(np.maximum(1, np.ceil(amount / piece)).sum())
        if pieces > amount.size:
            found.append((pieces / amount.size, stage, amount, pieces))
    found.sort(key=lambda one: -float(one[2].sum()))
    for ratio, stage, amount, pieces in found[:MOST]:
        largest = float(amount.max())
        sql = f"stage_id = {stage.stage_id} AND stage_attempt = {stage.attempt}"
        yield Suspect(
            place=Place(layer="data", stage_id=stage.stage_id, stage_attempt=stage.attempt,
                        stages_count=1, source=stage.name),
            mechanism=(
                f"{amount.size} tasks read {units.size(float(amount.sum()))}, the largest"
                f" {units.size(largest)} alone, where pieces of {units.size(piece)} would make"
                f" {pieces:.0f} tasks for {facts.slots} slots."
            ),
            change=(Recount({stage.number: ratio}),),
            extent=Extent(n=int(amount.size)).times(*ACHIEVED),
            evidence=[
                Evidence(what="most that a task read", estimate=exactly(largest, amount.size),
                         unit="bytes", table="tasks",
                         link=f"/stage/{stage.stage_id}/{stage.attempt}",
                         query=f"SELECT max(input_bytes) FROM tasks WHERE {sql}"),
            ],
            remedies=[
                Remedy(kind="data", text="write the files so that they can be split",
                       before='df.write.option("compression", "gzip").csv(path)',
                       after="df.write.parquet(path)"),
            ],
        )  # fmt: skip


RULE = Rule(
    code="scan.not-splittable",
    title="Large files are read by one task each",
    cause="input that cannot be split",
    suspects=_suspects,
    explains=("skew.", "partitioning."),
    refute="Write the input in more files: if the stage lasts as long, slots were not lacking.",
)
