"""What programs made of Spark's own structure have in common: tasks, shuffles, joins, failures.

Tasks work by ``org.pyrometer.workloads.truth.Calibrated``, a declared time for each row, and give
each number beside what it is mixed to. So a program and its healthy twin have the same result, and
differ in how Spark is made to come by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pyrometer.errors import UsageError
from pyrometer.workload.checksum import checksum
from pyrometer.workload.contract import (
    IterationResult,
    Mismatch,
    Prepared,
    Progress,
    Variant,
    WorkloadSpec,
    no_progress,
)
from pyrometer.workload.truth.calibrated import SHARE
from pyrometer.workload.truth.rows import CAUSE, NumberedRows, mix

if TYPE_CHECKING:
    from pyrometer.workload.cache import DataCache

ITERATION = "iterations[iteration=0].totals"
"""Path to the totals of one iteration: all have the same counts."""

FIRST_QUERY = "sql[app_index=0]"
"""Path to the first SQL execution of the window."""

_ROW = "'org.pyrometer.workloads.truth.Calibrated', 'row'"


def work(ns: str | int, column: str = "id") -> str:
    """Write SQL: what `column` is mixed to, after so many nanoseconds of work on the clock.

    `ns` is a number or an expression.
    """
    # Both durations are told by the wall clock where the cause is sleep, and none is slept here.
    useful = f"{ns}L" if isinstance(ns, int) else f"cast({ns} as bigint)"
    return f"cast(java_method({_ROW}, 'sleep', 0L, {useful}, {column}) as bigint)"


def mixed(numbers: Iterable[int]) -> str:
    """Checksum of each number beside what it is mixed to."""
    return checksum((number, mix(number)) for number in numbers)


def cause(on: str, off: str) -> Variant:
    """Make the variant that leaves the cause out."""
    return Variant(levels={"on": on, "off": off}, default="on", doc="Whether the cause is there.")


def share(of: str) -> Variant:
    """Make the variant that sweeps the share of the cause."""
    return Variant(
        levels={"50": "half"}, default="50", doc=f"{of}, in per cent: 10 to 90.", integer=True
    )


def is_on(spec: WorkloadSpec) -> bool:
    """Whether the cause is there."""
    return spec.levels[CAUSE] == "on"


def percent(spec: WorkloadSpec) -> int:
    """Share that was asked for."""
    return int(spec.levels[SHARE])


class Structural(NumberedRows):
    """Base of the programs: rows are numbers, and each comes back with what it is mixed to."""

    def prepare(
        self, spec: WorkloadSpec, cache: DataCache, progress: Progress = no_progress
    ) -> Prepared:
        """Need no data: rows are numbers."""
        if SHARE in self.variants and not 10 <= percent(spec) <= 90:
            raise UsageError(
                f"{SHARE} of {self.name} is {spec.levels[SHARE]}, not between 10 and 90",
                f"for example --set {SHARE}=50",
            )
        return super().prepare(spec, cache, progress)

    def spark_conf(self, spec: WorkloadSpec) -> dict[str, str]:
        """Keep plan and partitions as they are written."""
        return {"spark.sql.adaptive.enabled": "false"}


def collected(rows: Sequence[Any]) -> IterationResult:
    """Make the result of rows that came to the driver."""
    return IterationResult(len(rows), checksum(rows))


def differs(result: IterationResult, rows: int, known: str, what: str) -> Mismatch | None:
    """Compare a result with the rows and the checksum that are known."""
    if result.rows != rows:
        return Mismatch("rows", str(rows), str(result.rows))
    if result.checksum != known:
        return Mismatch(what, known, result.checksum)
    return None
