"""A function of the user's own, in the JVM, that a built-in expression may replace.

What it is
    A Scala, Java or Hive function in SQL or in a DataFrame. Spark cannot look into it: no filter
    can be pushed through it to the scan, and each value is converted to an object and back for it.

Mechanism
    Dates become `java.sql.Date`, decimals `java.math.BigDecimal`, arrays `Seq`, text `String`, and
    results the reverse. The simulator removes the CPU of the functions and of the conversions. At
    least the conversions of values other than text go, less what a built-in itself costs; of text,
    which a built-in may handle just as slowly, perhaps nothing. Rows that a filter could have
    skipped in the scan are not counted.

Evidence
    CPU samples with a frame of `ScalaUDF`, `CatalystTypeConverters`, `ToScalaUDF` or
    `HiveGenericUDF`, and of code that is not Spark's in the same tasks; the plan names functions
    without a name `UDF(…)`.

Remedy
    The built-in expression (`org.apache.spark.sql.functions`), or a higher-order one (`transform`,
    `filter`, `aggregate`) for arrays.

When it is wrong
    Where no built-in does what the function does. Where the function handles text: try it first.

Source
    `ScalaUDF` and `CatalystTypeConverters` of Spark. Measured here (2026-11-26, Spark 4.3, eleven
    pairs of a Scala function and its built-in, 500,000 rows, n = 11 to 29 of each): of the CPU of
    functions of dates, timestamps, decimals, arrays and numbers built-ins saved 46 to 90 %, in a
    pair of longer runs 97 %. Of five functions of text they saved 64 % (`substring`), 51 %
    (`upper(trim)`) and, for the others, nothing: `split`, `contains` and `length` took 1.1 to 2.4
    times as long.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from pyrometer.accounts.plan_schema import Node
from pyrometer.core import units
from pyrometer.explain.evidence.pipelines import Pipeline, pipelines
from pyrometer.explain.evidence.places import largest
from pyrometer.explain.evidence.plan_nodes import Plan, plans
from pyrometer.explain.evidence.saying import code, place, shown_by
from pyrometer.explain.evidence.stack_shares import Shares
from pyrometer.explain.evidence.udf_work import Work, is_typed, names_udf, udf_work
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SAMPLES, SQL_PLANS, Rule, Suspect
from pyrometer.explain.what_if import Extent
from pyrometer.statistics.shares import part_of

LEAST_SAVED = 0.46
MOST_SAVED = 1.0
MOST_OF_TEXT = 0.64
"""Of the CPU of a function with its conversions: see Source."""


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    work = udf_work(facts)
    for plan in plans(facts):
        for pipeline in pipelines(plan):
            numbers = [facts.number(stage_id) for stage_id in pipeline.stage_ids]
            mine = {n: work[n] for n in numbers if n is not None and n in work}
            by_name = any(map(names_udf, pipeline.nodes))
            if by_name or any(one.called for one in mine.values()):
                yield from _suspect(facts, plan, pipeline, mine)


def _suspect(
    facts: Facts, plan: Plan, pipeline: Pipeline, work: Mapping[int, Work]
) -> Iterator[tuple[float, Suspect]]:
    alone = not any(map(is_typed, pipeline.nodes))
    hits = {n: one.converting + one.function + one.user * alone for n, one in work.items()}
    found = Shares(hits, {n: one.total for n, one in work.items()})
    node = _node(pipeline, work)
    converting = sum(one.converting for one in work.values())
    if not converting or node is None:
        return  # no conversion was sampled: the function is all that there is
    shares = found.by_stage
    spent = {number: share * facts.cpu_ns.get(number, 0.0) for number, share in shares.items()}
    spent_ns = sum(spent.values())
    sql_id = plan.sql.sql_id
    link = f"/sql/{sql_id}/{node.node_id}"
    yield spent_ns, Suspect(
        place=place(facts, "sql", spent, sql_id=sql_id, node_id=node.node_id, operator=node.name),
        mechanism=(
            f"Functions of the user's own in {node.name} take {units.duration(spent_ns)} of CPU,"
            f" {units.percent(found.estimate.value or 0.0)} of these stages', and"
            f" {units.percent(converting / found.found)} of it converts values for them."
        ),
        change=(facts.less_cpu(f"udf {sql_id} {node.node_id}", shares),),
        extent=_extent(found, work.values()),
        evidence=[
            shown_by("share of the stages' CPU in functions and their conversions",
                     found.estimate, "ratio", "samples", "show --json: operators[]", link,
                     found.found),
            shown_by("share of that in conversions", part_of(1.0, converting, found.found), "ratio",
                     "samples", "flame --filter CatalystTypeConverters", link),
            shown_by("operator that calls them", float(node.node_id), "count", "plan_nodes",
                     f"SELECT simple_string FROM plan_nodes WHERE is_final AND sql_id = {sql_id}"
                     f" AND node_id = {node.node_id}", link),
        ],
        remedies=[
            code("use built-in expressions in place of the function",
                 'udf((d: java.sql.Date) => d.toLocalDate.getYear).apply($"day")',
                 'year($"day")'),
        ],
    )  # fmt: skip


def _extent(found: Shares, work: Iterable[Work]) -> Extent:
    """Bound what built-ins save: of conversions of values at least, of text perhaps nothing."""
    text, values, around = 0, 0, 0
    for one in work:
        text, values, around = text + one.text, values + one.values, around + one.around
    # What is neither goes with the one or the other; all to text where neither was sampled.
    of_values = values / (text + values) if values else 0.0
    of_them = values + around * of_values
    sampled = Shares({0: round(of_them)}, {0: found.n}).extent()
    least = LEAST_SAVED * of_them / found.found * sampled.low
    most = found.extent().high * (MOST_SAVED * of_values + MOST_OF_TEXT * (1 - of_values))
    return Extent((least + most) / 2, least, min(1.0, most), found.n)


def _node(pipeline: Pipeline, work: Mapping[int, Work]) -> Node | None:
    """Find the node that calls functions: by the plan, else by the operator of most samples."""
    hits: dict[str, int] = defaultdict(int)
    for one in work.values():
        for operator, n in one.operators.items():
            hits[operator] += n
    named = [node for node in pipeline.nodes if names_udf(node)]
    calling = [node for node in pipeline.nodes if node.name in ("Project", "Filter")]
    # Of several alike the lowest, which has the most rows.
    return max(reversed(named or calling), key=lambda node: hits.get(node.name, 0), default=None)


RULE = Rule(
    code="udf.instead-of-builtin",
    title="A function in the JVM does what an expression could",
    cause="Scala, Java or Hive UDF in place of a built-in",
    suspects=_suspects,
    needs=(SQL_PLANS, SAMPLES),
    explains=("expression.per-row", "expression.boxing"),
    refute="Replace the function by the built-in expression: if the stage still takes as long,"
    " neither the function nor its conversions are what it pays for.",
)
