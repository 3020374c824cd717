"""Workloads for tests of the runner process: without data, ending as they are told."""

from __future__ import annotations

from typing import Any, ClassVar

from pyrometer.workloads.contract import Workload
from pyrometer.workloads.results import checksum
from pyrometer.workloads.values import (
    IterationResult,
    Mismatch,
    PartResult,
    Prepared,
    Variant,
    WorkloadSpec,
)


class Toy(Workload):
    name = "toy"
    summary = "Ends as it is told"
    description = source = expectation = "For tests."
    variants: ClassVar = {
        "workload.ending": Variant(
            levels={word: word for word in ("right", "wrong", "raise", "part", "sleep")},
            default="right",
            doc="How it ends.",
        )
    }
    scales: ClassVar = {"test": 1, "default": 1, "seed": 1}
    scale_unit = "things"

    def prepare(self, spec: WorkloadSpec, cache: Any, progress: Any = None) -> Prepared:
        return Prepared()

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        ending = spec.levels["workload.ending"]
        if ending == "raise":
            raise ValueError("told to raise")
        if ending == "part":
            failed = PartResult("q2", 0, "", error="told to fail")
            return IterationResult(1, "1", parts=[PartResult("q1", 1, "1"), failed])
        if ending == "sleep":
            # In a task, so that Spark has something to cancel.
            spark.sql(
                "select java_method('java.lang.Thread', 'sleep', id + 600000) from range(1)"
            ).collect()
        rows = [(0,)] if ending == "wrong" else []
        return IterationResult(len(rows), checksum(rows))

    def verify(
        self, result: IterationResult, prepared: Prepared, spec: WorkloadSpec
    ) -> Mismatch | None:
        if spec.levels["workload.ending"] == "part":
            return None
        return Mismatch("rows", "0", str(result.rows)) if result.rows else None
