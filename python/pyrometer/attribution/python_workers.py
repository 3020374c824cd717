"""CPU of Python workers: by operator, by kind of work, by function.

A sample weighs the CPU time that its thread used since the one before, by the kernel's clock: sums
are measured, only their division over stacks is sampled. So they stand apart from samples of the
JVM, which are counted.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyrometer.attribution.generated import comparable
from pyrometer.attribution.samples import kind
from pyrometer.attribution.schema import (
    WITH_WORKERS,
    Category,
    CpuBase,
    Operator,
    Python,
    PythonFunction,
    PythonWork,
    Unmapped,
)
from pyrometer.core import schema
from pyrometer.window.scope import Scope

CATEGORY = "python"
OWN = "function"
"""Work in functions of the application, and in what they call."""
MAX_FUNCTIONS = 20
_NOT_ASKED = "Python stacks were not requested (--profile full, or python in its list)"
_NONE = "no Python worker was sampled in this window"


def define_python(scope: Scope) -> None:
    """Define ``w_python``: samples of Python processes in the window.

    Applications of one JVM number tasks and stages alike: a sample is of the one whose task of
    that number began last.
    """
    scope.tables.define(
        "w_python",
        "SELECT coalesce(a.app_index, CASE WHEN (SELECT count(*) FROM apps) = 1"
        "  THEN (SELECT min(app_index) FROM apps) END) AS app_index,"
        " x.pid, x.role, x.event, x.thread_name, x.weight, x.task_attempt_id, x.stage_id,"
        " x.sql_id, x.node_id, x.operator, x.java_stack"
        " FROM (SELECT x.* FROM samples x"
        "  JOIN w ON x.t_ns >= w.start_mono_ns AND x.t_ns < w.end_mono_ns"
        "  WHERE x.source = 'python') x"
        " ASOF LEFT JOIN (SELECT task_attempt_id, stage_id, span_start_ns,"
        "   min(app_index) AS app_index FROM w_spans GROUP BY ALL) a"
        "  ON a.task_attempt_id = x.task_attempt_id AND a.stage_id = x.stage_id"
        "  AND x.t_ns >= a.span_start_ns",
    )


def python(scope: Scope) -> Python:
    """Account for Python processes in the window."""
    workers, used, in_tasks, driver = scope.tables.query(
        "SELECT count(DISTINCT pid) FILTER (thread_name = 'Python worker'),"
        " sum(weight) FILTER (thread_name = 'Python worker')::BIGINT,"
        " sum(weight) FILTER (task_attempt_id IS NOT NULL)::BIGINT,"
        " sum(weight) FILTER (thread_name = 'Python driver')::BIGINT"
        " FROM w_python WHERE event = 'cpu' AND role = 'python'"
    )[0]
    counted = _counted(scope)
    if used is None and driver is None:
        return Python(counted_ns=counted, reason=_NONE if asked(scope) else _NOT_ASKED)
    seen = (used or 0) + (driver or 0) + (own_cpu_ns(scope) or 0)
    return Python(
        workers_count=workers,
        workers_ns=used,
        in_tasks_ns=in_tasks,
        driver_ns=driver,
        counted_ns=counted,
        seen_ratio=seen / counted if counted else None,
        work=_work(scope, used) if used else [],
        functions=_functions(scope, used) if used else [],
        reason=None if used else _NONE,
    )


def asked(scope: Scope) -> bool:
    """Whether the run was asked to sample Python."""
    manifest = scope.run.manifest
    return manifest is not None and "python" in manifest.probes_requested


def own_cpu_ns(scope: Scope) -> int | None:
    """CPU of the sampler's threads; ``None`` where none ran."""
    found = scope.tables.scalar(
        "SELECT sum(weight)::BIGINT FROM w_python WHERE event = 'cpu' AND role = 'pyrometer'"
    )
    return None if found is None else int(found)


def with_python(scope: Scope, operators: Sequence[Operator]) -> list[Operator]:
    """Give operators the CPU of the workers that they drove, largest first."""
    found = {(o.app_index, o.sql_id, o.operator, o.node_id): o for o in operators}
    for app, sql_id, operator, node_id, stages, used, n, text in scope.tables.query(
        "SELECT x.*, any_value(p.simple_string) FROM (SELECT app_index, sql_id, operator, node_id,"
        "   list_sort(list(DISTINCT stage_id)), sum(weight)::BIGINT, count(*) FROM w_python"
        "  WHERE event = 'cpu' AND role = 'python' AND operator IS NOT NULL GROUP BY ALL) x"
        " LEFT JOIN plan_nodes p ON p.is_final AND p.app_index = x.app_index"
        "  AND p.sql_id = x.sql_id AND p.node_id = x.node_id GROUP BY ALL"
    ):
        key = (app, sql_id, operator, node_id)
        known = found.get(key) or Operator(
            app_index=app,
            sql_id=sql_id,
            operator=operator,
            node_id=node_id,
            node_text=None if text is None else comparable(text),
            kind=kind(operator),
            stage_ids=stages,
            samples_count=0,
        )
        update = {"python_cpu_ns": used, "python_samples_count": n}
        found[key] = known.model_copy(update=update)
    return sorted(found.values(), key=lambda o: -((o.on_cpu_ns or 0) + (o.python_cpu_ns or 0)))


def cpu_base(task_threads_ns: int | None, in_tasks_ns: int | None) -> CpuBase:
    """Give what shares of CPU are of: task threads, and the Python workers that work for them.

    Examples
    --------
    >>> cpu_base(1_000, 3_000).total_ns, cpu_base(1_000, None).name
    (4000, 'task threads')
    """
    if not in_tasks_ns:
        return CpuBase(task_threads_ns=task_threads_ns, total_ns=task_threads_ns)
    return CpuBase(
        name=WITH_WORKERS,
        task_threads_ns=task_threads_ns,
        workers_ns=in_tasks_ns,
        total_ns=None if task_threads_ns is None else task_threads_ns + in_tasks_ns,
    )


def with_workers(categories: Sequence[Category], base: CpuBase) -> list[Category]:
    """Add what workers used for tasks; shares are of the base, task threads and workers together.

    Without a base's total, of task threads whose CPU is not known, no share can be had.
    """
    if not base.workers_ns:
        return list(categories)
    whole = base.total_ns
    rows = [
        *categories,
        Category(category=CATEGORY, on_cpu_ns=base.workers_ns),
    ]
    shared = [
        c.model_copy(update={"share": c.on_cpu_ns / whole if whole and c.on_cpu_ns else None})
        for c in rows
    ]
    return sorted(shared, key=lambda c: -(c.on_cpu_ns or 0))


def on_base(
    operators: Sequence[Operator], unmapped: Unmapped, base: CpuBase
) -> tuple[list[Operator], Unmapped]:
    """Give operators, and what names none, their share of the base."""
    whole = base.total_ns

    def share(on_cpu_ns: int | None, python_ns: int | None) -> float | None:
        if not whole or (on_cpu_ns is None and python_ns is None):
            return None
        return ((on_cpu_ns or 0) + (python_ns or 0)) / whole

    known = [
        o.model_copy(update={"share_with_workers": share(o.on_cpu_ns, o.python_cpu_ns)})
        for o in operators
    ]
    rest = None
    if base.workers_ns:
        rest = max(0, base.workers_ns - sum(o.python_cpu_ns or 0 for o in operators))
    return known, unmapped.model_copy(
        update={
            "python_cpu_ns": rest,
            "share_with_workers": share(unmapped.on_cpu_ns, rest),
        }
    )


def _counted(scope: Scope) -> int | None:
    """CPU of Python processes as the probe counted it."""
    found = scope.tables.scalar("SELECT sum(run_ns)::BIGINT FROM w_threads WHERE role = 'python'")
    return None if found is None else int(found)


def define_python_stacks(scope: Scope) -> None:
    """Define ``python_stacks``: frames of sampled Python stacks, with the kind of work of each."""
    if "python_stacks" in scope.tables.defined:
        return
    rules = " ".join(
        f"WHEN regexp_matches(class_name, '{rule.module}') THEN '{rule.work}'"
        for rule in schema.python_work()
    )
    # The standard library works for whoever calls it.
    scope.tables.define(
        "python_frames",
        f"SELECT frame_id, class_name, method, library, CASE {rules}"
        " WHEN class_name IS NULL THEN 'native threads'"
        " WHEN library LIKE '<%' OR (regexp_matches(library, '/python[0-9.]+/')"
        "  AND NOT contains(library, '-packages/')) THEN NULL"
        f" ELSE '{OWN}' END AS work FROM frames WHERE frame_id IN"
        " (SELECT unnest(frame_ids) FROM stacks WHERE stack_id IN"
        "  (SELECT java_stack FROM w_python WHERE role = 'python'))",
    )
    scope.tables.define(
        "python_stacks",
        "SELECT s.stack_id, s.i, f.* FROM (SELECT stack_id, unnest(frame_ids) AS frame_id,"
        "  generate_subscripts(frame_ids, 1) AS i FROM stacks WHERE stack_id IN"
        "   (SELECT java_stack FROM w_python WHERE role = 'python')) s"
        " JOIN python_frames f USING (frame_id)",
    )


def _work(scope: Scope, whole: int) -> list[PythonWork]:
    define_python_stacks(scope)
    first = next(rule.work for rule in schema.python_work() if rule.anywhere)
    return [
        PythonWork(work=work, on_cpu_ns=used, share=used / whole)
        for work, used in scope.tables.query(
            "SELECT coalesce(s.work, 'unknown'), sum(x.weight)::BIGINT FROM w_python x LEFT JOIN"
            f" (SELECT stack_id, CASE WHEN bool_or(work = '{first}') THEN '{first}'"
            "    ELSE arg_max(work, i) FILTER (work IS NOT NULL) END AS work"
            "   FROM python_stacks GROUP BY stack_id) s ON s.stack_id = x.java_stack"
            " WHERE x.event = 'cpu' AND x.role = 'python' AND x.thread_name = 'Python worker'"
            " GROUP BY 1 ORDER BY 2 DESC, 1"
        )
    ]


def _functions(scope: Scope, whole: int) -> list[PythonFunction]:
    return [
        PythonFunction(function=name, file=file, on_cpu_ns=used, share=used / whole)
        for name, file, used in scope.tables.query(
            "SELECT s.name, s.library, sum(x.weight)::BIGINT FROM w_python x JOIN"
            " (SELECT DISTINCT stack_id, class_name || '.' || method AS name, library"
            f"  FROM python_stacks WHERE work = '{OWN}') s ON s.stack_id = x.java_stack"
            " WHERE x.event = 'cpu' AND x.role = 'python' AND x.thread_name = 'Python worker'"
            f" GROUP BY ALL ORDER BY 3 DESC, 1 LIMIT {MAX_FUNCTIONS}"
        )
    ]
