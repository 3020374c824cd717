"""What stacks worked for, as a table that whatever folds stacks can join."""

from __future__ import annotations

from pyrometer.analyse.attribution import CONVERSION
from pyrometer.analyse.places import define_task_samples
from pyrometer.analyse.plan_match import Evidence, unnumbered
from pyrometer.analyse.scope import Scope
from pyrometer.analyse.sourced_plan import NO_PLAN, plans

KEY = ("pid", "sql_id", "stage_id", "java_stack", "converts")
"""Columns by which samples find their row of ``told``."""

EVIDENCE = (
    "sql_id", "stage_id", "converts", "app_index", "operator", "node_id", "codegen_stage_id",
    "method", "line",
)  # fmt: skip
"""What tells a sample's operator: columns of ``told_evidence``, where ``told`` is its name."""

_STACKS = f"""
    SELECT DISTINCT pid, sql_id, stage_id, java_stack,
        coalesce(category = '{CONVERSION}', false) AS converts,
        app_index, operator, node_id, codegen_stage_id, method, line
    FROM task_samples
    UNION  -- allocations and locks, which are not among the window's samples
    SELECT DISTINCT x.pid, x.sql_id, x.stage_id, x.java_stack, false,
        a.app_index, x.operator, x.node_id, x.codegen_stage_id, g.frame.method, g.frame.line
    FROM samples x
    LEFT JOIN generated_methods g ON g.stack_id = x.java_stack
    LEFT JOIN (SELECT DISTINCT pid, app_index FROM w_samples) a USING (pid)
    WHERE x.role = 'task' AND x.event NOT IN ('cpu', 'wall')
"""
_TYPES = dict.fromkeys(("operator", "method", "told", "expression"), "VARCHAR") | {
    "converts": "BOOLEAN"
}


def define_told(scope: Scope) -> None:
    """Define ``told``: operator and expression of each stack of task threads, by `KEY`.

    ``operator`` is named as in `pyrometer.analyse.operators`, without the node's number;
    ``expression`` is without numbers of columns, so that executions of one plan share it. Both are
    null where nothing tells. Stacks stay in the database: what differs in evidence alone, a few
    thousand rows, is worked out here.
    """
    define_task_samples(scope)
    known = plans(scope)
    scope.tables.define("stack_evidence", _STACKS)
    columns: dict[str, list[object]] = {name: [] for name in (*EVIDENCE, "told", "expression")}
    for row in scope.tables.query(f"SELECT DISTINCT {', '.join(EVIDENCE)} FROM stack_evidence"):
        sql_id, stage, converts, app, operator, node_id, codegen, method, line = row
        name, expression = operator, None
        if operator is not None or codegen is not None or node_id is not None:
            found = known.get((app, sql_id), NO_PLAN).told(
                Evidence(operator, stage, codegen, method, converts), line, node_id
            )
            name = found.operator
            expression = None if found.expression is None else unnumbered(found.expression)
        for column, value in zip(columns, (*row, name, expression), strict=True):
            columns[column].append(value)
    types = {name: _TYPES.get(name, "BIGINT") for name in columns}
    scope.tables.keep("told_evidence", types, columns)
    same = " AND ".join(f"s.{name} IS NOT DISTINCT FROM e.{name}" for name in EVIDENCE)
    keys = ", ".join(f"s.{name}" for name in KEY)
    scope.tables.define(
        "told",
        f"SELECT {keys}, e.told AS operator, e.expression"
        f" FROM stack_evidence s JOIN told_evidence e ON {same}",
    )
