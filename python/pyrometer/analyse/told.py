"""What stacks worked for, as a table that whatever folds stacks can join."""

from __future__ import annotations

from pyrometer.analyse.attribution import CONVERSION
from pyrometer.analyse.places import define_task_samples
from pyrometer.analyse.plan_match import Evidence, unnumbered
from pyrometer.analyse.scope import Scope
from pyrometer.analyse.sourced_plan import NO_PLAN, plans

KEY = ("pid", "sql_id", "stage_id", "java_stack", "converts")
"""Columns by which samples find their row of ``told``."""

_EVIDENCE = f"""
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


def define_told(scope: Scope) -> None:
    """Define ``told``: operator and expression of each stack of task threads, by `KEY`.

    ``operator`` is named as in `pyrometer.analyse.operators`, without the node's number;
    ``expression`` is without numbers of columns, so that executions of one plan share it. Both are
    null where nothing tells.
    """
    define_task_samples(scope)
    known = plans(scope)
    columns: dict[str, list[object]] = {name: [] for name in (*KEY, "operator", "expression")}
    for row in scope.tables.query(_EVIDENCE):
        *_, stage, _, converts, app, operator, node_id, codegen, method, line = row
        expression = None
        if operator is not None or codegen is not None or node_id is not None:
            evidence = Evidence(operator, stage, codegen, method, converts)
            told = known.get((app, row[1]), NO_PLAN).told(evidence, line, node_id)
            operator = told.operator
            expression = None if told.expression is None else unnumbered(told.expression)
        for name, value in zip(columns, (*row[: len(KEY)], operator, expression), strict=True):
            columns[name].append(value)
    texts = dict.fromkeys(("operator", "expression"), "VARCHAR") | {"converts": "BOOLEAN"}
    scope.tables.keep("told", {name: texts.get(name, "BIGINT") for name in columns}, columns)
