"""What a run shows of its work in Spark: jobs, queries, rows and bytes read and written."""

from __future__ import annotations

from pyrometer.store import Run

_TASKS = """
    SELECT coalesce(sum(input_records_count), 0)::DOUBLE AS rows_read,
           coalesce(sum(input_bytes), 0)::DOUBLE AS bytes_read,
           coalesce(sum(output_records_count), 0)::DOUBLE AS rows_written,
           coalesce(sum(output_bytes), 0)::DOUBLE AS bytes_written
    FROM tasks WHERE status = 'success'
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
