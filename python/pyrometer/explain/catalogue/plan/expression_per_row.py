"""One expression takes much of the CPU of an operator.

What it is
    A regular expression, a parser of dates, numbers or JSON, or a conversion of decimals costs more
    than all else that the operator computes for a row.

Mechanism
    The expression runs once a row (or more often, where the plan repeats it). Taken away is its CPU
    in the stages that it ran in, but for what a cheaper one still costs.

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

from pyrometer.core import units
from pyrometer.explain.catalogue.plan.expression_per_pair import JOINS
from pyrometer.explain.evidence.plan_nodes import hottest, sampled, shares_of_stages
from pyrometer.explain.evidence.saying import code, place, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SAMPLES, SQL_PLANS, Rule, Suspect

COSTLY = re.compile(
    r"rlike|regexp|like\(|get_json_object|from_json|json_tuple|jsontostructs|to_date|to_timestamp"
    r"|unix_timestamp|gettimestamp|date_format|from_csv|from_xml|xpath|split\(|levenshtein|soundex"
    r"|sha\d?|md5|aes_|parse_url|format_string|format_number|cast\(.* as (date|timestamp|decimal"
    r"|double|int|bigint|string)",
    re.IGNORECASE,
)
"""What has a cheaper form, or can be computed when the data is written."""
ACHIEVED = (0.3, 0.95)
"""Of the CPU of the expression: a cheaper expression still reads the column. Not
measured; assumed."""
MOST = 5


def _suspects(facts: Facts) -> Iterator[Suspect]:
    outside_joins = [one for one in facts.summary.operators if one.operator not in JOINS]
    found = 0
    for operator, expression in hottest(outside_joins, 50):
        if found == MOST:
            break
        shares = shares_of_stages(facts, operator, expression.share)
        if not shares or not COSTLY.search(expression.expression):
            continue
        found += 1
        where = place(
            facts, "sql", {n: s * facts.cpu_ns.get(n, 0.0) for n, s in shares.items()},
            sql_id=operator.sql_id, node_id=operator.node_id, operator=operator.operator,
            expression=expression.expression,
        )  # fmt: skip
        yield Suspect(
            place=where,
            mechanism=(
                f"{expression.expression} takes {units.duration(expression.on_cpu_ns)} of CPU,"
                f" {units.percent(expression.share)} of what {operator.operator} uses."
            ),
            change=(facts.less_cpu(f"expression {operator.sql_id} {operator.node_id}"
                                   f" {expression.expression}", shares),),
            extent=sampled(expression.on_cpu, *ACHIEVED),
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


RULE = Rule(
    code="expression.per-row",
    title="One expression takes much of the CPU",
    cause="costly expression",
    suspects=_suspects,
    needs=(SQL_PLANS, SAMPLES),
    refute="Run the query with the column in place of the expression: if its stages take as long,"
    " it is not the expression.",
)
