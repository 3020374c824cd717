"""Samples of a run, summed by stack and dimension."""

from __future__ import annotations

from typing import Any

from pyrometer.analyse.attribution import CONVERSION
from pyrometer.analyse.told import KEY
from pyrometer.report.columns import integers
from pyrometer.store.tables import Tables

MAX_FACTS = 150_000
EVENTS = ("cpu", "wall", "alloc", "lock")
# Events whose samples tell what elapsed time was spent on.
CRITICAL = ("cpu", "wall")
# Dimension in the viewer -> expression over table samples. `what` is what an on-CPU sample was
# doing, or what an off-CPU one waited for.
DIMENSIONS = {
    "stage": "stage_id",
    "iteration": "iteration",
    "role": "role",
    "what": "coalesce(category, wait_class, state)",
    "sql": "sql_id",
    "operator": "operator",
    "expression": "expression",
}
NUMBERS = ("stage", "iteration", "sql")
# Temporary tables that `facts_of` leaves: samples with their dimensions, and which fact (place in
# its result) each combination of stack and dimensions became.
SAMPLES, FOLDED = "flame_samples", "flame_folded"

# Tasks that run from a point of time on, by the spans of the only host there is.
_RUNNING = """
    SELECT 'mono' AS clock, t_ns, sum(sum(change)) OVER (ORDER BY t_ns) AS tasks FROM (
        SELECT start_mono_ns AS t_ns, 1 AS change FROM spans
        UNION ALL SELECT end_mono_ns, -1 FROM spans WHERE end_mono_ns IS NOT NULL)
    GROUP BY t_ns
"""
_UNTOLD = f"""(SELECT {", ".join(f"0 AS {key}" for key in KEY)},
    '' AS operator, '' AS expression WHERE false)"""


def facts_of(tables: Tables) -> dict[str, Any]:
    """Sum samples by stack and dimension; beyond the cap the lightest lose their stack.

    Operators and expressions are those of ``told`` where that was defined, else what frames say.

    Threads that serve no task (GC, JIT, driver) take the iteration that went on when they ran.
    """
    dims = ", ".join(f"{expr} AS {name}" for name, expr in DIMENSIONS.items())
    names = ", ".join(DIMENSIONS)
    told = "told" if "told" in tables.defined else _UNTOLD
    joined = " AND ".join(
        f"t.{key} IS NOT DISTINCT FROM "
        + (f"coalesce(s.category = '{CONVERSION}', false)" if key == "converts" else f"s.{key}")
        for key in KEY
    )
    key = f"stack, event, {names}, top_class"
    placed = f"""
        WITH placed AS (
            SELECT s.* REPLACE (coalesce(s.iteration, i.iteration) AS iteration,
                                coalesce(t.operator, s.operator) AS operator),
                t.expression,
                CASE WHEN s.task_attempt_id IS NOT NULL AND event IN {CRITICAL}
                     THEN s.weight / greatest(r.tasks, 1) END AS critical
            FROM samples s LEFT JOIN iterations i
                ON s.clock = 'mono' AND s.t_ns >= i.start_mono_ns AND s.t_ns < i.end_mono_ns
            LEFT JOIN {told} t ON {joined}
            ASOF LEFT JOIN ({_RUNNING}) r ON s.clock = r.clock AND s.t_ns >= r.t_ns
        )
        SELECT coalesce(java_stack, native_stack, kernel_stack, -1) AS stack, event, unit, {dims},
               CASE WHEN event IN ('alloc', 'lock') THEN top_class END AS top_class,
               weight, critical, host, clock, t_ns
        FROM placed
    """
    folded = f"""
        WITH folded AS (
            SELECT {key}, any_value(unit) AS unit, sum(weight)::DOUBLE AS weight,
                   coalesce(sum(critical), 0)::DOUBLE AS critical, count(*) AS n
            FROM {SAMPLES} GROUP BY {key}
        ), ranked AS (
            SELECT *, row_number() OVER (PARTITION BY event ORDER BY weight DESC, stack) AS place
            FROM folded
        ), cut AS (
            SELECT *, CASE WHEN place > {MAX_FACTS} THEN -2 ELSE stack END AS kept FROM ranked
        )
        SELECT *, dense_rank() OVER (ORDER BY kept, event, {names}, top_class) - 1 AS fact FROM cut
    """
    tables.define(SAMPLES, placed)
    tables.define(FOLDED, folded)
    values = ", ".join(f"any_value({name}) AS {name}" for name in ("event", "unit", *DIMENSIONS))
    found: dict[str, Any] = tables.columns(
        f"""
        SELECT any_value(kept) AS stack, {values}, any_value(top_class) AS top_class,
               sum(weight) AS weight, sum(critical) AS critical, sum(n)::BIGINT AS n
        FROM {FOLDED} GROUP BY fact ORDER BY fact
        """
    )
    found["stack"] = integers(found["stack"])
    return found
