"""What tasks read, and what each costs whatever it reads."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pyrometer.explain.change import Change, Even, Less, Recount
from pyrometer.explain.facts import TaskColumns
from pyrometer.simulation.measured import Floats
from pyrometer.statistics.shares import Z

FEWEST_TASKS = 3
MERGED = 2
_KNOWN = (
    "executor_cpu_time_ns", "jvm_gc_time_ns", "shuffle_fetch_wait_time_ns",
    "shuffle_write_time_ns",
)  # fmt: skip


def read_bytes(tasks: TaskColumns) -> Floats:
    """Give what each task read: input and shuffle together, in bytes."""
    names = ("input_bytes", "shuffle_read_local_bytes", "shuffle_read_remote_bytes")
    total: Floats = np.nansum([tasks[name] for name in names], axis=0)
    return total


def read_rows(tasks: TaskColumns) -> Floats:
    """Give the rows that each task read: input and shuffle together."""
    names = ("input_records_count", "shuffle_read_records_count")
    total: Floats = np.nansum([tasks[name] for name in names], axis=0)
    return total


def unexplained(tasks: TaskColumns) -> Floats:
    """Give what Spark's counters leave of each task's run time: waits that they do not name."""
    counted = np.nansum([tasks[name] for name in _KNOWN], axis=0)
    left: Floats = np.maximum(np.nan_to_num(tasks["executor_run_time_ns"]) - counted, 0.0)
    return left


def warm_of(tasks: TaskColumns, slots: int) -> NDArray[np.bool_]:
    """Say which tasks read something and were not the first of their slot; of few tasks, all."""
    reads = read_bytes(tasks) > 0
    warm = reads & (np.argsort(np.argsort(tasks["launch_wall_ns"], kind="stable")) >= slots)
    if warm.sum() >= FEWEST_TASKS:
        return warm
    return reads if reads.any() else ~reads


def fixed_ns(tasks: TaskColumns, slots: int) -> float:
    """Give what a task costs whatever it reads, in nanoseconds.

    That is its time beside its run time, and what a straight line through run time and bytes leaves
    at no bytes: the lower 95 % bound of that, at most the median, as tasks that all read as much do
    not tell what is fixed. The first tasks of a slot are left out: they load classes and compile.
    """
    warm = warm_of(tasks, slots)
    run = np.fmin(tasks["executor_run_time_ns"], tasks.duration_ns)[warm]
    beside = float((tasks.duration_ns[warm] - run).mean())
    amount = read_bytes(tasks)[warm]
    middle = float(np.median(run))
    if np.ptp(amount) == 0:
        return beside + (0.0 if amount.any() else middle)
    slope = max(0.0, float(np.cov(amount, run)[0, 1] / np.var(amount, ddof=1)))
    fixed = float(run.mean() - slope * amount.mean())
    left = run - fixed - slope * amount
    spread = float(amount.var() * amount.size)
    error = Z * math.sqrt(
        float(left @ left) / max(1, run.size - 2) * (1 / run.size + amount.mean() ** 2 / spread)
    )
    return beside + max(0.0, min(middle, fixed - error))


def joined(tasks: TaskColumns, number: int, count: int, slots: int) -> tuple[Change, float]:
    """Give a stage with as many tasks, and what each task less saves.

    What first tasks took beyond the others was starting up: as many slots pay it as are used.
    """
    fixed = fixed_ns(tasks, slots)
    amount, whole = read_bytes(tasks), float(tasks.duration_ns.sum())
    empty = np.minimum(tasks.duration_ns[amount == 0], fixed)
    costs = float(empty.sum()) + fixed * (tasks.count - empty.size)
    warm = warm_of(tasks, slots)
    cold = ~warm & (amount > 0)
    usual = float(tasks.duration_ns[warm].mean())
    more = max(0.0, float(tasks.duration_ns[cold].sum()) - usual * float(cold.sum()))
    unused = max(0.0, 1 - count / max(1, min(slots, tasks.count)))
    less = Less("start-up", {number: more * unused / whole if whole else 0.0})
    each = max(0.0, costs - fixed * count) / (tasks.count - count)
    recount = Recount({number: count / tasks.count}, each)
    # Tasks that take the work of several others are more alike than these.
    edits: Change = (less, Even([number]), recount) if MERGED * count <= tasks.count else (
        less, recount,
    )  # fmt: skip
    return edits, each
