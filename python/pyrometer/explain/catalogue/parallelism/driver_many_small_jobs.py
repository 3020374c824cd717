"""One line of the application submits job after job.

What it is
    A loop over keys, files or days, with an action in its body, where one query over all of them
    would do.

Mechanism
    Each job is planned, started and ended by the driver alone, and its few tasks leave slots idle
    at its end. Together they are planned and started once. The work of tasks stays.

Evidence
    Jobs of the same line, one after another, and the time without a job before each but the first.

Remedy
    One query that groups by what the loop goes over; or several threads, each with its jobs.

When it is wrong
    Each round needs the result of the one before.

Source
    Spark's "Job Scheduling", "Scheduling Within an Application".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from pyrometer.core import units
from pyrometer.explain.change import LessGap
from pyrometer.explain.evidence.driver_time import (
    Stretch,
    is_prompt,
    nodes_of,
    of_jobs,
    stretches,
)
from pyrometer.explain.evidence.places import MOST_SUSPECTS
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Place, Remedy
from pyrometer.explain.what_if import Extent

FEWEST_ROUNDS = 3
"""Of a loop: two jobs of a line may be any two."""


def _suspects(facts: Facts) -> Iterator[Suspect]:
    loops: dict[tuple[str, object], list[Stretch]] = defaultdict(list)
    for one in stretches(facts):
        before, after = one.before, one.after
        if before is None or after is None or one.kind == "in_query":
            continue
        if before.source is None or before.source != after.source:
            continue
        # A benchmark's queries share a line; their descriptions differ.
        if before.sql_description != after.sql_description:
            continue
        loops[before.source, before.sql_description].append(one)
    order = sorted(loops.items(), key=lambda item: -sum(one.length for one in item[1]))
    for (source, _), gaps in order[:MOST_SUSPECTS]:
        rounds: dict[int, float] = defaultdict(float)
        for one in gaps:
            assert one.after is not None
            rounds[one.after.job_id] += one.length
        if len(rounds) + 1 < FEWEST_ROUNDS:
            continue
        total = sum(rounds.values())
        # At a prompt it may be a person that repeats the line.
        least = min(rounds.values()) * len(rounds) / total if total > 0 else 0.0
        least = 0.0 if is_prompt(facts) else least
        less = nodes_of(facts, [(one.start, one.end) for one in gaps])
        if not less:
            continue
        n = len(rounds) + 1
        # At least the shortest pause of each round goes; all of them, where they are the same code.
        yield Suspect(
            place=Place(layer="driver", source=source),
            mechanism=(
                f"{n} jobs of the line {source} ran one after another, with"
                f" {units.duration(total)} between them in which no job ran,"
                f" {units.duration(total / len(rounds))} each."
            ),
            change=(LessGap(less),),
            extent=Extent((1 + least) / 2, least, 1.0, n),
            evidence=[
                of_jobs("time between them", total, n,
                        "SELECT job_id, submit_wall_ns, end_wall_ns FROM jobs ORDER BY job_id"),
            ],
            remedies=[
                Remedy(kind="code", text="one query for all rounds",
                       before='for day in days:\n    df.filter(df.day == day).count()',
                       after='df.filter(df.day.isin(days)).groupBy("day").count()'),
            ],
        )  # fmt: skip


RULE = Rule(
    code="driver.many-small-jobs",
    title="A loop submits many small jobs",
    cause="driver-bound loop",
    suspects=_suspects,
    explains=("driver.gap", "driver.planning", "driver.commit", "driver.collect"),
    refute="Write the loop as one query: if it takes as long, the time is the tasks'.",
)
