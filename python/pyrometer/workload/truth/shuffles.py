"""Programs that move or compute more than they need."""

from __future__ import annotations

from typing import Any, ClassVar

from pyrometer.workload.contract import IterationResult, Mismatch, Prepared, Truth, WorkloadSpec
from pyrometer.workload.truth.rows import CAUSE, cause, collected, differs, is_on, mixed
from pyrometer.workload.truth.structural import ITERATION, Structural, work

_FEW = 2
_USES = 4
_TASKS = 4
_ROW_NS = 1_000_000


class ShuffleBlocks(Structural):
    """A shuffle in which every task has a row for every other."""

    name = "truth-shuffle-blocks"
    summary = "A shuffle with as many blocks as rows"
    description = (
        "As many tasks write as read, and each writes one row for each reader, by round robin: a "
        "block is a row. The square of the scale is the number of rows and of blocks."
    )
    expectation = "Time goes to opening, fetching and scheduling; bytes are few."
    variants: ClassVar = {
        CAUSE: cause("as many tasks on both sides as the scale says", f"{_FEW} tasks on both sides")
    }
    scales: ClassVar = {"test": 20, "default": 250, "seed": 1_000}
    scale_unit = "tasks on each side of the shuffle"

    def truth(self, spec: WorkloadSpec) -> Truth:
        """Declare the number of blocks."""
        return Truth(
            quantity="shuffle blocks fetched in an iteration",
            where="the second stage",
            value=self._tasks(spec) ** 2,
            unit="count",
            tolerance=0,
            measured_by=f"{ITERATION}.shuffle_blocks_fetched_count",
        )

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Shuffle."""
        tasks = self._tasks(spec)
        spread = spark.range(0, spec.size**2, 1, tasks).repartition(tasks)
        return collected(spread.selectExpr("id", work(0)).collect())

    def verify(
        self, result: IterationResult, prepared: Prepared, spec: WorkloadSpec
    ) -> Mismatch | None:
        """Every row arrives once."""
        rows = spec.size**2
        return differs(result, rows, mixed(range(rows)), "checksum of (id, mixed)")

    def _tasks(self, spec: WorkloadSpec) -> int:
        return spec.size if is_on(spec) else _FEW


class Recomputation(Structural):
    """A result that is used four times and computed for each use."""

    name = "truth-recomputation"
    summary = f"What is used {_USES} times is computed {_USES} times instead of cached"
    description = (
        f"Rows that take a millisecond each are used by {_USES} queries, each of which keeps a "
        "part of them. Without a cache, each computes all of them."
    )
    expectation = f"{_USES} times the input, and {_USES} times the CPU."
    variants: ClassVar = {
        CAUSE: cause("computed for each use", "cached at the first use, dropped at the end")
    }
    scales: ClassVar = {"test": 160, "default": 5_000, "seed": 50_000}

    def truth(self, spec: WorkloadSpec) -> Truth:
        """Declare the rows that are made; a cache counts a batch for each task that reads it."""
        uses = _USES if is_on(spec) else 1
        return Truth(
            quantity="input records of an iteration",
            where="the scan of all queries",
            value=spec.size * uses,
            unit="count",
            tolerance=_USES * _TASKS,
            measured_by=f"{ITERATION}.input_records_count",
        )

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Use the rows."""
        frame = spark.range(0, spec.size, 1, _TASKS).selectExpr("id", f"{work(_ROW_NS)} as mixed")
        if not is_on(spec):
            frame = frame.cache()
        try:
            parts = [frame.where(f"id % {_USES} = {use}").collect() for use in range(_USES)]
        finally:
            frame.unpersist(blocking=True)
        return collected([row for part in parts for row in part])
