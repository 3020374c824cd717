"""Programs in which memory is the cause: garbage, its collection, and pages touched first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pyrometer.testing.truth.calibrated import ROW_NS, Calibrated
from pyrometer.testing.truth.rows import (
    CAUSE,
    NumberedRows,
    cause,
    collected,
    is_on,
    need_between,
    slots,
)
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


RATE = "workload.rate"

# The serial collector's young generation has exactly the configured size: eden and two survivor
# spaces of an eighth of eden each.
_SERIAL = "-XX:+UseSerialGC -XX:SurvivorRatio=8 -Xmn{young}m"


class Gc(Calibrated):
    """Tasks stopped by the collector."""

    name = "truth-gc"
    summary = "Tasks are stopped by collections for a declared share of their time"
    description = (
        "Tasks allocate small linked objects, of which the last 131 072 stay alive, until the "
        "JVM's own clock of collections has taken their share; the rest of the time is useful "
        "work. The young generation has 4 MiB and the collector is the serial one, so that "
        "nearly all of the time of allocation goes into copying what survives. A share above "
        "five sevenths is more than allocation brings about: collections are asked for then."
    )
    expectation = "Row task/gc_pause has the share of task time."
    cause, path, of = "gc", "task/gc_pause", "task"
    program = "Endured"
    scales: ClassVar = {"test": 100, "default": 1_000, "seed": 10_000}

    def spark_conf(self, spec: WorkloadSpec) -> dict[str, str]:
        """Give the collector little room."""
        return {"spark.driver.extraJavaOptions": _SERIAL.format(young=4)}


class Allocation(NumberedRows):
    """Tasks that allocate."""

    name = "truth-allocation"
    summary = "Tasks allocate a declared number of megabytes a second"
    description = (
        "Each row takes 10 ms of a task, in which it computes and allocates arrays at a declared "
        "rate; none survives. The collector is the serial one with an eden of 32 MiB: every "
        "32 MiB that tasks allocate are one collection."
    )
    expectation = "Collections per second of task time are the rate divided by the eden's size."
    variants: ClassVar = {
        CAUSE: cause("tasks allocate at the rate", "they compute alone"),
        RATE: Variant(
            levels={"640": "twenty collections a second"},
            default="640",
            doc="Allocation of one task, in MiB per second: 64 to 2048.",
            integer=True,
        ),
    }
    scales: ClassVar = {"test": 100, "default": 1_000, "seed": 10_000}
    eden_mib = 32

    def prepare(
        self, spec: WorkloadSpec, cache: DataCache, progress: Progress = no_progress
    ) -> Prepared:
        """Need no data."""
        need_between(spec, RATE, 64, 2048, example=640)
        return super().prepare(spec, cache, progress)

    def spark_conf(self, spec: WorkloadSpec) -> dict[str, str]:
        """Fix the size of eden."""
        young = self.eden_mib * 10 // 8
        return {"spark.driver.extraJavaOptions": _SERIAL.format(young=young)}

    def truth(self, spec: WorkloadSpec) -> Truth:
        """Declare the rate of collections, which follows from that of allocation."""
        rate = int(spec.levels[RATE]) / self.eden_mib / 1e9 if is_on(spec) else 0.0
        return Truth(
            quantity=f"collections, one for every {self.eden_mib} MiB that tasks allocate",
            where="the whole JVM, per nanosecond of task time",
            value=rate,
            unit="count per ns",
            # Allocation of the driver between tasks causes some more collections.
            tolerance=max(0.1 * rate, 1e-9),
            measured_by="gc.pauses_count",
            of=slots("task"),
        )

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Work through the rows."""
        each = (int(spec.levels[RATE]) << 20) * ROW_NS // 10**9 if is_on(spec) else 0
        return collected(spark.sql(self.query("Allocation", f"{each}L, {ROW_NS}L", spec)).collect())


class PageFaults(Calibrated):
    """Tasks that touch fresh pages."""

    name = "truth-page-faults"
    summary = "First touches of pages take a declared share of the CPU"
    description = (
        "A row takes 10 ms of a task's CPU on average: in turns of about a millisecond it touches "
        "fresh pages of a mapping outside the heap, 64 at a time and each once, or does useful "
        "work. A page is a page fault, unless the kernel gives huge pages by default."
    )
    expectation = "Category memory has the share of task CPU; udf has the rest."
    cause, path, of = "page_faults", "task/on_cpu/memory", "task/on_cpu"
