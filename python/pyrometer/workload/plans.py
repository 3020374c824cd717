"""What the executed plan of a DataFrame tells (runs in the runner process, through py4j)."""

from __future__ import annotations

from typing import Any


def executed_plan(frame: Any) -> str:
    """Text of the physical plan that ran, or would run."""
    return str(frame._jdf.queryExecution().executedPlan().toString())


def scanned_rows(frame: Any) -> int:
    """Rows that the scans of an executed DataFrame produced, by their own SQL metric.

    Only for plans whose scans are in sight from the root: not below adaptive query stages.
    """
    leaves = frame._jdf.queryExecution().executedPlan().collectLeaves()
    return sum(
        int(leaves.apply(i).metrics().apply("numOutputRows").value()) for i in range(leaves.size())
    )
