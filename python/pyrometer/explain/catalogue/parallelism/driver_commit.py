"""The driver commits what tasks have written, and nothing else runs.

What it is
    After the last task of a write, the driver moves files into place, one after another, and tells
    the catalog. On object stores a move is a copy.

Mechanism
    The query ends when the commit does. The commit's time grows with the number of files; a
    committer that moves them in tasks, or does not move them, leaves little.

Evidence
    Time from the last job of a query that wrote to the end of the query, and the tasks that wrote.

Remedy
    The second algorithm of the file committer (where a failed job may leave files), a committer
    made for the object store, fewer files.

When it is wrong
    The time is the catalog's, or statistics are computed at the end.

Source
    Spark's "Integration with Cloud Infrastructures", recommended committers; Hadoop's
    `mapreduce.fileoutputcommitter.algorithm.version`.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.core import units
from pyrometer.explain.change import LessGap
from pyrometer.explain.evidence.driver_time import nodes_of, of_jobs, stretches
from pyrometer.explain.evidence.places import largest
from pyrometer.explain.evidence.saying import code
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Place, Remedy
from pyrometer.explain.what_if import Extent

ALGORITHM = "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version"


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    ending = [one for one in stretches(facts) if one.kind == "ending" and one.before is not None]
    for one in ending:
        job = one.before
        if job is None or job.stage is None or not job.stage.tasks_count:
            continue
        stage, tasks = job.stage, facts.tasks_of(job.stage.number)
        size = tasks.total("output_bytes")
        # What a job does after its last stage is the commit too: Spark's older file formats.
        less = nodes_of(facts, [(float(min(stage.complete_ns, one.start)), float(one.end))])
        if size <= 0 or not less:
            continue
        took = float(one.end - min(stage.complete_ns, one.start))
        yield took, Suspect(
            place=Place(layer="driver", sql_id=job.sql_id, stage_id=stage.stage_id,
                        stage_attempt=stage.attempt, stages_count=1, source=job.source),
            mechanism=(
                f"The commit took {units.duration(took)} after the last of"
                f" {units.counted(tasks.count, 'task')} had written {units.size(size)}."
            ),
            change=(LessGap(less, what="commit"),),
            # Half: files are moved by tasks instead, on as little as two slots.
            extent=Extent(n=tasks.count).times(0.5, 1.0),
            evidence=[
                of_jobs("from the last task to the end", took, 1,
                        f"SELECT end_wall_ns - {one.end - round(took)} FROM sql_executions WHERE"
                        f" app_index = {stage.app_index} AND sql_id = {job.sql_id}"),
            ],
            remedies=[
                Remedy(kind="factor", factor=ALGORITHM, level="2",
                       text="let tasks move their own files"),
                code("write fewer files",
                     "df.write.partitionBy('day').parquet(path)",
                     "df.repartition('day').write.partitionBy('day').parquet(path)"),
            ],
        )  # fmt: skip


RULE = Rule(
    code="driver.commit",
    title="Committing the output takes long",
    cause="output commit",
    suspects=_suspects,
    refute="Write the same rows into a tenth as many files: if the query still ends as late, it is"
    " not the files.",
)
