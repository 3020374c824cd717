"""Streams that take what is there already in batches limited by a rate, one right after another."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import fmean, median

from pyrometer.explain.evidence.loops import Loop, Round, loop_of, rounds_of
from pyrometer.explain.evidence.plan_nodes import metric, plans
from pyrometer.explain.facts import Facts

FEWEST_BATCHES = 5
"""Of a stream, to tell how their times go together."""
ALIKE = 0.1
"""Rows of a batch may differ from the usual by so much of them: sources divide limits by parts."""
WAITS = 0.5
"""Pauses that vary this much of what the starts of batches vary, or more, may be waits."""

_RUN = re.compile(r"runId = (\S+)")
_FILES = "number of files read"


def limited_streams(facts: Facts, numbers: Mapping[int, Sequence[int]]) -> list[Loop]:
    """Give the streams of which a limit of rate, and no wait for data, makes small batches.

    A batch without a limit takes all that came during the one before: only under a limit do batches
    that follow at once take equally much, whether rows or files, the last but what is left.

    Parameters
    ----------
    numbers : mapping of int to sequence of int
        Numbers of stages by job.
    """
    rounds = rounds_of(facts)
    streams: dict[str, list[Round]] = defaultdict(list)
    for one in rounds:
        if (run := _run_of(one)) is not None:
            streams[run].append(one)
    found = [
        loop_of(rounds, [batches])
        for batches in streams.values()
        if len(batches) >= FEWEST_BATCHES
        and at_once([(one.begin, one.end) for one in batches])
        and _are_limited(facts, batches, numbers)
    ]
    return [one for one in found if one is not None]


def runs_queries(batches: Sequence[Round]) -> bool:
    """Whether the program runs queries of its own within batches, as `foreachBatch` does."""
    return any(job.sql_id != job.root_sql_id for one in batches for job in one.jobs)


def at_once(spans: Sequence[tuple[float, float]]) -> bool:
    """Whether each batch starts as soon as Spark can after the one before.

    Where batches wait for data, or for their turn, they start whenever these come: then a long
    batch leaves a short pause, and pauses vary at least as much as starts. Where nothing is waited
    for, pauses are alike, and starts vary with the lengths of batches. Batches that are all as
    long, at even intervals, do not tell.

    Examples
    --------
    >>> lengths = [400, 200, 300, 150, 250]
    >>> at_once([(sum(lengths[:n]) + 100 * n, sum(lengths[: n + 1]) + 100 * n) for n in range(5)])
    True
    >>> at_once([(500 * n, 500 * n + length) for n, length in enumerate(lengths)])
    False
    """
    pauses = [after[0] - before[1] for before, after in pairwise(spans)]
    starts = [after[0] - before[0] for before, after in pairwise(spans)]
    return min(pauses) >= 0 and _spread(pauses) < WAITS * _spread(starts)


def _spread(values: Sequence[float]) -> float:
    middle = median(values)
    return fmean(abs(one - middle) for one in values)


def _run_of(one: Round) -> str | None:
    for job in one.jobs:
        for text in (job.sql_description, job.description):
            if text and (found := _RUN.search(text)):
                return found[1]
    return None


def _are_limited(
    facts: Facts, batches: Sequence[Round], numbers: Mapping[int, Sequence[int]]
) -> bool:
    """Whether all batches but the last take as many files, or in each stage as many rows."""
    files: dict[int, int] = {
        plan.sql.sql_id: sum(metric(node, _FILES) or 0 for node in plan.sql.nodes)
        for plan in plans(facts)
    }
    taken = [sum(files.get(n, 0) for n in one.sql_ids) for one in batches[:-1]]
    if min(taken) == max(taken) > 0:
        return True
    rows = [
        [facts.tasks_of(n).total("input_records_count") for job in one.jobs
         for n in numbers.get(job.job_id, ())]
        for one in batches[:-1]
    ]  # fmt: skip
    if len({len(mine) for mine in rows}) != 1 or not all(sum(mine) > 0 for mine in rows):
        return False
    for stage in zip(*rows, strict=True):
        usual = median(stage)
        if any(abs(one - usual) > ALIKE * usual for one in stage):
            return False
    return True
