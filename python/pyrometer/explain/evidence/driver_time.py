"""Stretches in which no job of the application ran, by what the driver did meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pyrometer.explain.evidence.saying import timeline
from pyrometer.explain.facts import Facts, exactly, once
from pyrometer.explain.schema import Evidence
from pyrometer.simulation.measured import Stage

Kind = Literal["planning", "in_query", "ending", "between", "after_last"]

ORDINARY_FIRST_NS, ORDINARY_NS = 2e9, 1e9
"""What planning takes where nothing is wrong, at most. Measured on 22 TPC-H queries (scale 0.01,
Spark 4.3, local mode with one busy CPU, one run, 2026-11-25): the first of the JVM 1.64 s, the
longest of the others 0.74 s; rounded up, as other machines are slower."""
ORDINARY_BETWEEN_NS = 0.5e9
"""The same of the driver's code between two queries: 0.26 s at most of 21."""

NO_LINES = ("AccessorImpl.java", "<unknown>")
"""In names of what another language submitted: the same for every line of the program."""
OWN_THREADS = ("CompletableFuture.java", "ThreadPoolExecutor.java")
"""In names of stages that threads of Spark submitted, as for broadcasts and adaptive execution."""

_JOBS = """
SELECT j.job_id, j.submit_wall_ns AS submit, j.end_wall_ns AS end, j.sql_id,
  coalesce(s.root_sql_id, j.sql_id) AS root_sql_id, j.iteration,
  j.description, s.start_wall_ns AS sql_start, s.end_wall_ns AS sql_end,
  s.description AS sql_description
FROM jobs j JOIN sim_window w ON j.submit_wall_ns >= w.start_ns AND j.submit_wall_ns <= w.end_ns
LEFT JOIN sql_executions s ON s.app_index = j.app_index AND s.sql_id = j.sql_id
WHERE j.app_index = $1 AND j.end_wall_ns IS NOT NULL ORDER BY j.submit_wall_ns, j.job_id
"""


def names_a_line(name: str) -> bool:
    """Whether the name of a stage or query tells one line of the program from another.

    Examples
    --------
    >>> names_a_line("count at loop.py:7"), names_a_line("count at <unknown>:0")
    (True, False)
    """
    return not any(word in name for word in (*NO_LINES, *OWN_THREADS))


@dataclass(frozen=True)
class JobTime:
    """A job with its query. ``stage`` is its last; its name is the user's line.

    ``root_sql_id`` is the query that the user's program ran, of which ``sql_id`` may be a part.
    """

    job_id: int
    submit: int
    end: int
    sql_id: int | None
    root_sql_id: int | None
    iteration: int | None
    description: str | None
    sql_start: int | None
    sql_end: int | None
    sql_description: str | None
    stage: Stage | None

    @property
    def source(self) -> str | None:
        """The user's line that submitted it; where a thread of Spark did, that of its query."""
        name = self.stage.name if self.stage else self.description
        if name and any(word in name for word in OWN_THREADS):
            return self.sql_description or name
        return name

    @property
    def line(self) -> str | None:
        """The same where it tells one line of the program from another."""
        name = self.source
        return name if name is not None and names_a_line(name) else None


@dataclass(frozen=True)
class Stretch:
    """Time without a job; Unix times."""

    kind: Kind
    start: int
    end: int
    before: JobTime | None
    after: JobTime | None

    @property
    def length(self) -> int:
        """Nanoseconds."""
        return self.end - self.start

    @property
    def ordinary_end(self) -> float:
        """End of what Spark itself needs of it, at most; the rest is the program's own."""
        if self.kind in ("between", "after_last"):
            return min(self.end, self.start + ORDINARY_BETWEEN_NS)
        return self.end


@once
def jobs_of(facts: Facts) -> list[JobTime]:
    """Give the jobs of the window that ended, in order of submission."""
    if facts.measured is None or not facts.has("jobs"):
        return []
    last: dict[int | None, Stage] = {}
    for stage in facts.stages:
        known = last.get(stage.job_id)
        if known is None or stage.stage_id >= known.stage_id:
            last[stage.job_id] = stage
    return [
        JobTime(**row, stage=last.get(row["job_id"]))
        for row in facts.tables.records(_JOBS, [facts.measured.app_index])
    ]


@once
def stretches(facts: Facts) -> list[Stretch]:
    """Give the stretches without a job, in order of time, each of one kind.

    Time before the first query is left out: that is Spark's own start.
    """
    found: list[Stretch] = []
    before: JobTime | None = None
    for job in jobs_of(facts):
        if before is None:
            if job.sql_start is not None and job.sql_start < job.submit:
                found.append(Stretch("planning", job.sql_start, job.submit, None, job))
        elif job.submit > before.end and job.iteration == before.iteration:
            found += _between(before, job)
        if before is None or job.end > before.end:
            before = job
    if before is not None and facts.measured is not None:
        found += _after(before, facts.measured.intervals[-1].end_wall_ns)
    return [one for one in found if one.length > 0]


def _between(before: JobTime, after: JobTime) -> Iterable[Stretch]:
    first, last = before.end, after.submit
    if before.sql_id is not None and before.sql_id == after.sql_id:
        yield Stretch("in_query", first, last, before, after)
        return
    done = _ended(before, last)
    begun = last if after.sql_start is None else min(max(after.sql_start, done), last)
    yield Stretch("ending", first, done, before, after)
    yield Stretch("between", done, begun, before, after)
    yield Stretch("planning", begun, last, before, after)


def _after(before: JobTime, last: int) -> Iterable[Stretch]:
    done = _ended(before, last)
    yield Stretch("ending", before.end, done, before, None)
    yield Stretch("after_last", done, last, before, None)


def _ended(job: JobTime, last: int) -> int:
    return job.end if job.sql_end is None else min(max(job.sql_end, job.end), last)


def nodes_of(facts: Facts, spans: Sequence[tuple[float, float]]) -> dict[int, float]:
    """Give the driver's time within spans, by node of the graph; where spans overlap, once."""
    if facts.what_if is None or not spans:
        return {}
    nodes, begins, ends = facts.gaps
    edges = np.array(sorted(spans), dtype=float)
    edges[1:, 0] = np.maximum(edges[1:, 0], np.maximum.accumulate(edges[:-1, 1]))
    edges[:, 1] = np.maximum(edges[:, 0], edges[:, 1])
    zero = edges[0, 0]
    at = edges.ravel() - zero
    covered = np.zeros(at.size)
    covered[1::2] = np.cumsum(edges[:, 1] - edges[:, 0])
    covered[2::2] = covered[1:-1:2]
    inside = np.interp(ends - zero, at, covered) - np.interp(begins - zero, at, covered)
    return {nodes[at]: float(inside[at]) for at in np.flatnonzero(inside > 0)}


PROMPTS = ("shell", "notebook", "zeppelin", "jupyter", "livy")
TYPED = ("<console>", "<stdin>", "<ipython", "<command")
"""Words in names of applications, and of lines, that people type one by one."""


def is_prompt(facts: Facts) -> bool:
    """Whether a person at a prompt may be what the application waited for."""
    name = ((facts.measured.app_name if facts.measured else None) or "").lower()
    return any(word in name for word in PROMPTS) or any(
        word in (stage.name or "") for stage in facts.stages for word in TYPED
    )


def words_of(job: JobTime | None) -> str:
    """Name the job in a sentence."""
    if job is None:
        return "nothing"
    return f"job {job.job_id}" + (f" ({job.source})" if job.source else "")


def of_jobs(
    what: str, value: float, n: int, query: str, span: tuple[float, float] | None = None
) -> Evidence:
    """Give a time counted over jobs, and when it was, or most of it, in Unix time."""
    return Evidence(
        what=what, estimate=exactly(value, n), unit="ns", table="jobs", query=query,
        link="/timeline" if span is None else timeline(*span),
    )  # fmt: skip
