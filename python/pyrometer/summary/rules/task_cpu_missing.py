"""Rule: CPU of tasks that had not finished is in no sum."""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.core import units
from pyrometer.summary.rule import Rule
from pyrometer.summary.schema import Summary
from pyrometer.window.scope import Scope

_WORTH = 0.01
"""Of the time of all tasks."""
_COUNTED = """
SELECT count(*) FILTER (cpu IS NULL), count(*), (sum(ns) FILTER (cpu IS NULL))::BIGINT,
  sum(ns)::BIGINT FROM ({tasks})
"""
_SPANS = "SELECT cpu_ns AS cpu, end_ns - start_ns AS ns FROM w_spans"
_TASKS = """
SELECT executor_cpu_time_ns AS cpu, greatest(0, coalesce(finish_wall_ns,
  (SELECT max(end_wall_ns) FROM w)) - launch_wall_ns) AS ns FROM w_tasks
"""


def _check(scope: Scope, summary: Summary) -> Iterator[str]:
    if summary.cpu_base.task_threads_ns is None or not summary.operators:
        return
    by_spans = scope.tables.scalar("SELECT count(cpu_ns) FROM w_spans")
    missing, count, lost_ns, all_ns = scope.tables.query(
        _COUNTED.format(tasks=_SPANS if by_spans else _TASKS)
    )[0]
    if missing and (lost_ns or 0) > _WORTH * (all_ns or 0):
        yield (
            f"{units.count(missing)} of {units.counted(count, 'task')} had not finished, or left"
            f" no metrics: {units.duration(lost_ns)} of {units.duration(all_ns)} of tasks' time"
        )


RULE = Rule(
    code="task_cpu_missing",
    severity="warning",
    meaning=(
        "CPU of tasks is known where they end, and tasks that had not finished are in samples only:"
        " the CPU that operators and kinds of work are shares of is too low."
    ),
    remedy="Shares stand. For sums let the job end, or take a window in which its tasks end.",
    check=_check,
)
