"""What tasks of a loop's rounds would not do, were the loop one query."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from pyrometer.accounts.plan_schema import Node
from pyrometer.explain.evidence.loops import FEWEST_ROUNDS, Round
from pyrometer.explain.evidence.plan_nodes import Plan, metric, plans, unnumbered
from pyrometer.explain.evidence.shared_subtrees import KEPT
from pyrometer.explain.evidence.task_costs import read_bytes, read_rows
from pyrometer.explain.facts import Facts
from pyrometer.simulation.measured import Floats
from pyrometer.statistics.shares import Z

LEAST_QUANTILE = 0.1
"""Of the tasks of rounds that read other rows: what the shortest of them need, all need."""
MOST_FIXED_NS = 30e6
"""What a task needs to start, load and commit, at most, where tasks read as much each, so that
their lengths do not tell it: assumed."""
PART_BYTES = float(1 << 27)
"""What one task reads of files, unless set: `spark.sql.files.maxPartitionBytes`."""
UNKNOWN_GOES = math.log(2)
"""The mean of `goes` where nothing is known of the rows that pass: all shares as likely."""
ROWS = "number of output rows"
_FEW = ("Limit", "TakeOrdered", "Offset")
"""Operators that hand on a few rows, and do not count them."""


@dataclass(frozen=True)
class Work:
    """Tasks of rounds that one query would not have, or not have so long.

    Attributes
    ----------
    stages : dict of int to float
        Time in which tasks of a stage ran, by its number.
    low, value, high : float
        Share of it that goes.
    is_same : bool
        Each round reads as many rows.
    """

    stages: dict[int, float]
    low: float
    value: float
    high: float
    is_same: bool


def work_of(
    facts: Facts, kind: Sequence[Round], numbers: dict[int, list[int]], are_batches: bool = False
) -> Work:
    """Say what of the tasks of all rounds but one goes.

    The first round may read other rows than the rest: it fills a cache that they read. Then it
    stays, and so does one of the others.

    Parameters
    ----------
    numbers : dict of int to list of int
        Numbers of stages by job.
    are_batches : bool
        Each round reads rows of its own, as many as others or not, and the first fills no cache.
    """
    stages = [[n for job in one.jobs for n in numbers.get(job.job_id, ())] for one in kind]
    rows = [
        sum(facts.tasks_of(n).total("input_records_count") for n in mine) for mine in stages
    ]  # fmt: skip
    fills = not are_batches and len(kind) > FEWEST_ROUNDS and rows[0] != rows[1]
    alike = 1 if fills else 0
    gone = [n for mine in stages[alike + 1 :] for n in mine if facts.tasks_of(n).count]
    is_same = not are_batches and 0 < min(rows[alike:]) == max(rows[alike:])
    spans = {n: _span(facts, n) for n in gone}
    if not gone:
        return Work({}, 0.0, 0.0, 0.0, False)
    fixed = _fixed(facts, gone)
    if not is_same:
        return Work(spans, *fixed, False)
    low, value, _ = fixed
    return Work(spans, low, value + (1 - value) * goes(_passed(facts, kind[alike:])), 1.0, True)


def goes(passed: float | None) -> float:
    """Give the share of rounds' work that goes where all read the same rows.

    One query reads them once; what is done with rows that pass a round's own filter is done all the
    same. That work is taken to cost as much for a row as reading it: assumed.

    Examples
    --------
    >>> goes(0.0), goes(0.25), goes(1.0)
    (1.0, 0.8, 0.5)
    """
    return UNKNOWN_GOES if passed is None else 1 / (1 + min(max(passed, 0.0), 1.0))


def _span(facts: Facts, number: int) -> float:
    tasks = facts.tasks_of(number)
    return float(np.nanmax(tasks["finish_wall_ns"]) - np.nanmin(tasks["launch_wall_ns"]))


def _fixed(facts: Facts, numbers: Sequence[int]) -> tuple[float, float, float]:
    """Give the share of tasks that they need whatever they read: low, value and high.

    At least that is their time beside their run time. It is what a straight line through their
    lengths leaves where nothing is read, or the upper end of its 95 % interval, at most the median.
    Tasks that all read as much do not tell: there it is as long as the shortest, at most
    `MOST_FIXED_NS`, or twice that. Larger rounds need as many tasks all the same, one for each
    `PART_BYTES`.
    """
    each = [facts.tasks_of(n) for n in numbers]
    length = np.concatenate([one.duration_ns for one in each])
    run = np.nan_to_num(np.concatenate([one["executor_run_time_ns"] for one in each]))
    amount = np.concatenate([read_bytes(one) for one in each])
    joined = 1 - min(1.0, float(amount.sum()) / PART_BYTES / length.size)
    if np.ptp(amount) == 0:
        amount = np.concatenate([read_rows(one) for one in each])
    mean, middle = float(length.mean()), float(np.median(length))
    if mean <= 0:
        return 0.0, 0.0, 0.0
    beside = float(np.where(run > 0, np.maximum(length - run, 0.0), 0.0).mean())
    line = _line(amount, length)
    if line is None:
        value = min(float(np.quantile(length, LEAST_QUANTILE)), MOST_FIXED_NS)
        high = min(2 * value, middle)
    else:
        value, high = (min(max(one, 0.0), middle) for one in line)
    scale = joined / mean
    return beside * scale, max(value, beside) * scale, max(high, beside) * scale


def _line(amount: Floats, length: Floats) -> tuple[float, float] | None:
    """Give what a straight line leaves at no amount, and its upper bound; None without a line."""
    if amount.size <= FEWEST_ROUNDS or np.ptp(amount) == 0:
        return None
    slope = max(0.0, float(np.cov(amount, length)[0, 1] / np.var(amount, ddof=1)))
    value = float(length.mean() - slope * amount.mean())
    left = length - value - slope * amount
    spread = float(amount.var() * amount.size)
    error = Z * math.sqrt(
        float(left @ left) / (amount.size - 2) * (1 / amount.size + amount.mean() ** 2 / spread)
    )
    return value, value + error


def _passed(facts: Facts, kind: Sequence[Round]) -> float | None:
    """Give the share of the rows read that passes what differs between rounds; None if unknown.

    What has the same text in all rounds works for all of them at once.
    """
    by_id = {plan.sql.sql_id: plan for plan in plans(facts)}
    every = [next((by_id[n] for n in one.sql_ids if n in by_id), None) for one in kind]
    known = [plan for plan in every if plan is not None]
    if not known:
        return None
    texts = [[(node, unnumbered(node.simple_string or node.name)) for node in _own(plan)]
             for plan in known]  # fmt: skip
    common = set.intersection(*({text for _, text in mine} for mine in texts))
    shares = [
        _share(plan, [node.node_id for node, text in mine if text not in common])
        for plan, mine in zip(known, texts, strict=True)
    ]
    counted = [one for one in shares if one is not None]
    return fmean(counted) if counted else None


def _own(plan: Plan) -> list[Node]:
    """Give the nodes of a plan above its caches."""
    found, kept = [], None
    for node in plan.sql.nodes:
        if kept is None or node.depth <= kept:
            kept = node.depth if KEPT.match(node.name) else None
            found.append(node)
    return found


def _share(plan: Plan, differ: Sequence[int]) -> float | None:
    own = _own(plan)
    inner = {one.parent_node_id for one in own}
    read = [metric(one, ROWS) for one in own if one.node_id not in inner]
    whole = sum(rows for rows in read if rows is not None)
    if not differ:
        return 0.0
    passed = []
    for node in own:
        if node.node_id not in differ:
            continue
        if any(word in node.name for word in _FEW):
            return 0.0
        if node.name.startswith("Filter"):
            rows = metric(node, ROWS)
            if rows is None:
                return None
            passed.append(rows)
    if not passed:
        return 1.0
    return min(passed) / whole if whole else None
