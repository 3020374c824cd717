"""Programs in which a cause takes a declared share of the time of tasks.

A row calls ``org.pyrometer.workloads.truth.Calibrated``, which alternates between the cause and
useful work by the thread's clocks, or ``Endured`` where the cause has another clock, so the
declared share holds on any machine. The healthy twin does the same useful work without the cause.

Programs whose tasks wait for each other: for a monitor, or for a CPU.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pyrometer.core.errors import CapabilityError
from pyrometer.testing.truth.rows import (
    CAUSE,
    SHARE,
    NumberedRows,
    collected,
    is_on,
    percent,
    share,
    slots,
)
from pyrometer.testing.truth.rows import cause as with_cause
from pyrometer.workloads.values import (
    IterationResult,
    Prepared,
    Progress,
    Truth,
    Variant,
    WorkloadSpec,
    no_progress,
)

if TYPE_CHECKING:
    from pyrometer.workloads.data_cache import DataCache


ROW_NS = 10_000_000


class Calibrated(NumberedRows):
    """Base of the programs: a cause by its name in Java, and where it is seen."""

    cause: ClassVar[str]
    path: ClassVar[str]
    of: ClassVar[str]
    program: ClassVar[str] = "Calibrated"
    tolerance: ClassVar[float] = 0.05
    description = (
        "A row takes 10 ms of a task on average: a declared share for the cause, the rest for "
        "useful work, in turns of about a millisecond that the thread measures itself. Rows and "
        "turns vary in length, lest they keep in step with a profiler."
    )
    variants: ClassVar = {
        CAUSE: with_cause("the cause takes its share", "the useful work alone"),
        SHARE: share("Share of the time that the cause takes"),
    }

    def truth(self, spec: WorkloadSpec) -> Truth:
        """Declare the share; 0 with the cause switched off."""
        return Truth(
            quantity=f"share of {self.of} in {self.path}",
            where="all tasks of the only stage, operator Project",
            value=percent(spec) / 100 if is_on(spec) else 0.0,
            unit="share",
            tolerance=self.tolerance,
            measured_by=slots(self.path),
            of=slots(self.of),
            operator="Project",
        )

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Work through the rows."""
        cause_ns = ROW_NS * percent(spec) // 100
        arguments = f"'{self.cause}', {cause_ns if is_on(spec) else 0}L, {ROW_NS - cause_ns}L"
        return collected(spark.sql(self.query(self.program, arguments, spec)).collect())


class Sleep(Calibrated):
    """Tasks that sleep."""

    name = "truth-sleep"
    summary = "Tasks sleep for a declared share of their time"
    expectation = "Wait class timed_sleep has the share of task time."
    cause, path, of = "sleep", "task/waiting/timed_sleep", "task"


class Udf(Calibrated):
    """Tasks that compute in a user's function."""

    name = "truth-udf"
    summary = "A user's function takes a declared share of the CPU"
    expectation = "Category udf has the share of task CPU; decompression has the rest."
    cause, path, of = "udf", "task/on_cpu/udf", "task/on_cpu"


class Cast(Calibrated):
    """Tasks that turn numbers into text and back."""

    name = "truth-cast"
    summary = "Conversions of numbers take a declared share of the CPU"
    expectation = "Category cast has the share of task CPU; udf has the rest."
    cause, path, of = "cast", "task/on_cpu/cast", "task/on_cpu"


class Decompression(Calibrated):
    """Tasks that inflate."""

    name = "truth-decompression"
    summary = "Decompression takes a declared share of the CPU"
    expectation = "Category decompression has the share of task CPU; udf has the rest."
    cause, path, of = "decompression", "task/on_cpu/decompression", "task/on_cpu"


class Serialisation(Calibrated):
    """Tasks that turn objects into bytes and back."""

    name = "truth-serialisation"
    summary = "Serialisation of objects takes a declared share of the CPU"
    description = (
        "A row takes 10 ms of a task's CPU on average: in turns of about a millisecond a list of "
        "32 records goes through Spark's serialiser and back, or useful work is done. The share is "
        "declared for either serialiser; Kryo gets more lists through in it."
    )
    expectation = "Category serialisation has the share of task CPU; udf has the rest."
    cause, path, of = "serialisation", "task/on_cpu/serialisation", "task/on_cpu"
    variants: ClassVar = {
        **Calibrated.variants,
        "workload.serializer": Variant(
            levels={"java": "Java's own, Spark's default", "kryo": "Kryo, without registration"},
            default="java",
            doc="Spark's serialiser.",
        ),
    }

    def truth(self, spec: WorkloadSpec) -> Truth:
        """Declare the share; of Kryo's work a part lies in reflection, constructors and pages."""
        kryo = spec.levels["workload.serializer"] == "kryo"
        return replace(super().truth(spec), tolerance=0.1 if kryo else self.tolerance)

    def spark_conf(self, spec: WorkloadSpec) -> dict[str, str]:
        """Choose the serialiser."""
        name = spec.levels["workload.serializer"].capitalize()
        return {"spark.serializer": f"org.apache.spark.serializer.{name}Serializer"}


_SCHEDSTAT = Path("/proc/self/schedstat")


class _Waiting(Calibrated):
    """Base of both: they need the kernel's count of each thread's time."""

    program = "Endured"
    scales: ClassVar = {"test": 100, "default": 1_000, "seed": 10_000}

    def prepare(
        self, spec: WorkloadSpec, cache: DataCache, progress: Progress = no_progress
    ) -> Prepared:
        """Check that the kernel has this count."""
        if not _SCHEDSTAT.exists():
            raise CapabilityError(
                f"{self.name} needs {_SCHEDSTAT}, which this kernel does not have",
                "boot a Linux kernel built with CONFIG_SCHED_INFO",
            )
        return super().prepare(spec, cache, progress)


class Lock(_Waiting):
    """Tasks blocked on a monitor."""

    name = "truth-lock"
    summary = "Tasks are blocked on a monitor for a declared share of their time"
    description = (
        "For each task another thread holds a monitor, a millisecond at a time, until the task has "
        "been blocked for its share; the wait for a CPU after it is not counted to it. The rest of "
        "the time is useful work."
    )
    expectation = "Wait class lock has the share of task time."
    cause, path, of = "lock", "task/waiting/lock", "task"


class RunQueue(_Waiting):
    """Tasks that wait for a CPU."""

    name = "truth-run-queue"
    summary = "Tasks wait for a CPU for a declared share of their time"
    description = (
        "Threads without work of their own take the CPUs until a task has waited for its share, "
        "by the kernel's own count (schedstat) for its thread; the rest of the time is its own. "
        "Waits are as long as the kernel's time slices, so a short run meets its share less well."
    )
    expectation = "Row task/run_queue has the share of task time."
    cause, path, of = "run_queue", "task/run_queue", "task"
    tolerance = 0.1
