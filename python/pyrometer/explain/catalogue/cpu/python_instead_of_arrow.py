"""A Python function exchanges rows by pickling, one by one, where Arrow would carry columns.

What it is
    `@udf` in Python: the JVM pickles rows, a worker unpickles them, calls the function for each,
    pickles the results. With Arrow, columns cross over as they are.

Mechanism
    The simulator removes the exchange: pickling in the JVM (`python_bridge`) and in the workers
    (`serialisation`), with the waits that go with it, less what Arrow needs for the same columns.
    The function is still called for each row. All functions of the application count together, as
    one setting decides for all.

Evidence
    CPU of workers by kind of work and CPU of the JVM's side, by samples; waits of tasks for workers
    and for a CPU, by the kernel's counters. The plan's node is `BatchEvalPython`.

Remedy
    `spark.sql.execution.pythonUDF.arrow.enabled=true` (Spark 3.5 and later), or a pandas UDF. Where
    that is set, or Spark is 4.2 or later, whose default it is, rows are pickled for functions with
    `useArrow=False`, and where pyarrow or pandas is missing. Where a built-in expression does the
    same, that saves more: see `python.instead-of-builtin`.

When it is wrong
    For types that Arrow has to convert (nested ones, timestamps of old versions), and for batches
    of few rows; results of other types may differ (type coercion).

Source
    SPARK-40307. Measured for the bounds, which are of the exchange alone: CPU of JVM and workers
    for an identity function over 600,000 rows, beyond that of the same query without it (Spark 4.3,
    local[1], medians of 5, 2026-11-25): Arrow saved 61 % for strings (0.49 s to 0.19 s), 48 % for
    doubles (0.42 s to 0.22 s). Runs of 0.1 s spread widen this to 30 to 90 %.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.core import units
from pyrometer.explain.evidence.alike import alike
from pyrometer.explain.evidence.python.work import WORKERS, Work, sampled, without, work
from pyrometer.explain.evidence.saying import code, factor, page, place, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SQL_PLANS, Rule, Suspect
from pyrometer.explain.schema import Remedy

NODE = "BatchEvalPython"
SETTING = "spark.sql.execution.pythonUDF.arrow.enabled"
BY_DEFAULT = (4, 2)
"""Release of Spark from which on the setting is true unless set."""
ACHIEVED = (0.3, 0.9)
"""Share of the exchange that Arrow saves: measured, see the source."""


def _suspects(facts: Facts) -> Iterator[Suspect]:
    yield from (suspect for _, suspect in alike(_each(facts)))


def _each(facts: Facts) -> Iterator[tuple[str, float, Suspect]]:
    """Give each node that exchanges rows: one setting has all of them exchange columns."""
    nodes: dict[tuple[int | None, int | None], dict[int, Work]] = {}
    for number, one in work(facts).items():
        if one.operator == NODE and one.ns.get("serialisation", 0.0) + one.bridge_ns > 0:
            nodes.setdefault((one.sql_id, one.node_id), {})[number] = one
    for found in nodes.values():
        spent = sum(one.ns.get("serialisation", 0.0) + one.bridge_ns for one in found.values())
        yield SETTING, spent, _suspect(facts, found)


def _suspect(facts: Facts, found: dict[int, Work]) -> Suspect:
    workers = {number: one.ns.get("serialisation", 0.0) for number, one in found.items()}
    jvm = {number: one.bridge_ns for number, one in found.items()}
    change, extent = without(facts, "python", workers, jvm)
    there, here = sum(workers.values()), sum(jvm.values())
    whole = sum(one.workers_ns for one in found.values())
    n = sum(one.samples_count for one in found.values())
    first = next(iter(found.values()))
    where = place(
        facts, "python", {n_: one.workers_ns for n_, one in found.items()}, sql_id=first.sql_id,
        node_id=first.node_id, operator=NODE, setting=None if _is_on(facts) else SETTING,
    )  # fmt: skip
    return Suspect(
        place=where,
        mechanism=(
            f"Rows pass to Python and back by pickling: {units.duration(there)} of the workers'"
            f" {units.duration(whole)} of CPU and {units.duration(here)} of the JVM's go to it,"
            f" {units.duration(sum(one.ns.get('function', 0.0) for one in found.values()))} to the"
            " function itself."
        ),
        change=(change,),
        extent=sampled(extent, there + here, whole + here, n).times(*ACHIEVED),
        evidence=[
            shown_by("workers' CPU in serialisation", there, "ns", "samples",
                 "show --json: python.work", page(where),
                 sum(one.samples.get("serialisation", 0) for one in found.values())),
            shown_by("JVM's CPU in the exchange", here, "ns", "samples", "show --json: categories",
                 f"/sql/{first.sql_id}/{first.node_id}"),
        ],
        remedies=[
            _by_arrow(facts),
            code("use a built-in expression where there is one", '@udf("string")\n'
                 "def my_function(s): return s.strip().upper()", 'F.upper(F.trim("column"))'),
        ],
    )  # fmt: skip


def _is_on(facts: Facts) -> bool:
    """Whether Arrow would be used if nothing kept this function from it."""
    return facts.is_on(SETTING, default=facts.release >= BY_DEFAULT)


def _by_arrow(facts: Facts) -> Remedy:
    if not _is_on(facts):
        return factor(SETTING, "true", "exchange columns by Arrow instead of pickled rows")
    return code(
        "leave useArrow=False out; where it is not given, install pyarrow and pandas for the"
        " driver: without them Spark pickles rows, although Arrow is on",
        '@udf("string", useArrow=False)', '@udf("string")',
    )  # fmt: skip


RULE = Rule(
    code="python.instead-of-arrow",
    title="Rows are pickled for Python where Arrow would do",
    cause="row-at-a-time Python UDF",
    suspects=_suspects,
    needs=(SQL_PLANS, WORKERS),
    explains=("python.function", "python.worker-start", "udf."),
    refute="Run so that the plan has ArrowEvalPython, by the setting or without useArrow=False: if"
    " the stage still lasts as long, the exchange is not what it pays for.",
)
