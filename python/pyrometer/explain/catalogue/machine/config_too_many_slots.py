"""Executors whose slots no task ever needed.

What it is
    The application holds more slots than tasks ever ran at once: at least one executor could
    have been left out at any moment.

Mechanism
    Nothing is simulated, as no time is saved: the most tasks that ever ran at once are set against
    the slots that there were. The difference, over the time for which executors held it, is core
    time that was reserved and could not be used. It is noted where it is as much as a whole
    executor's slots; with a single executor, any slot counts. Nothing is said where tasks of a
    stage are unknown, as where a log lost events or a stage still runs.

Evidence
    Launch and finish of all task attempts of the window, and when executors were there.

Remedy
    Fewer executors (`spark.executor.instances`, `spark.dynamicAllocation.maxExecutors`), or, with a
    single one, fewer cores: as many for each slot as a task takes (`spark.task.cpus`).

When it is wrong
    Fewer executors have less memory for caches and shuffles, and fewer hosts are near their data.
    In local mode nothing is reserved, and nothing is said. Larger input has more tasks.

Source
    Spark's documentation of job scheduling, "Dynamic Resource Allocation"; the count is exact.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pyrometer.core import units
from pyrometer.explain.evidence.held_slots import executors_for, most_at_once, most_tasks
from pyrometer.explain.evidence.places import where
from pyrometer.explain.evidence.saying import factor, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Remark, Rule
from pyrometer.explain.schema import Place
from pyrometer.simulation.measured import Floats, Measured

_BUSIEST = """
SELECT max(n) FROM (SELECT sum(d) OVER (ORDER BY t, d) AS n FROM (
SELECT unnest([launch_wall_ns, finish_wall_ns]) AS t, unnest([1, -1]) AS d FROM tasks WHERE {}))
"""
_SLOTS = (
    "SELECT max(n) FROM (SELECT sum(d) OVER (ORDER BY t, d) AS n FROM (SELECT"
    " unnest([greatest(coalesce(add_wall_ns, {begin}), {begin}),"
    " least(coalesce(remove_wall_ns, {end}), {end})]) AS t,"
    " unnest([1, -1]) * (cores_count // {cpus}) AS d FROM executors WHERE app_index = {app}"
    " AND coalesce(add_wall_ns, 0) < {end} AND coalesce(remove_wall_ns, {end}) > {begin}))"
)
_EMPTY = (
    "SELECT stage_id, coalesce(stage_attempt, 0) FROM stages"
    " WHERE app_index = $1 AND planned_tasks_count = 0"
)


def _is_whole(facts: Facts, measured: Measured) -> bool:
    """Whether all tasks of the window are known."""
    empty = set(facts.tables.query(_EMPTY, [measured.app_index]))
    return not measured.cut_count and all(
        one.tasks_count or (one.stage_id, one.attempt) in empty for one in measured.stages
    )


def _suspects(facts: Facts) -> Iterator[Remark]:
    measured = facts.measured
    if measured is None or facts.heap_setting == "spark.driver.memory" or measured.inferred:
        return
    used = most_tasks(facts)
    if not used or not measured.intervals or not _is_whole(facts, measured):
        return
    begin = min(one.start_wall_ns for one in measured.intervals)
    end = max(one.end_wall_ns for one in measured.intervals)
    slots = np.array([float(one.slots) for one in measured.executors])
    first = np.array([float(max(one.add_ns or begin, begin)) for one in measured.executors])
    last = np.array([float(min(one.remove_ns or end, end)) for one in measured.executors])
    there = last > first
    most = most_at_once(first[there], last[there], slots[there])
    unused = most - used
    if not slots.size or unused <= 0 or (slots.size > 1 and unused < slots.min()):
        return
    idle_ns = _above(first[there], last[there], slots[there], used)
    keeps = executors_for(facts, used)
    if slots.size == 1:
        cores = used * measured.settings.task_cpus
        remedy = factor("spark.executor.cores", str(cores), f"give the executor {cores} cores")
    elif facts.is_on("spark.dynamicAllocation.enabled"):
        remedy = factor("spark.dynamicAllocation.maxExecutors", str(keeps),
                        f"allow at most {keeps} executors")  # fmt: skip
    else:
        remedy = factor("spark.executor.instances", str(keeps), f"ask for {keeps} executors")
    yield Remark(
        place=Place(layer="cluster", setting=remedy.factor),
        mechanism=(
            f"At most {units.count(used)} of {units.counted(most, 'slot')} ran tasks at once:"
            f" {units.duration(idle_ns)} of slot time was held and could not be used."
        ),
        evidence=[
            shown_by("most tasks at once", used, "count", "tasks", _BUSIEST.format(where(facts)),
                     "/timeline", facts.tasks.count),
            shown_by("most slots at once", most, "count", "executors",
                     _SLOTS.format(begin=begin, end=end, app=measured.app_index,
                                   cpus=measured.settings.task_cpus), "/timeline", slots.size),
        ],
        remedies=[remedy],
    )  # fmt: skip


def _above(first: Floats, last: Floats, slots: Floats, used: int) -> float:
    """Integrate over time the slots beyond those that were ever used."""
    times = np.concatenate([first, last])
    steps = np.concatenate([slots, -slots])
    order = np.argsort(times, kind="stable")
    held = np.cumsum(steps[order])[:-1]
    return float((np.maximum(held - used, 0.0) * np.diff(times[order])).sum())


RULE = Rule(
    code="config.too-many-slots",
    title="More slots than tasks at any time",
    cause="over-provisioning",
    suspects=_suspects,
    refute="Run with fewer executors: elapsed time must stay as it is.",
)
