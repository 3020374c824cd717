"""Programs whose rows pass through Python workers."""

from __future__ import annotations

from typing import Any, ClassVar

from pyrometer.workload.contract import IterationResult, Needs, Prepared, Truth, WorkloadSpec
from pyrometer.workload.jars import workloads_jar
from pyrometer.workload.truth.rows import (
    CAUSE,
    SHARE,
    cause,
    collected,
    is_on,
    percent,
    share,
    slots,
)
from pyrometer.workload.truth.structural import Structural, work

_ROW_NS = 10_000_000
_TASKS = 4
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
    expectation = "Wait class helper has the share of task time, and Python processes the CPU."
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
            measured_by=slots("task/waiting/helper"),
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
        """Make the function: it gives what it gets, `ns` later."""
        from pyspark.sql.functions import udf

        from pyrometer.workload.truth.driver import spin

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
        """Make the function: it gives what it gets, `ns` for each row later."""
        import pandas  # type: ignore[import-untyped,unused-ignore]
        from pyspark.sql.functions import pandas_udf

        from pyrometer.workload.truth.driver import spin

        def same(numbers: Any) -> Any:
            spin(ns * len(numbers))
            return numbers

        # pyspark reads the kind of the function from its types; their names mean nothing to it.
        same.__annotations__ = {"numbers": pandas.Series, "return": pandas.Series}
        return pandas_udf(same, "bigint")
