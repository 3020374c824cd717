"""Tasks of the longest stages: quantiles, the slowest, and sums by executor and by host.

Successful attempts, as on Spark's own page of a stage. Everything is computed for all these stages
at once, and its size is bounded.
"""

from __future__ import annotations

from collections import defaultdict

from pyrometer.accounts.schema import Quantiles, SlowTask, StageTasks, TaskGroup
from pyrometer.window.scope import Scope

MAX_STAGES = 200
MAX_SLOWEST = 5
MAX_GROUPS = 20

_KEY = "app_index, stage_id, stage_attempt"
_DURATION = "finish_wall_ns - launch_wall_ns"
_GETTING = "coalesce(finish_wall_ns - getting_result_wall_ns, 0)"
_SHUFFLE_READ = (
    "CASE WHEN shuffle_read_local_bytes IS NULL AND shuffle_read_remote_bytes IS NULL THEN NULL"
    " ELSE coalesce(shuffle_read_local_bytes, 0) + coalesce(shuffle_read_remote_bytes, 0) END"
)
# Names and definitions of Spark's page of a stage. What no other time accounts for is the
# scheduler's; times of 1 ms resolution may add up to more than the duration.
MEASURES: dict[str, str] = {
    "duration_ns": _DURATION,
    "executor_run_time_ns": "executor_run_time_ns",
    "executor_cpu_time_ns": "executor_cpu_time_ns",
    "jvm_gc_time_ns": "jvm_gc_time_ns",
    "scheduler_delay_ns": f"greatest(0, {_DURATION} - executor_run_time_ns"
    f" - executor_deserialize_time_ns - result_serialization_time_ns - {_GETTING})",
    "executor_deserialize_time_ns": "executor_deserialize_time_ns",
    "result_serialization_time_ns": "result_serialization_time_ns",
    "shuffle_fetch_wait_time_ns": "shuffle_fetch_wait_time_ns",
    "shuffle_write_time_ns": "shuffle_write_time_ns",
    "input_bytes": "input_bytes",
    "input_records_count": "input_records_count",
    "shuffle_read_bytes": _SHUFFLE_READ,
    "shuffle_read_records_count": "shuffle_read_records_count",
    "shuffle_written_bytes": "shuffle_written_bytes",
    "shuffle_written_records_count": "shuffle_written_records_count",
    "output_bytes": "output_bytes",
    "memory_spilled_bytes": "memory_spilled_bytes",
    "disk_spilled_bytes": "disk_spilled_bytes",
    "peak_execution_memory_bytes": "peak_execution_memory_bytes",
}
_SHOWN = (
    "duration_ns", "executor_run_time_ns", "executor_cpu_time_ns", "jvm_gc_time_ns",
    "scheduler_delay_ns", "input_bytes", "shuffle_read_bytes", "shuffle_written_bytes",
    "disk_spilled_bytes",
)  # fmt: skip
_SUMMED = (
    "executor_run_time_ns", "jvm_gc_time_ns", "input_bytes", "shuffle_read_bytes",
    "shuffle_written_bytes", "disk_spilled_bytes",
)  # fmt: skip
Key = tuple[int, int, int]


def stage_tasks(scope: Scope) -> dict[Key, StageTasks]:
    """Tasks of the ``MAX_STAGES`` longest stage attempts, by application, stage and attempt."""
    measures = ", ".join(f"({sql})::BIGINT AS {name}" for name, sql in MEASURES.items())
    scope.tables.define(
        "longest_stages",
        f"SELECT {_KEY} FROM w_stages WHERE complete_wall_ns IS NOT NULL"
        f" ORDER BY complete_wall_ns - submit_wall_ns DESC NULLS LAST, {_KEY} LIMIT {MAX_STAGES}",
    )
    scope.tables.define_view(
        "longest_stage_tasks",
        f"SELECT {_KEY}, task_attempt_id, task_index, attempt, executor_id, host, locality,"
        f" speculative, status, {measures} FROM w_tasks SEMI JOIN longest_stages USING ({_KEY})",
    )
    quantiles, slowest = _quantiles(scope), _slowest(scope)
    executors, hosts = _groups(scope)
    return {
        key: StageTasks(
            quantiles=found,
            slowest=slowest[key],
            executors=executors[key][:MAX_GROUPS],
            executors_count=len(executors[key]),
            hosts=hosts[key][:MAX_GROUPS],
            hosts_count=len(hosts[key]),
        )
        for key, found in quantiles.items()
    }


def _quantiles(scope: Scope) -> dict[Key, list[Quantiles]]:
    """Quantiles of each measure that is not 0 throughout; each is a value that a task had."""
    columns = ", ".join(f"quantile_disc({name}, [0, 0.25, 0.5, 0.75, 1])" for name in MEASURES)
    rows = scope.tables.query(
        f"SELECT {_KEY}, {columns} FROM longest_stage_tasks"
        f" WHERE status = 'success' GROUP BY {_KEY}"
    )
    return {
        (row[0], row[1], row[2]): [
            Quantiles(measure=name, min=q[0], p25=q[1], median=q[2], p75=q[3], max=q[4])
            for name, q in zip(MEASURES, row[3:], strict=True)
            if q and any(q)
        ]
        for row in rows
    }


def _slowest(scope: Scope) -> dict[Key, list[SlowTask]]:
    names = ", ".join(_SHOWN)
    found: dict[Key, list[SlowTask]] = defaultdict(list)
    for row in scope.tables.records(
        f"SELECT {_KEY}, task_attempt_id, task_index, attempt, executor_id, host, locality,"
        f" speculative, {names} FROM longest_stage_tasks WHERE status = 'success'"
        f" QUALIFY row_number() OVER (PARTITION BY {_KEY}"
        f"  ORDER BY duration_ns DESC NULLS LAST, task_attempt_id) <= {MAX_SLOWEST}"
        f" ORDER BY {_KEY}, duration_ns DESC NULLS LAST, task_attempt_id"
    ):
        key = (row.pop("app_index"), row.pop("stage_id"), row.pop("stage_attempt"))
        found[key].append(SlowTask(**row))
    return found


def _groups(scope: Scope) -> tuple[dict[Key, list[TaskGroup]], dict[Key, list[TaskGroup]]]:
    """Add up the attempts of each executor, and of each host, the most task time first."""
    sums = ", ".join(
        f"sum({name}) FILTER (status = 'success')::BIGINT AS {name}" for name in _SUMMED
    )
    executors: dict[Key, list[TaskGroup]] = defaultdict(list)
    hosts: dict[Key, list[TaskGroup]] = defaultdict(list)
    for row in scope.tables.records(
        f"SELECT {_KEY}, executor_id, host, GROUPING(executor_id) AS of_host,"
        "  count(*) FILTER (status = 'success') AS tasks_count,"
        "  count(*) FILTER (status IN ('failed', 'killed')) AS failed_tasks_count,"
        "  quantile_disc(duration_ns, 0.5) FILTER (status = 'success') AS median_ns,"
        f"  max(duration_ns) FILTER (status = 'success') AS max_ns, {sums}"
        " FROM longest_stage_tasks"
        f" GROUP BY GROUPING SETS (({_KEY}, executor_id, host), ({_KEY}, host))"
        f" ORDER BY {_KEY}, executor_run_time_ns DESC NULLS LAST, executor_id, host"
    ):
        key = (row.pop("app_index"), row.pop("stage_id"), row.pop("stage_attempt"))
        groups = hosts if row.pop("of_host") else executors
        groups[key].append(TaskGroup(**row))
    return executors, hosts
