"""Parts of the plan fall back from the native engine to Spark's own operators.

What it is
    A native or columnar engine (Gluten, Comet, RAPIDS, Photon) runs what it supports. An
    expression, a type or a function that it lacks sends operators back to the JVM, and rows are
    converted to columns and back on the way.

Mechanism
    The simulator removes a part of the CPU of the stages in which operators of the JVM ran next to
    native ones, or where the engine is switched on and none of its operators appears: what such
    engines save. How much of a mixed stage is the JVM's is not in the event log: the low end counts
    none of it, samples divide it exactly.

Evidence
    Operators of the final plan by engine, and conversions between rows and columns.

Remedy
    Replace the expression or function that is not supported (the engine's own explain output names
    it), or leave the engine off for queries that are mostly not supported.

When it is wrong
    A conversion at the end, where rows go to the driver or into a table, is not a fallback, and is
    not counted.

Source
    Node names of Gluten, Comet, RAPIDS and Photon; that they are 1.5 to 3 times as fast is
    not measured; it is assumed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pyrometer.accounts.plan_schema import Node, Sql
from pyrometer.core import units
from pyrometer.explain.evidence.places import where_in
from pyrometer.explain.evidence.saying import code, factor, page, place, shown_by
from pyrometer.explain.evidence.stack_shares import of_nodes
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SQL_PLANS, Rule, Suspect
from pyrometer.explain.schema import Remedy
from pyrometer.explain.what_if import Extent

ACHIEVED = (0.33, 0.67)
"""Share of CPU that such engines save where they run: 1.5 to 3 times as fast, assumed."""
NATIVE = re.compile(r"^(Gpu|Photon|Comet|Velox|Native)|Transformer( |$)")
CONVERSION = re.compile(r"(ColumnarToRow|RowToColumnar|ToVeloxColumnar|SparkToColumnar)$")
# What carries no work of its own, or what every engine leaves to Spark.
_STRUCTURE = re.compile(
    r"^(WholeStageCodegen|InputAdapter|AdaptiveSparkPlan|\w*QueryStage|AQEShuffleRead"
    r"|Reused\w+|Subquery\w*|CollectLimit|TakeOrderedAndProject|Execute |WriteFiles|CommandResult"
    r"|LocalTableScan|Exchange|BroadcastExchange|\w*Command|Scan ExistingRDD|Range|Coalesce$)"
)
ENGINES = {
    "RAPIDS": ("com.nvidia.spark.SQLPlugin", "spark.rapids.sql.enabled"),
    "Gluten": ("org.apache.gluten.GlutenPlugin", "spark.gluten.enabled"),
    "Comet": ("org.apache.spark.CometPlugin", "spark.comet.enabled"),
}


def fallen_back(sql: Sql) -> list[Node]:
    """Give operators of the JVM that did work in a plan."""
    return [
        node
        for node in sql.nodes
        if node.stage_ids
        and not NATIVE.search(node.name)
        and not CONVERSION.search(node.name)
        and not _STRUCTURE.match(node.name)
    ]


def engine_on(facts: Facts) -> tuple[str, str] | None:
    """Give the native engine that the application loaded and its switch, where that is on."""
    plugins = facts.setting("spark.plugins") or ""
    for name, (plugin, switch) in ENGINES.items():
        if plugin in plugins and facts.is_on(switch, default=True):
            return name, switch
    return None


def _suspects(facts: Facts) -> Iterator[Suspect]:
    engine = engine_on(facts)
    for sql in facts.summary.sql:
        if facts.measured is None or sql.app_index != facts.measured.app_index:
            continue
        native = sum(bool(NATIVE.search(node.name)) for node in sql.nodes)
        if not native and engine is None:
            continue
        back = fallen_back(sql)
        if back:
            yield from _suspect(facts, sql, back, native, engine)


def _suspect(
    facts: Facts, sql: Sql, back: Sequence[Node], native: int, engine: tuple[str, str] | None
) -> Iterator[Suspect]:
    numbers = sorted({number for node in back for number in facts.stages_of(node, sql)})
    parts = dict.fromkeys(numbers, 1.0)
    mixed = {
        n for node in sql.nodes if NATIVE.search(node.name) for n in facts.stages_of(node, sql)
    }
    low = ACHIEVED[0] if not mixed & set(numbers) else 0.0
    n = len(back)
    if facts.samples_by_stage:
        found = of_nodes(facts, sql.sql_id, [node.node_id for node in back])
        if found.found:
            parts, low, n = found.by_stage, ACHIEVED[0], found.n
    cost = {number: part * facts.cpu_ns.get(number, 0.0) for number, part in parts.items()}
    if not sum(cost.values()):
        return
    conversions = sum(bool(CONVERSION.search(node.name)) for node in sql.nodes)
    names = ", ".join(list(dict.fromkeys(node.name for node in back))[:4])
    where = place(facts, "sql", cost, sql_id=sql.sql_id, node_id=back[0].node_id,
                  operator=back[0].name)  # fmt: skip
    nodes = ", ".join(str(node.node_id) for node in back)
    remedies: list[Remedy] = [
        code("replace the expression or function that the engine does not support: its explain"
             " output names it"),
    ]  # fmt: skip
    if engine:
        remedies.append(factor(engine[1], "false", "leave the engine off: nothing is converted"))
    yield Suspect(
        place=where,
        mechanism=(
            f"{len(back)} operators of SQL execution {sql.sql_id} ({names}) ran in the JVM, next to"
            f" {native} native ones, with {units.counted(conversions, 'conversion')} between rows"
            f" and columns, in stages of {units.duration(sum(cost.values()))} of CPU."
        ),
        change=(facts.less_cpu("engine", parts),),
        extent=Extent((low + ACHIEVED[1]) / 2, low, ACHIEVED[1], n),
        evidence=[
            shown_by("operators in the JVM", len(back), "count", "plan_nodes",
                 f"SELECT node_id, name FROM plan_nodes WHERE app_index = {sql.app_index} AND"
                 f" sql_id = {sql.sql_id} AND is_final AND node_id IN ({nodes}) ORDER BY 1",
                 f"/sql/{sql.sql_id}/{back[0].node_id}"),
            shown_by("CPU of their stages", sum(facts.cpu_ns[number] for number in cost), "ns",
                 "tasks", "SELECT sum(executor_cpu_time_ns) FROM tasks WHERE"
                 f" {where_in(facts, cost)}", page(where)),
        ],
        remedies=remedies,
    )  # fmt: skip


RULE = Rule(
    code="engine.fallback",
    title="Operators fall back from the native engine",
    cause="unsupported operators of a native engine",
    suspects=_suspects,
    needs=(SQL_PLANS,),
    refute="Run with the engine off: if these stages take just as long, the engine saves nothing"
    " there.",
)
