"""The application submits query after query of the same kind.

What it is
    A loop over keys, files or days, with an action in its body, where one query over all of them
    would do. Or a stream that takes what is already there in many small batches.

Mechanism
    Each round is planned, started and ended by the driver alone, and its few tasks leave slots idle
    at its end. One query is planned, submitted and started once, and what every round reads is read
    and decoded once. What is done with the rows of a round stays: where rounds read the same rows,
    that is taken to cost, for each row that passes what differs between rounds, as much as reading
    it; where they read different rows, everything stays except what each task needs whatever it
    reads. A batch of a stream is such a round, with logs of offsets and commits in addition.

Evidence
    Queries of one line of code, or, where Spark knows no line, with plans that differ only in
    values or that each give one row of the same input, one after another; the driver's time before
    and within each but the first while no task ran, and the lengths of its tasks beside what they
    read. Before a round, only what Spark itself may need counts; beyond that, the program does
    something else, which is `driver.gap`. The interval goes from what each job costs alone to all
    that rounds read again. Batches of a stream count where each takes the same number of files or
    rows, which only a limit brings about, and starts as soon as Spark can: pauses are alike, and
    starts vary with the lengths of batches.

Remedy
    One query that groups by what the loop iterates over; or several threads, each with its jobs.
    For a stream: a limit ten times as high, which is what is predicted, or none.

When it is wrong
    Each round needs the result of the one before. The very same query again and again is
    `recompute.subtree`, or a benchmark; a program that waits between its rounds for longer than
    they take has nothing more to do then. Neither is judged, nor is a stream that waits for data or
    its turn, or that takes all that has come. A limit may be there for the memory that a batch
    needs; and where late rows are dropped, or results are updated with each batch, other batches
    give other rows.

Source
    Spark's "Job Scheduling", "Scheduling Within an Application". What Spark may need between two
    queries was measured on 22 TPC-H queries (one run on 2026-11-25: 0.26 s at most).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pyrometer.core import units
from pyrometer.explain.change import Less, LessGap
from pyrometer.explain.evidence.driver_time import (
    ORDINARY_BETWEEN_NS,
    is_prompt,
    nodes_of,
    of_jobs,
)
from pyrometer.explain.evidence.loop_work import Work, work_of
from pyrometer.explain.evidence.loops import Loop, Round, loops
from pyrometer.explain.evidence.micro_batches import limited_streams, runs_queries
from pyrometer.explain.evidence.places import largest
from pyrometer.explain.evidence.saying import code
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Place
from pyrometer.explain.what_if import Extent

Span = tuple[float, float]
LARGER = 10
"""Times the limit of a stream that its remedy asks for."""


@dataclass(frozen=True)
class _Driver:
    """The driver's time of all rounds but the first, while no task ran.

    Attributes
    ----------
    less : dict of int to float
        By node of the graph.
    between_ns, own_ns : float
        Before queries, where the program may have worked too, and within them.
    least : float
        Share of the former that each round has.
    """

    less: dict[int, float]
    between_ns: float
    own_ns: float
    least: float

    @property
    def ns(self) -> float:
        """All of it."""
        return self.between_ns + self.own_ns


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    numbers: dict[int, list[int]] = defaultdict(list)
    for stage in facts.stages:
        if stage.job_id is not None:
            numbers[stage.job_id].append(stage.number)
    for loop in loops(facts):
        gone = [one for kind in loop.kinds for one in kind[1:]]
        driver = _driver(facts, loop, gone)
        if driver.less:
            works = [work_of(facts, kind, numbers) for kind in loop.kinds]
            yield driver.ns, _suspect(facts, driver, works, loop)
    for stream in limited_streams(facts, numbers):
        driver = _driver(facts, stream, stream.rounds[1:])
        if driver.less:
            work = work_of(facts, stream.rounds, numbers, True)
            yield driver.ns, _of_stream(facts, driver, work, stream)


def _suspect(facts: Facts, driver: _Driver, works: Sequence[Work], loop: Loop) -> Suspect:
    first = loop.kinds[0][0]
    n, jobs = len(loop.kinds[0]), sum(len(one.jobs) for one in loop.rounds)
    if any(job.line for job in first.jobs):
        which = f"of the line {first.source}"
    elif first.gives_one_row:
        which = f"that each give one row of the same input ({first.source})"
    else:
        which = f"whose plans differ in values only ({first.source})"
    more = f", {units.counted(jobs, 'job')} in all," if jobs > n else ""
    same = " Each round read as many rows." if any(one.is_same for one in works) else ""
    return Suspect(
        place=Place(layer="driver", source=first.source),
        mechanism=(
            f"{units.counted(n, 'round')} {which}{more} ran one after another; for"
            f" {units.duration(driver.ns)} of it, {units.duration(driver.ns / (n - 1))} each, no"
            f" task ran and only the driver worked on them.{same}"
        ),
        change=(
            LessGap(driver.less),
            Less("round", {n: one.high for one in works for n in one.stages}),
        ),
        extent=_extent(driver, works, n, is_prompt(facts)),
        evidence=[
            of_jobs("time of the driver without a task", driver.ns, n,
                    "SELECT job_id, submit_wall_ns, end_wall_ns FROM jobs ORDER BY job_id",
                    (first.begin, loop.rounds[-1].end)),
        ],
        remedies=[
            code("one query for all rounds",
                 "for name in names:\n    df.where(F.col(name).isNull()).count()",
                 "df.agg(*(F.count_if(F.col(name).isNull()) for name in names)).first()")
            if first.gives_one_row else
            code("one query for all rounds",
                 'for day in days:\n    df.filter(df.day == day).count()',
                 'df.filter(df.day.isin(days)).groupBy("day").count()'),
        ],
    )  # fmt: skip


def _of_stream(facts: Facts, driver: _Driver, work: Work, stream: Loop) -> Suspect:
    """Suspect the limit of a stream: all its batches but the first could be a part of others.

    Between batches only Spark works; within them the program does, too, where it runs queries.
    """
    batches = stream.rounds
    n = len(batches)
    whole = driver.ns + sum(work.stages.values()) * work.high
    less = (n - math.ceil(n / LARGER)) / (n - 1)
    own_ns = driver.own_ns if not runs_queries(batches) else 0.0
    value = (driver.ns + own_ns + driver.between_ns) / 2 + sum(work.stages.values()) * work.value
    low = driver.between_ns + own_ns + sum(work.stages.values()) * work.low
    return Suspect(
        place=Place(layer="driver", source=batches[0].source),
        mechanism=(
            f"{units.count(n)} micro-batches of a stream, of equal size by a"
            f" limit, ran one right after another; for {units.duration(driver.ns)} of it,"
            f" {units.duration(driver.ns / (n - 1))} each, no task ran and only the driver worked"
            " on them."
        ),
        change=(
            LessGap(driver.less),
            Less("round", dict.fromkeys(work.stages, work.high)),
        ),
        extent=Extent(value / whole * less, low / whole * less, 1.0, n),
        evidence=[
            of_jobs("time of the driver without a task", driver.ns, n,
                    "SELECT job_id, submit_wall_ns, end_wall_ns FROM jobs ORDER BY job_id",
                    (batches[0].begin, batches[-1].end)),
        ],
        remedies=[
            code(f"a limit {LARGER} times as high, or none",
                 'spark.readStream.option("maxFilesPerTrigger", 1)',
                 f'spark.readStream.option("maxFilesPerTrigger", {LARGER})'),
        ],
    )  # fmt: skip


def _driver(facts: Facts, loop: Loop, gone: Sequence[Round]) -> _Driver:
    before = {
        one.number: (begin, min(float(one.begin), begin + ORDINARY_BETWEEN_NS))
        for one in gone
        if (begin := float(loop.before.get(one.number, one.begin))) < one.begin
    }
    within = _apart([(float(one.begin), float(one.end)) for one in gone])
    between = nodes_of(facts, _apart(before.values()))
    less = nodes_of(facts, within)
    own_ns = sum(less.values())
    for node, ns in between.items():
        less[node] = less.get(node, 0.0) + ns
    pauses = [before[one.number][1] - before[one.number][0] if one.number in before else 0.0
              for one in gone]  # fmt: skip
    total = sum(pauses)
    least = min(pauses) * len(pauses) / total if total > 0 else 0.0
    return _Driver(less, sum(between.values()), own_ns, least)


def _apart(spans: Iterable[Span]) -> list[Span]:
    """Join spans that overlap."""
    found: list[Span] = []
    for since, until in sorted(spans):
        if found and since < found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], until)
        else:
            found.append((since, until))
    return found


def _extent(driver: _Driver, works: Sequence[Work], n: int, is_typed: bool) -> Extent:
    """Say how much of the driver's time, and of that of the tasks, goes.

    Of the driver's time within queries all does, except for one more round at the least: the one
    query may take longer to plan than the first did. Of its time between queries at least what each
    round has, as the program may have worked, too. At a prompt it may be a person that asks again.
    """
    tasks = [(sum(one.stages.values()), one) for one in works]
    whole = driver.ns + sum(ns * one.high for ns, one in tasks)
    if whole <= 0:
        return Extent(0.0, 0.0, 0.0, n)
    value = driver.between_ns * (1 + driver.least) / 2 + driver.own_ns
    value += sum(ns * one.value for ns, one in tasks)
    low = driver.between_ns * driver.least + driver.own_ns * (n - 2) / (n - 1)
    low += sum(ns * one.low for ns, one in tasks)
    if is_typed:
        return Extent(value / whole / 2, 0.0, 1.0, n)
    return Extent(value / whole, low / whole, 1.0, n)


RULE = Rule(
    code="driver.many-small-jobs",
    title="A loop submits many small jobs",
    cause="driver-bound loop",
    suspects=_suspects,
    explains=("driver.gap", "driver.planning", "driver.commit", "driver.collect"),
    refute="Write the loop as one query: if it takes just as long, the time is the tasks'.",
)
