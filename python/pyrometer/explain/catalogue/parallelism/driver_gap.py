"""The driver's own code runs between two queries, and no task does.

What it is
    Code of the application between actions: a pandas transformation, a call to another service, a
    sleep, a file written locally, or a person at a prompt.

Mechanism
    Executors wait for the driver. Without the pause the next job begins at once, or after what
    Spark itself needs between two queries (`ORDINARY_BETWEEN_NS` at most).

Evidence
    Time from the end of a query, or job, to the start of the next, on the critical path, with the
    lines of the jobs before and after.

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
    is_prompt,
    nodes_of,
    of_jobs,
    stretches,
    words_of,
)
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Place, Remedy
from pyrometer.explain.what_if import Extent

BESIDE = 0.5
"""Least share that is won where the code runs in a thread beside jobs that need its result. Not
measured; assumed."""


def _suspects(facts: Facts) -> Iterator[Suspect]:
    kept = [one for one in stretches(facts) if one.kind in ("between", "after_last")]
    own = [one for one in kept if one.length > ORDINARY_BETWEEN_NS]
    less = nodes_of(facts, [(one.start, one.end) for one in own])
    if not less:
        return
    typed = is_prompt(facts)
    own.sort(key=lambda one: -one.length)
    first, total = own[0], float(sum(one.length for one in own))
    before = first.before.source if first.before else None
    after = first.after.source if first.after else "the end"
    prompt = "; the application is a prompt: somebody may have been typing" if typed else ""
    longest = (
        f"{units.duration(first.length)} between {words_of(first.before)} and"
        f" {words_of(first.after) if first.after else 'the end'}"
    )
    several = f"{units.duration(total)} in {len(own)} pauses, the longest {longest}"
    beyond = 1 - len(own) * ORDINARY_BETWEEN_NS / total
    least = 0.0 if typed else beyond * BESIDE
    yield Suspect(
        place=Place(layer="driver", source=f"between {before} and {after}"),
        mechanism=f"No job ran for {longest if len(own) == 1 else several}{prompt}.",
        change=(LessGap(less),),
        extent=Extent(max((1 + beyond) / 2, least), least, 1.0, len(own)),
        evidence=[
            of_jobs("time without a job", total, len(own),
                    "SELECT job_id, submit_wall_ns, end_wall_ns FROM jobs ORDER BY submit_wall_ns",
                    (first.start, first.end)),
        ],
        remedies=[
            Remedy(kind="code", text="do in Spark, or in a thread beside the jobs, what the driver"
                   " does there", before="rows = df.toPandas(); slow(rows); other.count()",
                   after="future = pool.submit(other.count); slow(df.toPandas())"),
        ],
    )  # fmt: skip


RULE = Rule(
    code="driver.gap",
    title="The driver works alone between queries",
    cause="driver-bound application",
    suspects=_suspects,
    refute="Take the code between the two lines away: if the next job begins as late, the time is"
    " Spark's.",
)
