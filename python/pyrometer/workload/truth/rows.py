"""What truth programs that work row by row share: rows are numbers, and so are their results."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pyrometer.workload.checksum import checksum
from pyrometer.workload.contract import (
    IterationResult,
    Mismatch,
    Needs,
    Prepared,
    Progress,
    Workload,
    WorkloadSpec,
    no_progress,
)
from pyrometer.workload.jars import workloads_jar

if TYPE_CHECKING:
    from pyrometer.workload.cache import DataCache

CAUSE = "workload.cause"
"""The variant by which each program's cause is switched off."""

_QUERY = """
select id, cast(java_method('org.pyrometer.workloads.truth.{program}', '{method}',
                            {arguments}, id) as bigint) as mixed
from range(0, {rows}, 1, {tasks})
"""
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


def slots(path: str) -> str:
    """Where ``show --json`` has a row of the ledger's slot view."""
    return f"ledger.slot_view.rows[path={path}].value_ns"


class NumberedRows(Workload):
    """Base of the programs: a method in Java is called for each number."""

    group = "truth"
    source = "Pyrometer: a program made to have this cause"
    scales: ClassVar = {"test": 20, "default": 1_000, "seed": 10_000}
    scale_unit = "rows"
    needs = Needs(jars=(workloads_jar(),))
    tasks: ClassVar[int] = 4

    def prepare(
        self, spec: WorkloadSpec, cache: DataCache, progress: Progress = no_progress
    ) -> Prepared:
        """Need no data: rows are numbers."""
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
        if result.rows != spec.size:
            return Mismatch("rows", str(spec.size), str(result.rows))
        known = checksum((number, mix(number)) for number in range(spec.size))
        if result.checksum != known:
            return Mismatch("checksum of (id, mixed)", known, result.checksum)
        return None
