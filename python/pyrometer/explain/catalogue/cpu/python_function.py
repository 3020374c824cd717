"""The Python function itself is what tasks compute.

What it is
    Workers spend their CPU in the function of the application and in what it calls, not in the
    exchange of rows: another way to carry rows gains little.

Mechanism
    The simulator removes the workers' CPU in the function, less what a function that works on
    columns needs for the same work. All calls of the same function count together.

Evidence
    CPU samples of workers by kind of work and by function.

Remedy
    Work on whole columns (numpy, pandas, pyarrow.compute) instead of one row at a time; compile
    the loop (numba); move what is constant out of the function.

When it is wrong
    Where the function already works on columns, or waits for something outside, there may be
    nothing left to save.

Source
    "Introducing Pandas UDF for PySpark" (Databricks, 2017): functions on columns 3 to over 100
    times as fast as row by row.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from pyrometer.core import units
from pyrometer.explain.evidence.alike import alike
from pyrometer.explain.evidence.python.work import (
    WORKERS,
    Work,
    called_at,
    caller_of,
    functions_of,
    is_of_rdd,
    sampled,
    without,
    work,
)
from pyrometer.explain.evidence.saying import code, page, place, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Rule, Suspect

ROWS, COLUMNS = (0.67, 0.99), (0.0, 0.9)
"""What a function on columns saves of one on rows; and of one that already has columns."""
_ROWWISE = ("BatchEvalPython",)


def _suspects(facts: Facts) -> Iterator[Suspect]:
    yield from (suspect for _, suspect in alike(_each(facts)))


def _each(facts: Facts) -> Iterator[tuple[Hashable, float, Suspect]]:
    """Give each node whose workers spend CPU in functions, with their names."""
    nodes: dict[tuple[str, Hashable], dict[int, Work]] = {}
    for number, one in work(facts).items():
        if one.ns.get("function", 0.0) > 0:
            nodes.setdefault((one.operator, caller_of(facts, number, one)), {})[number] = one
    for (operator, caller), found in nodes.items():
        first = next(iter(found.values()))
        sql_id, node_id = first.sql_id, first.node_id
        mine = {number: one.ns["function"] for number, one in found.items()}
        change, extent = without(facts, "python", mine, {})
        total, whole = sum(mine.values()), sum(one.workers_ns for one in found.values())
        n = sum(one.samples_count for one in found.values())
        name, source = called_at(facts, found)
        where = place(facts, "python", mine, sql_id=sql_id, node_id=node_id, operator=operator,
                      source=source)  # fmt: skip
        achieved = ROWS if operator in _ROWWISE else COLUMNS
        said = caller if is_of_rdd(first) else functions_of(facts, sql_id, node_id)
        yield (operator, said), total, Suspect(
            place=where,
            mechanism=(
                f"{units.duration(total)} of {units.duration(whole)} of CPU of Python workers are"
                f" in the function{f' {name}' if name else ''} itself."
            ),
            change=(change,),
            extent=sampled(extent, total, whole, n).times(*achieved),
            evidence=[
                shown_by("workers' CPU in the function", total, "ns", "samples",
                     "show --json: python.functions", page(where),
                         sum(one.samples["function"] for one in found.values())),
            ],
            remedies=[
                code("work on whole columns instead of one row at a time",
                     '@udf("double")\ndef my_function(x): return math.exp(x) / 2',
                     '@pandas_udf("double")\ndef my_function(x): return np.exp(x) / 2'),
            ],
        )  # fmt: skip


RULE = Rule(
    code="python.function",
    title="The Python function is what tasks compute",
    cause="slow Python function",
    suspects=_suspects,
    needs=(WORKERS,),
    refute="Return a constant from the function: if the stage still lasts as long, the function is"
    " not what it pays for.",
)
