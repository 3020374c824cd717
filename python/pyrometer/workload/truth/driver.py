"""Programs in which the driver works while executors wait."""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Any, ClassVar

from pyrometer.workload.contract import IterationResult, Mismatch, Prepared, Truth, WorkloadSpec
from pyrometer.workload.truth.rows import (
    CAUSE,
    SHARE,
    cause,
    collected,
    differs,
    is_on,
    mix,
    percent,
    share,
    slots,
)
from pyrometer.workload.truth.structural import ITERATION, Structural, work

_SLOTS_COUNT = 2
_ROW_NS = 1_000_000
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
