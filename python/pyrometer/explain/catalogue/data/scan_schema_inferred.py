"""A job reads input only to learn its schema.

What it is
    `spark.read.csv(..., inferSchema=True)`, `spark.read.json(path)` and schema merging of Parquet
    read files first, and the query that needs them reads them again; so do
    `spark.catalog.createTable(...)` and `CREATE TABLE` over files of text without a schema.
    `spark.read.json` of a column or an RDD of texts, and `createDataFrame(rdd, samplingRatio=...)`,
    compute these rows for the schema, and again for the query.

Mechanism
    With the schema given, the job is not run. The simulator removes all the time of its last
    stage's tasks, and with it the driver's time before it. What earlier stages shuffled stays:
    Spark keeps it, and the query needs it.

Evidence
    Stages named after a reader (`json at`, `jsonFromDataFrame at`, `csv at`, `load at`,
    `createDataFrame at`) or after `createTable` of the catalogue, whose job reads input, shuffles
    nothing and writes nothing. Where the stage's call site is in Spark's reader, the job may have
    stages before it, and rows that come from no file. Of statements (`sql at`), those that read
    files as text.

Remedy
    Give the schema: `.schema(...)`, once and for all, or a table whose catalogue has it.

When it is wrong
    Where the call is that of a writer of the same name that read its input and wrote nothing, and
    the log has no call sites. The inferred schema may change with the data, and a fixed one then
    drops columns.

Source
    `inferSchema`, `samplingRatio`, `mergeSchema` in Spark's documentation of data sources.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from pyrometer.core import units
from pyrometer.explain.change import Less, LessGap
from pyrometer.explain.evidence.places import largest, of_tasks
from pyrometer.explain.evidence.saying import code
from pyrometer.explain.evidence.task_costs import read_bytes
from pyrometer.explain.facts import Facts, TaskColumns
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Place, Remedy
from pyrometer.explain.what_if import Extent
from pyrometer.simulation.measured import Stage

READER = re.compile(
    r"(json|csv|xml|load|parquet|orc|table|createDataFrame|toDF|createTable|createExternalTable)"
    r"(FromDataFrame)? at "
)
IN_SQL = "sql at "
"""A statement that names files: the job that infers reads them as text."""
ACHIEVED = (0.9, 1.0)
"""Share that goes; low: the first use of a file system and of its classes moves to the next job."""
_CALLED = """
SELECT stage_id, coalesce(stage_attempt, 0),
  regexp_matches(details, 'DataFrameReader[.]|[.]PythonSQLUtils[.]\\w+FromDataFrame'
    '|[.]Catalog(Impl)?[.]create(External)?Table'),
  regexp_matches(details, 'DataFrameWriter|DataStreamWriter'),
  regexp_matches(rdd_names, 'Scan (text|binaryFile)') AND contains(rdd_names, 'mapPartitions'),
  regexp_matches(rdd_names, '"Scan') AND contains(rdd_names, 'mapPartitions')
FROM stages WHERE app_index = $1
"""


@dataclass(frozen=True)
class Called:
    """What the log says of a stage: who called, and what it computes on partitions of a scan.

    Attributes
    ----------
    reader, writer : bool
        Whether the call site is in Spark's reader, or writer, of data sources; a catalogue that
        makes a table of files reads them.
    of_text, of_scan : bool
        Whether it goes over files as text (or as what their format does not say), or over rows of
        any scan, an RDD's included.
    """

    reader: bool = False
    writer: bool = False
    of_text: bool = False
    of_scan: bool = False


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    called = _called(facts)
    jobs: dict[int | None, list[Stage]] = {}
    for stage in facts.stages:
        jobs.setdefault(stage.job_id, []).append(stage)
    for stages in jobs.values():
        stage = max(stages, key=lambda one: (one.stage_id, one.attempt))
        how = called.get(stage.number, Called())
        tasks = facts.tasks_of(stage.number)
        if _infers(stage, how, tasks, alone=len(stages) == 1):
            total = float(tasks.duration_ns.sum())
            yield total, _suspect(stage, tasks, total)


def _called(facts: Facts) -> Mapping[int, Called]:
    if facts.measured is None:
        return {}
    found = {}
    for stage_id, attempt, *how in facts.tables.query(_CALLED, [facts.measured.app_index]):
        number = facts.number(stage_id, attempt)
        if number is not None:
            found[number] = Called(*map(bool, how))
    return found


def _infers(stage: Stage, how: Called, tasks: TaskColumns, *, alone: bool) -> bool:
    """Whether the last stage of a job only learns a schema."""
    name = stage.name or ""
    named = READER.match(name) or (name.startswith(IN_SQL) and how.of_text)
    if not named or how.writer or not tasks.count:
        return False
    written = tasks.total("output_bytes") + tasks.total("shuffle_written_bytes")
    read, input_bytes = float(read_bytes(tasks).sum()), tasks.total("input_bytes")
    if written or (read > input_bytes and not how.reader):
        return False
    if not alone and not how.reader:
        return False
    # Jobs that list files, or read footers, have no scan.
    return read > 0 or (how.reader and how.of_scan)


def _suspect(stage: Stage, tasks: TaskColumns, total: float) -> Suspect:
    read = float(read_bytes(tasks).sum())
    names = ("input_bytes", "shuffle_read_local_bytes", "shuffle_read_remote_bytes")
    columns = " + ".join(f"coalesce({name}, 0)" for name in names)
    until = float(stage.submit_ns)
    begin = float(np.nanmin(tasks["launch_wall_ns"]))
    what = f"read {units.size(read)}" if read else "went over its rows"
    return Suspect(
        place=Place(layer="stage", stage_id=stage.stage_id, stage_attempt=stage.attempt,
                    stages_count=1, source=stage.called),
        mechanism=(
            f"The job of '{stage.called}' {what} in {units.duration(total)} of"
            f" {units.counted(tasks.count, 'task')}, and gave nothing but a schema."
        ),
        change=(
            Less("inference", {stage.number: 1.0}),
            LessGap({stage.number: max(0.0, begin - until)}, frozenset({stage.number}), "schema"),
        ),
        extent=Extent(n=tasks.count).times(*ACHIEVED),
        evidence=[
            of_tasks("read to infer a schema", read, "bytes", f"sum({columns})", stage,
                     tasks.count),
        ],
        remedies=[_remedy(stage.name or "")],
    )  # fmt: skip


def _remedy(name: str) -> Remedy:
    schema = '"id BIGINT, name STRING"'
    if name.startswith(("createDataFrame", "toDF")):
        before, after = "(rdd, samplingRatio=0.5)", f"(rdd, {schema})"
        return code("give the schema",
                    f"spark.createDataFrame{before}",
                    f"spark.createDataFrame{after}")  # fmt: skip
    found = READER.match(name)
    if name.startswith(("createTable", "createExternalTable")):
        call = "spark.catalog.createTable(name, path, source"
        return code("give the schema",
                    f"{call})",
                    f"{call}, schema)")  # fmt: skip
    reader = found[1] if found and found[1] != "table" else "json"
    of = "texts" if "FromDataFrame" in name else "path"
    return code("give the schema",
                f"spark.read.{reader}({of})",
                f"spark.read.schema({schema}).{reader}({of})")  # fmt: skip


RULE = Rule(
    code="scan.schema-inferred",
    title="A job reads input only to infer its schema",
    cause="schema inference",
    suspects=_suspects,
    refute="Give the schema: the job must be gone, and the next one must take no longer than"
    " before.",
)
