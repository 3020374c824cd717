"""Costly expressions take much of the CPU of an operator.

What it is
    A regular expression, a parser of dates, numbers or JSON, or a conversion costs more than all
    else that the operator computes for a row, and could cost less: by another form, or by being
    evaluated for fewer rows.

Mechanism
    The expression runs once per row (or more often, where the plan repeats it). The simulator
    removes its CPU in the stages that it ran in, with that of the operator's other expressions of
    the kind, less what a cheaper one still costs for as many rows, or for the evaluations that
    remain. Operators whose costliest expression is the same are one cause.

Evidence
    CPU samples in the lines of generated code that the expression is in, and the rows that go into
    its operator: what takes a microsecond per row counts, whatever its name is. That it can cost
    less shows in the plan: it is a pattern, and not a cheap one; it builds a value (a map, an
    array) of which only a part is taken out; it parses one XML document for each of several
    fields; it formats a value and parses it again, or converts text that a file holds; it is a
    distance that is compared with a bound; rows are grouped by what it formats; its columns are
    there in fewer rows below, before a join or `explode` multiplies them; or the lambda of `exists`
    computes it for each of some constants with which it is compared: for a filter that does nothing
    else, all its CPU counts. Where none of these is seen, the interval begins at nothing, and the
    finding is shown with `--all` only.

Remedy
    Use a cheaper expression (a prefix instead of a pattern, a part instead of the whole), compute
    it once and keep it (a typed column of the stored table), compute it before rows multiply, or
    compare it with constants by `IN`.

When it is wrong
    Where the pattern is what the query is about, and no plainer function finds the same. Lines of
    text files that are taken apart belong to `scan.text-format`.

Source
    Lines of generated code and their expressions: docs/reference/codegen.md. The shares that are
    saved are not measured; they are assumed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from pyrometer.attribution.schema import Expression, Operator
from pyrometer.core import units
from pyrometer.explain.catalogue.plan.expression_per_pair import JOINS
from pyrometer.explain.evidence.alike import alike
from pyrometer.explain.evidence.expressions.cheaper_forms import (
    CHEAPER_NS,
    Cheaper,
    cheaper,
    reads_lines,
    together,
)
from pyrometer.explain.evidence.expressions.each_constant import compared_with_each
from pyrometer.explain.evidence.places import most
from pyrometer.explain.evidence.plan_nodes import (
    and_more,
    plans,
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
    r"rlike|regexp|like\(|get_json_object|json_tuple|to_date|to_timestamp"
    r"|unix_timestamp|gettimestamp|date_format|xpath|split\(|levenshtein|soundex"
    r"|array_?sort|sort_?array|array_?(?:distinct|except|intersect|union)|arrays_?overlap|conv\("
    r"|sha\d?|md5|aes_|parse_url|format_string|format_number|cast\(.* as (date|timestamp|decimal"
    r"|double|int|bigint|string)",
    re.IGNORECASE,
)
"""What may have a cheaper form, or be computed when the data is written, whatever it costs."""

IN_LIST = (0.4, 0.95)
"""Of the CPU of a filter: `IN` computes the value once, and sets no variable of a lambda. Not
measured; assumed."""


def _suspects(facts: Facts) -> Iterator[Suspect]:
    found = list(_each(facts))
    for sure in (True, False):
        groups = alike(
            (said, ns, suspect) for is_sure, said, ns, suspect in found if is_sure is sure
        )
        yield from most(groups)


def _each(facts: Facts) -> Iterator[tuple[bool, str, float, Suspect]]:
    """Give each operator with costly expressions: whether it is sure, the costliest, its CPU."""
    known = {plan.sql.sql_id: plan for plan in plans(facts)}
    for operator in facts.summary.operators:
        plan = None if operator.sql_id is None else known.get(operator.sql_id)
        if plan is None or operator.operator in JOINS:
            continue
        node = None if operator.node_id is None else plan.by_id.get(operator.node_id)
        value = None if node is None else compared_with_each(node)
        if value is not None and operator.on_cpu_ns:
            suspect = _of_each(facts, operator, value)
            yield True, unnumbered(value), float(operator.on_cpu_ns), suspect
            continue
        rows = rows_into(facts, operator)
        forms = [
            (one, cheaper(plan, node, rows, one))
            for one in operator.expressions
            if _is_costly(one, rows) and not (node and reads_lines(plan, node, one))
        ]
        for sure in (True, False):
            mine = sorted(
                (pair for pair in forms if pair[1].is_sure is sure),
                key=lambda pair: -pair[0].on_cpu_ns,
            )
            expression = total([one for one, _ in mine]) if mine else None
            shares = shares_of_stages(facts, operator, expression.share) if expression else {}
            if expression and shares:
                said = unnumbered(expression.expression)
                suspect = _suspect(facts, operator, mine, shares)
                yield sure, said, float(expression.on_cpu_ns), suspect


def _is_costly(one: Expression, rows: int | None) -> bool:
    """Whether an expression costs much for a row; where rows are not known, by its name."""
    is_slow = bool(rows) and "(" in one.expression and one.on_cpu_ns >= (rows or 0) * CHEAPER_NS[0]
    return is_slow or COSTLY.search(one.expression) is not None


def _suspect(
    facts: Facts,
    operator: Operator,
    found: Sequence[tuple[Expression, Cheaper]],
    shares: Mapping[int, float],
) -> Suspect:
    expression = total([one for one, _ in found])
    where = place(
        facts, "sql", {n: s * facts.cpu_ns.get(n, 0.0) for n, s in shares.items()},
        sql_id=operator.sql_id, node_id=operator.node_id, operator=operator.operator,
        expression=expression.expression,
    )  # fmt: skip
    return Suspect(
        place=where,
        mechanism=(
            f"{and_more(expression.expression, len(found))}"
            f" take{'s' * (len(found) == 1)} {units.duration(expression.on_cpu_ns)} of CPU,"
            f" {units.percent(expression.share)} of what {operator.operator} uses."
        ),
        change=(facts.less_cpu(f"expression {operator.sql_id} {operator.node_id}"
                               f" {expression.expression}", shares),),
        extent=sampled(expression.on_cpu, *together(found)),
        evidence=[
            shown_by("CPU of the expression", expression.on_cpu or float(expression.on_cpu_ns),
                     "ns", "samples", "show --json: operators[].expressions[]",
                     f"/sql/{operator.sql_id}/{operator.node_id}", expression.samples_count),
        ],
        remedies=[code(text) for text in dict.fromkeys(form.remedy for _, form in found)],
    )  # fmt: skip


def _of_each(facts: Facts, operator: Operator, value: str) -> Suspect:
    shares = shares_of_stages(facts, operator)
    cpu = float(operator.on_cpu_ns or 0)
    where = place(
        facts, "sql", {n: s * facts.cpu_ns.get(n, 0.0) for n, s in shares.items()},
        sql_id=operator.sql_id, node_id=operator.node_id, operator=operator.operator,
        expression=f"exists(…, x -> x = {value})",
    )  # fmt: skip
    return Suspect(
        place=where,
        mechanism=(
            f"{operator.operator} computes {unnumbered(value)} for each of the constants with which"
            f" a lambda compares it: {units.duration(cpu)} of CPU."
        ),
        change=(facts.less_cpu(f"each {operator.sql_id} {operator.node_id}", shares),),
        extent=sampled(operator.on_cpu, *IN_LIST),
        evidence=[
            shown_by("CPU of the filter", operator.on_cpu or cpu, "ns", "samples",
                     "show --json: operators[]", f"/sql/{operator.sql_id}/{operator.node_id}",
                     operator.samples_count),
        ],
        remedies=[code("compare it once with all of them", "exists(array(7, 8), x -> x = hour(t))",
                       "hour(t) IN (7, 8)")],
    )  # fmt: skip


RULE = Rule(
    code="expression.per-row",
    title="Costly expressions take much of the CPU",
    cause="costly expression",
    suspects=_suspects,
    needs=(SQL_PLANS, SAMPLES),
    refute="Run the query with the column in place of the expression: if its stages still take as"
    " long, it is not the expression.",
)
