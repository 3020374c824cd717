"""Operators run row by row through iterators although Spark can fuse and compile them.

What it is
    Whole-stage code generation turns a chain of operators into one loop. It is off by a setting, or
    Spark gave it up for a part of the plan: the code did not compile, or the rows have more columns
    than `spark.sql.codegen.maxFields`.

Mechanism
    Without it each row passes through each operator by a virtual call, boxed or copied in between.
    The simulator removes the CPU of operators of the plan that support it and ran without it, less
    what fused code needs.

Evidence
    Nodes of the final plan outside `WholeStageCodegen`; with samples the CPU of exactly these
    nodes, otherwise (event log alone, only where the setting is off) at most that of their stages.

Remedy
    `spark.sql.codegen.wholeStage=true`; for wide rows a larger `spark.sql.codegen.maxFields`, or
    fewer columns.

When it is wrong
    Operators with an expression that has no generated code, such as a lambda function in
    `transform`, are never fused: those are left out where the plan's text shows the function. Where
    the operators' time is in what they call (a decoder, a hash map, a UDF), fusing them
    gains little; sort-merge joins gain least.

Source
    Whole stage off and on in Spark's own results: JoinBenchmark, 1.2 (merge join with duplicates)
    to 14 times (join of long keys); AggregateBenchmark, 1.8 (several keys) to 42 times (no key) for
    aggregates, and 2.4 (cube) and more for operators that project and filter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyrometer.accounts.plan_schema import Node, Sql
from pyrometer.core import units
from pyrometer.explain.evidence.saying import code, factor, page, place, shown_by
from pyrometer.explain.evidence.stack_shares import of_nodes
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SQL_PLANS, Rule, Suspect
from pyrometer.explain.schema import Remedy
from pyrometer.explain.what_if import Extent

SETTING = "spark.sql.codegen.wholeStage"
LIMIT = "spark.sql.codegen.hugeMethodLimit"
DEFAULT_LIMIT = 65535
"""Bytes of bytecode over which Spark does not use what it generated."""
ACHIEVED = (("Join$|^Sort$", 0.17, 0.93), ("Aggregate$", 0.44, 0.98), ("", 0.58, 0.98))
"""Share of its CPU that fusing saves, by the name of the operator, at least and at most: twice as
fast is 0.5."""
_SUPPORT = re.compile(
    r"(Filter|Project|HashAggregate|BroadcastHashJoin|ShuffledHashJoin|SortMergeJoin|Sort|Expand"
    r"|Range|SerializeFromObject|DeserializeToObject|MapElements|Generate)$"
)
_INTERPRETED = re.compile(r"\blambdafunction\(")
"""Functions of functions (`transform`, `filter` of arrays): operators with an expression that has
no generated code are never fused."""
_WHERE_OFF = "SortAggregate"
"""Supports it since Spark 3.3, without keys or where `sortAggregate` is on: counted where the
setting is off, never where Spark gave it up."""


def unfused(sql: Sql, off: bool = False, limited: bool = False) -> list[Node]:
    """Give nodes that ran outside whole-stage code although their operator supports it.

    Where the size of methods is `limited`, code that never counted its time was not used. Plans of
    Spark 2 give the cluster no number: what lies below it, down to its inputs, is fused.
    """
    nodes = {node.node_id: node for node in sql.nodes}
    return [
        node
        for node in sql.nodes
        if node.stage_ids
        and (_SUPPORT.match(node.name) or (off and node.name == _WHERE_OFF))
        and not _INTERPRETED.search(node.simple_string or "")
        and not _is_fused(node, nodes, limited)
    ]


def _is_fused(node: Node, nodes: dict[int, Node], limited: bool) -> bool:
    at: Node | None = node
    while at is not None:
        if at.name.startswith("WholeStageCodegen"):
            return not limited or any(one.metric == "duration" for one in at.metrics)
        if at.codegen_stage_id is not None and not limited:
            return True
        if at is not node and not _SUPPORT.match(at.name) and not at.name.startswith("Broad"):
            return False
        at = nodes.get(at.parent_node_id) if at.parent_node_id is not None else None
    return False


@dataclass(frozen=True)
class Why:
    """Why operators were not fused, and what to do."""

    words: str
    setting: str | None
    remedies: Sequence[Remedy]


def _why(off: bool, limit: str) -> Why:
    if off:
        let = factor(SETTING, "true", "let Spark fuse the operators of a stage")
        return Why(f"{SETTING} is false", SETTING, [let])
    if limit.isdigit() and int(limit) < DEFAULT_LIMIT:
        let = factor(LIMIT, str(DEFAULT_LIMIT), "raise the limit to Spark's default")
        return Why(f"their code is longer than {LIMIT}={limit}", LIMIT, [let])
    return Why(
        "Spark gave up fusing them", None,
        [
            factor("spark.sql.codegen.maxFields", "400",
                   "where rows have more than 100 columns: raise the limit"),
            code("select fewer columns before these operators; look for \"Failed to compile\" in"
                 " the log"),
        ],
    )  # fmt: skip


@dataclass(frozen=True)
class Ran:
    """Operators of one SQL execution that ran outside whole-stage code, and their CPU by stage."""

    sql: Sql
    nodes: Sequence[Node]
    cost: Mapping[int, float]
    parts: Mapping[int, float]
    extent: Extent

    @property
    def weight(self) -> float:
        """What they cost, beside other executions."""
        return sum(self.cost.values())


def _suspects(facts: Facts) -> Iterator[Suspect]:
    off = not facts.is_on(SETTING, default=True)
    limit = facts.setting(LIMIT, "") or ""
    found = list(_ran(facts, off, limit.isdigit() and int(limit) < DEFAULT_LIMIT))
    if found:
        # One reason, and one remedy, for all executions of the application.
        yield _suspect(facts, found, _why(off, limit))


def _ran(facts: Facts, off: bool, limited: bool) -> Iterator[Ran]:
    for sql in facts.summary.sql:
        if facts.measured is None or sql.app_index != facts.measured.app_index:
            continue
        nodes = unfused(sql, off, limited)
        if not nodes:
            continue
        cost = {number: facts.cpu_ns[number] for node in nodes for number in
                facts.stages_of(node, sql)}  # fmt: skip
        if facts.samples_by_stage:
            found = of_nodes(facts, sql.sql_id, [node.node_id for node in nodes])
            cost = {number: float(hits) for number, hits in found.hits.items()}
            if cost:
                extent = found.extent(*_achieved(facts, sql, nodes))
                yield Ran(sql, nodes, cost, found.by_stage, extent)
        elif off and any(cost.values()):
            # Which part of the stages' CPU is that of the operators is not known: all, at most.
            most = max(high for _, _, high in ACHIEVED)
            extent = Extent(ACHIEVED[0][1] / 2, 0.0, most, len(cost))
            yield Ran(sql, nodes, cost, dict.fromkeys(cost, 1.0), extent)


def _achieved(facts: Facts, sql: Sql, nodes: Sequence[Node]) -> tuple[float, float]:
    """Give what fusing saves of the nodes' CPU, at least and at most: by their samples."""
    groups: dict[tuple[float, float], list[int]] = {}
    for node in nodes:
        bounds = next((low, high) for name, low, high in ACHIEVED if re.search(name, node.name))
        groups.setdefault(bounds, []).append(node.node_id)
    weights = {bounds: of_nodes(facts, sql.sql_id, own).found for bounds, own in groups.items()}
    whole = sum(weights.values())
    if not whole:
        return ACHIEVED[0][1:]
    low = sum(bounds[0] * weight for bounds, weight in weights.items()) / whole
    return low, sum(bounds[1] * weight for bounds, weight in weights.items()) / whole


def _suspect(facts: Facts, found: Sequence[Ran], why: Why) -> Suspect:
    largest = max(found, key=lambda one: one.weight)
    sql, first = largest.sql, largest.nodes[0]
    names = ", ".join(dict.fromkeys(node.name for one in found for node in one.nodes))
    cost = {number: ns for one in found for number, ns in one.cost.items()}
    parts = {number: share for one in found for number, share in one.parts.items()}
    where = place(
        facts, "sql", cost, sql_id=sql.sql_id, node_id=first.node_id, operator=first.name,
        setting=why.setting,
    )  # fmt: skip
    cpu = sum(parts[number] * facts.cpu_ns.get(number, 0.0) for number in parts)
    about = "at most " if not facts.samples_by_stage else ""
    nodes = ", ".join(f"({one.sql.sql_id}, {node.node_id})" for one in found for node in one.nodes)
    count = sum(len(one.nodes) for one in found)
    of = f"SQL execution {sql.sql_id}" if len(found) == 1 else f"{len(found)} SQL executions"
    return Suspect(
        place=where,
        mechanism=(
            f"{units.counted(count, 'operator')} of {of} ({names}) ran row by row through"
            f" iterators: {why.words}. They used {about}{units.duration(cpu)} of CPU."
        ),
        change=(facts.less_cpu("unfused", parts),),
        extent=_together(found),
        evidence=[
            shown_by("operators outside whole-stage code", count, "count", "plan_nodes",
                     f"SELECT sql_id, node_id, name FROM plan_nodes WHERE app_index ="
                     f" {sql.app_index} AND is_final AND (sql_id, node_id) IN ({nodes})"
                     " ORDER BY ALL", f"/sql/{sql.sql_id}/{first.node_id}"),
            shown_by(f"{about}CPU of these operators", cpu, "ns",
                     "samples" if not about else "tasks", "show --json: operators", page(where)),
        ],
        remedies=list(why.remedies),
    )  # fmt: skip


def _together(found: Sequence[Ran]) -> Extent:
    """Weigh the extents of executions by what they cost."""
    whole = sum(one.weight for one in found)
    if not whole:
        return found[0].extent

    def mean(name: str) -> float:
        return sum(one.weight * float(getattr(one.extent, name)) for one in found) / whole

    n = sum(one.extent.n for one in found)
    return Extent(mean("value"), mean("low"), mean("high"), n)


RULE = Rule(
    code="codegen.fallback",
    title="Operators run without generated code",
    cause="no whole-stage code generation",
    suspects=_suspects,
    needs=(SQL_PLANS,),
    explains=("expression.", "jit.interpreted"),
    refute="Run with spark.sql.codegen.wholeStage=true (and a larger maxFields): if the operators"
    " still need as much CPU, fusing is not what they lack.",
)
