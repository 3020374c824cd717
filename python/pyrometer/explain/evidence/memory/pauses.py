"""Pauses of the collector laid on tasks, by their cause: exact where log and spans are there."""

from __future__ import annotations

import numpy as np

from pyrometer.explain.evidence.places import in_window, of_application
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import GC_LOG, PROFILE, table
from pyrometer.simulation.measured import Floats

NEEDS = (GC_LOG, table("spans", PROFILE, "no times of tasks on the clock of the collector's log"))


def _asked_by(words: str) -> str:
    return f"regexp_matches(coalesce(cause, ''), '{words}', 'i')"


# Which pauses are meant: conditions in SQL on columns of ``gc_pauses``.
METADATA = _asked_by("metadata|metaspace")
"""Class metadata asked for it."""
EXPLICIT = _asked_by(r"system\.gc")
"""Code asked for it."""
HUMONGOUS = _asked_by("humongous")
"""A humongous object asked for it."""
OTHER = _asked_by(r"metadata|metaspace|system\.gc|humongous")
"""It has a cause with a remedy of its own, which the size of a heap is not."""
FULL = f"kind ILIKE '%full%' AND NOT {OTHER}"
"""A full collection for want of room."""
YOUNG = f"(kind ILIKE '%young%' OR kind ILIKE 'normal') AND NOT {OTHER}"
"""A young collection because eden was full."""


def met_by_tasks(facts: Facts, which: str) -> tuple[dict[int, Floats], int]:
    """Lay pauses on the tasks during which they were.

    Parameters
    ----------
    which : str
        Pauses that are meant, as a condition on columns of ``gc_pauses``.

    Returns
    -------
    (dict of int to array, int)
        Nanoseconds of each task by number of the stage, where any has some; pauses counted.
    """
    pauses = facts.tables.columns(
        "SELECT pid, start_mono_ns, duration_ns FROM gc_pauses"
        " WHERE start_mono_ns IS NOT NULL AND pid IS NOT NULL AND duration_ns > 0"
        f" AND {which} ORDER BY start_mono_ns"
    )
    if not pauses["pid"].size:
        return {}, 0
    spans = facts.tables.columns(
        "SELECT pid, task_attempt_id AS task, start_mono_ns AS first, end_mono_ns AS last"
        " FROM spans WHERE task_attempt_id IS NOT NULL AND end_mono_ns IS NOT NULL"
        f" AND pid IS NOT NULL AND {of_application(facts, 'pid')} ORDER BY task_attempt_id"
    )
    met = np.zeros(spans["task"].size)
    count = 0
    for pid in np.unique(pauses["pid"]):
        mine, own = pauses["pid"] == pid, spans["pid"] == pid
        start = pauses["start_mono_ns"][mine].astype(np.int64)
        length = pauses["duration_ns"][mine].astype(np.float64)
        first, last = (spans[name][own].astype(np.int64) for name in ("first", "last"))
        found = _before(last, start, length) - _before(first, start, length)
        met[own] += found
        count += int(mine.sum()) if found.any() else 0
    return _by_stage(facts, spans["task"], met), count


def met_query(facts: Facts, which: str) -> str:
    """Give SQL for the time for which pauses stopped tasks of the window, of all together."""
    conditions = (which, in_window(facts), of_application(facts, "s.pid"))
    return (
        "SELECT sum(least(s.end_mono_ns, g.start_mono_ns + g.duration_ns)"
        " - greatest(s.start_mono_ns, g.start_mono_ns)) FROM gc_pauses g JOIN spans s"
        " ON s.pid = g.pid AND s.start_mono_ns < g.start_mono_ns + g.duration_ns"
        " AND s.end_mono_ns > g.start_mono_ns WHERE"
        f" {' AND '.join(one for one in conditions if one not in ('', 'true'))}"
    )


def began_in_window(facts: Facts) -> str:
    """Give the condition that a pause began in the window, in a JVM of the application."""
    times = [
        f"start_mono_ns >= {one.start_mono_ns} AND start_mono_ns < {one.end_mono_ns}"
        for one in facts.scope.window.intervals
        if one.start_mono_ns is not None
    ]
    return f"({' OR '.join(times) or 'false'}) AND {of_application(facts, 'pid')}"


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
