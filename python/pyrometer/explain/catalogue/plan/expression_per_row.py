"""Costly expressions take much of the CPU of an operator.

What it is
    A regular expression, a parser of dates, numbers or JSON, or a conversion of decimals costs more
    than all else that the operator computes for a row.

Mechanism
    The expression runs once a row (or more often, where the plan repeats it). Taken away is its CPU
    in the stages that it ran in, with that of the operator's other costly ones, but for what
    cheaper ones still cost for as many rows. Operators whose costliest expression is the same are
    one cause.

Evidence
    CPU samples in the lines of generated code that the expression is in.

Remedy
    Say it by a cheaper expression (a prefix instead of a pattern, a typed column instead of text),
    compute it once and keep it (a column of the stored table), or filter before it.

When it is wrong
    Where the expression is what the query is about. The remedy is then a faster function, or
    nothing.

Source
    Lines of generated code and their expressions: docs/reference/codegen.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pyrometer.attribution.schema import Expression, Operator
from pyrometer.core import units
from pyrometer.explain.catalogue.plan.expression_per_pair import JOINS
from pyrometer.explain.evidence.alike import alike
from pyrometer.explain.evidence.places import largest
from pyrometer.explain.evidence.plan_nodes import (
    and_more,
    of_operators,
    rows_into,
    sampled,
    shares_of_stages,
    total,
    unnumbered,
)
from pyrometer.explain.evidence.saying import code, place, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SAMPLES, SQL_PLANS, Rule, Suspect

COSTLY = re.compile(
    r"rlike|regexp|like\(|get_json_object|from_json|json_tuple|jsontostructs|to_date|to_timestamp"
    r"|unix_timestamp|gettimestamp|date_format|from_csv|from_xml|xpath|split\(|levenshtein|soundex"
    r"|array_?sort|sort_?array|array_?(?:distinct|except|intersect|union)|arrays_?overlap|conv\("
    r"|sha\d?|md5|aes_|parse_url|format_string|format_number|cast\(.* as (date|timestamp|decimal"
    r"|double|int|bigint|string)",
    re.IGNORECASE,
)
"""What has a cheaper form, or can be computed when the data is written."""
ACHIEVED = (0.3, 0.95)
"""Of the CPU of the expression, where its rows are not known: a cheaper one still reads the column.
Not measured; assumed."""
CHEAPER_NS = (1000.0, 20.0)
"""What a cheaper form costs for a row, at most and at least: to parse one short text or time, and
to compare a column that is typed. Not measured; assumed."""


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    yield from alike(_each(facts))


def _each(facts: Facts) -> Iterator[tuple[str, float, Suspect]]:
    """Give each operator with costly expressions, and the costliest."""
    outside_joins = [one for one in facts.summary.operators if one.operator not in JOINS]
    costly = of_operators(outside_joins, lambda one: COSTLY.search(one.expression) is not None)
    for operator, found in costly:
        expression = total(found)
        shares = shares_of_stages(facts, operator, expression.share)
        if not shares:
            continue
        where = place(
            facts, "sql", {n: s * facts.cpu_ns.get(n, 0.0) for n, s in shares.items()},
            sql_id=operator.sql_id, node_id=operator.node_id, operator=operator.operator,
            expression=expression.expression,
        )  # fmt: skip
        yield unnumbered(expression.expression), float(expression.on_cpu_ns), Suspect(
            place=where,
            mechanism=(
                f"{and_more(expression.expression, len(found))}"
                f" take{'s' * (len(found) == 1)} {units.duration(expression.on_cpu_ns)} of CPU,"
                f" {units.percent(expression.share)} of what {operator.operator} uses."
            ),
            change=(facts.less_cpu(f"expression {operator.sql_id} {operator.node_id}"
                                   f" {expression.expression}", shares),),
            extent=sampled(expression.on_cpu, *_achieved(facts, operator, expression)),
            evidence=[
                shown_by("CPU of the expression", expression.on_cpu or float(expression.on_cpu_ns),
                     "ns", "samples", "show --json: operators[].expressions[]",
                     f"/sql/{operator.sql_id}/{operator.node_id}", expression.samples_count),
            ],
            remedies=[
                code("say it by a cheaper expression, filter before it, or store its result as a"
                     " column"),
            ],
        )  # fmt: skip


def _achieved(facts: Facts, operator: Operator, expression: Expression) -> tuple[float, float]:
    """Give the shares of the expression's CPU that a cheaper form saves, by its CPU for a row."""
    rows = rows_into(facts, operator)
    if not rows:
        return ACHIEVED
    each = expression.on_cpu_ns / rows
    low, high = (1 - cost / each if each > cost else 0.0 for cost in CHEAPER_NS)
    return max(ACHIEVED[0], low), max(ACHIEVED[1], high)


RULE = Rule(
    code="expression.per-row",
    title="Costly expressions take much of the CPU",
    cause="costly expression",
    suspects=_suspects,
    needs=(SQL_PLANS, SAMPLES),
    refute="Run the query with the column in place of the expression: if its stages take as long,"
    " it is not the expression.",
)
