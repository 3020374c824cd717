"""What a run shows of its work in Spark: jobs, queries, rows and bytes read and written."""

from __future__ import annotations

from pyrometer.store import Run

# An output that was lost is written again, and speculative copies do the same: each task once.
_TASKS = """
    SELECT coalesce(sum(rows_read), 0)::DOUBLE AS rows_read,
           coalesce(sum(bytes_read), 0)::DOUBLE AS bytes_read,
           coalesce(sum(rows_written), 0)::DOUBLE AS rows_written,
           coalesce(sum(bytes_written), 0)::DOUBLE AS bytes_written
    FROM (
        SELECT max(input_records_count) AS rows_read, max(input_bytes) AS bytes_read,
               max(output_records_count) AS rows_written, max(output_bytes) AS bytes_written
        FROM tasks WHERE status = 'success' GROUP BY app_index, stage_id, task_index)
"""
# Of each query the node next to its root that counts rows.
_GIVEN = """
    SELECT coalesce(sum(value), 0)::DOUBLE FROM (
        SELECT arg_min(m.value_sum, (n.depth, n.node_id)) AS value
        FROM plan_nodes n JOIN node_metrics m USING (app_index, sql_id, plan_version, node_id)
        WHERE n.is_final AND m.metric = 'number of output rows' AND m.value_sum IS NOT NULL
        GROUP BY app_index, sql_id)
"""


def work_of(run: Run) -> dict[str, float]:
    """Count the work of all applications of a run; what it does not show is none."""
    found: dict[str, float] = {}
    for name, table in (("jobs", "jobs"), ("stages", "stages"), ("queries", "sql_executions")):
        has = run.tables.has(table)
        found[name] = float(run.tables.scalar(f"SELECT count(*) FROM {table}")) if has else 0.0
    if run.tables.has("tasks"):
        found |= run.tables.records(_TASKS)[0]
    if run.tables.has("plan_nodes") and run.tables.has("node_metrics"):
        found["rows_given"] = float(run.tables.scalar(_GIVEN))
    return found
