"""Stacks of a window as paths of stable names, and what was sampled on them, per iteration.

================  ==================================================================
``frame_texts``   ``name_id`` and ``name``: every name once
``path_frames``   ``path``, ``place`` (0 is the root: the role of the thread), ``name_id``
``path_samples``  ``path``, event, iteration, operator, expression; sums of weights,
                  of their squares, and the number of samples
================  ==================================================================

Iteration -1 is the whole window, where it has no iterations.

Names of frames that are the same in every JVM.

Numbers that the JVM, the compilers or Spark's code generator assign in the order of use are no part
of a name, nor are lines: ``*`` replaces them. An iterator that Spark generated is named after the
operators of its cluster in the plan, ``WholeStageCodegen[Project ← Filter].processNext``, so that
two clusters of one plan stay separate where they hold different operators.

Everything is computed in the database, over distinct frames. `define_frame_names` names frames by
themselves; `define_paths` adds the operators of clusters.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyrometer.attribution.generated import cluster_nodes
from pyrometer.attribution.plan_match import CLUSTER
from pyrometer.attribution.samples import CONVERSION, KEY, define_stack_labels
from pyrometer.attribution.sourced_plan import NO_PLAN, Plan, plans
from pyrometer.flame import names
from pyrometer.flame.names import Rules
from pyrometer.store import Tables
from pyrometer.window.scope import Scope

UNKNOWN = "*"
_ITERATOR = "GeneratedIteratorForCodegenStage"
_GENERATED = "GeneratedClass$"

# Pattern and replacement in RE2's syntax, in this order.
CLASS_RULES: Rules = (
    *names.CLASS_RULES,
    (r"\$line\d+\.", "$line*."),  # spark-shell
    # Anonymous classes and functions, of Java ($3) and Scala ($$anon$3, $$anonfun$map$3).
    (r"\$\d+\b", "$*"),
)
GENERATED_CLASS_RULES: Rules = (
    (r"(NestedClass|CodegenStage)\d+", r"\1*"),
    (r"(?:_\d+)+\b", ""),
)
METHOD_RULES: Rules = (
    (r"(lambda\$\w*?\$|\$anonfun\$.*?\$)\d+\b", r"\1*"),
    (r"(access\$)\d+", r"\1*"),
)
# A method that other classes call gets a second entry, whose name ends in $.
GENERATED_METHOD_RULES: Rules = ((r"\$$", ""), (r"(?:_\d+)+$", ""))


def define_frame_names(tables: Tables) -> None:
    """Define ``frame_names``: per frame its name, and the cluster whose iterator it is.

    Columns are ``frame_id``, ``name``, ``cluster`` and ``method``; the last two are null except
    for frames of a cluster's iterator, whose ``name`` does not have the operators yet.
    """
    generated = f"contains(class_name, '{_GENERATED}')"
    class_name = (
        f"CASE WHEN {generated} THEN {names.replaced('class_name', GENERATED_CLASS_RULES)}"
        f" ELSE {names.replaced('class_name', CLASS_RULES)} END"
    )
    method = (
        f"CASE WHEN class_name IS NULL THEN {names.replaced('method', names.NATIVE_RULES)}"
        f" WHEN {generated} THEN {names.replaced('method', GENERATED_METHOD_RULES)}"
        f" ELSE {names.replaced('method', METHOD_RULES)} END"
    )
    number = f"regexp_extract(class_name, '{_ITERATOR}(\\d+)$', 1)"
    tables.define(
        "frame_names",
        "SELECT frame_id, CASE WHEN cluster IS NOT NULL THEN"
        f"  '{CLUSTER}[{UNKNOWN}].' || stable_method"
        "  ELSE concat_ws('.', stable_class, stable_method) END AS name,"
        " cluster, stable_method AS method"
        f" FROM (SELECT frame_id, {class_name} AS stable_class, {method} AS stable_method,"
        f"  try_cast({number} AS INTEGER) AS cluster FROM frames)",
    )


EVENTS = ("cpu", "wall")
WHOLE_WINDOW = -1
_PLACE = ("app_index", "sql_id", "stage_id")


def define_paths(scope: Scope) -> None:
    """Define the tables above for the window of a run."""
    define_stack_labels(scope)
    define_frame_names(scope.tables)
    tables = scope.tables
    tables.define("sampled", _sampled(scope))
    _define_cluster_labels(scope)
    tables.define("placed", _placed())
    # Executions that repeat a plan share its labels, and so its paths.
    tables.define(
        "paths",
        "SELECT row_number() OVER (ORDER BY java_stack, role, labels) - 1 AS path, *"
        " FROM (SELECT DISTINCT java_stack, role, labels FROM placed)",
    )
    tables.define(
        "path_samples",
        "SELECT p.path, s.event, s.iteration, s.operator, s.expression,"
        " sum(s.weight) AS weight, sum(s.squares) AS squares, sum(s.n)::BIGINT AS n"
        " FROM placed s JOIN paths p ON s.java_stack IS NOT DISTINCT FROM p.java_stack"
        "  AND s.role = p.role AND s.labels IS NOT DISTINCT FROM p.labels"
        " GROUP BY ALL",
    )
    tables.define("path_texts", _PATH_TEXTS)
    tables.define(
        "frame_texts",
        "SELECT row_number() OVER (ORDER BY name) - 1 AS name_id, name"
        " FROM (SELECT DISTINCT name FROM path_texts)",
    )
    tables.define(
        "path_frames",
        "SELECT path, place, name_id FROM path_texts JOIN frame_texts USING (name)",
    )


_PATH_TEXTS = f"""
    SELECT path, 0 AS place, '[' || role || ' threads]' AS name FROM paths
    UNION ALL
    SELECT path, 1, '[no stack]' FROM paths
        ANTI JOIN stacks ON stacks.stack_id = paths.java_stack
    UNION ALL
    SELECT u.path, u.place, coalesce('{CLUSTER}[' || list_extract(list_filter(
            u.labels, x -> x.cluster = f.cluster), 1).label || '].' || f.method,
        f.name, '[frame missing]')
    FROM (SELECT path, labels, unnest(frame_ids) AS frame_id,
              generate_subscripts(frame_ids, 1) AS place
          FROM paths JOIN stacks ON stacks.stack_id = paths.java_stack) u
    LEFT JOIN frame_names f USING (frame_id)
"""


def _sampled(scope: Scope) -> str:
    """Give samples their iteration; take all of them where a run has no times.

    Threads that serve no task get the iteration during which they ran.
    """
    # Monotonic and wall-clock times are far apart, so a time matches one of them only.
    when = "(x.t_ns >= {0}.start_mono_ns AND x.t_ns < {0}.end_mono_ns) OR (x.t_ns >="
    when += " {0}.start_wall_ns AND x.t_ns < {0}.end_wall_ns)"
    window = f"SEMI JOIN w ON {when.format('w')}" if scope.window.intervals else ""
    # Threads of a pool that wait for a task do not count as time of the application.
    in_tasks = "task_attempt_id IS NOT NULL" if scope.tables.has("spans") else "true"
    measured = "true" if scope.window.iterations else "false"
    return f"""
        SELECT x.*, i.iteration, a.app_index
        FROM (SELECT t_ns, pid, sql_id, stage_id, event, category, operator, weight,
                  coalesce(java_stack, native_stack, kernel_stack) AS java_stack,
                  coalesce(role, 'unknown') AS role
              FROM samples WHERE event IN {EVENTS} AND unit = 'ns'
                  AND (event <> 'wall' OR {in_tasks})) x
        {window}
        LEFT JOIN (SELECT * FROM iterations WHERE {measured}) i ON {when.format("i")}
        ASOF LEFT JOIN (SELECT pid, app_index, min(t_ns) AS since FROM w_samples GROUP BY ALL) a
            ON a.pid = x.pid AND x.t_ns >= a.since
    """


def _placed() -> str:
    """Sum samples by stack and by the labels of its clusters."""
    same = " AND ".join(
        f"t.{key} IS NOT DISTINCT FROM "
        + (f"coalesce(x.category = '{CONVERSION}', false)" if key == "converts" else f"x.{key}")
        for key in KEY
    )
    return f"""
        SELECT x.java_stack, x.role, l.labels, x.event,
            coalesce(x.iteration, {WHOLE_WINDOW}) AS iteration,
            CASE WHEN x.role = 'task' THEN coalesce(t.operator, x.operator) END AS operator,
            t.expression,
            sum(x.weight)::DOUBLE AS weight, sum(x.weight::DOUBLE * x.weight) AS squares,
            count(*) AS n
        FROM sampled x
        LEFT JOIN attributed_stacks t ON {same}
        LEFT JOIN stack_labels l ON {_same("l", "x", ("java_stack", *_PLACE))}
        GROUP BY ALL
    """


def _define_cluster_labels(scope: Scope) -> None:
    """Define ``stack_labels``: labels of the clusters whose iterators occur in a stack."""
    tables = scope.tables
    place = ", ".join(f"x.{name}" for name in _PLACE)
    tables.define(
        "stack_clusters",
        f"SELECT DISTINCT x.java_stack, {place}, f.cluster FROM"
        f" (SELECT DISTINCT java_stack, {', '.join(_PLACE)} FROM sampled) x"
        " JOIN (SELECT stack_id AS java_stack, unnest(frame_ids) AS frame_id FROM stacks) s"
        "  USING (java_stack)"
        " JOIN frame_names f ON f.frame_id = s.frame_id AND f.cluster IS NOT NULL",
    )
    known, sources = plans(scope), _by_source(scope)
    types = dict.fromkeys((*_PLACE, "cluster"), "BIGINT") | {"label": "VARCHAR"}
    columns: dict[str, list[object]] = {name: [] for name in types}
    for app, sql_id, stage, cluster in tables.query(
        f"SELECT DISTINCT {', '.join(_PLACE)}, cluster FROM stack_clusters"
    ):
        label = _by_plan(known.get((app, sql_id), NO_PLAN), cluster, stage)
        row = (app, sql_id, stage, cluster, label or sources.get(cluster, UNKNOWN))
        for column, value in zip(columns, row, strict=True):
            columns[column].append(value)
    tables.keep("cluster_labels", types, columns)
    tables.define(
        "stack_labels",
        f"SELECT {', '.join(f'c.{name}' for name in ('java_stack', *_PLACE))},"
        " list({'cluster': c.cluster, 'label': l.label} ORDER BY c.cluster) AS labels"
        f" FROM stack_clusters c JOIN cluster_labels l ON {_same('l', 'c', _PLACE)}"
        "  AND l.cluster = c.cluster GROUP BY ALL",
    )


def _by_plan(plan: Plan, number: int, stage: int | None) -> str | None:
    """Operators of a cluster of the plan that ran, from the last to the first."""
    cluster = plan.cluster(number, stage)
    return _joined(m.operator for m in cluster.members) if cluster else None


def _by_source(scope: Scope) -> dict[int, str]:
    """Operators by cluster's number, where all sources of that number hold the same."""
    found: dict[int, set[str | None]] = {}
    for number, tree in scope.tables.query(
        "SELECT codegen_stage_id, tree FROM codegen_sources"
        " WHERE codegen_stage_id IS NOT NULL AND tree IS NOT NULL"
    ):
        nodes, _ = cluster_nodes(tree, number)
        found.setdefault(number, set()).add(_joined(text.split(" ")[0] for text in nodes))
    return {n: label for n, same in found.items() if len(same) == 1 for label in same if label}


def _joined(operators: Iterable[str]) -> str | None:
    # The text of a node may have its arguments right after its name.
    return " ← ".join(name.split("(")[0] for name in operators) or None


def _same(left: str, right: str, names: tuple[str, ...]) -> str:
    return " AND ".join(f"{left}.{name} IS NOT DISTINCT FROM {right}.{name}" for name in names)
