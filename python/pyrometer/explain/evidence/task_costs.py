"""What tasks read, and what each costs whatever it reads."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyrometer.accounts.io import FEWEST_BYTES_OF_A_ROW
from pyrometer.explain.change import Change, Even, Less, Recount
from pyrometer.explain.facts import TaskColumns
from pyrometer.explain.what_if import Extent
from pyrometer.simulation.measured import Floats

FEWEST_TASKS = 3
MERGED = 2
Z90 = 1.645
FURTHEST, REACH, GRID = 4.0, 6.0, 2001
USUAL_NS = 2e7
"""What a task costs whatever it reads, in half of all cases: Spark's tuning guide calls tasks of
200 ms efficient, of which a tenth is assumed. More is taken for the less likely the more it is
(half a Cauchy distribution): of tasks without rows in event logs of others, the median is 3 ms, and
one in twenty takes 77 ms or more."""
SMALL_NS = 2e8
"""Longer tasks are not small: see there."""
NEAR = 0.1
"""Least amount of such tasks over the mean, from which a line tells what no amount takes."""
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


def read_amount(tasks: TaskColumns) -> Floats:
    """Give how much each task read: bytes, or rows where no task counts bytes, as of JDBC.

    So it is where far fewer bytes are counted than so many rows can have: vectored reads of files
    are missed by Spark's counter, and what is left of it has nothing to do with the work.

    Where some tasks read rows of which no byte is counted, all are as one: a cache on the disks of
    executors, as Databricks has one, counts none, and who reads how much of it is not known.
    """
    size, rows = read_bytes(tasks), read_rows(tasks)
    if size.sum() < FEWEST_BYTES_OF_A_ROW * rows.sum() or not size.any():
        return rows
    if np.any((size == 0) & (rows > 0)):
        alike: Floats = (rows + size > 0).astype(np.float64)
        return alike
    return size


def unexplained(tasks: TaskColumns) -> Floats:
    """Give what Spark's counters leave of each task's run time: waits that they do not name."""
    counted = np.nansum([tasks[name] for name in _KNOWN], axis=0)
    left: Floats = np.maximum(np.nan_to_num(tasks["executor_run_time_ns"]) - counted, 0.0)
    return left


def warm_of(tasks: TaskColumns, slots: int) -> NDArray[np.bool_]:
    """Say which tasks read something and were not the first of their slot; of few tasks, all."""
    reads = read_amount(tasks) > 0
    warm = reads & (np.argsort(np.argsort(tasks["launch_wall_ns"], kind="stable")) >= slots)
    if warm.sum() >= FEWEST_TASKS:
        return warm
    return reads if reads.any() else ~reads


@dataclass(frozen=True)
class Fixed:
    """What a task costs whatever it reads, in nanoseconds: expected, and its 90 % interval."""

    value: float
    low: float
    high: float


def fixed_of(tasks: TaskColumns, slots: int) -> Fixed:
    """Give what a task costs whatever it reads: its time beside its run time, and `within`.

    The first tasks of a slot are left out: they load classes and compile.
    """
    _, over, _ = _warm(tasks, slots)
    beside, own = float(over.mean()), within(tasks, slots)
    off = Z90 * float(over.std()) / math.sqrt(over.size)
    return Fixed(
        beside + own.value,
        max(0.0, beside + own.value - math.hypot(off, own.value - own.low)),
        beside + own.value + math.hypot(off, own.high - own.value),
    )


def within(tasks: TaskColumns, slots: int) -> Fixed:
    """Give what of its run time a task costs whatever it reads.

    That is what a straight line through run time and amount leaves at nothing: the error of the
    line is taken as normal, cut to what is possible, between nothing and the shortest run time, and
    weighed with what tasks usually cost. That alone says it where small tasks are alike. Of tasks
    that are not small, and none of which reads next to nothing, a line says nothing of that.
    """
    run, _, amount = _warm(tasks, slots)
    whole, most = float(run.mean()), float(run.min())
    spread = float(amount.var() * amount.size)
    if whole > SMALL_NS and not (spread and amount.min() <= NEAR * amount.mean()):
        return Fixed(0.0, 0.0, 0.0)
    if run.size < FEWEST_TASKS or not spread:
        value, _, high = _cut(0.0, math.inf, most)
        return Fixed(value, 0.0, high)
    slope = float(np.cov(amount, run)[0, 1] / np.var(amount, ddof=1))
    fixed = whole - slope * float(amount.mean())
    left = run - fixed - slope * amount
    error = math.sqrt(
        float(left @ left) / (run.size - 2) * (1 / run.size + amount.mean() ** 2 / spread)
    )
    return Fixed(*_cut(fixed, error, most))


def _warm(tasks: TaskColumns, slots: int) -> tuple[Floats, Floats, Floats]:
    """Give run time, the time beside it, and the amount of tasks that were not the first."""
    warm = warm_of(tasks, slots)
    run = np.fmin(tasks["executor_run_time_ns"], tasks.duration_ns)[warm]
    return run, tasks.duration_ns[warm] - run, _amount(tasks)[warm]


def _amount(tasks: TaskColumns) -> Floats:
    """Give what tasks read, or, where none reads anything, as ranges do, what they wrote."""
    read = read_amount(tasks)
    if read.any():
        return read
    names = ("output_bytes", "shuffle_written_bytes")
    written: Floats = np.nansum([tasks[name] for name in names], axis=0)
    return written


def _cut(middle: float, error: float, most: float) -> tuple[float, float, float]:
    """Give mean and 90 % interval of a normal value that is from nothing to `most`, in ns.

    It is weighed with `USUAL_NS`; an infinite `error` says nothing.

    Examples
    --------
    >>> [round(one, 2) for one in _cut(3.0, 0.1, 10.0)]
    [3.0, 2.84, 3.16]
    >>> [round(one, 1) for one in _cut(3.0, 1e6, 10.0)]
    [5.0, 0.5, 9.5]
    >>> [round(one, 2) for one in _cut(12.0, 0.5, 10.0)]
    [9.89, 9.67, 9.99]
    >>> _cut(4.0, 0.0, 3.0)
    (3.0, 3.0, 3.0)
    >>> [round(one / 1e6, 1) for one in _cut(0.0, math.inf, 7e8)]
    [46.1, 1.5, 188.6]
    """
    within = min(max(middle, 0.0), most)
    if error <= 1e-9 * most or most <= 0:
        return within, within, within
    if math.isfinite(error):
        # From further off, all of the weight lies at the near end, however far it is.
        middle = min(max(middle, -FURTHEST * error), most + FURTHEST * error)
    ends = max(0.0, middle - REACH * error), min(most, middle + REACH * error)
    # Closer together near the low end, where what tasks usually cost decides.
    share = np.linspace(0.0, 1.0, GRID)
    at = ends[0] + (ends[1] - ends[0]) * share**2
    weight = np.exp(-(((at - middle) / error) ** 2) / 2) * share / (1 + (at / USUAL_NS) ** 2)
    upto = np.cumsum(weight) - weight / 2
    low, high = np.interp([0.05, 0.95], upto / weight.sum(), at)
    return float((at * weight).sum() / weight.sum()), float(low), float(high)


def joined(tasks: TaskColumns, number: int, count: int, slots: int) -> tuple[Change, Fixed]:
    """Give a stage with as many tasks at most, and what each task less saves.

    What first tasks took beyond the others was starting up: as many slots pay it as are used.
    The change is of the highest saving.
    """
    fixed = fixed_of(tasks, slots)
    amount, whole = read_amount(tasks), float(tasks.duration_ns.sum())
    empty = tasks.duration_ns[amount == 0] if amount.any() else np.zeros(0)

    def saved(each: float) -> float:
        costs = float(empty.sum()) + each * (tasks.count - empty.size)
        return min(max(0.0, costs - each * count), whole) / (tasks.count - count)

    warm = warm_of(tasks, slots)
    cold = ~warm & (amount > 0)
    usual = float(tasks.duration_ns[warm].mean())
    more = max(0.0, float(tasks.duration_ns[cold].sum()) - usual * float(cold.sum()))
    unused = max(0.0, 1 - count / max(1, min(slots, tasks.count)))
    less = Less("start-up", {number: more * unused / whole if whole else 0.0})
    each = Fixed(*(saved(one) for one in (fixed.value, fixed.low, fixed.high)))
    recount = Recount({number: count / tasks.count}, each.high)
    # Tasks that take the work of several others are more alike than these.
    edits: Change = (less, Even([number]), recount) if MERGED * count <= tasks.count else (
        less, recount,
    )  # fmt: skip
    return edits, each


def saved_of(found: Iterable[tuple[Fixed, int]], n: int) -> Extent:
    """Give how much of what tasks save comes true, by what each saves, and how many less there are.

    Of changes of the highest saving, see `joined`.

    Examples
    --------
    >>> saved_of([(Fixed(2.0, 1.0, 4.0), 10), (Fixed(5.0, 3.0, 6.0), 10)], 22)
    Extent(value=0.7, low=0.4, high=1.0, n=22)
    """
    pairs = list(found)
    most = sum(each.high * less for each, less in pairs)
    if most <= 0:
        return Extent(0.0, 0.0, 0.0, n)
    value, low = (
        sum(getattr(each, side) * less for each, less in pairs) / most for side in ("value", "low")
    )
    return Extent(value, low, 1.0, n)
