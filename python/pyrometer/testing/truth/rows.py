"""Base of truth programs that work row by row: rows are numbers, and so are their results.

Base of programs whose cause is in Spark's structure: tasks, shuffles, joins, failures.

Tasks call ``org.pyrometer.workloads.truth.Calibrated``, a declared time for each row, and return
each number with its hash. So a program and its healthy twin have the same result, and differ in how
Spark computes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from pyrometer.core.errors import UsageError
from pyrometer.workloads.contract import Workload
from pyrometer.workloads.results import checksum
from pyrometer.workloads.spark import workloads_jar
from pyrometer.workloads.values import (
    IterationResult,
    Mismatch,
    Needs,
    Prepared,
    Progress,
    Variant,
    WorkloadSpec,
    no_progress,
)

if TYPE_CHECKING:
    from pyrometer.workloads.data_cache import DataCache


CAUSE = "workload.cause"
"""The variant by which each program's cause is switched off."""
SHARE = "workload.share"
"""The variant that sets the share of the cause, in per cent."""

_QUERY = """
select id, cast(java_method('org.pyrometer.workloads.truth.{program}', '{method}',
                            {arguments}, id) as bigint) as mixed
from range(0, {rows}, 1, {tasks})
"""
_MASK = 2**64 - 1


def mix(number: int) -> int:
    """Hash as splitmix64 finalises (Steele, Lea, Flood 2014), without the sign.

    Examples
    --------
    >>> mix(0) == 0xE220A8397B1DCDAF >> 1
    True
    """
    z = (number + 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return (z ^ (z >> 31)) >> 1


def mixed(numbers: Iterable[int]) -> str:
    """Checksum of each number with its hash."""
    return checksum((number, mix(number)) for number in numbers)


def cause(on: str, off: str) -> Variant:
    """Give the variant that switches the cause off."""
    return Variant(levels={"on": on, "off": off}, default="on", doc="Whether the cause is there.")


def share(of: str) -> Variant:
    """Give the variant that sets the share of the cause."""
    return Variant(
        levels={"50": "half"}, default="50", doc=f"{of}, in per cent: 1 to 90.", integer=True
    )


def is_on(spec: WorkloadSpec) -> bool:
    """Whether the cause is switched on."""
    return spec.levels[CAUSE] == "on"


def percent(spec: WorkloadSpec) -> int:
    """Share of the cause, in per cent."""
    return int(spec.levels[SHARE])


def need_between(spec: WorkloadSpec, variant: str, least: int, most: int, example: int) -> None:
    """Refuse a level that the program cannot keep.

    Raises
    ------
    UsageError
        If it is below `least` or above `most`.
    """
    if not least <= int(spec.levels[variant]) <= most:
        raise UsageError(
            f"{variant} of {spec.name} is {spec.levels[variant]}, not between {least} and {most}",
            f"for example --set {variant}={example}",
        )


def collected(rows: Sequence[Any]) -> IterationResult:
    """Build the result of rows that were collected in the driver."""
    return IterationResult(len(rows), checksum(rows))


def differs(result: IterationResult, rows: int, known: str, what: str) -> Mismatch | None:
    """Compare a result with the rows and the checksum that are known."""
    if result.rows != rows:
        return Mismatch("rows", str(rows), str(result.rows))
    if result.checksum != known:
        return Mismatch(what, known, result.checksum)
    return None


def slots(path: str) -> str:
    """Path in ``show --json`` of a row of the ledger's slot view."""
    return f"ledger.slot_view.rows[path={path}].value_ns"


class NumberedRows(Workload):
    """Base of the programs: rows are numbers, mostly with a method in Java called for each."""

    group = "truth"
    source = "Pyrometer: a program built to have this cause"
    scales: ClassVar = {"test": 20, "default": 1_000, "seed": 10_000}
    scale_unit = "rows"
    needs = Needs(jars=(workloads_jar(),))
    tasks: ClassVar[int] = 4

    def prepare(
        self, spec: WorkloadSpec, cache: DataCache, progress: Progress = no_progress
    ) -> Prepared:
        """Need no data: rows are numbers."""
        if SHARE in self.variants:
            need_between(spec, SHARE, 1, 90, example=50)
        return Prepared()

    def query(self, program: str, arguments: str, spec: WorkloadSpec, method: str = "row") -> str:
        """Give the SQL that calls ``program.method(arguments, id)`` for every row."""
        return _QUERY.format(
            program=program, method=method, arguments=arguments, rows=spec.size, tasks=self.tasks
        )

    def verify(
        self, result: IterationResult, prepared: Prepared, spec: WorkloadSpec
    ) -> Mismatch | None:
        """Each row gives the value that follows from its number."""
        return differs(result, spec.size, mixed(range(spec.size)), "checksum of (id, mixed)")


ITERATION = "iterations[iteration=0].totals"
"""Path to the totals of one iteration: all have the same counts."""

FIRST_QUERY = "sql[app_index=0]"
"""Path to the first SQL execution of the window."""

_ROW = "'org.pyrometer.workloads.truth.Calibrated', 'row'"


def work(ns: str | int, column: str = "id") -> str:
    """Write SQL for the hash of `column`, after `ns` nanoseconds of work.

    `ns` is a number or an expression.
    """
    # With cause sleep both durations are measured by the wall clock; here the sleep is 0.
    useful = f"{ns}L" if isinstance(ns, int) else f"cast({ns} as bigint)"
    return f"cast(java_method({_ROW}, 'sleep', 0L, {useful}, {column}) as bigint)"


class Structural(NumberedRows):
    """Base of the programs: rows are numbers, and each is returned with its hash."""

    def spark_conf(self, spec: WorkloadSpec) -> dict[str, str]:
        """Keep plan and partitions as they are written."""
        return {"spark.sql.adaptive.enabled": "false"}
