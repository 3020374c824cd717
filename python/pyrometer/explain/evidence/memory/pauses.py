"""Pauses of the collector laid on tasks, by their cause: exact where log and spans are there."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import GC_LOG, PROFILE, table
from pyrometer.simulation.measured import Floats

NEEDS = (GC_LOG, table("spans", PROFILE, "no times of tasks on the clock of the collector's log"))
Which = Callable[[str, str], bool]
"""Whether pauses of a kind and a cause, both in lower case, are meant."""


def is_metadata(kind: str, cause: str) -> bool:
    """Whether class metadata asked for it."""
    return "metadata" in cause or "metaspace" in cause


def is_explicit(kind: str, cause: str) -> bool:
    """Whether code asked for it."""
    return "system.gc" in cause


def is_humongous(kind: str, cause: str) -> bool:
    """Whether a humongous object asked for it."""
    return "humongous" in cause


def is_other(kind: str, cause: str) -> bool:
    """Whether it has a cause with a remedy of its own, which the size of a heap is not."""
    return is_metadata(kind, cause) or is_explicit(kind, cause) or is_humongous(kind, cause)


def is_full(kind: str, cause: str) -> bool:
    """Whether it is a full collection for want of room."""
    return "full" in kind and not is_other(kind, cause)


def is_young(kind: str, cause: str) -> bool:
    """Whether it is a young collection because eden was full."""
    return ("young" in kind or kind == "normal") and not is_other(kind, cause)


def met_by_tasks(facts: Facts, which: Which, where: str = "true") -> tuple[dict[int, Floats], int]:
    """Lay pauses on the tasks during which they were.

    Parameters
    ----------
    where : str
        Further condition, in SQL on columns of ``gc_pauses``.

    Returns
    -------
    (dict of int to array, int)
        Nanoseconds of each task by number of the stage, where any has some; pauses counted.
    """
    pauses = facts.tables.columns(
        "SELECT pid, start_mono_ns, duration_ns, lower(kind::VARCHAR) AS kind,"
        " lower(coalesce(cause::VARCHAR, '')) AS cause FROM gc_pauses"
        " WHERE start_mono_ns IS NOT NULL AND pid IS NOT NULL AND duration_ns > 0"
        f" AND ({where})"
        " ORDER BY start_mono_ns"
    )
    kept = np.array(
        [which(k, c) for k, c in zip(pauses["kind"], pauses["cause"], strict=True)], dtype=bool
    )
    if not kept.any():
        return {}, 0
    spans = facts.tables.columns(
        "SELECT pid, task_attempt_id AS task, start_mono_ns AS first, end_mono_ns AS last"
        " FROM spans WHERE task_attempt_id IS NOT NULL AND end_mono_ns IS NOT NULL"
        " AND pid IS NOT NULL ORDER BY task_attempt_id"
    )
    met = np.zeros(spans["task"].size)
    count = 0
    for pid in np.unique(pauses["pid"][kept]):
        mine, own = kept & (pauses["pid"] == pid), spans["pid"] == pid
        start = pauses["start_mono_ns"][mine].astype(np.int64)
        length = pauses["duration_ns"][mine].astype(np.float64)
        first, last = (spans[name][own].astype(np.int64) for name in ("first", "last"))
        found = _before(last, start, length) - _before(first, start, length)
        met[own] += found
        count += int(mine.sum()) if found.any() else 0
    return _by_stage(facts, spans["task"], met), count


def _before(t: Floats, start: Floats, length: Floats) -> Floats:
    """Sum up pauses before instants; pauses of one JVM do not overlap."""
    sums = np.concatenate([[0.0], np.cumsum(length)])
    place = np.searchsorted(start, t, side="right")
    last = np.maximum(place - 1, 0)
    inside = np.clip(t - start[last], 0, length[last])
    found: Floats = np.where(place > 0, sums[last] + inside, 0.0)
    return found


def _by_stage(facts: Facts, tasks: Floats, met: Floats) -> dict[int, Floats]:
    order = np.asarray(facts.tasks["task_attempt_id"]).astype(np.int64)
    place = np.minimum(np.searchsorted(tasks, order), max(tasks.size - 1, 0))
    values = np.where(tasks[place] == order, met[place], 0.0) if tasks.size else order * 0.0
    found, first = {}, 0
    for stage in facts.stages:
        own = values[first : first + stage.tasks_count]
        first += stage.tasks_count
        if own.any():
            found[stage.number] = np.minimum(own, facts.tasks_of(stage.number).duration_ns)
    return found


def total(lost: dict[int, Floats]) -> float:
    """Sum up time of tasks by stage."""
    return float(sum(one.sum() for one in lost.values()))


def worst(lost: dict[int, Floats]) -> int:
    """Give the number of the stage that lost most."""
    return max(lost, key=lambda number: float(lost[number].sum()))


def option(facts: Facts, name: str) -> bool:
    """Whether the JVM was given an option (a part of its text)."""
    names = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions",
             "spark.driver.defaultJavaOptions", "spark.executor.defaultJavaOptions")  # fmt: skip
    return any(name in (facts.setting(one) or "") for one in names)


def used_collector(facts: Facts) -> str | None:
    """Name the collector as its log does."""
    rows = facts.tables.query("SELECT any_value(collector::VARCHAR) FROM gc_pauses")
    return rows[0][0] if rows else None
