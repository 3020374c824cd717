"""What threads outside tasks, which work for tasks, spent their CPU on.

A thread that can only serve a stage (Python writers, asynchronous readers, fetchers of blocks) is
tied to the stage of the tasks that its process ran at that moment, where they were of one stage;
one that can only serve an SQL execution (broadcasts, subqueries), to the execution that was open,
where it was one. Else it is the application's: nothing tells more.
"""

from __future__ import annotations

from pyrometer import schema
from pyrometer.analyse.model import Helper
from pyrometer.analyse.scope import Scope


def helpers(scope: Scope) -> list[Helper]:
    """CPU of helper threads by what they served, largest first."""
    offset = scope.offset_ns
    scope.tables.define(
        "helper_samples",
        "SELECT x.app_index, x.pid, x.t_ns, x.weight,"
        " coalesce(regexp_replace(n.thread_name, '[0-9]+', 'N', 'g'), '') AS thread,"
        f" {_serves('n.thread_name')} AS serves"
        " FROM w_samples x JOIN (SELECT pid, tid, any_value(thread_name) AS thread_name"
        "  FROM samples WHERE role = 'helper' GROUP BY pid, tid) n USING (pid, tid)"
        " WHERE x.event = 'cpu' AND x.role = 'helper'",
    )
    wall = "NULL::BIGINT" if offset is None else f"h.t_ns + {offset}"
    rows = scope.tables.query(
        "WITH numbered AS (SELECT *, row_number() OVER () AS number FROM helper_samples),"
        " by_stage AS (SELECT h.number, min(s.stage_id) AS stage_id, min(s.sql_id) AS sql_id"
        "  FROM numbered h JOIN w_spans s ON s.pid = h.pid AND s.span_start_ns <= h.t_ns"
        "   AND s.span_end_ns > h.t_ns WHERE h.serves = 'stage' GROUP BY h.number"
        "  HAVING count(DISTINCT s.stage_id) = 1),"
        " by_sql AS (SELECT h.number, min(q.sql_id) AS sql_id FROM numbered h JOIN sql_executions q"
        f"  ON q.app_index = h.app_index AND q.start_wall_ns <= {wall}"
        f"   AND coalesce(q.end_wall_ns, {wall} + 1) > {wall}"
        "  WHERE h.serves = 'sql' GROUP BY h.number HAVING count(*) = 1)"
        " SELECT h.thread, CASE WHEN a.number IS NOT NULL THEN 'stage'"
        "   WHEN b.number IS NOT NULL THEN 'sql' ELSE 'application' END AS serves,"
        " h.app_index, a.stage_id,"
        "  coalesce(a.sql_id, b.sql_id) AS sql_id, sum(h.weight)::BIGINT, count(*)"
        " FROM numbered h LEFT JOIN by_stage a USING (number)"
        "  LEFT JOIN by_sql b ON b.number = h.number"
        " GROUP BY ALL ORDER BY 6 DESC, 1, 2, 3, 4, 5"
    )
    return [
        Helper(
            thread=thread,
            serves=serves,
            app_index=app,
            stage_id=stage,
            sql_id=sql_id,
            on_cpu_ns=cpu,
            samples_count=n,
        )
        for thread, serves, app, stage, sql_id, cpu, n in rows
    ]


def _serves(column: str) -> str:
    """Give the SQL for what a thread can only serve, by its name."""
    parts = [
        f"WHEN regexp_matches({column}, '{pattern}') THEN '{rule.serves}'"
        for rule in schema.role_rules()
        if rule.serves is not None
        for pattern in (rule.name, rule.comm)
        if pattern is not None
    ]
    return f"CASE {' '.join(parts)} END"
