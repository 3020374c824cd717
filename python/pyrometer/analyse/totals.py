"""Totals: sums over task attempts, one set for what succeeded and one for what did not.

Definitions: docs/reference/totals.md. One place says how each total is made: ``TASK_TOTALS``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyrometer.analyse.model import Totals
from pyrometer.analyse.scope import Scope

_SUMS = (
    "executor_run_time_ns",
    "executor_cpu_time_ns",
    "executor_deserialize_time_ns",
    "executor_deserialize_cpu_time_ns",
    "result_serialization_time_ns",
    "jvm_gc_time_ns",
    "shuffle_fetch_wait_time_ns",
    "shuffle_write_time_ns",
    "disk_spilled_bytes",
    "memory_spilled_bytes",
    "input_records_count",
    "input_bytes",
    "output_records_count",
    "output_bytes",
    "shuffle_read_local_bytes",
    "shuffle_read_remote_bytes",
    "shuffle_local_blocks_fetched_count",
    "shuffle_remote_blocks_fetched_count",
    "shuffle_written_bytes",
    "shuffle_written_records_count",
)


def _either(left: str, right: str) -> str:
    """Sum of two columns of which an older log may lack one."""
    return (
        f"CASE WHEN {left} IS NULL AND {right} IS NULL THEN NULL"
        f" ELSE coalesce({left}, 0) + coalesce({right}, 0) END"
    )


TASK_TOTALS: dict[str, str] = {
    "tasks_count": "count(*)",
    **{name: f"sum({name})" for name in _SUMS},
    "result_size_max_bytes": "max(result_size_bytes)",
    "peak_execution_memory_max_bytes": "max(peak_execution_memory_bytes)",
    "shuffle_read_total_bytes": "sum("
    + _either("shuffle_read_local_bytes", "shuffle_read_remote_bytes")
    + ")",
    "shuffle_blocks_fetched_count": "sum("
    + _either("shuffle_local_blocks_fetched_count", "shuffle_remote_blocks_fetched_count")
    + ")",
}

STAGE_TOTALS: dict[str, str] = {
    "stages_count": "count(*)",
    "elapsed_ns": "max(complete_wall_ns) - min(submit_wall_ns)",
    "stage_duration_ns": "sum(complete_wall_ns - submit_wall_ns)",
}

ORDER = (
    "stages_count",
    "tasks_count",
    "elapsed_ns",
    "stage_duration_ns",
    "executor_run_time_ns",
    "executor_cpu_time_ns",
    "executor_deserialize_time_ns",
    "executor_deserialize_cpu_time_ns",
    "result_serialization_time_ns",
    "jvm_gc_time_ns",
    "shuffle_fetch_wait_time_ns",
    "shuffle_write_time_ns",
    "result_size_max_bytes",
    "disk_spilled_bytes",
    "memory_spilled_bytes",
    "peak_execution_memory_max_bytes",
    "input_records_count",
    "input_bytes",
    "output_records_count",
    "output_bytes",
    "shuffle_read_total_bytes",
    "shuffle_read_local_bytes",
    "shuffle_read_remote_bytes",
    "shuffle_blocks_fetched_count",
    "shuffle_local_blocks_fetched_count",
    "shuffle_remote_blocks_fetched_count",
    "shuffle_written_bytes",
    "shuffle_written_records_count",
)

SUCCEEDED = "success"
FAILED = "failed"
Key = tuple[Any, ...]


def totals_by(
    scope: Scope, group: Sequence[str] = (), whole_run: bool = False
) -> dict[str, dict[Key, Totals]]:
    """Totals of the window, of successful and of failed attempts, by ``group``.

    Parameters
    ----------
    scope : Scope
        A run cut to a window.
    group : sequence of str
        Columns that stages and tasks have in common, for example ``("app_index",)``.
    whole_run : bool
        All of the run instead of the window.

    Returns
    -------
    dict
        For ``"success"`` and ``"failed"``: totals by the values of ``group``.
    """
    keys = ", ".join(group)
    select = f"{keys}, " if keys else ""
    tail = f"GROUP BY {keys}" if keys else "HAVING count(*) > 0"
    found: dict[str, dict[Key, Totals]] = {}
    for which, tasks, stages in (
        (SUCCEEDED, "status = 'success'", "true"),
        (FAILED, "status IN ('failed', 'killed')", "status = 'failed'"),
    ):
        made = found.setdefault(which, {})
        for source, columns, where in (
            ("run_tasks" if whole_run else "w_tasks", TASK_TOTALS, tasks),
            (
                "stages" if whole_run else "w_stages",
                STAGE_TOTALS,
                f"complete_wall_ns IS NOT NULL AND {stages}",
            ),
        ):
            sums = ", ".join(f"({sql})::BIGINT AS {name}" for name, sql in columns.items())
            rows = scope.tables.query(f"SELECT {select}{sums} FROM {source} WHERE {where} {tail}")
            for row in rows:
                key, values = row[: len(group)], row[len(group) :]
                entry = made.setdefault(key, nothing())
                entry.update(zip(columns, values, strict=True))
    return found


def nothing() -> Totals:
    """Totals of no attempt at all: everything 0."""
    return dict.fromkeys(ORDER, 0)


def window_totals(scope: Scope) -> tuple[Totals, Totals]:
    """Totals of the whole window: of successful attempts, and of failed and killed ones."""
    found = totals_by(scope)
    return found[SUCCEEDED].get((), nothing()), found[FAILED].get((), nothing())
