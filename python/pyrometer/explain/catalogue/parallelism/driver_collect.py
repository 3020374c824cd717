"""Large results are brought to the driver.

What it is
    `collect`, `toPandas`, or an action whose tasks answer with much data: the driver fetches,
    decodes and keeps all of it alone.

Mechanism
    Tasks serialise their results, the driver fetches those too large to be sent inline, decodes
    them after the last task, and the query ends then. Aggregated, limited or written by tasks,
    the rows need none of it.

Evidence
    Bytes of results, time of fetching and serialising them in tasks, and the time from the last job
    to the next query, of which only what the bytes can have cost counts: at most their size over
    `SLOWEST`, at least over `FASTEST` (`FASTEST_PYTHON` where a line of Python collects).

Remedy
    Aggregate before, write instead of collecting; for pandas, Arrow.

When it is wrong
    The result is needed whole, and is as small as it can be.

Source
    `TaskResultGetter` of Spark; Spark's guide "PySpark Usage Guide for Pandas with Apache Arrow".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from pyrometer.core import units
from pyrometer.explain.change import Less, LessGap
from pyrometer.explain.evidence.driver_time import Stretch, nodes_of, stretches
from pyrometer.explain.evidence.places import MOST_SUSPECTS, of_stage, of_tasks
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Remedy
from pyrometer.explain.what_if import Extent

SLOWEST, FASTEST, FASTEST_PYTHON = 2e6, 1e9, 40e6
"""Bytes that a driver decodes in a second: rows pickled to Python, and rows copied. Not measured;
assumed."""


def _suspects(facts: Facts) -> Iterator[Suspect]:
    tasks = facts.tasks
    if facts.measured is None or not tasks.known("result_size_bytes"):
        return
    fetching = np.nan_to_num(tasks["getting_result_time_ns"])
    after: dict[int, list[Stretch]] = defaultdict(list)
    for one in stretches(facts):
        if one.kind != "planning" and one.before is not None and one.before.stage is not None:
            after[one.before.stage.number].append(one)
    sized = sorted(
        facts.stages, key=lambda one: -facts.tasks_of(one.number).total("result_size_bytes")
    )
    for stage in sized[:MOST_SUSPECTS]:
        own = facts.tasks_of(stage.number)
        if not stage.tasks_count or own.total("output_bytes") > 0:
            continue
        size = own.total("result_size_bytes")
        fetched = fetching[facts.place_of(stage.number)]
        took = np.minimum(
            fetched + np.nan_to_num(own["result_serialization_time_ns"]), own.duration_ns
        )
        gap, least = 0.0, 0.0
        less: dict[int, float] = {}
        if following := after.get(stage.number):
            start = float(following[0].start)
            gap = min(float(following[-1].end) - start, size / SLOWEST * 1e9)
            fastest = FASTEST_PYTHON if ".py:" in (stage.name or "") else FASTEST
            least = min(gap, size / fastest * 1e9)
            less = nodes_of(facts, [(start, start + gap)]) if gap > 0 else {}
        total = float(took.sum()) + gap
        if total <= 0:
            continue
        low = (float(took.sum()) + least) / total
        yield Suspect(
            place=of_stage(stage, "driver"),
            mechanism=(
                f"{units.size(size)} of results went to the driver: tasks spent"
                f" {units.duration(float(took.sum()))} on them, and the driver up to"
                f" {units.duration(gap)} after the last job."
            ),
            change=(Less("result", {stage.number: took}), LessGap(less, frozenset({stage.number}))),
            extent=Extent((1 + low) / 2, low, 1.0, own.count),
            evidence=[
                of_tasks("results", size, "bytes", "sum(result_size_bytes)", stage, own.count),
                of_tasks("time of fetching and serialising", float(took.sum()), "ns",
                         "sum(coalesce(finish_wall_ns - getting_result_wall_ns, 0)"
                         " + result_serialization_time_ns)", stage, own.count),
            ],
            remedies=[
                Remedy(kind="factor", factor="spark.sql.execution.arrow.pyspark.enabled",
                       level="true", text="where it is toPandas: send columns, not rows"),
                Remedy(kind="code", text="aggregate, or write, where the data are",
                       before="rows = df.collect()", after="df.write.parquet(path)"),
            ],
        )  # fmt: skip


RULE = Rule(
    code="driver.collect",
    title="Large results go to the driver",
    cause="collect",
    suspects=_suspects,
    explains=("driver.gap",),
    refute="Count the rows instead of collecting them: if it takes as long, it is not the result.",
)
