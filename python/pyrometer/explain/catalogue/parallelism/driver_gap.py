"""The driver's own code runs between two queries, and no task does.

What it is
    Code of the application between actions: a pandas transformation, a call to another service, a
    sleep, a file written locally, or a person at a prompt.

Mechanism
    Executors wait for the driver. Without the pause the next job begins at once; what Spark itself
    needs between two queries (`ORDINARY_BETWEEN_NS` at most) stays.

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
    Stretch,
    is_prompt,
    nodes_of,
    of_jobs,
    stretches,
    words_of,
)
from pyrometer.explain.evidence.places import MOST_SUSPECTS
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Place, Remedy
from pyrometer.explain.what_if import Extent


def _suspects(facts: Facts) -> Iterator[Suspect]:
    kept = [one for one in stretches(facts) if one.kind in ("between", "after_last")]
    own = [one for one in kept if one.length > ORDINARY_BETWEEN_NS]
    typed = is_prompt(facts)
    for one in sorted(own, key=lambda one: -one.length)[:MOST_SUSPECTS]:
        less = nodes_of(facts, [(one.start, one.end - ORDINARY_BETWEEN_NS)])
        if less:
            yield _suspect(one, less, typed)


def _suspect(one: Stretch, less: dict[int, float], typed: bool) -> Suspect:
    before = one.before.source if one.before else None
    after = one.after.source if one.after else "the end"
    prompt = "; the application is a prompt: somebody may have been typing" if typed else ""
    least = 0.0 if typed else 0.5
    return Suspect(
        place=Place(layer="driver", source=f"between {before} and {after}"),
        mechanism=(
            f"No job ran for {units.duration(one.length)} between {words_of(one.before)} and"
            f" {words_of(one.after) if one.after else 'the end'}{prompt}."
        ),
        change=(LessGap(less),),
        # Half: what remains where the code runs in a thread beside jobs that need its result.
        extent=Extent().times(least, 1.0),
        evidence=[
            of_jobs("time without a job", float(one.length), 1,
                    "SELECT job_id, submit_wall_ns, end_wall_ns FROM jobs ORDER BY submit_wall_ns"),
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
