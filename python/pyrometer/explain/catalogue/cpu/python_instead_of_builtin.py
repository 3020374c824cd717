"""Rows leave the JVM for a Python function that a built-in expression may replace.

What it is
    A scalar Python function in SQL or in a DataFrame, `mapInPandas` with a function that returns
    one row for each row, or a function of the RDD of a DataFrame (`df.rdd.map`, `df.foreach`): rows
    are handed to a worker process and back. Where the function trims, splits, compares, counts or
    computes, a built-in expression does the same in the JVM.

Mechanism
    The simulator removes all that exists for the function's sake: the workers' CPU (exchange, loop,
    start), the JVM's side of the exchange, and the waits between them; less what the built-in
    needs. What the function itself computes counts at the high end only. All calls of the same
    function count together. Starts of workers that `spark.python.worker.reuse` would spare are not
    the function's: see `python.worker-start`.

Evidence
    CPU of the workers and of the operator in the JVM, by samples, waits by the kernel's counters.
    `mapInPandas` and `mapInArrow` give as many rows as they get; an RDD is made from a DataFrame in
    the same stage. For both, samples show the function in code of the application, the standard
    library, pandas, numpy and pyarrow: other packages, such as models, numpy's linear algebra, and
    whatever talks to a network do what no expression does. From the event log alone: Spark's `time
    to run Python workers`, at most, and the time of tasks in which they used no CPU of the JVM, at
    least.

Remedy
    The built-in expression (`pyspark.sql.functions`), or a Scala function.

When it is wrong
    Where no built-in does what the function does: then see `python.instead-of-arrow` and
    `python.function`. A function of batches may depend on the order of rows, or multiply by a
    matrix of its own: neither shows in samples.

Source
    Pyrometer's tutorial "Why is my job slow?": the same job with the built-in, measured 20 to 26 %
    faster; metrics of Python nodes: Spark's PythonSQLMetrics.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

import numpy as np

from pyrometer.accounts.plan_schema import Node, Sql
from pyrometer.core import units
from pyrometer.explain.change import Less
from pyrometer.explain.evidence.alike import alike
from pyrometer.explain.evidence.plan_nodes import metric
from pyrometer.explain.evidence.python.starts import MS, RUN, as_times, starts
from pyrometer.explain.evidence.python.work import (
    BATCHES,
    SCALAR,
    Work,
    called_at,
    caller_of,
    functions_of,
    is_of_rdd,
    maps_frame,
    maps_rows,
    without,
    work,
)
from pyrometer.explain.evidence.saying import code, page, place, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SQL_PLANS, Rule, Suspect
from pyrometer.explain.schema import Remedy
from pyrometer.explain.what_if import Extent

ACHIEVED = (0.85, 1.0)
"""The built-in itself needs some CPU. Not measured; assumed."""


def _suspects(facts: Facts) -> Iterator[Suspect]:
    yield from (suspect for _, suspect in alike(_each(facts)))


def _each(facts: Facts) -> Iterator[tuple[Hashable, float, Suspect]]:
    """Give each node that calls functions, with their names."""
    sampled = {
        n: one for n, one in work(facts).items()
        if one.operator in SCALAR or (one.operator in BATCHES and maps_rows(facts, one))
        or maps_frame(facts, n, one)
    }  # fmt: skip
    nodes: dict[Hashable, dict[int, Work]] = {}
    for number, one in sampled.items():
        nodes.setdefault(caller_of(facts, number, one), {})[number] = one
    for node, found in nodes.items():
        first = next(iter(found.values()))
        of_plan = functions_of(facts, first.sql_id, first.node_id)
        said = node if is_of_rdd(first) else of_plan
        spent = sum(one.workers_ns + one.operator_ns for one in found.values())
        yield from ((said, spent, suspect) for suspect in _by_samples(facts, found))
    if any(one.operator in SCALAR for one in sampled.values()):
        return
    for sql in facts.summary.sql:
        if facts.measured is None or sql.app_index != facts.measured.app_index:
            continue
        for node in sql.nodes:
            if node.name in SCALAR:
                said = functions_of(facts, sql.sql_id, node.node_id)
                spent = float(metric(node, RUN) or 0) * MS
                yield from ((said, spent, suspect) for suspect in _by_log(facts, sql, node))


def _by_samples(facts: Facts, found: dict[int, Work]) -> Iterator[Suspect]:
    again = starts(facts).again_ratio
    workers = {n: one.workers_ns * (1 - again.get(n, 0.0)) for n, one in found.items()}
    jvm = {number: one.operator_ns for number, one in found.items()}
    change, extent = without(facts, "python", workers, jvm)
    function = sum(one.ns.get("function", 0.0) for one in found.values())
    there, here = sum(one.workers_ns for one in found.values()), sum(jvm.values())
    served = sum(workers.values())
    if there <= 0 or extent.value <= 0:
        return
    kept = 1 - min(1.0, function / (served + here)) if served + here else 0.0
    first = next(iter(found.values()))
    name, source = called_at(facts, found)
    name = _named(functions_of(facts, first.sql_id, first.node_id)) or name
    where = place(facts, "python", workers, sql_id=first.sql_id, node_id=first.node_id,
                  operator=first.operator, source=source)  # fmt: skip
    n = sum(one.samples_count for one in found.values())
    link = page(where) if first.sql_id is None else f"/sql/{first.sql_id}/{first.node_id}"
    in_jvm = f" and {units.duration(here)} of the JVM's" if here else ""
    yield Suspect(
        place=where,
        mechanism=(
            f"{units.duration(there)} of CPU of Python workers{in_jvm}"
            f" serve{'' if here else 's'} one Python function, and only {units.duration(function)}"
            f" of it is the function itself{_but_starts(1 - served / there)}."
        ),
        change=(as_times(facts, change) if again else change,),
        extent=Extent(1.0, extent.low * kept, extent.high, n).times(*ACHIEVED),
        evidence=[
            shown_by("CPU of Python workers", there, "ns", "samples", "show --json: python.work",
                 page(where), n),
            *([shown_by("CPU of the operator in the JVM", here, "ns", "samples",
                 "show --json: operators", link)] if here else []),
        ],
        remedies=[_remedy(first.operator, name, is_of_rdd(first))],
    )  # fmt: skip


def _named(called: Hashable) -> str | None:
    """Give the name of the function where a plan has one."""
    return str(called[0]) if isinstance(called, tuple) and isinstance(called[0], str) else None


def _but_starts(ratio: float) -> str:
    return f"; {units.percent(ratio)} of the workers' is their start in each task" if ratio else ""


def _by_log(facts: Facts, sql: Sql, node: Node) -> Iterator[Suspect]:
    ran = next((one.value_sum for one in node.metrics if one.metric == RUN), None)
    numbers = facts.stages_of(node, sql)
    if not ran or not numbers:
        return
    idle, most = {}, {}
    for number in numbers:
        own = facts.tasks_of(number)
        known = ("executor_cpu_time_ns", "jvm_gc_time_ns", "shuffle_fetch_wait_time_ns")
        used = np.nansum([own[name] for name in known], axis=0)
        idle[number] = np.maximum(np.nan_to_num(own["executor_run_time_ns"]) - used, 0.0)
        most[number] = np.nan_to_num(own["executor_run_time_ns"])
    whole = float(sum(one.sum() for one in most.values()))
    if whole <= 0:
        return
    again = sum(starts(facts).again_ns.get(number, 0.0) for number in numbers) / whole
    high = min(1.0, max(0.0, ran * MS / whole - again))
    low = min(high, max(0.0, float(sum(one.sum() for one in idle.values())) / whole - again))
    where = place(facts, "python", numbers, sql_id=sql.sql_id, node_id=node.node_id,
                  operator=node.name)  # fmt: skip
    n = sum(one.size for one in most.values())
    yield Suspect(
        place=where,
        mechanism=(
            f"Tasks of {units.duration(whole)} ran Python workers for {units.duration(ran * MS)},"
            f" and used no CPU of the JVM for {units.percent(low)} of their time."
        ),
        change=(Less("python", most),),
        extent=Extent((low + high) / 2, low / 2, high, n).times(*ACHIEVED),
        evidence=[
            shown_by(RUN, ran * MS, "ns", "node_metrics",
                 f"SELECT value_sum * {MS:.0f} FROM node_metrics WHERE sql_id = {sql.sql_id}"
                 f" AND node_id = {node.node_id} AND metric = '{RUN}'",
                 f"/sql/{sql.sql_id}/{node.node_id}", n),
        ],
        remedies=[_remedy(node.name, _named(functions_of(facts, sql.sql_id, node.node_id)))],
    )  # fmt: skip


def _remedy(operator: str, name: str | None, of_rdd: bool = False) -> Remedy:
    """Say what computes the same; what the function computes is not known."""
    named = f" {name}" if name else ""
    if of_rdd:
        return code(
            f"compute with columns of the DataFrame in place of a function{named} of its rows",
            "df.rdd.map(lambda row: (row.column, 1)).reduceByKey(add)",
            'df.groupBy("column").count()',
        )
    if operator in BATCHES:
        return code(
            f"compute the columns by expressions in place of the Python function{named}",
            'df.mapInPandas(my_function, "total LONG")',
            'df.selectExpr("aggregate(column, 0L, (sum, n) -> sum + n) AS total")',
        )
    return code(
        f"use a built-in expression in place of the Python function{named}",
        '@F.udf("string")\ndef my_function(s): return s.strip().upper()',
        'F.upper(F.trim("column"))',
    )


RULE = Rule(
    code="python.instead-of-builtin",
    title="A Python function does what an expression could",
    cause="Python UDF in place of a built-in",
    suspects=_suspects,
    needs=(SQL_PLANS,),
    explains=("python.", "udf."),
    refute="Replace the function by a constant: if the stage still lasts as long, Python is not"
    " what it pays for.",
)
