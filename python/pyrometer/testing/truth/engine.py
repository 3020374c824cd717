"""Programs whose cause is in the execution of a query: a spill, code too long to compile.

Programs whose rows pass through Python workers.
"""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

from pyrometer.testing.truth.rows import (
    CAUSE,
    SHARE,
    NumberedRows,
    Structural,
    cause,
    collected,
    differs,
    is_on,
    percent,
    share,
    slots,
    work,
)
from pyrometer.workloads.results import checksum
from pyrometer.workloads.spark import workloads_jar
from pyrometer.workloads.values import (
    IterationResult,
    Mismatch,
    Needs,
    Prepared,
    Truth,
    WorkloadSpec,
)

_TASKS = 4
_STRIDE = 7919
_SORT = """
select part, first(id) as low, last(id) as high, count(*) as n
from (select id, spark_partition_id() as part from range(0, {rows}, 1, {tasks})
      sort by id * {stride} % {rows}, id)
group by part
"""
# A record on disk: its length, its sort prefix, and the row: null bits, `id` and `part`. A spill
# begins with the number of its records (UnsafeSorterSpillWriter of Spark).
_RECORD_BYTES = 4 + 8 + 3 * 8
_SPILL_BYTES = 4
_SUMS = 100
_ROWS_EQUAL_TO_TASKS = 4_000
"""Interpreted rows that take as much CPU as the compiled code in which tasks start and end."""


class Spill(NumberedRows):
    """Tasks whose sort spills."""

    name = "truth-spill"
    needs = Needs()
    summary = "A sort writes three quarters of its rows to disk and reads them back"
    description = (
        "Four tasks sort numbers. The sorter has to spill whenever it holds a quarter of its "
        "task's rows, as it does where it gets no more memory. Spills are not compressed: a row "
        "on disk is 36 bytes."
    )
    expectation = "27 bytes spilled to disk for each row of input; none with the cause left out."
    variants: ClassVar = {CAUSE: cause("the sorter spills", "it keeps all rows in memory")}
    scales: ClassVar = {"test": 40_000, "default": 2_000_000, "seed": 100_000_000}

    def spark_conf(self, spec: WorkloadSpec) -> dict[str, str]:
        """Force the spills."""
        most = str(_held(spec.size)) if is_on(spec) else "2147483647"
        return {
            "spark.shuffle.spill.numElementsForceSpillThreshold": most,
            "spark.shuffle.spill.compress": "false",
        }

    def truth(self, spec: WorkloadSpec) -> Truth:
        """Declare the bytes of the records that are spilled."""
        held, spilled = _held(spec.size), 0
        for ids in _parts(spec.size):
            # The sorter spills when one more row comes.
            spills = max(0, len(ids) - 1) // held
            spilled += spills * (_SPILL_BYTES + held * _RECORD_BYTES)
        return Truth(
            quantity="bytes spilled to disk for each row of input",
            where="all tasks of the first stage, operator Sort",
            value=spilled / spec.size if is_on(spec) else 0.0,
            unit="bytes per row",
            tolerance=0.01,
            measured_by="totals.disk_spilled_bytes",
            of="totals.input_records_count",
        )

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Sort, and return the ends of each part."""
        query = _SORT.format(rows=spec.size, tasks=_TASKS, stride=_STRIDE)
        return collected(spark.sql(query).collect())

    def verify(
        self, result: IterationResult, prepared: Prepared, spec: WorkloadSpec
    ) -> Mismatch | None:
        """Each part begins and ends with the numbers that come first and last."""
        known = _ends(spec.size)
        return differs(result, len(known), checksum(known), "checksum of the ends of the parts")


def _parts(rows: int) -> list[range]:
    """Split numbers among tasks as Spark does."""
    return [range(rows * i // _TASKS, rows * (i + 1) // _TASKS) for i in range(_TASKS)]


def _held(rows: int) -> int:
    return max(1, rows // _TASKS // 4)


@cache
def _ends(rows: int) -> list[tuple[int, int, int, int]]:
    def order(number: int) -> tuple[int, int]:
        return number * _STRIDE % rows, number

    return [
        (part, min(ids, key=order), max(ids, key=order), len(ids))
        for part, ids in enumerate(_parts(rows))
        if ids
    ]


class HugeMethod(NumberedRows):
    """Tasks whose generated method the JIT compiler refuses."""

    name = "truth-huge-method"
    needs = Needs()
    summary = "A generated method is too large for the JIT compiler and is interpreted"
    description = (
        f"{_SUMS} sums over numbers. With the cause, Spark generates them as one method of more "
        "than 8000 bytes of code, which HotSpot never compiles (-XX:-DontCompileHugeMethods "
        "would); else it splits them into a method each."
    )
    expectation = (
        "Nearly all CPU of tasks in interpreted frames of agg_doAggregateWithoutKey, and many "
        "times the CPU of the twin for the same rows."
    )
    variants: ClassVar = {CAUSE: cause("one method", "a method for each sum")}
    scales: ClassVar = {"test": 8_000, "default": 400_000, "seed": 10_000_000}

    def spark_conf(self, spec: WorkloadSpec) -> dict[str, str]:
        """Have aggregate functions split, or not."""
        split = "false" if is_on(spec) else "true"
        return {"spark.sql.codegen.aggregate.splitAggregateFunc.enabled": split}

    def truth(self, spec: WorkloadSpec) -> Truth | None:
        """Declare where the CPU goes; the little CPU of the twin goes to starting its tasks."""
        if not is_on(spec):
            return None
        return Truth(
            quantity="share of task CPU in interpreted code",
            where="all tasks, most of it in operator HashAggregate of the first stage",
            value=1.0,
            unit="share",
            # Tasks do other work as well, partly in compiled code: as much CPU as some of the rows.
            tolerance=min(1.0, 0.05 + _ROWS_EQUAL_TO_TASKS / spec.size),
            measured_by="code.kinds[kind=interpreted].on_cpu_ns",
            of=slots("task/on_cpu"),
        )

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Add up."""
        return collected(spark.sql(sums(spec.size)).collect())

    def verify(
        self, result: IterationResult, prepared: Prepared, spec: WorkloadSpec
    ) -> Mismatch | None:
        """Compare with the sums by their formula."""
        return differs(result, 1, checksum([_known_sums(spec.size)]), "checksum of the sums")


def sums(rows: int) -> str:
    """Write the query: sums of the rests of numbers, by another divisor each."""
    columns = ", ".join(f"sum(id % {k + 2} + {k}) as s{k}" for k in range(_SUMS))
    return f"select {columns} from range(0, {rows}, 1, {_TASKS})"


def _known_sums(rows: int) -> tuple[int, ...]:
    found = []
    for k in range(_SUMS):
        divisor = k + 2
        whole, rest = divmod(rows, divisor)
        found.append(whole * divisor * (divisor - 1) // 2 + rest * (rest - 1) // 2 + k * rows)
    return tuple(found)


_ROW_NS = 10_000_000
# Spark sends rows to a worker by the hundred. With no more in a task, the worker is done before
# the task goes on, so the two do not overlap.
_MOST_ROWS = 50


class PythonUdf(Structural):
    """A function that is called in Python for each row."""

    name = "truth-python-udf"
    summary = "A Python function takes a declared share of the time of tasks"
    description = (
        "Each row takes 10 ms: its share in a Python worker, for which the task waits, and the "
        f"rest in the JVM. A task has at most {_MOST_ROWS} rows, so that worker and JVM take turns."
    )
    expectation = "Row python_workers has the share of task time, and Python processes the CPU."
    variants: ClassVar = {
        CAUSE: cause("the function takes its share", "the JVM's part alone, without Python"),
        SHARE: share("Share of the time that the function takes"),
    }
    scales: ClassVar = {"test": 40, "default": 2_000, "seed": 20_000}

    def truth(self, spec: WorkloadSpec) -> Truth:
        """Declare the share."""
        return Truth(
            quantity="share of task time waiting for Python",
            where="all tasks of the only stage, operator BatchEvalPython or ArrowEvalPython",
            value=percent(spec) / 100 if is_on(spec) else 0.0,
            unit="share",
            tolerance=0.08,
            measured_by=slots("task/waiting/python_workers"),
            of=slots("task"),
        )

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Work through the rows."""
        of_python_ns = _ROW_NS * percent(spec) // 100
        tasks = max(_TASKS, -(-spec.size // _MOST_ROWS))
        frame = spark.range(0, spec.size, 1, tasks)
        seen = self.function(of_python_ns)("id") if is_on(spec) else frame["id"]
        frame = frame.withColumn("seen", seen)
        return collected(frame.selectExpr("id", work(_ROW_NS - of_python_ns, "seen")).collect())

    def function(self, ns: int) -> Any:
        """Build the function: it returns its argument after `ns`."""
        from pyspark.sql.functions import udf

        from pyrometer.testing.truth.tasks import spin

        def same(number: int) -> int:
            spin(ns)
            return number

        return udf(same, "bigint", useArrow=False)


class PandasUdf(PythonUdf):
    """A function that is called in Python for a batch of rows."""

    name = "truth-pandas-udf"
    summary = "A pandas function takes a declared share of the time of tasks"
    needs = Needs(jars=(workloads_jar(),), spark_python=("pandas", "pyarrow"))

    def function(self, ns: int) -> Any:
        """Build the function: it returns its argument after `ns` for each row."""
        import pandas  # type: ignore[import-untyped,unused-ignore]
        from pyspark.sql.functions import pandas_udf

        from pyrometer.testing.truth.tasks import spin

        def same(numbers: Any) -> Any:
            spin(ns * len(numbers))
            return numbers

        # pyspark reads the kind of the function from its types; their names mean nothing to it.
        same.__annotations__ = {"numbers": pandas.Series, "return": pandas.Series}
        return pandas_udf(same, "bigint")
