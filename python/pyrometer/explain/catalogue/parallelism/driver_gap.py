"""The driver's own code runs between two queries, while no task runs.

What it is
    Code of the application between actions: a pandas transformation, a call to another service, a
    sleep, a file written locally, or a person at a prompt.

Mechanism
    Executors wait for the driver. Without the pause the next job begins at once. What Spark itself
    needs between two queries is left out: the CPU of its own code on the driver's busiest thread,
    that thread's waits for a CPU, the CPU of Python workers that run for no task because they plan
    a data source in Python, that of threads which list files, and the time in which a program in
    Python takes the rows of an action in (`driver.collect`); where the driver was not sampled,
    `ORDINARY_BETWEEN_NS` at most, and `ORDINARY_FIRST_NS` before the first query of a JVM, which
    loads classes.

Evidence
    Time from the end of a query, or job, to the start of the next, on the critical path, with the
    lines of the jobs before and after; CPU samples of the driver.

Remedy
    Do it in Spark, do it in another thread while jobs run, or leave it out.

When it is wrong
    Somebody was typing: in a shell or notebook the pause is no one's fault. Spark's own analysis of
    a query, and schemas read from files, fall into it too.

Source
    Times of jobs and SQL executions in Spark's event log; what is ordinary was measured on 22
    TPC-H queries (one run on 2026-11-25: 0.26 s at most).
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.core import units
from pyrometer.explain.change import LessGap
from pyrometer.explain.evidence.driver_time import (
    ORDINARY_BETWEEN_NS,
    ORDINARY_FIRST_NS,
    Stretch,
    is_prompt,
    nodes_of,
    of_jobs,
    stretches,
    words_of,
)
from pyrometer.explain.evidence.driver_work import Work, works
from pyrometer.explain.evidence.saying import code
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Place
from pyrometer.explain.what_if import Extent

BESIDE = 0.5
"""Least share that is won where the code runs in a thread beside jobs that need its result. Not
measured; assumed."""


def _suspects(facts: Facts) -> Iterator[Suspect]:
    kept = [one for one in stretches(facts) if one.kind in ("between", "after_last")]
    known = works(facts, kept)
    work = [_unsampled(one) for one in kept] if known is None else known
    pairs = [
        (one, did) for one, did in zip(kept, work, strict=True)
        if did.own_ns > ORDINARY_BETWEEN_NS
    ]  # fmt: skip
    less: dict[int, float] = {}
    for one, did in pairs:
        for node, ns in nodes_of(facts, [(one.start, one.end)]).items():
            less[node] = less.get(node, 0.0) + ns * did.own_ns / one.length
    if not less:
        return
    own = [one for one, _ in pairs]
    done = sum(did.own_ns for _, did in pairs)
    sure = sum(did.least_ns for _, did in pairs)
    typed = is_prompt(facts)
    own.sort(key=lambda one: -one.length)
    first, total = own[0], float(sum(one.length for one in own))
    after = first.after.source if first.after else "the end"
    where = f"between {first.before.source} and {after}" if first.before else f"before {after}"
    prompt = "; the application is a prompt: somebody may have been typing" if typed else ""
    longest = (
        f"{units.duration(first.length)} between {words_of(first.before)} and"
        f" {words_of(first.after) if first.after else 'the end'}"
    )
    several = (
        f"{units.duration(total)} in {units.counted(len(own), 'pause')}, the longest {longest}"
    )
    sure -= 0.0 if known else len(own) * ORDINARY_BETWEEN_NS
    beyond = max(0.0, sure) / done
    least = 0.0 if typed else beyond * BESIDE
    spark = sum(did.spark_ns for _, did in pairs)
    waited = sum(did.waited_ns for _, did in pairs)
    planned = sum(did.planners_ns for _, did in pairs)
    planners = (
        f", and {units.duration(planned)} CPU of Python workers that plan for it"
        if planned else ""
    )  # fmt: skip
    shared = (
        f"; {units.duration(spark)} of it was CPU of Spark's own code, and {units.duration(waited)}"
        f" waits for a CPU{planners}"
        if known else ""
    )  # fmt: skip
    yield Suspect(
        place=Place(layer="driver", source=where),
        mechanism=f"No job ran for {longest if len(own) == 1 else several}{shared}{prompt}.",
        change=(LessGap(less),),
        extent=Extent(max((1 + beyond) / 2, least), least, 1.0, len(own)),
        evidence=[
            of_jobs("time without a job", total, len(own),
                    "SELECT job_id, submit_wall_ns, end_wall_ns FROM jobs ORDER BY submit_wall_ns",
                    (first.start, first.end)),
        ],
        remedies=[
            code("move this work of the driver into Spark, or into a thread that runs during the"
                 " jobs"),
        ],
    )  # fmt: skip


def _unsampled(one: Stretch) -> Work:
    """Give the work of a stretch whose thread was not sampled: what Spark may need is its own."""
    before, after = one.before, one.after
    first = before and before.sql_id is None and after and after.sql_id == 0
    needs = ORDINARY_FIRST_NS if first else 0.0
    return Work(one.length, min(needs, one.length), 0.0, 0.0)


RULE = Rule(
    code="driver.gap",
    title="The driver works alone between queries",
    cause="driver-bound application",
    suspects=_suspects,
    refute="Take the code between the two lines away: if the next job still begins as late, the"
    " time is Spark's.",
)
