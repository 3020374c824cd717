"""Large results are brought to the driver.

What it is
    `collect`, `toPandas`, or an action whose tasks answer with much data: the driver fetches,
    decodes and keeps all of it alone.

Mechanism
    Tasks encode their rows, as Arrow batches or compressed, and serialise these results; the driver
    fetches those too large to be sent inline, while the next tasks run, decodes them after the last
    task, and the query ends then. Aggregated, limited or written by tasks, the rows need none of
    it. Where the program gives rows back to Spark, the stage that reads them has tasks of its own,
    which have to be started as well. Rows that Spark itself collects, to broadcast them, are not
    the program's: `join.broadcast-too-large` judges these.

Evidence
    Bytes of results, time of serialising them in tasks, CPU samples of encoding rows there, the
    time of fetching them after the last task, and from the job to the next query. Of encoding and
    of the driver's time, only what the bytes can have cost counts: at most their size over
    `SLOWEST`; for the driver, at least their size over `FASTEST` (`FASTEST_PYTHON` where a line of
    Python collects, and `ROW_NS` for each row that becomes an object there). Where the program in
    Python was sampled, the time in which it took rows in is known instead. Rows count as given
    back where a later query reads exactly as many from the program; of its tasks, what each needs
    whatever it reads counts, for all tasks beyond as many as made the rows.

Remedy
    Aggregate first, or write instead of collecting; for pandas, use Arrow (the default since Spark
    4.2).

When it is wrong
    The result is needed whole, and is as small as it can be. Rows that are written instead are
    encoded, too, for files.

Source
    `TaskResultGetter` of Spark, which fetches in threads of its own; Spark's guide "PySpark Usage
    Guide for Pandas with Apache Arrow".
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pyrometer.accounts.plan_schema import Node
from pyrometer.core import units
from pyrometer.explain.change import Change, Less, LessGap
from pyrometer.explain.evidence.driver_time import (
    JobTime,
    Stretch,
    jobs_of,
    names_a_line,
    nodes_of,
    stretches,
)
from pyrometer.explain.evidence.driver_work import works
from pyrometer.explain.evidence.places import largest, link, of_stage, of_tasks, slots_at
from pyrometer.explain.evidence.plan_nodes import Plan, metric, plans, plans_by_id, rows_out
from pyrometer.explain.evidence.saying import code, shown_by
from pyrometer.explain.evidence.stack_shares import Shares, through
from pyrometer.explain.evidence.task_costs import Fixed, joined
from pyrometer.explain.facts import Facts, once
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Remedy
from pyrometer.explain.what_if import Extent
from pyrometer.simulation.measured import Floats, Stage
from pyrometer.statistics.shares import Z, wilson

SLOWEST, FASTEST, FASTEST_PYTHON = 2e6, 1e9, 40e6
"""Bytes that a driver decodes in a second: rows pickled to Python, and rows copied. Not measured;
assumed."""
ROW_NS = 1000.0
"""Of the driver's time for each row that Python collects, at least: it unpickled rows of one column
in 1.1 to 1.4 µs each, of ten in 2.2 to 2.5 (three times 200 000 each, 2026-11-27); that the JVM
pickled them before is not counted."""
_OBJECTS = re.compile(r"^(collect|collectAsMap|toLocalIterator|take|head) at \S+\.py:")
"""Lines of Python that make an object of each row."""
_ARROW = "spark.sql.execution.arrow.pyspark.enabled"
_GIVEN = re.compile(r"^(LocalTableScan|Scan ExistingRDD)")
"""What reads rows that the program gave."""
_ENCODES = (
    r"ArrowConverters\$ArrowBatch\w*Iterator|SparkPlan[.].*getByteArrayRdd"
    r"|SerDeUtil\$AutoBatchedPickler"
)
_MAKES = (
    r"GeneratedClass|WholeStageCodegen|EvaluatorFactory|Exec[.$]|FileScanRDD|DataSourceRDD"
    r"|ShuffledRowRDD|AggregateIterator|RowSorter|InMemoryRelation|api[.]python[.](Base|Python)"
)
"""Frames of what encodes rows for the driver, and of what makes the rows that it asks for."""


@dataclass(frozen=True)
class Result:
    """What the results of a stage cost: its tasks, and the driver up to `gap_ns` from `start`.

    Of the tasks' time `encoded_ns` is known by samples: all but `unsure_ns` of it is sure.
    `moved_ns` is what the log has of fetching and serialising, beside other tasks or not.
    """

    stage: Stage
    size: float
    took: Floats
    encoded_ns: float
    unsure_ns: float
    start: float
    gap_ns: float
    least_ns: float
    moved_ns: float

    @property
    def total_ns(self) -> float:
        """Tasks and driver."""
        return float(self.took.sum()) + self.gap_ns


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    lines: dict[str, list[Result]] = defaultdict(list)
    for one in _results(facts):
        # A line that fetches part by part has a job for each.
        name = one.stage.name or ""
        known = name and names_a_line(name)
        lines[name if known else f"{one.stage.stage_id}"].append(one)
    for mine in lines.values():
        yield sum(one.total_ns for one in mine), _suspect(facts, mine)


def _results(facts: Facts) -> Iterator[Result]:
    tasks = facts.tasks
    if facts.measured is None or not tasks.known("result_size_bytes"):
        return
    every = np.minimum(np.nan_to_num(tasks["result_serialization_time_ns"]), tasks.duration_ns)
    encoding = through(facts, _ENCODES, _MAKES) if facts.has("samples") else None
    sent_on = _sent_on(facts)
    after: dict[int, list[Stretch]] = defaultdict(list)
    for one in stretches(facts):
        if one.kind != "planning" and one.before is not None and one.before.stage is not None:
            after[one.before.stage.number].append(one)
    rows = _rows(facts)
    for stage in facts.stages:
        own = facts.tasks_of(stage.number)
        if not stage.tasks_count or stage.number in sent_on or own.total("output_bytes") > 0:
            continue
        size = own.total("result_size_bytes")
        took = every[facts.place_of(stage.number)]
        encoded, unsure = _encoded(facts, stage.number, encoding, size / SLOWEST * 1e9)
        encoded = np.minimum(encoded, own.duration_ns - took)
        following = after.get(stage.number)
        until = float(following[-1].end) if following else float(stage.complete_ns)
        taken, sure = _taken_in(facts, following or ())
        # What bytes can have cost is a guess: samples know better.
        gap = min(until - stage.ran_ns, max(size / SLOWEST * 1e9, taken))
        fastest = FASTEST_PYTHON if ".py:" in (stage.name or "") else FASTEST
        objects = rows.get(stage.number, 0) if _OBJECTS.match(stage.name or "") else 0
        decoding = max(size / fastest * 1e9, objects * ROW_NS, sure)
        least = min(gap, stage.fetch_ns + decoding)
        moved = own.total("getting_result_time_ns") + float(took.sum())
        found = Result(
            stage, size, took + encoded, float(encoded.sum()), unsure, float(stage.ran_ns), gap,
            least, moved,
        )  # fmt: skip
        if found.total_ns > 0:
            yield found


def _taken_in(facts: Facts, after: Sequence[Stretch]) -> tuple[float, float]:
    """Give how long a program in Python took rows in after a job, and how much of it is sure."""
    did = works(facts, after) or []
    taken, count = sum(one.fetched_ns for one in did), sum(one.fetches_count for one in did)
    return taken, taken * max(0.0, 1 - Z / math.sqrt(count)) if count else 0.0


def _rows(facts: Facts) -> dict[int, int]:
    """Give the rows that the query of a job has as its result, by number of the job's last stage.

    Of a query of several jobs, as where the result is fetched part by part, they are not known.
    """
    known = plans_by_id(facts)
    jobs = [job for job in jobs_of(facts) if job.stage is not None and job.sql_id in known]
    alone = Counter(job.sql_id for job in jobs)
    return {
        job.stage.number: rows
        for job in jobs
        if job.stage is not None and job.sql_id is not None and alone[job.sql_id] == 1
        and (rows := rows_out(known[job.sql_id], known[job.sql_id].sql.nodes[0]))
    }  # fmt: skip


def _given_back(facts: Facts, mine: Sequence[Result]) -> list[tuple[Change, Fixed, int]]:
    """Give the stages that read as many rows from the program as results had, with fewer tasks.

    Returns
    -------
    list of (tuple of Edit, Fixed, int)
        As `joined` gives it, and how many tasks less there are.
    """
    given = _given(facts)
    if not given:
        return []
    known, jobs = plans_by_id(facts), _by_stage(facts)
    found = []
    for one in mine:
        job = jobs.get(one.stage.number)
        first = known.get(job.sql_id) if job is not None and job.sql_id is not None else None
        rows = rows_out(first, first.sql.nodes[0]) if first is not None else None
        if first is None or not rows:
            continue
        wanted = one.stage.tasks_count
        numbers = {
            number
            for plan, node in given.get(rows, ()) if plan.sql.sql_id > first.sql.sql_id
            for number in facts.stages_of(node, plan.sql)
        }  # fmt: skip
        for number in sorted(numbers):
            tasks = facts.tasks_of(number)
            if tasks.count > wanted:
                slots = max(1, slots_at(facts, facts.stages[number]))
                found.append((*joined(tasks, number, wanted, slots), tasks.count - wanted))
    return found


@once
def _by_stage(facts: Facts) -> dict[int, JobTime]:
    """Give the jobs of the window by number of their last stage."""
    return {job.stage.number: job for job in jobs_of(facts) if job.stage is not None}


@once
def _given(facts: Facts) -> dict[int, list[tuple[Plan, Node]]]:
    """Give the nodes that read rows from the program, by their number of rows."""
    given: dict[int, list[tuple[Plan, Node]]] = defaultdict(list)
    for plan in plans(facts):
        for node in plan.sql.nodes:
            if _GIVEN.match(node.name) and (rows := metric(node, "number of output rows")):
                given[rows].append((plan, node))
    return given


def _sent_on(facts: Facts) -> set[int]:
    """Give the stages whose rows Spark itself fetches, to broadcast them."""
    return {
        number
        for plan in plans(facts)
        for node in plan.sql.nodes if node.name == "BroadcastExchange"
        for below in plan.below(node)
        for number in facts.stages_of(below, plan.sql)
    }  # fmt: skip


def _encoded(
    facts: Facts, number: int, encoding: Shares | None, most_ns: float
) -> tuple[Floats, float]:
    """Give what tasks took to encode rows, each, and how much of all of it is not sure."""
    length = facts.tasks_of(number).duration_ns
    hits = encoding.hits.get(number) if encoding is not None else None
    if encoding is None or not hits:
        return np.zeros_like(length), 0.0
    samples = encoding.totals[number]
    taken = hits / samples * facts.cpu_share(number) * length
    whole = float(taken.sum())
    counted = min(whole, most_ns)
    sure = wilson(hits, samples)[0] * samples / hits
    return taken * (counted / whole if whole else 0.0), counted * (1 - sure)


def _suspect(facts: Facts, mine: Sequence[Result]) -> Suspect:
    largest = max(mine, key=lambda one: one.total_ns)
    stage, size = largest.stage, sum(one.size for one in mine)
    took, gap = sum(float(one.took.sum()) for one in mine), sum(one.gap_ns for one in mine)
    back = _given_back(facts, mine)
    most, middle, least = (
        sum(getattr(each, side) * less for _, each, less in back)
        for side in ("high", "value", "low")
    )
    low = took + sum(one.least_ns - one.unsure_ns for one in mine)
    value, whole = (took + gap + low) / 2, took + gap + most
    again = (
        f" As many rows went back to Spark, in"
        f" {units.counted(sum(less for *_, less in back), 'more task')}."
        if back else ""
    )  # fmt: skip
    count = sum(facts.tasks_of(one.stage.number).count for one in mine)
    jobs = f" in {units.counted(len(mine), 'job')} of the line" if len(mine) > 1 else ""
    after = "after them" if len(mine) > 1 else "after the last job"
    spans = [(one.start, one.start + one.gap_ns) for one in mine if one.gap_ns > 0]
    return Suspect(
        place=of_stage(stage, "driver", len(mine)),
        mechanism=(
            f"{units.size(size)} of results went to the driver{jobs}: tasks spent"
            f" {units.duration(took)} on them, and the driver up to {units.duration(gap)} {after}."
            f"{again}"
        ),
        change=(
            Less("result", {one.stage.number: one.took for one in mine}),
            LessGap(nodes_of(facts, spans), frozenset(one.stage.number for one in mine)),
            *(edit for change, *_ in back for edit in change),
        ),
        extent=Extent((value + middle) / whole, (low + least) / whole, 1.0, count),
        evidence=[
            of_tasks("results of its largest stage", largest.size, "bytes",
                     "sum(result_size_bytes)", stage, count),
            of_tasks("time of fetching and serialising there",
                     largest.moved_ns, "ns",
                     "sum(coalesce(finish_wall_ns - getting_result_wall_ns, 0)"
                     " + coalesce(result_serialization_time_ns, 0))", stage, count),
            *([shown_by("time of encoding rows there, by CPU samples", largest.encoded_ns, "ns",
                        "samples", "show --json: stages", link(stage))]
              if largest.encoded_ns else []),
        ],
        remedies=[
            *_by_arrow(facts),
            code("aggregate, or write, where the data are",
                 "rows = df.collect()",
                 "df.write.parquet(path)"),
        ],
    )  # fmt: skip


def _by_arrow(facts: Facts) -> list[Remedy]:
    """Have Arrow send columns, where it is not on already: by default since Spark 4.2."""
    if facts.is_on(_ARROW, default=facts.release >= (4, 2)):
        return []
    text = "where it is toPandas: send columns, not rows"
    return [Remedy(kind="factor", factor=_ARROW, level="true", text=text)]


RULE = Rule(
    code="driver.collect",
    title="Large results go to the driver",
    cause="collect",
    suspects=_suspects,
    explains=("driver.gap",),
    refute="Count the rows instead of collecting them: if it takes just as long, it is not the"
    " result.",
)
