"""A job reads input only to learn its schema.

What it is
    `spark.read.csv(..., inferSchema=True)`, `spark.read.json(path)` and schema merging of Parquet
    read files before the query that they are for reads them again.

Mechanism
    With the schema given, the job is not run. Its tasks' time is taken away whole, and with it the
    driver's time before its stage.

Evidence
    Stages named after a reader (`json at`, `csv at`, `load at`) whose job reads input, shuffles
    nothing and writes nothing.

Remedy
    Give the schema: `.schema(...)`, once and for all, or a table whose catalogue has it.

When it is wrong
    Where the call is a writer's of the same name that read its input and wrote nothing; the schema
    that is inferred may change with the data, and a fixed one then drops columns.

Source
    `inferSchema`, `samplingRatio`, `mergeSchema` in Spark's documentation of data sources.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pyrometer.core import units
from pyrometer.explain.change import Less, LessGap
from pyrometer.explain.facts import Facts, exactly
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Evidence, Place, Remedy
from pyrometer.explain.what_if import Extent

READERS = ("json at ", "csv at ", "xml at ", "load at ", "parquet at ", "orc at ", "table at ")
IN_SQL = "sql at "
"""A statement that names files: the job that infers reads them as text."""
ACHIEVED = (0.9, 1.0)
"""Share that goes; low: the first use of a file system and of its classes moves to the next job."""
MOST = 5


def _suspects(facts: Facts) -> Iterator[Suspect]:
    as_text = _reading_text(facts)
    jobs: dict[int | None, list[int]] = {}
    for stage in facts.stages:
        jobs.setdefault(stage.job_id, []).append(stage.number)
    found = []
    for numbers in jobs.values():
        stage = facts.stages[numbers[-1]]
        name = stage.name or ""
        in_sql = name.startswith(IN_SQL) and stage.number in as_text
        if len(numbers) > 1 or not (in_sql or name.startswith(READERS)):
            continue
        tasks = facts.tasks_of(stage.number)
        moved = sum(
            tasks.total(name)
            for name in (
                "output_bytes", "shuffle_written_bytes", "shuffle_read_local_bytes",
                "shuffle_read_remote_bytes",
            )
        )  # fmt: skip
        if tasks.count and not moved and tasks.total("input_bytes") > 0:
            found.append((float(tasks.duration_ns.sum()), stage, tasks))
    found.sort(key=lambda one: -one[0])
    for total, stage, tasks in found[:MOST]:
        read = tasks.total("input_bytes")
        sql = f"stage_id = {stage.stage_id} AND stage_attempt = {stage.attempt}"
        until = float(stage.submit_ns)
        begin = float(np.nanmin(tasks["launch_wall_ns"]))
        yield Suspect(
            place=Place(layer="stage", stage_id=stage.stage_id, stage_attempt=stage.attempt,
                        stages_count=1, source=stage.called),
            mechanism=(
                f"The job of '{stage.called}' read {units.size(read)} in {units.duration(total)} of"
                f" {units.counted(tasks.count, 'task')}, and gave nothing but a schema."
            ),
            change=(
                Less("inference", {stage.number: 1.0}),
                LessGap(
                    {stage.number: max(0.0, begin - until)}, frozenset({stage.number}), "schema"
                ),
            ),
            extent=Extent(n=tasks.count).times(*ACHIEVED),
            evidence=[
                Evidence(what="read to infer a schema", estimate=exactly(read, tasks.count),
                         unit="bytes", table="tasks",
                         link=f"/stage/{stage.stage_id}/{stage.attempt}",
                         query=f"SELECT sum(input_bytes) FROM tasks WHERE {sql}"),
            ],
            remedies=[
                Remedy(kind="code", text="give the schema",
                       before="spark.read.json(path)",
                       after='spark.read.schema("id BIGINT, name STRING").json(path)'),
            ],
        )  # fmt: skip


def _reading_text(facts: Facts) -> set[int]:
    """Numbers of stages that scan files as text, or as what their format does not say."""
    rows = facts.tables.query(
        "SELECT stage_id, coalesce(stage_attempt, 0) FROM stages"
        " WHERE regexp_matches(rdd_names, 'Scan (text|binaryFile)') AND contains(rdd_names,"
        " 'mapPartitions')"
    )
    found = {facts.number(stage, attempt) for stage, attempt in rows}
    return {number for number in found if number is not None}


RULE = Rule(
    code="scan.schema-inferred",
    title="A job reads input only to infer its schema",
    cause="schema inference",
    suspects=_suspects,
    refute="Give the schema: the job must be gone, and the next one no longer than it was.",
)
