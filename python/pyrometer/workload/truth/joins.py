"""Programs whose joins are done in the wrong way."""

from __future__ import annotations

from typing import Any, ClassVar

from pyrometer.workload.checksum import checksum
from pyrometer.workload.contract import (
    IterationResult,
    Mismatch,
    Needs,
    Prepared,
    Truth,
    WorkloadSpec,
)
from pyrometer.workload.truth.rows import CAUSE, cause, collected, differs, is_on
from pyrometer.workload.truth.structural import FIRST_QUERY, Structural, work

_USED = 1_000
_WIDTH = 100
_BROADCAST = """
select /*+ {hint}(wide) */ used.id, wide.text
from (select id * {step} as id from range(0, {used}, 1, 2)) used
join (select id, rpad(cast(id as string), {width}, 'x') as text from range(0, {rows}, 1, 2)) wide
on used.id = wide.id
"""
_CROSS = """
select a.id, max({value}) as mixed
from range(0, {rows}, 1, 2) a {join} (select id, {mixed} as mixed from range(0, {rows}, 1, 2)) b
{on} group by a.id
"""
_NO_SMALL_TABLES = {"spark.sql.autoBroadcastJoinThreshold": "-1"}


def _rows_of(operator: str) -> str:
    return f"{FIRST_QUERY}.nodes[name={operator}].metrics[metric=number of output rows].value_sum"


class BroadcastTooBig(Structural):
    """A wide table broadcast for the sake of a thousand of its rows."""

    name = "truth-broadcast"
    summary = "A large table is broadcast to join a thousand rows"
    description = (
        f"A table with a text of {_WIDTH} characters in each row is joined with {_USED} rows: by a "
        "hint it is collected in the driver, hashed and sent to every executor."
    )
    expectation = "No task runs while the driver collects and builds; its heap holds the table."
    variants: ClassVar = {
        CAUSE: cause("the hint asks for a broadcast", "the hint asks for a sort-merge join")
    }
    scales: ClassVar = {"test": 10_000, "default": 1_000_000, "seed": 3_000_000}
    scale_unit = "rows of the large table"
    needs = Needs()

    def spark_conf(self, spec: WorkloadSpec) -> dict[str, str]:
        """Leave the choice to the hint."""
        return {**super().spark_conf(spec), **_NO_SMALL_TABLES, "spark.sql.shuffle.partitions": "2"}

    def truth(self, spec: WorkloadSpec) -> Truth:
        """Declare how many rows are broadcast."""
        return Truth(
            quantity="rows that are broadcast",
            where="operator BroadcastExchange",
            value=spec.size if is_on(spec) else 0,
            unit="count",
            tolerance=0,
            measured_by=_rows_of("BroadcastExchange"),
        )

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Join."""
        query = _BROADCAST.format(
            hint="BROADCAST" if is_on(spec) else "MERGE",
            step=spec.size // _USED,
            used=_USED,
            width=_WIDTH,
            rows=spec.size,
        )
        return collected(spark.sql(query).collect())

    def verify(
        self, result: IterationResult, prepared: Prepared, spec: WorkloadSpec
    ) -> Mismatch | None:
        """Each number that was looked for has its text."""
        step = spec.size // _USED
        wanted = [number * step for number in range(_USED)]
        known = checksum((number, str(number).ljust(_WIDTH, "x")) for number in wanted)
        return differs(result, _USED, known, "checksum of (id, text)")


class CartesianProduct(Structural):
    """A join that lost its condition."""

    name = "truth-cartesian"
    summary = "A join without its condition: every pair of rows is made, and most thrown away"
    description = (
        "For each row the value of the one with the same number is looked up: by a cross join, "
        "after which an aggregate picks the pairs that belong together, or by an equality."
    )
    expectation = "CartesianProduct gives the square of the rows; time grows with the square."
    variants: ClassVar = {CAUSE: cause("a cross join", "a join by equal numbers")}
    scales: ClassVar = {"test": 500, "default": 10_000, "seed": 30_000}

    def spark_conf(self, spec: WorkloadSpec) -> dict[str, str]:
        """Have neither side broadcast: that would be a nested loop."""
        return {**super().spark_conf(spec), **_NO_SMALL_TABLES, "spark.sql.shuffle.partitions": "2"}

    def truth(self, spec: WorkloadSpec) -> Truth:
        """Declare how many pairs are made."""
        return Truth(
            quantity="pairs of rows",
            where="operator CartesianProduct",
            value=spec.size**2 if is_on(spec) else 0,
            unit="count",
            tolerance=0,
            measured_by=_rows_of("CartesianProduct"),
        )

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Look up."""
        crossed = is_on(spec)
        query = _CROSS.format(
            rows=spec.size,
            mixed=work(0),
            value="if(a.id = b.id, b.mixed, null)" if crossed else "b.mixed",
            join="cross join" if crossed else "join",
            on="" if crossed else "on a.id = b.id",
        )
        return collected(spark.sql(query).collect())
