"""One line of the application submits job after job.

What it is
    A loop over keys, files or days, with an action in its body, where one query over all of them
    would do.

Mechanism
    Each job is planned, started and ended by the driver alone, and its few tasks leave slots idle
    at its end. Together they are planned and started once, and what every round reads is read
    once; the work of different rows stays, but for what each task needs whatever it reads.

Evidence
    Jobs of the same line, one after another, and the time without a job before each but the first,
    as far as Spark itself may need it; what the program does between them beyond that is
    `driver.gap`. Lines of a program in another language that Spark does not know are not compared.

Remedy
    One query that groups by what the loop goes over; or several threads, each with its jobs.

When it is wrong
    Each round needs the result of the one before.

Source
    Spark's "Job Scheduling", "Scheduling Within an Application".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from pyrometer.core import units
from pyrometer.explain.change import Less, LessGap
from pyrometer.explain.evidence.driver_time import (
    OPAQUE,
    JobTime,
    Stretch,
    is_prompt,
    jobs_of,
    nodes_of,
    of_jobs,
    stretches,
)
from pyrometer.explain.evidence.places import MOST_SUSPECTS
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Place, Remedy
from pyrometer.explain.what_if import Extent

LEAST_QUANTILE = 0.1
"""Of the tasks of rounds that read other rows: what the shortest of them need, all need."""
MOST_FIXED_NS = 30e6
"""What a task needs to start, load and commit, at most: assumed."""
FEWEST_ROUNDS = 3
"""Of a loop: two jobs of a line may be any two."""


def _suspects(facts: Facts) -> Iterator[Suspect]:
    loops: dict[tuple[str, object], list[Stretch]] = defaultdict(list)
    for one in stretches(facts):
        before, after = one.before, one.after
        if before is None or after is None or one.kind == "in_query":
            continue
        if before.source is None or before.source != after.source or OPAQUE in before.source:
            continue
        # A benchmark's queries share a line; their descriptions differ.
        if before.sql_description != after.sql_description:
            continue
        loops[before.source, before.sql_description].append(one)
    order = sorted(
        loops.items(), key=lambda item: -sum(one.ordinary_end - one.start for one in item[1])
    )
    for (source, _), gaps in order[:MOST_SUSPECTS]:
        rounds: dict[int, float] = defaultdict(float)
        for one in gaps:
            assert one.after is not None
            rounds[one.after.job_id] += one.ordinary_end - one.start
        if len(rounds) + 1 < FEWEST_ROUNDS:
            continue
        total = sum(rounds.values())
        # At a prompt it may be a person that repeats the line.
        least = min(rounds.values()) * len(rounds) / total if total > 0 else 0.0
        least = 0.0 if is_prompt(facts) else least
        spans: list[tuple[float, float]] = [(one.start, one.ordinary_end) for one in gaps]
        less = nodes_of(facts, spans + _within(facts, gaps))
        if not less:
            continue
        n = len(rounds) + 1
        # At least the shortest pause of each round goes; all of them, where they are the same code.
        # Rounds that read as many rows each may read the same ones: then one query reads them once.
        work, is_same, fixed = _work(facts, gaps)
        slots = max(1, facts.slots)
        tasks, sure = sum(work.values()) / slots, fixed / slots
        extent = _extent(total, least, tasks, sure, is_same, n)
        same = " Each round read as many rows." if is_same else ""
        yield Suspect(
            place=Place(layer="driver", source=source),
            mechanism=(
                f"{units.counted(n, 'job')} of the line {source} ran one after another, with"
                f" {units.duration(total)} between them in which no job ran,"
                f" {units.duration(total / len(rounds))} each.{same}"
            ),
            change=(LessGap(less), Less("round", dict.fromkeys(work, 1.0))),
            extent=extent,
            evidence=[
                of_jobs("time between them", total, n,
                        "SELECT job_id, submit_wall_ns, end_wall_ns FROM jobs ORDER BY job_id",
                        (min(one.start for one in gaps), max(one.end for one in gaps))),
            ],
            remedies=[
                Remedy(kind="code", text="one query for all rounds",
                       before='for day in days:\n    df.filter(df.day == day).count()',
                       after='df.filter(df.day.isin(days)).groupBy("day").count()'),
            ],
        )  # fmt: skip


def _extent(
    gaps_ns: float, least: float, tasks_ns: float, sure_ns: float, is_same: bool, n: int
) -> Extent:
    """Say how much of the pauses, and of the time of the tasks of all rounds but one, goes.

    Of rounds that read the same rows all may go. Of others what each task needs whatever it reads
    does, and at most twice that.
    """
    whole = gaps_ns + tasks_ns
    if whole <= 0:
        return Extent((1 + least) / 2, least, 1.0, n)
    if is_same:
        return Extent((1 + least) / 2, least * gaps_ns / whole, 1.0, n)
    value = gaps_ns * (1 + least) / 2 + sure_ns
    high = gaps_ns + min(tasks_ns, 2 * sure_ns)
    return Extent(value / whole, least * gaps_ns / whole, high / whole, n)


def _work(facts: Facts, gaps: Sequence[Stretch]) -> tuple[dict[int, float], bool, float]:
    """Give the time of the tasks of all rounds but one, by stage.

    Also whether each round reads as many rows, and what all these tasks need whatever they read: as
    long as the shortest of them, at most `MOST_FIXED_NS` each. The first round may read others: it
    fills a cache that the rest reads.
    """
    ends = [job for one in gaps for job in (one.before, one.after) if job is not None]
    rounds = list(dict.fromkeys(map(_round, sorted(ends, key=lambda job: job.submit))))
    of_job = {job.job_id: _round(job) for job in jobs_of(facts)}
    rows = dict.fromkeys(rounds, 0.0)
    times: dict[tuple[str, int], dict[int, float]] = {each: {} for each in rounds}
    for stage in facts.stages:
        number = of_job.get(stage.job_id) if stage.job_id is not None else None
        if number in rows:
            tasks = facts.tasks_of(stage.number)
            rows[number] += tasks.total("input_records_count")
            times[number][stage.number] = float(tasks.duration_ns.sum())
    fills = len(rounds) > FEWEST_ROUNDS and rows[rounds[0]] != rows[rounds[1]]
    alike = rounds[1:] if fills else rounds
    found = {number: ns for each in alike[1:] for number, ns in times[each].items()}
    is_same = 0 < min(rows[each] for each in alike) == max(rows[each] for each in alike)
    if not found:
        return {}, False, 0.0
    lengths = np.concatenate([facts.tasks_of(number).duration_ns for number in found])
    each = min(float(np.quantile(lengths, LEAST_QUANTILE)), MOST_FIXED_NS)
    return found, is_same, each * lengths.size


def _within(facts: Facts, gaps: Sequence[Stretch]) -> list[tuple[float, float]]:
    """Give the times without a job within the queries of all rounds but the first."""
    rounds = {_round(one.after) for one in gaps if one.after is not None}
    return [
        (one.start, one.end)
        for one in stretches(facts)
        if one.kind == "in_query" and one.after is not None and _round(one.after) in rounds
    ]


def _round(job: JobTime) -> tuple[str, int]:
    """Name the query of a job, or the job."""
    return ("job", job.job_id) if job.sql_id is None else ("sql", job.sql_id)


RULE = Rule(
    code="driver.many-small-jobs",
    title="A loop submits many small jobs",
    cause="driver-bound loop",
    suspects=_suspects,
    explains=("driver.gap", "driver.planning", "driver.commit", "driver.collect"),
    refute="Write the loop as one query: if it takes as long, the time is the tasks'.",
)
