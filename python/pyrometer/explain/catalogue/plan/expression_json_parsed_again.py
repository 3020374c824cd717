"""The same JSON text is parsed again for each of its fields.

What it is
    Several `get_json_object`, `json_tuple` or `from_json` of the same text, in one operator or in
    operators on top of each other. The query need not show it: Spark splits
    `from_json(t, s).a, from_json(t, s).b` into a parse for each field, and puts a copy of the parse
    into a filter that it pushes below the projection.

Mechanism
    Each call parses the whole text of a row, though one pass could give all fields. The simulator
    removes the CPU samples below the expressions, less one parse of each text, and at most the
    waits for a CPU that go with it. Equal calls in one projection count once, as Spark evaluates
    them once. Calls in a branch, or in a filter after its first condition, count for the upper end
    only.

Evidence
    Calls in the text of the plan, with the rows that go into their operators; CPU samples of the
    same stages with a frame of the expressions' classes.

Remedy
    Parse once, with `from_json` and a schema of the wanted fields or with one `json_tuple`, and
    take the fields; where a filter needs one of them, cache the parsed column first or keep it in
    the stored table. Where Spark split one parse into several, switch
    `spark.sql.optimizer.enableJsonExpressionOptimization` off.

When it is wrong
    Where texts are not valid JSON, or fields have other types: `from_json` gives null for a row in
    which `get_json_object` may still find a field. Where several texts are parsed, some once, their
    lengths are taken to be alike, and the least saving is halved (assumed).

Source
    `GetJsonObjectEvaluator`, `JsonToStructs`, `OptimizeCsvJsonExprs` of Spark. Measured here
    (2026-11-25, Spark 4.3, CPU of tasks): one `from_json` of 2 to 6 fields costs 0.6 to 2.0 times
    one `get_json_object` (texts of 3 to 60 fields, n = 19 to 39 repeats of each). With its
    compilation, in a JVM that parses for less than 4 s, 3.4 to 4.5 times, or at most 1.5 s more
    (three pairs of runs). One `from_json` or `json_tuple` in place of several costs 0 to 1.6 times
    one of them. Switched off, the setting saved 5.1 s of the 12.2 s of CPU that three fields of one
    `from_json` took.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from pyrometer.core import units
from pyrometer.explain.evidence.expressions.json_calls import PARSER, Parsed, json_texts
from pyrometer.explain.evidence.pipelines import pipelines
from pyrometer.explain.evidence.places import largest
from pyrometer.explain.evidence.plan_nodes import Plan, plans, unnumbered
from pyrometer.explain.evidence.saying import code, factor, place, shown_by
from pyrometer.explain.evidence.stack_shares import Shares, through
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SAMPLES, SQL_PLANS, Rule, Suspect
from pyrometer.explain.schema import Remedy
from pyrometer.explain.what_if import Extent

GET = "get_json_object"
INSTEAD_OF_GET = (0.6, 2.0)
"""What one `from_json` costs, in parses of `get_json_object`: see Source."""
WARMING = 4.5
WARM_NS = 1.5e9
"""The same at most while its code is compiled, and what that costs in one JVM."""
INSTEAD_OF_SAME = (0.0, 1.6)
"""What one call costs that takes the place of several of its kind."""
UNKNOWN_LENGTHS = 0.5
SPLITS = "spark.sql.optimizer.enableJsonExpressionOptimization"


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    once = facts.is_on("spark.sql.subexpressionElimination.enabled", default=True)
    parsing: Shares | None = None
    for plan in plans(facts):
        for pipeline in pipelines(plan):
            texts = json_texts(plan, pipeline, once)
            if all(one.high <= one.rows for one in texts):
                continue
            if parsing is None:
                parsing = through(facts, PARSER)
            numbers = {facts.number(stage_id) for stage_id in pipeline.stage_ids}
            mine = Shares(
                {n: hits for n, hits in parsing.hits.items() if n in numbers and hits},
                {n: total for n, total in parsing.totals.items() if n in numbers},
            )
            if mine.found:
                yield _suspect(facts, plan, texts, mine)


def _suspect(
    facts: Facts, plan: Plan, texts: Sequence[Parsed], parsing: Shares
) -> tuple[float, Suspect]:
    spent = {n: share * facts.cpu_ns.get(n, 0.0) for n, share in parsing.by_stage.items()}
    parsing_ns = sum(spent.values())
    text = max(texts, key=lambda one: (one.high - one.rows, one.high))
    nodes = {node.node_id: node for node, _ in text.calls}
    node = max(nodes.values(), key=lambda one: sum(each is one for each, _ in text.calls))
    names = " and ".join(dict.fromkeys(one.name for one in nodes.values()))
    sql_id = plan.sql.sql_id
    link = f"/sql/{sql_id}/{node.node_id}"
    listed = ", ".join(map(str, nodes))
    saved = saves(texts, parsing_ns, _jvms(facts))
    sampled = parsing.extent(low=_without_queue(facts, spent))
    change = facts.less_cpu(f"parse {sql_id}", parsing.by_stage)
    return parsing_ns * saved.high, Suspect(
        place=place(facts, "sql", spent, sql_id=sql_id, node_id=node.node_id, operator=node.name,
                    expression=next(call.whole for each, call in text.calls if each is node)),
        mechanism=(
            f"{names} {'parse' if ' ' in names else 'parses'} the JSON text"
            f" {unnumbered(text.text)[:60]} in {len(text.calls)} calls where one would do, and"
            f" parsing takes {units.duration(parsing_ns)} of CPU,"
            f" {units.percent(parsing.estimate.value or 0.0)} of these stages'."
        ),
        change=(change,),
        extent=_both(sampled, saved),
        evidence=[
            shown_by("calls that parse this text", float(len(text.calls)), "count", "plan_nodes",
                     "SELECT node_id, simple_string FROM plan_nodes WHERE is_final AND sql_id ="
                     f" {sql_id} AND node_id IN ({listed})", link),
            shown_by("share of the stages' CPU that parses JSON", parsing.estimate, "ratio",
                     "samples", "show --json: operators[]", link, parsing.found),
        ],
        remedies=_remedies(facts, text),
    )  # fmt: skip


def saves(texts: Sequence[Parsed], parsing_ns: float, jvms: int) -> Extent:
    """Give the share of the CPU of parsing that one parse of each text would save."""
    only_get = all(call.function == GET for one in texts for _, call in one.calls)
    any_get = any(call.function == GET for one in texts for _, call in one.calls)
    kinds = [INSTEAD_OF_GET] * any_get + [INSTEAD_OF_SAME] * (not only_get)
    cheap, dear = min(low for low, _ in kinds), max(high for _, high in kinds)
    high = 1 - _left(texts, cheap, most=True)
    low = 1 - _left(texts, dear, most=False)
    if any_get:
        warming = 1 - _left(texts, WARMING, most=False)
        low = max(low - jvms * WARM_NS / parsing_ns, warming) if parsing_ns else 0.0
    if len(texts) > 1:
        low *= UNKNOWN_LENGTHS
    low = max(0.0, low)
    return Extent((low + high) / 2, low, high)


def _left(texts: Sequence[Parsed], one_parse: float, most: bool) -> float:
    """Give what remains of the parses of all texts, if those that are parsed again cost one."""
    before, after = 0.0, 0.0
    for text in texts:
        parses = text.high if most else text.low
        before += parses
        after += text.rows * one_parse if text.high > text.rows else parses
    return after / before if before else 1.0


def _both(sampled: Extent, saved: Extent) -> Extent:
    """Give the extent of a remedy whose bounds do not lie evenly around its middle."""
    low, high = sampled.low * saved.low, min(1.0, sampled.high * saved.high)
    return Extent((low + high) / 2, low, high, sampled.n)


def _without_queue(facts: Facts, stages: Collection[int]) -> float:
    """Give what CPU saves at least, of what it saves with waits for a CPU in proportion."""
    with_queue = sum(
        facts.cpu_share(number) * float(facts.tasks_of(number).duration_ns.sum())
        for number in stages
    )
    alone = sum(facts.cpu_ns.get(number, 0.0) for number in stages)
    return min(1.0, alone / with_queue) if with_queue else 1.0


def _jvms(facts: Facts) -> int:
    return max(1, len(facts.measured.executors)) if facts.measured else 1


def _remedies(facts: Facts, text: Parsed) -> list[Remedy]:
    nodes = [(node.node_id, node.name) for node, call in text.calls if call.function != GET]
    name = unnumbered(text.text)[:60]
    schema = f'from_json("{name}", "a STRING, b STRING")'
    split = any(nodes.count(one) > 1 and one[1] == "Project" for one in nodes)
    found = []
    if split and facts.is_on(SPLITS, default=True):
        found.append(factor(SPLITS, "false", "keep one parse for all fields of a from_json"))
    if {"Project", "Filter"} <= {one for _, one in nodes}:
        again = f'withColumn("p", {schema}).where("p.a > 3").select("p.b")'
        kept = f'withColumn("p", {schema}).cache().where("p.a > 3").select("p.b")'
        found.append(code("keep the parsed column, and filter that", again, kept))
        return found
    again = f'select(get_json_object("{name}", "$.a"), get_json_object("{name}", "$.b"))'
    once = f'select({schema}.alias("p")).select("p.*")'
    found.append(code("parse once, and take the fields from the result", again, once))
    return found


RULE = Rule(
    code="expression.json-parsed-again",
    title="The same JSON is parsed for each of its fields",
    cause="repeated parsing",
    suspects=_suspects,
    needs=(SQL_PLANS, SAMPLES),
    explains=("expression.per-row", "scan.text-format"),
    refute="Parse the text once with from_json, and take the fields: if the stage still takes as"
    " long, it is not the parsing.",
)
