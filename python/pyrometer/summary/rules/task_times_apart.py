"""Rule: tasks that, by their own times, did not run while their stage did."""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.store.lives import APART
from pyrometer.summary.rule import Rule
from pyrometer.summary.schema import Summary
from pyrometer.window.scope import Scope


def _check(scope: Scope, summary: Summary) -> Iterator[str]:
    count, apart = scope.tables.query(
        f"SELECT count(*), count(*) FILTER ({APART}) FROM w_tasks t"
        " JOIN w_stages s USING (app_index, stage_id, stage_attempt)"
    )[0]
    if apart:
        yield f"{apart} of {count} tasks were launched before their stage began or after it ended"


RULE = Rule(
    code="task_times_apart",
    severity="warning",
    meaning="The times of tasks contradict those of their stage: their slots look idle.",
    remedy="The log was edited or pieced together, or a clock was reset: use the original log.",
    check=_check,
)
