"""What the simulator gives where all that an advisor's rule complains of is taken away.

Advisors predict no seconds. So that their rules can be compared with findings, the application is
scheduled again without what the rule names, all of it, in all stages that it names: this is what
the advice could save if its remedy were perfect and free. Of rules about settings and memory a log
has no time that could be taken away, and nothing is said.
"""

from __future__ import annotations

import numpy as np

from benchmarks.advisors.causes import Fired
from pyrometer.explain.change import Change, Even, Less
from pyrometer.explain.facts import Facts


def limit(facts: Facts, fired: Fired) -> float | None:
    """Give the elapsed nanoseconds that a perfect remedy saves; None where a log cannot say."""
    what_if = facts.what_if
    if what_if is None:
        return None
    asked = set(fired.stages)
    numbers = [one.number for one in facts.stages if not asked or one.stage_id in asked]
    change = _change(facts, fired.cause, numbers) if numbers else None
    if change is None:  # a stage that was cancelled is not scheduled again
        return None
    return max(0.0, what_if.saved_ratio([(change, 1.0)])) * what_if.measured_ns


def _change(facts: Facts, cause: str, numbers: list[int]) -> Change | None:
    """Take away what a cause costs at most."""
    if cause == "skew":  # no task is longer than the median
        return (Even(numbers, conserved=False),)
    if cause == "spill":  # all that is neither CPU nor GC, of tasks that spilled
        return (Less("spill", {n: _spilled(facts, n) for n in numbers}),)
    if cause == "GC":
        return (Less("gc", {n: _column(facts, n, "jvm_gc_time_ns") for n in numbers}),)
    if cause == "partition size":  # all that a task costs beside its run
        return (Less("overhead", {n: _overhead(facts, n) for n in numbers}),)
    if cause in ("failed tasks", "lost executors"):  # attempts that were for nothing
        wasted = np.asarray(facts.more_of_tasks("bool_or(t.status <> 'success') AS lost")["lost"])
        lost = wasted.astype(np.float64) * facts.tasks.duration_ns
        return (Less("failed", {n: lost[facts.place_of(n)] for n in numbers}),)
    return None


def _column(facts: Facts, number: int, name: str) -> np.ndarray:
    return np.nan_to_num(np.asarray(facts.tasks_of(number)[name], dtype=np.float64))


def _overhead(facts: Facts, number: int) -> np.ndarray:
    run = _column(facts, number, "executor_run_time_ns")
    return np.where(run > 0, facts.tasks_of(number).duration_ns - run, 0.0)


def _spilled(facts: Facts, number: int) -> np.ndarray:
    # GPUs spill to the host's memory, and nothing to disks.
    names = ("disk_spilled_bytes", "memory_spilled_bytes")
    spilled = np.maximum(*(_column(facts, number, name) for name in names)) > 0
    work = _column(facts, number, "executor_cpu_time_ns") + _column(facts, number, "jvm_gc_time_ns")
    return np.where(spilled, np.maximum(facts.tasks_of(number).duration_ns - work, 0.0), 0.0)
