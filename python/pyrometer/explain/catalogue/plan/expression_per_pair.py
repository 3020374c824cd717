"""A join evaluates an expression for each pair of rows, though it reads one side only.

What it is
    The condition of a join holds an expression, often a conversion of types that the query does
    not show, and the join evaluates it for every pair that it compares.

Mechanism
    A row that meets a thousand others is converted a thousand times. Computed below the join, it is
    converted once. The simulator removes the CPU of the expression in the join, less the
    conversions that remain: one for each row, out of the pairs that the join compared. Joins with
    the same expression are one cause.

Evidence
    CPU samples in the lines of generated code that the expression is in, or a comparison of it;
    rows and pairs of the join in the plan's metrics.

Remedy
    Compute the expression in a column below the join, with the type that the condition compares:
    two sides of the same type need no conversion at all. Spark may push the column back up; a cache
    or a checkpoint of the side prevents that.

When it is wrong
    Where the expression reads columns of both sides, it cannot be moved; those that the plan shows
    to do so are left out, and so are columns that are merely read. Where the join compares few
    pairs, it costs just as much below.

Source
    Lines of generated code and their expressions: docs/reference/codegen.md. Implicit conversions:
    Spark's documentation of ANSI compliance, "Type Promotion and Precedence".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pyrometer.attribution.plan_columns import INPUT
from pyrometer.attribution.schema import Expression, Operator
from pyrometer.core import units
from pyrometer.explain.evidence.alike import alike
from pyrometer.explain.evidence.expressions.plan_columns import Origins
from pyrometer.explain.evidence.places import largest
from pyrometer.explain.evidence.plan_nodes import (
    and_more,
    of_operators,
    plans_by_id,
    sampled,
    shares_of_stages,
    total,
    unnumbered,
)
from pyrometer.explain.evidence.saying import code, place, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SAMPLES, SQL_PLANS, Rule, Suspect

JOINS = ("BroadcastNestedLoopJoin", "CartesianProduct", "SortMergeJoin", "BroadcastHashJoin",
         "ShuffledHashJoin")  # fmt: skip
ALL_PAIRS = JOINS[:2]
ACHIEVED = {True: (0.8, 1.0), False: (0.3, 1.0)}
"""Of the CPU of the expression: joins of all pairs meet each row many times; in others a row may
meet few."""
_COMPARES = re.compile(r" (?:<|<=|>|>=|=|<=>|AND|OR) ")
_CALLS = re.compile(r"\b(?!AND|OR|NOT|IN)\w+\(")
_COLUMN = re.compile(r"[\w.]+#\d+")
_READ_ALONE = re.compile(rf"{INPUT.pattern}|[\w.`]+#\d+L?")
"""A column, by its number among those of the join or by its name."""


def _reads_both(expression: str) -> bool:
    """Whether an expression compares columns, rather than making a value of one side.

    Code of a comparison holds what it compares, too: where that is a function of one column, its
    CPU is the function's, beside which a comparison is nothing.

    Examples
    --------
    >>> _reads_both("(t#1 >= start#2)"), _reads_both("minute(t#1, Some(UTC))")
    (True, False)
    >>> _reads_both("((hour(t#1) * 60) >= begins#2)"), _reads_both("(f(t#1, u#2) >= begins#3)")
    (False, True)
    """
    parts = _COMPARES.split(expression) if re.match(r"^\(.*\)$", expression) else []
    return len(parts) > 1 and not any(
        _CALLS.search(part) and len(set(_COLUMN.findall(part))) == 1 for part in parts
    )


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    yield from alike(_each(facts))


def _each(facts: Facts) -> Iterator[tuple[str, float, Suspect]]:
    """Give each join with expressions of a side, and the costliest."""
    joins = [one for one in facts.summary.operators if one.operator in JOINS]
    for operator, every in of_operators(joins, lambda e: _can_be_moved(e.expression)):
        origins = _origins(facts, operator)
        found = [one for one in every if origins is None or not origins.mixes(one.expression)]
        if not found:
            continue
        expression = total(found)
        shares = shares_of_stages(facts, operator, expression.share)
        if shares:
            suspect = _suspect(facts, operator, expression, len(found), shares)
            yield unnumbered(expression.expression), float(expression.on_cpu_ns), suspect


def _can_be_moved(expression: str) -> bool:
    """Whether there is something to compute below a join, by the expression alone.

    Examples
    --------
    >>> _can_be_moved("cast(t#1 as decimal(18,6))"), _can_be_moved("input[1, bigint, false]")
    (True, False)
    """
    return not (_READ_ALONE.fullmatch(expression) or _reads_both(expression))


def _origins(facts: Facts, operator: Operator) -> Origins | None:
    """Say from which sides columns come, where the plan of a join is known."""
    if operator.sql_id is None or operator.node_id is None:
        return None
    plan = plans_by_id(facts).get(operator.sql_id)
    node = plan.by_id.get(operator.node_id) if plan else None
    return Origins(plan, node) if plan and node else None


def _suspect(
    facts: Facts, operator: Operator, expression: Expression, count: int, shares: dict[int, float]
) -> Suspect:
    converts = expression.converting_share > 0 or "cast(" in expression.expression
    what = "converts" if converts else "evaluates"
    link = f"/sql/{operator.sql_id}/{operator.node_id}"
    where = place(
        facts, "sql", {n: s * facts.cpu_ns.get(n, 0.0) for n, s in shares.items()},
        sql_id=operator.sql_id, node_id=operator.node_id, operator=operator.operator,
        expression=expression.expression,
    )  # fmt: skip
    return Suspect(
        place=where,
        mechanism=(
            f"{operator.operator} {what} {and_more(expression.expression, count)} for each pair of"
            " rows:"
            f" {units.duration(expression.on_cpu_ns)} of CPU,"
            f" {units.percent(expression.share)} of the join's."
        ),
        change=(facts.less_cpu(f"expression {operator.sql_id} {operator.node_id}"
                               f" {expression.expression}", shares),),
        extent=sampled(expression.on_cpu, *ACHIEVED[operator.operator in ALL_PAIRS]),
        evidence=[
            shown_by("CPU of the expression in the join",
                 expression.on_cpu or float(expression.on_cpu_ns), "ns", "samples",
                 "show --json: operators[].expressions[]", link, expression.samples_count),
        ],
        remedies=[
            code("compute it once for each row, below the join, in the type that the condition"
                 " compares",
                 f"a.join(b, … {expression.expression} …)",
                 f'a.withColumn("x", expr("{expression.expression}")).cache()'
                 ".join(b, … x …)"),
        ],
    )  # fmt: skip


RULE = Rule(
    code="expression.per-pair",
    title="An expression is evaluated for each pair of a join",
    cause="expression in a join condition",
    suspects=_suspects,
    needs=(SQL_PLANS, SAMPLES),
    refute="Compute the expression in a column of the side that it reads, cached, and join by that:"
    " if the join's stages still take as long, it is not the expression.",
)
