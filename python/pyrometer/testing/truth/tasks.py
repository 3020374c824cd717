"""Programs whose tasks are too unequal, too many or too few.

Programs in which the driver works while executors wait.
"""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Any, ClassVar

from pyrometer.testing.truth.rows import (
    CAUSE,
    ITERATION,
    SHARE,
    Structural,
    cause,
    collected,
    differs,
    is_on,
    mix,
    percent,
    share,
    slots,
    work,
)
from pyrometer.workloads.values import IterationResult, Mismatch, Prepared, Truth, WorkloadSpec

_PARTS = 8
_FEW = 4
_ROW_NS = 1_000_000
_STAGE = f"stages[tasks_count={_PARTS}]"
KEYS = (2, 9, 14, 3, 4, 0, 16, 13)
"""Keys by the partition of eight that Spark's hash puts them into: Murmur3, seed 42."""


def _longest_task(where: str, spec: WorkloadSpec) -> Truth:
    one = percent(spec) / 100 if is_on(spec) else 1 / _PARTS
    return Truth(
        quantity="share of the longest task in the time of its stage's tasks",
        where=where,
        value=max(one, (1 - one) / (_PARTS - 1)),  # with a small share, the others are longer
        unit="share",
        tolerance=0.05 + 40 / spec.size,  # work of a task besides its rows, in rows
        measured_by=f"{_STAGE}.task_time.max_ns",
        of=f"{_STAGE}.totals.executor_run_time_ns",
    )


class SkewedKey(Structural):
    """One key with many of the rows."""

    name = "truth-skewed-key"
    summary = "One key has a declared share of the rows after a shuffle"
    description = (
        "Rows are shuffled by a key into eight partitions, one key in each, and take a millisecond "
        "of a task there. One key has the declared share of the rows, the others equal parts."
    )
    expectation = "The task of that key takes its share of the stage's time; others wait for it."
    variants: ClassVar = {
        CAUSE: cause("one key has its share", "all keys have as many rows"),
        SHARE: share("Share of the rows that have the key; an eighth would be no skew"),
    }
    scales: ClassVar = {"test": 800, "default": 20_000, "seed": 200_000}

    def truth(self, spec: WorkloadSpec) -> Truth:
        """Declare the share of the rows."""
        return _longest_task("the task of the key, in the stage after the shuffle", spec)

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Shuffle, then work through the rows."""
        heavy = int(is_on(spec)) * percent(spec)
        place = f"if(id % 100 < {heavy}, 0, 1 + id % {_PARTS - 1})" if heavy else f"id % {_PARTS}"
        keys = ", ".join(f"{key}L" for key in KEYS)
        keyed = spark.range(0, spec.size, 1, _FEW).selectExpr(
            "id", f"array({keys})[cast({place} as int)] as key"
        )
        return collected(keyed.repartition(_PARTS, "key").selectExpr("id", work(_ROW_NS)).collect())


class Straggler(Structural):
    """One task that takes long for as many rows."""

    name = "truth-straggler"
    summary = "One task takes a declared share of its stage's time, for as many rows"
    description = (
        "Eight tasks have as many rows. The rows of the first take so long that the task has the "
        "declared share of all; the others share the rest equally. Whole time and result stay."
    )
    expectation = "One task is slower than others of the same input: a slot idles in the tail."
    variants: ClassVar = {
        CAUSE: cause("one task takes its share", "all tasks take as long"),
        SHARE: share("Share of the one task; an eighth would be as long as the others"),
    }
    scales: ClassVar = {"test": 800, "default": 20_000, "seed": 200_000}

    def truth(self, spec: WorkloadSpec) -> Truth:
        """Declare the share of the time."""
        return _longest_task("the first task of the only stage", spec)

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Work through the rows."""
        whole_ns = _ROW_NS * _PARTS
        slow_ns = whole_ns * percent(spec) // 100 if is_on(spec) else _ROW_NS
        others_ns = (whole_ns - slow_ns) // (_PARTS - 1)
        ns = f"if(id < {spec.size // _PARTS}, {slow_ns}L, {others_ns}L)"
        frame = spark.range(0, spec.size, 1, _PARTS)
        return collected(frame.selectExpr("id", work(ns)).collect())


class TinyTasks(Structural):
    """A task for each row."""

    name = "truth-tiny-tasks"
    summary = "Work is cut into a task for each row"
    description = "Each row takes half a millisecond, less than it takes to start its task."
    expectation = "Most of the slots' time goes to scheduling, deserialisation and the driver."
    variants: ClassVar = {CAUSE: cause("a task for each row", f"{_FEW} tasks")}
    scales: ClassVar = {"test": 80, "default": 4_000, "seed": 40_000}

    def truth(self, spec: WorkloadSpec) -> Truth:
        """Declare the number of tasks."""
        return Truth(
            quantity="tasks of an iteration",
            where="the only stage",
            value=spec.size if is_on(spec) else _FEW,
            unit="count",
            tolerance=0,
            measured_by=f"{ITERATION}.tasks_count",
        )

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Work through the rows."""
        frame = spark.range(0, spec.size, 1, spec.size if is_on(spec) else _FEW)
        return collected(frame.selectExpr("id", work(_ROW_NS // 2)).collect())


class TooFewTasks(Structural):
    """A stage of one task on two slots."""

    name = "truth-too-few-tasks"
    summary = "A stage with one task does a declared share of the work of two slots"
    description = (
        "Two stages, one after the other, in local[2]: the first does its share of the rows in a "
        "single task, while the other slot has nothing to do; the second has two tasks."
    )
    expectation = "Slots idle for lack of tasks for as long as the first stage's task runs."
    variants: ClassVar = {
        CAUSE: cause("the first stage has one task", "the first stage has two tasks"),
        SHARE: share("Share of the rows that the first stage has"),
    }
    scales: ClassVar = {"test": 400, "default": 20_000, "seed": 200_000}

    def spark_conf(self, spec: WorkloadSpec) -> dict[str, str]:
        """Have two slots: how many idle depends on it."""
        return {**super().spark_conf(spec), "spark.master": "local[2]"}

    def truth(self, spec: WorkloadSpec) -> Truth:
        """Declare the idle time as a share of the time of tasks: one slot, while one works."""
        return Truth(
            quantity="idle slot time for lack of tasks, as a share of the time of tasks",
            where="the first stage, on two slots",
            value=percent(spec) / 100 if is_on(spec) else 0.0,
            unit="share",
            tolerance=0.08,
            measured_by=slots("idle/too_few_tasks"),
            of=slots("task"),
        )

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Work through the rows, in two queries."""
        first = spec.size * percent(spec) // 100
        bounds = [(0, first, 1 if is_on(spec) else 2), (first, spec.size, 2)]
        rows = [
            row
            for start, end, tasks in bounds
            for row in spark.range(start, end, 1, tasks).selectExpr("id", work(_ROW_NS)).collect()
        ]
        return collected(rows)


_SLOTS_COUNT = 2
_COLUMNS = 8
_TASKS = 4


def spin(ns: int) -> None:
    """Keep this thread busy for so long."""
    end = time.monotonic_ns() + ns
    while time.monotonic_ns() < end:
        pass


class DriverOnly(Structural):
    """A driver that computes between jobs."""

    name = "truth-driver"
    summary = "The driver's own code takes a declared share of the time"
    description = (
        "In local[2] two tasks do their part of the work, then the driver does its own, in which "
        "no job runs: a row stands for half a millisecond, of which the driver has its share."
    )
    expectation = "Slots idle and no stage runs for the driver's share of the time."
    variants: ClassVar = {
        CAUSE: cause("the driver does its share", "the tasks do all"),
        SHARE: share("Share of the time that the driver takes"),
    }
    scales: ClassVar = {"test": 1_600, "default": 20_000, "seed": 200_000}

    def spark_conf(self, spec: WorkloadSpec) -> dict[str, str]:
        """Have a slot for each task."""
        return {**super().spark_conf(spec), "spark.master": f"local[{_SLOTS_COUNT}]"}

    def truth(self, spec: WorkloadSpec) -> Truth:
        """Declare the driver's share; planning and scheduling come on top."""
        return Truth(
            quantity="share of slot time in which no stage runs",
            where="all slots, after the only stage",
            value=percent(spec) / 100 if is_on(spec) else 0.0,
            unit="share",
            tolerance=0.1,
            measured_by=slots("idle/driver"),
            of="ledger.slot_view.total_ns",
        )

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Have tasks work, then work in the driver."""
        frame = spark.range(0, spec.size, 1, _SLOTS_COUNT)
        of_driver_ns = _ROW_NS * percent(spec) // 100 if is_on(spec) else 0
        rows = frame.selectExpr("id", work(_ROW_NS - of_driver_ns)).collect()
        spin(of_driver_ns * spec.size // _SLOTS_COUNT)
        return collected(rows)


class LargeResult(Structural):
    """All rows come to the driver, which adds them up itself."""

    name = "truth-collect"
    summary = "All rows are collected in the driver, to be added up there"
    description = (
        f"Rows of {_COLUMNS} random numbers (64 bytes) are added up bit by bit without carry: "
        "by the driver, once they are all there, or by the tasks."
    )
    expectation = "Results are large: getting them, the driver's heap and its Python take the time."
    variants: ClassVar = {CAUSE: cause("the driver adds up", "tasks add up")}
    scales: ClassVar = {"test": 10_000, "default": 400_000, "seed": 4_000_000}

    def truth(self, spec: WorkloadSpec) -> Truth:
        """Declare the size of a task's result: random numbers do not compress."""
        whole = spec.size * _COLUMNS * 8 / _TASKS
        return Truth(
            quantity="largest result of a task",
            where="each task of the only stage",
            value=whole if is_on(spec) else 0.0,
            unit="bytes",
            tolerance=0.2 * whole,
            measured_by=f"{ITERATION}.result_size_max_bytes",
        )

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Add up."""
        columns = [f"{work(0, f'id * {_COLUMNS} + {i}')} as c{i}" for i in range(_COLUMNS)]
        frame = spark.range(0, spec.size, 1, _TASKS).selectExpr(*columns)
        if not is_on(spec):
            terms = " ^ ".join(f"c{i}" for i in range(_COLUMNS))
            return collected(frame.selectExpr("count(*)", f"bit_xor({terms})").collect())
        count = total = 0
        for row in frame.collect():
            count += 1
            for number in row:
                total ^= number
        return collected([(count, total)])

    def verify(
        self, result: IterationResult, prepared: Prepared, spec: WorkloadSpec
    ) -> Mismatch | None:
        """Compare the number of rows and the sum."""
        known = collected([(spec.size, _sum(spec.size * _COLUMNS))]).checksum
        return differs(result, 1, known, "checksum of (rows, sum)")


@lru_cache(maxsize=1)
def _sum(count: int) -> int:
    total = 0
    for number in range(count):
        total ^= mix(number)
    return total
