"""Programs in which a cause takes a declared share of the time of tasks.

A row calls ``org.pyrometer.workloads.truth.Calibrated``, which alternates between the cause and
useful work by the thread's own clocks, so the declared share holds on any machine. The healthy twin
does the same useful work and leaves the cause out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pyrometer.errors import UsageError
from pyrometer.workload.checksum import checksum
from pyrometer.workload.contract import (
    IterationResult,
    Mismatch,
    Needs,
    Prepared,
    Progress,
    Truth,
    Variant,
    Workload,
    WorkloadSpec,
    no_progress,
)
from pyrometer.workload.jars import workloads_jar

if TYPE_CHECKING:
    from pyrometer.workload.cache import DataCache

CAUSE, SHARE = "workload.cause", "workload.share"
_ROW_NS = 10_000_000
_TASKS = 4
_QUERY = """
select id, cast(java_method('org.pyrometer.workloads.truth.Calibrated', 'row',
                            '{cause}', {cause_ns}L, {useful_ns}L, id) as bigint) as mixed
from range(0, {rows}, 1, {tasks})
"""
_SLOTS = "ledger.slot_view.rows[path={}].value_ns"
_MASK = 2**64 - 1


def mix(number: int) -> int:
    """Finalise as splitmix64 does (Steele, Lea, Flood 2014), without the sign.

    Examples
    --------
    >>> mix(0) == 0xE220A8397B1DCDAF >> 1
    True
    """
    z = (number + 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return (z ^ (z >> 31)) >> 1


class Calibrated(Workload):
    """Base of the programs: a cause by its name in Java, and where it is seen."""

    group = "truth"
    cause: ClassVar[str]
    path: ClassVar[str]
    of: ClassVar[str]
    description = (
        "Each row takes 10 ms of a task: a declared share for the cause, the rest for useful "
        "work, in turns of about a millisecond that the thread measures itself."
    )
    source = "Pyrometer: a program made to have this cause"
    variants: ClassVar = {
        CAUSE: Variant(
            levels={"on": "the cause takes its share", "off": "the useful work alone"},
            default="on",
            doc="Whether the cause is there.",
        ),
        SHARE: Variant(
            levels={"50": "half"},
            default="50",
            doc="Share of the time that the cause takes, in per cent: 10 to 90.",
            integer=True,
        ),
    }
    scales: ClassVar = {"test": 20, "default": 1_000, "seed": 10_000}
    scale_unit = "rows"
    needs = Needs(jars=(workloads_jar(),))

    def prepare(
        self, spec: WorkloadSpec, cache: DataCache, progress: Progress = no_progress
    ) -> Prepared:
        """Need no data: rows are numbers."""
        if not 10 <= int(spec.levels[SHARE]) <= 90:
            raise UsageError(
                f"{SHARE} of {self.name} is {spec.levels[SHARE]}, not between 10 and 90",
                f"for example --set {SHARE}=50",
            )
        return Prepared()

    def truth(self, spec: WorkloadSpec) -> Truth:
        """Declare the share; none with the cause left out."""
        on = spec.levels[CAUSE] == "on"
        return Truth(
            quantity=f"share of {self.of} in {self.path}",
            where="all tasks of the only stage, operator Project",
            value=int(spec.levels[SHARE]) / 100 if on else 0.0,
            unit="share",
            tolerance=0.05,
            measured_by=_SLOTS.format(self.path),
            of=_SLOTS.format(self.of),
        )

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Work through the rows."""
        share = int(spec.levels[SHARE])
        cause_ns = _ROW_NS * share // 100
        query = _QUERY.format(
            cause=self.cause,
            cause_ns=cause_ns if spec.levels[CAUSE] == "on" else 0,
            useful_ns=_ROW_NS - cause_ns,
            rows=spec.size,
            tasks=_TASKS,
        )
        rows = spark.sql(query).collect()
        return IterationResult(len(rows), checksum(rows))

    def verify(
        self, result: IterationResult, prepared: Prepared, spec: WorkloadSpec
    ) -> Mismatch | None:
        """Each row gives the value that follows from its number."""
        if result.rows != spec.size:
            return Mismatch("rows", str(spec.size), str(result.rows))
        known = checksum((number, mix(number)) for number in range(spec.size))
        if result.checksum != known:
            return Mismatch("checksum of (id, mixed)", known, result.checksum)
        return None


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
