"""What programs made of Spark's own structure have in common: tasks, shuffles, joins, failures.

Tasks work by ``org.pyrometer.workloads.truth.Calibrated``, a declared time for each row, and give
each number beside what it is mixed to. So a program and its healthy twin have the same result, and
differ in how Spark is made to come by it.
"""

from __future__ import annotations

from pyrometer.workload.contract import WorkloadSpec
from pyrometer.workload.truth.rows import NumberedRows

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


class Structural(NumberedRows):
    """Base of the programs: rows are numbers, and each comes back with what it is mixed to."""

    def spark_conf(self, spec: WorkloadSpec) -> dict[str, str]:
        """Keep plan and partitions as they are written."""
        return {"spark.sql.adaptive.enabled": "false"}
