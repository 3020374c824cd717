"""Attribute every sample of task threads to the node of the plan that it ran for.

The evidence is of three kinds. ``line``: the line of generated code, whose source says what it is
for. ``method``: a generated method's name (source or line are missing, or several sources fit).
``frames``: a class that only one operator calls.

What task samples outside SQL operators, or between two stages, worked for.

Frames show that code is an RDD's, that an exchange is read or written, that a Python node ran. The
event log shows the rest: what the stage's RDDs are called, and which node of the plan moved data
in that stage. What neither shows stays unmapped.

Code of RDDs is named ``RDD <operation>`` after the innermost operation in the stack, with its call
site where the stage has the same name (Spark names a stage after one of its operations); where
no frame names an operation, after the stage. MLlib and GraphX go by class.

What stacks worked for, as a table to join wherever stacks are folded.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from pyrometer.attribution.plan_match import Evidence, PlanNode, unnumbered
from pyrometer.attribution.schema import By
from pyrometer.attribution.sourced_plan import NO_PLAN, plans
from pyrometer.core import schema
from pyrometer.core.json_text import parse_json
from pyrometer.window.scope import Scope

Kind = Literal["sql", "rdd", "task"]
_LIBRARIES = ("MLlib", "GraphX")
_OUTSIDE = ("RDD", *_LIBRARIES)
_SHARED = {"Exchange write": "shuffle write", "Python": "Python"}
# Outside SQL: what the operation is called where the RDDs do not say, and the RDDs that say it
# (a shuffle is read, sorted and combined for the operation that created its RDD).
_RDD_OPERATIONS = {
    "Exchange read": ("shuffle read", ("ShuffledRDD", "CoGroupedRDD")),
    "Scan": ("input", ("HadoopRDD", "NewHadoopRDD", "/", "file:", "hdfs:")),
}
_LIBRARY = re.compile(r"org\.apache\.spark\.(ml|mllib|graphx)\.")
_OPERATION = re.compile(r"\$anonfun\$([a-z]\w*?)(?:WithClassTag)?\$")
# What frames call a Python node whose class several operators share.
_PYTHON = ("Python", "EvalPython", "MapInBatch", "FlatMapGroupsInBatch", "FlatMapCoGroupsInBatch")
# Metrics that only the node of that role updates in a stage.
_ROLES = {
    "Exchange write": "shuffle records written",
    "Exchange read": "records read",
    **dict.fromkeys(_PYTHON, "data sent to Python workers"),
}


def kind(operator: str) -> Kind:
    """Classify an operator: of SQL, code of an RDD, or a task's work outside operators.

    Examples
    --------
    >>> kind("Sort"), kind("RDD flatMap"), kind("Task start")
    ('sql', 'rdd', 'task')
    """
    if operator in schema.places():
        return "task"
    return "rdd" if operator.split(" ")[0] in _OUTSIDE else "sql"


def define_task_samples(scope: Scope) -> None:
    """Define ``task_samples``: ``w_samples`` of task threads, with operator and node completed."""
    if "task_samples" in scope.tables.of_window:
        return
    scope.tables.define("named", f"SELECT * FROM {_names(scope)}")
    if "role_nodes" not in scope.tables.defined:
        scope.tables.define("role_nodes", _ROLE_NODES)
    scope.tables.define(
        "task_samples",
        "SELECT w.* REPLACE (CASE WHEN n.java_stack IS NULL THEN w.operator ELSE n.named END"
        "  AS operator, coalesce(w.node_id, r.node_id) AS node_id)"
        " FROM w_samples w LEFT JOIN named n ON n.java_stack = w.java_stack"
        "  AND n.operator = w.operator"
        "  AND n.app_index IS NOT DISTINCT FROM w.app_index"
        "  AND n.stage_id IS NOT DISTINCT FROM w.stage_id"
        " LEFT JOIN role_nodes r ON r.app_index = w.app_index AND r.sql_id = w.sql_id"
        "  AND r.stage_id = w.stage_id AND r.operator = w.operator"
        " WHERE w.role = 'task'",
    )
    scope.tables.of_window.add("task_samples")


def name_of(
    operator: str, frames: Iterable[tuple[str, str]], stage: str | None, rdds: str | None
) -> str | None:
    """Name code outside SQL.

    Parameters
    ----------
    operator : str
        What the frames show: ``RDD``, ``MLlib``, ``GraphX``, or a role of data that has no plan.
    frames : iterable of (str, str)
        Class and method of frames that may name an operation, leaf first.
    stage, rdds : str, optional
        Name of the stage and its RDDs, from the event log.

    Examples
    --------
    >>> flat = [("org.apache.spark.api.java.JavaRDDLike", "$anonfun$flatMap$1")]
    >>> name_of("RDD", flat, "flatMap at Words.java:12", None)
    'RDD flatMap at Words.java:12'
    >>> name_of("RDD", flat, "sortByKey at Words.java:13", None)
    'RDD flatMap'
    >>> name_of("RDD", [], "sortByKey at Words.java:13", None)
    'RDD sortByKey at Words.java:13'
    >>> rdds = '[{"name": "ShuffledRDD", "scope": {"id": "4", "name": "sortByKey"}}]'
    >>> name_of("Exchange read", [], "take at Words.java:14", rdds)
    'RDD sortByKey'
    >>> name_of("MLlib", [("org.apache.spark.mllib.clustering.KMeans$", "x")], None, None)
    'MLlib KMeans'
    """
    if operator in _RDD_OPERATIONS:
        other, names = _RDD_OPERATIONS[operator]
        return f"RDD {_sited(_scope(rdds, names) or other, stage)}"
    if operator in _SHARED:
        return f"RDD {_SHARED[operator]}"
    for class_name, method in frames:
        is_library = _LIBRARY.match(class_name) is not None
        if is_library and operator in _LIBRARIES:
            return f"{operator} {class_name.rsplit('.', 1)[-1].split('$')[0]}"
        found = _OPERATION.search(method)
        if found and not is_library and operator not in _LIBRARIES:
            return f"RDD {_sited(found[1], stage)}"
    return f"RDD {stage}" if operator == "RDD" and stage else None


def _sited(operation: str, stage: str | None) -> str:
    """Add the call site where the stage is named after the operation."""
    return stage if stage is not None and stage.startswith(f"{operation} at ") else operation


def _scope(rdds: str | None, names: tuple[str, ...]) -> str | None:
    """Operation that created the stage's RDDs of these names, where it is one."""
    found = {
        (rdd.get("scope") or {}).get("name")
        for rdd in parse_json(rdds or "[]")
        if str(rdd.get("name", "")).startswith(names)
    }
    return found.pop() if len(found) == 1 else None


def _names(scope: Scope) -> str:
    """Values of (java_stack, operator, app_index, stage_id, named) of all samples to be named."""
    rows = scope.tables.query(
        "SELECT x.java_stack, x.app_index, x.stage_id, x.operator, x.planned,"
        " any_value(s.name), any_value(s.rdd_names) FROM (SELECT DISTINCT w.java_stack,"
        "   w.app_index, w.stage_id, w.operator, p.sql_id IS NOT NULL AS planned FROM w_samples w"
        "  LEFT JOIN (SELECT DISTINCT app_index, sql_id FROM plan_nodes) p"
        "   USING (app_index, sql_id)"
        "  WHERE w.role = 'task' AND w.java_stack IS NOT NULL"
        f"  AND w.operator IN {(*_OUTSIDE, *_SHARED, *_RDD_OPERATIONS)}) x"
        " LEFT JOIN stages s ON s.app_index = x.app_index AND s.stage_id = x.stage_id"
        " GROUP BY ALL"
    )
    rows = [row for row in rows if row[3] in _OUTSIDE or not row[4]]
    frames = _frames(scope, {row[0] for row in rows if row[3] in _OUTSIDE})
    values = []
    for stack, app, stage_id, operator, planned, stage, rdds in rows:
        # A stage of a query is named after the query's action: it says nothing of an operator.
        named = name_of(operator, frames.get(stack, ()), None if planned else stage, rdds)
        values.append(f"({stack}, '{operator}', {_sql(app)}, {_sql(stage_id)}, {_text(named)})")
    columns = "AS v(java_stack, operator, app_index, stage_id, named)"
    if not values:
        return f"(SELECT 0, '', 0, 0::BIGINT, NULL::VARCHAR WHERE false) {columns}"
    return f"(VALUES {', '.join(values)}) {columns}"


def _frames(scope: Scope, stacks: set[int]) -> dict[int, list[tuple[str, str]]]:
    """Frames that may name an operation, by stack, leaf first."""
    found: dict[int, list[tuple[str, str]]] = {}
    if not stacks:
        return found
    for stack, class_name, method in scope.tables.query(
        "SELECT s.stack_id, f.class_name, f.method FROM (SELECT stack_id, unnest(frame_ids) AS"
        "  frame_id, generate_subscripts(frame_ids, 1) AS at FROM stacks"
        f"  WHERE stack_id IN ({', '.join(map(str, sorted(stacks)))})) s"
        " JOIN (SELECT frame_id, class_name, method FROM frames"
        "  WHERE regexp_matches(class_name, '^org\\.apache\\.spark\\.(ml|mllib|graphx)\\.')"
        "   OR (regexp_matches(class_name, '^org\\.apache\\.spark\\.(rdd|api\\.java)\\.')"
        "    AND contains(method, '$anonfun$') AND NOT contains(method, 'Internal'))) f"
        " USING (frame_id) ORDER BY s.stack_id, s.at DESC"
    ):
        found.setdefault(stack, []).append((class_name, method))
    return found


_ROLE_NODES = f"""
SELECT m.app_index, m.sql_id, m.stage_id, r.operator, min(m.node_id) AS node_id
FROM node_metrics m
JOIN (VALUES {", ".join(map(str, _ROLES.items()))}) r(operator, metric) ON m.metric = r.metric
JOIN plan_nodes n USING (app_index, sql_id, plan_version, node_id)
LEFT JOIN plan_nodes p ON p.app_index = n.app_index AND p.sql_id = n.sql_id
  AND p.plan_version = n.plan_version AND p.node_id = n.parent_node_id
WHERE n.is_final AND m.stage_id IS NOT NULL
  AND (n.name = 'Exchange' OR NOT starts_with(r.operator, 'Exchange'))
  AND coalesce(p.name, '') NOT LIKE 'Reused%'
GROUP BY ALL HAVING count(DISTINCT m.node_id) = 1
"""


def _sql(value: int | None) -> str:
    return "NULL" if value is None else str(value)


def _text(value: str | None) -> str:
    return "NULL::VARCHAR" if value is None else "'" + value.replace("'", "''") + "'"


CONVERSION = "cast"
UNCLASSIFIED = "unclassified"
# What no rule of schema/categories.toml names is not a kind of work.
CATEGORY = f"coalesce(nullif(category, 'other'), '{UNCLASSIFIED}')"


@dataclass(frozen=True)
class Owner:
    """What samples are added up by."""

    app_index: int | None
    sql_id: int | None
    operator: str
    node_id: int | None


@dataclass
class Bucket:
    """Samples of one owner; ``by_expression`` holds those whose line names the expression."""

    on_cpu: int = 0
    off_cpu: int = 0
    stage_ids: set[int] = field(default_factory=set)
    by_category: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    by_source: dict[By, int] = field(default_factory=lambda: defaultdict(int))
    by_expression: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    converting: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    nodes: list[PlanNode] = field(default_factory=list)
    types: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Attribution:
    """Samples of task threads by owner: all accounts of operators are shares of these."""

    buckets: dict[Owner, Bucket]
    total: int
    unmapped: dict[str, int]

    def by_category(self) -> dict[str, dict[str | None, int]]:
        """CPU samples by category and, within it, by operator (``None``: no stack names one)."""
        found: dict[str, dict[str | None, int]] = defaultdict(lambda: defaultdict(int))
        for owner, bucket in self.buckets.items():
            for category, n in bucket.by_category.items():
                found[category][owner.operator] += n
        for category, n in self.unmapped.items():
            found[category][None] += n
        return found


def attribution(scope: Scope) -> Attribution:
    """Attribute every sample of task threads to an operator; computed once per scope."""
    if "attribution" not in scope.kept:
        scope.kept["attribution"] = _attribution(scope)
    found: Attribution = scope.kept["attribution"]
    return found


def _attribution(scope: Scope) -> Attribution:
    known = plans(scope)
    define_task_samples(scope)
    buckets: dict[Owner, Bucket] = defaultdict(Bucket)
    unmapped: dict[str, int] = defaultdict(int)
    total = 0
    for row in scope.tables.query(
        "SELECT app_index, sql_id, stage_id, codegen_stage_id, operator, node_id, method, line,"
        f" {CATEGORY} AS category,"
        " coalesce(sum(hits) FILTER (event = 'cpu'), 0)::BIGINT AS on_cpu,"
        " coalesce(sum(hits) FILTER (event = 'wall' AND state = 'sleeping'"
        "  AND task_attempt_id IS NOT NULL), 0)::BIGINT AS off_cpu"
        " FROM task_samples GROUP BY ALL ORDER BY ALL"
    ):
        app, sql_id, stage, codegen, operator, node_id, method, line, category, on_cpu, off_cpu = (
            row
        )
        total += on_cpu
        if operator is None and codegen is None and node_id is None:
            unmapped[category] += on_cpu
            continue
        plan = known.get((app, sql_id), NO_PLAN)
        evidence = Evidence(operator, stage, codegen, method, category == CONVERSION)
        found = plan.attribute(evidence, line, node_id)
        node = found.node
        bucket = buckets[Owner(app, sql_id, found.operator, node.node_id if node else None)]
        bucket.on_cpu += on_cpu
        bucket.off_cpu += off_cpu
        bucket.by_category[category] += on_cpu
        bucket.by_source[found.by] += on_cpu
        bucket.types = plan.types
        if found.expression is not None:
            bucket.by_expression[found.expression] += on_cpu
            if evidence.converts:
                bucket.converting[found.expression] += on_cpu
        if node is not None:
            bucket.nodes = plan.of(node)
        if stage is not None:
            bucket.stage_ids.add(stage)
    return Attribution(dict(buckets), total, dict(unmapped))


ATTRIBUTED = "attributed_stacks"
"""Name of the temporary table that `define_stack_labels` defines."""

KEY = ("pid", "sql_id", "stage_id", "java_stack", "converts")
"""Columns by which samples find their row of ``attributed_stacks``."""

EVIDENCE = (
    "sql_id", "stage_id", "converts", "app_index", "operator", "node_id", "codegen_stage_id",
    "method", "line",
)  # fmt: skip
"""What shows a sample's operator: columns of ``attributed_evidence``, beside the result."""

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
_TYPES = dict.fromkeys(("operator", "method", "attributed_operator", "expression"), "VARCHAR") | {
    "converts": "BOOLEAN"
}


def define_stack_labels(scope: Scope) -> None:
    """Define ``attributed_stacks``: operator and expression of each stack of tasks, by `KEY`.

    ``operator`` is named as in `pyrometer.attribution.operators`, without the node's number;
    ``expression`` is without numbers of columns, so that executions of one plan share it. Both are
    null where nothing shows them, or where applications of one JVM disagree. Stacks stay in the
    database: what differs in evidence, a few thousand rows, is worked out here.
    """
    define_task_samples(scope)
    known = plans(scope)
    scope.tables.define("stack_evidence", _STACKS)
    columns: dict[str, list[object]] = {
        name: [] for name in (*EVIDENCE, "attributed_operator", "expression")
    }
    for row in scope.tables.query(f"SELECT DISTINCT {', '.join(EVIDENCE)} FROM stack_evidence"):
        sql_id, stage, converts, app, operator, node_id, codegen, method, line = row
        name, expression = operator, None
        if operator is not None or codegen is not None or node_id is not None:
            found = known.get((app, sql_id), NO_PLAN).attribute(
                Evidence(operator, stage, codegen, method, converts), line, node_id
            )
            name = found.operator
            expression = None if found.expression is None else unnumbered(found.expression)
        for column, value in zip(columns, (*row, name, expression), strict=True):
            columns[column].append(value)
    types = {name: _TYPES.get(name, "BIGINT") for name in columns}
    scope.tables.keep("attributed_evidence", types, columns)
    same = " AND ".join(f"s.{name} IS NOT DISTINCT FROM e.{name}" for name in EVIDENCE)
    keys = ", ".join(f"s.{name}" for name in KEY)
    scope.tables.define(
        ATTRIBUTED,
        f"SELECT {keys}, {_agreed('attributed_operator')} AS operator,"
        f" {_agreed('expression')} AS expression"
        f" FROM stack_evidence s JOIN attributed_evidence e ON {same} GROUP BY {keys}",
    )


def _agreed(column: str) -> str:
    """Give SQL for the only value of a column of ``attributed_evidence`` in a group."""
    return f"CASE WHEN count(DISTINCT e.{column}) = 1 THEN min(e.{column}) END"
