"""Attempts of tasks fail, and their work is done again.

What it is
    An exception, a lost file, too little memory: Spark runs the task again, up to
    `spark.task.maxFailures` times.

Mechanism
    What the failed attempt did in its slot is lost, and its partition is finished later. Without
    the failure its slot is free, and the next attempt is the first.

Evidence
    Time of attempts that failed, with the most common message.

Remedy
    Fix what fails: a retry hides it, and costs time.

When it is wrong
    Attempts that failed with their executor, or fetching a lost output, have another cause:
    `retries.executor-lost`, `retries.fetch-failed`.

Source
    Task end reasons in Spark's event log; `spark.task.maxFailures` in its configuration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from pyrometer.core import units
from pyrometer.explain.change import Less
from pyrometer.explain.evidence.places import largest, of_stage, of_tasks
from pyrometer.explain.evidence.saying import code
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.what_if import Extent

OTHERS = ("ExecutorLostFailure", "FetchFailed", "Resubmitted")
"""Reasons that are other rules'."""
ENDS = (
    "bool_or(t.status = 'failed') AS failed, bool_or(t.status = 'killed') AS killed,"
    " coalesce(any_value(t.reason::VARCHAR) FILTER (t.status <> 'success'), '') AS reason,"
    " coalesce(any_value(left(t.error, 1000)), '') AS error"
)


def ends(facts: Facts) -> Mapping[str, Any] | None:
    """Give how attempts ended, in the order of tasks; None where all succeeded."""
    if facts.measured is None or not facts.measured.tasks.wasted.any():
        return None
    found = facts.more_of_tasks(ENDS)
    return {name: np.ma.getdata(values) for name, values in found.items()}


def said_by(error: str) -> str:
    r"""Give the line of an error that says what it was.

    Examples
    --------
    >>> said_by("Traceback (most recent call last):\n  File 'a.py'\nValueError: no")
    'ValueError: no'
    >>> said_by("java.io.IOException: gone\n\tat a.b(C.java)")
    'java.io.IOException: gone'
    """
    lines = [line for line in error.splitlines() if line.strip()]
    if lines and "Traceback" in lines[0]:
        flush = [line for line in lines[1:] if not line[0].isspace()]
        lines = flush[:1] or lines
    return lines[0].strip()[:120] if lines else ""


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    known = ends(facts)
    if known is None:
        return
    failed = known["failed"].astype(bool) & ~np.isin(known["reason"].astype(str), OTHERS)
    lost = np.where(failed, facts.tasks.duration_ns, 0.0)
    sums = {one.number: float(lost[facts.place_of(one.number)].sum()) for one in facts.stages}
    for stage in facts.stages:
        place, total = facts.place_of(stage.number), sums[stage.number]
        if total <= 0:
            continue
        n = int(failed[place].sum())
        texts, counts = np.unique(known["error"][place][failed[place]].astype(str),
                                  return_counts=True)  # fmt: skip
        message = said_by(str(texts[counts.argmax()]))
        said = f": {message}" if message else ""
        rerun = "" if n == stage.tasks_count else ", and were run again"
        yield total, Suspect(
            place=of_stage(stage),
            mechanism=(
                f"{n} of {stage.tasks_count} attempts failed after {units.duration(total)} in"
                f" their slots{rerun}{said}."
            ),
            change=(Less("failed", {stage.number: lost[place]}),),
            extent=Extent(n=n),
            evidence=[
                of_tasks("time of failed attempts", total, "ns",
                         "sum(finish_wall_ns - launch_wall_ns) FILTER (status = 'failed')", stage,
                         n),
            ],
            remedies=[
                code(f"fix what fails{said}"),
            ],
        )  # fmt: skip


RULE = Rule(
    code="retries.failed-tasks",
    title="Tasks fail and are run again",
    cause="task failures",
    suspects=_suspects,
    refute="Run without what fails: if the stage still lasts as long, the attempts were not on its"
    " critical path.",
)
