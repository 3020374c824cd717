"""Programs whose tasks are too unequal, too many or too few."""

from __future__ import annotations

from typing import Any, ClassVar

from pyrometer.workload.contract import IterationResult, Prepared, Truth, WorkloadSpec
from pyrometer.workload.truth.rows import (
    CAUSE,
    SHARE,
    cause,
    collected,
    is_on,
    percent,
    share,
    slots,
)
from pyrometer.workload.truth.structural import ITERATION, Structural, work

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
        tolerance=0.05 + 40 / spec.size,  # what a task takes beside its rows: some of them
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
