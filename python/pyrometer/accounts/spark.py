"""What Spark itself reports: applications, iterations, stages and SQL executions of a window.

Totals: sums over task attempts, one set for what succeeded and one for what did not.

Definitions: docs/reference/totals.md. ``TASK_TOTALS`` is the one place that defines each total.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import ValidationError

from pyrometer.accounts.explosions import explosions
from pyrometer.accounts.plan_schema import Node, NodeMetric, Sql
from pyrometer.accounts.schema import Iteration, PageCache, Stage, TaskTime, Totals
from pyrometer.accounts.stage_names import stage_name
from pyrometer.accounts.stage_tasks import stage_tasks
from pyrometer.attribution.schema import Operator
from pyrometer.window.scope import Scope

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
    if whole_run or tuple(group) not in _ASKED_TOGETHER:
        return _totals(scope, [tuple(group)], whole_run)[tuple(group)]
    if "totals" not in scope.kept:
        scope.kept["totals"] = _totals(scope, _ASKED_TOGETHER)
    found: dict[str, dict[Key, Totals]] = scope.kept["totals"][tuple(group)]
    return found


# Few rows: a query for each would cost more than all of them.
_ASKED_TOGETHER = ((), ("app_index",))


def _totals(
    scope: Scope, groups: Sequence[tuple[str, ...]], whole_run: bool = False
) -> dict[tuple[str, ...], dict[str, dict[Key, Totals]]]:
    keys = max(groups, key=len)
    grouping = f"GROUPING({', '.join(keys)})" if keys else "0"
    by_grouping = {_grouping(keys, group): group for group in groups}
    sets = ", ".join(f"({', '.join(('which', *group))})" for group in groups)
    found: dict[tuple[str, ...], dict[str, dict[Key, Totals]]] = {
        group: {SUCCEEDED: {}, FAILED: {}} for group in groups
    }
    for source, columns in (
        (_TASKS.format("run_tasks" if whole_run else "w_tasks"), TASK_TOTALS),
        (_STAGES.format("stages" if whole_run else "w_stages"), STAGE_TOTALS),
    ):
        sums = ", ".join(f"({sql})::BIGINT AS {name}" for name, sql in columns.items())
        for number, which, *row in scope.tables.query(
            f"SELECT {', '.join((grouping, 'which', *keys))}, {sums} FROM ({source})"
            f" GROUP BY GROUPING SETS ({sets})"
        ):
            group = by_grouping[number]
            key = tuple(row[keys.index(name)] for name in group)
            entry = found[group][which].setdefault(key, nothing())
            entry.update(zip(columns, row[len(keys) :], strict=True))
    return found


_TASKS = (
    "SELECT *, CASE status WHEN 'success' THEN 'success' ELSE 'failed' END AS which FROM {}"
    " WHERE status IN ('success', 'failed', 'killed')"
)
# What failed counts among all stages too.
_STAGES = (
    "SELECT *, unnest(CASE status WHEN 'failed' THEN ['success', 'failed'] ELSE ['success'] END)"
    " AS which FROM {} WHERE complete_wall_ns IS NOT NULL"
)


def _grouping(keys: Sequence[str], group: Sequence[str]) -> int:
    """Give what GROUPING says of a set: a bit for each column, of the first the highest."""
    return int("".join(str(int(name not in group)) for name in keys) or "0", 2)


def nothing() -> Totals:
    """Totals of no attempt at all: everything 0."""
    return dict.fromkeys(ORDER, 0)


def window_totals(scope: Scope) -> tuple[Totals, Totals]:
    """Totals of the whole window: of successful attempts, and of failed and killed ones."""
    found = totals_by(scope)
    return found[SUCCEEDED].get((), nothing()), found[FAILED].get((), nothing())


STAGE_KEY = ("app_index", "stage_id", "stage_attempt")
MAX_STAGES = 5000
MAX_SQL = 1000
# Of equally long ones the first: the same ones whenever they are asked for.
_LONGEST = f"DESC NULLS LAST, app_index, sql_id LIMIT {MAX_SQL}"


def _page_cache(recorded: dict[str, Any]) -> PageCache:
    """Read what the manifest recorded; what is damaged is not known."""
    try:
        return PageCache(**recorded)
    except (ValidationError, TypeError):
        return PageCache(reason="what the manifest says of the page cache is damaged")


def iterations(scope: Scope) -> list[Iteration]:
    """List iterations of the workload; a bare command is one, as long as its application."""
    rows = scope.tables.records(
        "SELECT iteration, warmup, end_mono_ns - start_mono_ns AS elapsed_ns, status,"
        " result_rows_count, result_checksum FROM iterations ORDER BY iteration"
    )
    manifest = scope.run.manifest
    if rows:
        found = totals_by(scope, ("iteration",), whole_run=True)[SUCCEEDED]
        results = {result.iteration: result for result in manifest.results} if manifest else {}
        listed = []
        for row in rows:
            result = results.get(row["iteration"])
            listed.append(
                Iteration(
                    **row,
                    totals=found.get((row["iteration"],), nothing()),
                    cache=_page_cache(result.cache) if result and result.cache else None,
                    counters=result.counters if result else {},
                )
            )
        return listed
    whole = totals_by(scope)[SUCCEEDED].get((), nothing())
    ended = scope.tables.scalar(
        "SELECT count(*) > 0 AND bool_and(end_wall_ns IS NOT NULL) FROM apps"
    )
    status = manifest.state if manifest else "finished" if ended else "running"
    length = scope.window.length_ns or None
    return [Iteration(iteration=0, warmup=False, elapsed_ns=length, status=status, totals=whole)]


def stages(scope: Scope) -> list[Stage]:
    """Stage attempts of the window in order of submission, at most 5000 (the longest)."""
    found = totals_by(scope, STAGE_KEY)[SUCCEEDED]
    tasks = stage_tasks(scope)
    rows = scope.tables.records(
        f"""
        WITH t AS (
          SELECT app_index, stage_id, stage_attempt,
            count(*) FILTER (status = 'success') AS tasks_count,
            count(*) FILTER (status = 'failed') AS failed_tasks_count,
            count(*) FILTER (status = 'killed') AS killed_tasks_count,
            quantile_disc(finish_wall_ns - launch_wall_ns, [0, 0.5, 0.95, 1])
              FILTER (status = 'success') AS q
          FROM w_tasks GROUP BY ALL)
        SELECT s.app_index, s.stage_id, s.stage_attempt, s.name, s.sql_id, s.job_id, s.iteration,
          s.status, coalesce(t.tasks_count, 0) AS tasks_count,
          coalesce(t.failed_tasks_count, 0) AS failed_tasks_count,
          coalesce(t.killed_tasks_count, 0) AS killed_tasks_count,
          s.submit_wall_ns, s.complete_wall_ns,
          s.complete_wall_ns - s.submit_wall_ns AS duration_ns, t.q, d.description
        FROM w_stages s LEFT JOIN t USING (app_index, stage_id, stage_attempt)
        LEFT JOIN sql_executions d ON d.app_index = s.app_index AND d.sql_id = s.sql_id
        ORDER BY duration_ns DESC NULLS LAST LIMIT {MAX_STAGES}
        """
    )
    attempts = []
    for row in rows:
        q = row.pop("q") or [None] * 4
        key = tuple(row[k] for k in STAGE_KEY)
        times = TaskTime(min_ns=q[0], median_ns=q[1], p95_ns=q[2], max_ns=q[3])
        sums = found.get(key, nothing())
        row["called"] = stage_name(row["name"], row.pop("description"))
        attempts.append(Stage(**row, task_time=times, tasks=tasks.get(key), totals=sums))
    return sorted(attempts, key=lambda s: (s.app_index, s.submit_wall_ns or 0, s.stage_id))


def sql(scope: Scope, operators: Iterable[Operator]) -> list[Sql]:
    """List SQL executions of the window with the final plan's nodes, at most 1000 (the longest).

    Parameters
    ----------
    scope : Scope
        A run cut to a window.
    operators : iterable of Operator
        CPU by operator; it is added to the node that it names.
    """
    tables = scope.tables
    executions = tables.records(
        "SELECT app_index, sql_id, description, iteration, start_wall_ns, end_wall_ns,"
        " end_wall_ns - start_wall_ns AS duration_ns, error, plan_versions_count"
        f" FROM w_sql ORDER BY duration_ns {_LONGEST}"
    )
    if not executions:
        return []
    tables.define(
        "w_nodes",
        "SELECT n.* FROM plan_nodes n SEMI JOIN"
        f" (SELECT app_index, sql_id FROM w_sql ORDER BY end_wall_ns - start_wall_ns {_LONGEST})"
        " q USING (app_index, sql_id) WHERE n.is_final",
    )
    metrics, stage_ids = _metrics(scope)
    used: dict[tuple[int | None, int | None, int | None], list[Operator]] = defaultdict(list)
    for operator in operators:
        used[(operator.app_index, operator.sql_id, operator.node_id)].append(operator)
    nodes: dict[tuple[int, int], list[Node]] = defaultdict(list)
    texts: dict[str, str] = {}  # plans of a loop are alike: each text is held once
    for app, sql_id, node_id, parent, depth, name, text, codegen_stage_id in tables.batches(
        "SELECT app_index, sql_id, node_id, parent_node_id, depth, trim(name) AS name,"
        " simple_string, codegen_stage_id FROM w_nodes ORDER BY ALL"
    ):
        key = (app, sql_id, node_id)
        node = Node(
            node_id=node_id,
            parent_node_id=parent,
            depth=depth,
            name=texts.setdefault(name, name),
            simple_string=None if text is None else texts.setdefault(text, text),
            codegen_stage_id=codegen_stage_id,
            stage_ids=stage_ids.get(key, []),
            metrics=metrics.get(key, []),
        )
        if hits := used.get(key):
            node.on_cpu_ns = _sum(o.on_cpu_ns for o in hits)
            node.python_cpu_ns = _sum(o.python_cpu_ns for o in hits)
            node.off_cpu_ns = _sum(o.off_cpu_ns for o in hits)
            node.samples_count = sum(o.samples_count for o in hits)
        nodes[app, sql_id].append(node)
    plans = [nodes[(row["app_index"], row["sql_id"])] for row in executions]
    listed = [
        Sql(**row, nodes=plan, explosions=explosions(plan))
        for row, plan in zip(executions, plans, strict=True)
    ]
    return sorted(listed, key=lambda q: (q.app_index, q.start_wall_ns or 0, q.sql_id))


def _metrics(
    scope: Scope,
) -> tuple[dict[tuple[int, int, int], list[NodeMetric]], dict[tuple[int, int, int], list[int]]]:
    metrics: dict[tuple[int, int, int], list[NodeMetric]] = defaultdict(list)
    stage_ids: dict[tuple[int, int, int], list[int]] = {}
    texts: dict[str, str] = {}
    rows = scope.tables.batches(
        """
        SELECT m.app_index, m.sql_id, m.node_id, m.metric, first(m.metric_type) AS metric_type,
          sum(m.value_sum)::BIGINT AS value_sum, min(m.value_min) AS value_min,
          max(m.value_max) AS value_max,
          list_sort(list_distinct(list(m.stage_id) FILTER (m.stage_id IS NOT NULL))) AS stage_ids
        FROM node_metrics m SEMI JOIN w_nodes n
          ON m.app_index = n.app_index AND m.sql_id = n.sql_id
          AND m.plan_version = n.plan_version AND m.node_id = n.node_id
        GROUP BY m.app_index, m.sql_id, m.node_id, m.metric, m.accumulator_id
        ORDER BY ALL
        """
    )
    for app, sql_id, node_id, name, kind, value_sum, value_min, value_max, seen in rows:
        key = (app, sql_id, node_id)
        if seen:
            stage_ids[key] = sorted({*stage_ids.get(key, ()), *seen})
        metrics[key].append(
            NodeMetric(
                metric=texts.setdefault(name, name),
                metric_type=None if kind is None else texts.setdefault(kind, kind),
                value_sum=value_sum,
                value_min=value_min,
                value_max=value_max,
            )
        )
    return metrics, stage_ids


def _sum(values: Iterable[int | None]) -> int | None:
    present = [v for v in values if v is not None]
    return sum(present) if present else None
