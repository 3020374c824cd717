"""Starts of Python workers that would not be, were workers kept for the next task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pyrometer.explain.change import Less
from pyrometer.explain.evidence.python.work import work
from pyrometer.explain.facts import Facts

REUSE = "spark.python.worker.reuse"
STARTS = ("time to start Python workers", "time to initialize Python workers")
RUN = "time to run Python workers"
IDLE_NS = 60e9
"""So long a worker without a task is kept: IDLE_WORKER_TIMEOUT of Spark's PythonWorkerFactory."""
MS = 1e6


@dataclass(frozen=True)
class Starts:
    """Starts of workers, by number of the stage; where workers are kept, none.

    Attributes
    ----------
    all_ns : mapping of int to float
        Time of tasks until their workers were ready.
    again_ns : mapping of int to float
        The part of it that workers that are kept would spare.
    again_ratio : mapping of int to float
        This part of all that the workers did.
    """

    all_ns: Mapping[int, float]
    again_ns: Mapping[int, float]
    again_ratio: Mapping[int, float]


def starts(facts: Facts) -> Starts:
    """Give the starts of workers, where each task starts its own."""
    kept: Starts | None = facts.kept.get(STARTS)
    if kept is None:
        kept = Starts({}, {}, {}) if facts.is_on(REUSE, default=True) else _each_task(facts)
        facts.kept[STARTS] = kept
    return kept


def as_times(facts: Facts, less: Less) -> Less:
    """Give shares of tasks as times: what goes beside something else is no share of what is left.

    Starts of workers and the rest of their work are different times of the same tasks.
    """
    return Less(
        less.what,
        {number: facts.tasks_of(number).duration_ns * share for number, share in less.ns.items()},
    )


def _each_task(facts: Facts) -> Starts:
    started, ran = _metric_ns(facts, *STARTS), _metric_ns(facts, RUN)
    if not started:
        found = {n: one for n, one in work(facts).items() if one.ns.get("import")}
        started = {n: one.ns["import"] for n, one in found.items()}
        ran = {n: one.workers_ns for n, one in found.items()}
    again = _again(facts, started)
    lost = {n: ns * again[n] for n, ns in started.items() if again[n] > 0}
    ratios = {n: min(1.0, ns / ran[n]) for n, ns in lost.items() if ran.get(n)}
    return Starts(started, lost, ratios)


def _metric_ns(facts: Facts, *names: str) -> dict[int, float]:
    if facts.measured is None:
        return {}
    listed = ", ".join(f"'{name}'" for name in names)
    found: dict[int, float] = {}
    for stage_id, attempt, ms in facts.tables.query(
        "SELECT stage_id, coalesce(stage_attempt, 0), sum(value_sum)::DOUBLE FROM node_metrics"
        f" WHERE app_index = $1 AND metric IN ({listed}) AND stage_id IS NOT NULL GROUP BY ALL",
        [facts.measured.app_index],
    ):
        number = facts.number(stage_id, attempt)
        if number is not None and ms:
            found[number] = ms * MS
    return found


def _again(facts: Facts, started: Mapping[int, float]) -> dict[int, float]:
    """Give the share of each stage's starts that is not the first of a slot."""
    times = {number: _bounds(facts, number) for number in started}
    first, over, again = facts.slots, -np.inf, {}
    for number, (begin, end) in sorted(times.items(), key=lambda item: item[1]):
        if begin - over > IDLE_NS:
            first = facts.slots
        tasks = max(1, facts.stages[number].tasks_count)
        stay = min(first, tasks)
        again[number] = 1 - stay / tasks
        first, over = first - stay, max(over, end)
    return again


def _bounds(facts: Facts, number: int) -> tuple[float, float]:
    own = facts.tasks_of(number)
    launched = np.nan_to_num(own["launch_wall_ns"])
    return float(launched.min(initial=np.inf)), float((launched + own.duration_ns).max(initial=0.0))
