"""Nodes of executed plans, as rules look at them: metrics, what lies below, CPU by stage."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from pyrometer.accounts.explosions import output_rows
from pyrometer.accounts.plan_schema import Node, Sql
from pyrometer.attribution.schema import Expression, Operator
from pyrometer.core.estimate import Estimate
from pyrometer.core.long_text import without_middle
from pyrometer.explain.facts import Facts, once
from pyrometer.explain.what_if import Extent
from pyrometer.simulation.measured import Stage

SHELLS = (
    r"AdaptiveSparkPlan|InputAdapter|WholeStageCodegen|\w*QueryStage|AQEShuffleRead"
    r"|CustomShuffleReader|ColumnarToRow|RowToColumnar"
)
"""Nodes that only hold others: alternatives of a pattern, for names of nodes."""
CACHE = "InMemoryTableScan|Scan In-memory"
"""Nodes that read a cached plan: alternatives of a pattern for the beginning of names of nodes. The
second is of a cache with a name (``CACHE TABLE``, ``InMemoryTableScanExec.nodeName``)."""
_WRAPPERS = re.compile(rf"^(?:{SHELLS}|ReusedExchange|Project)\b")
TEXTS = 4096
"""Texts of nodes of which what was read of them is kept: plans of a loop are alike."""
_NUMBERS = re.compile(r"#\d+L?|,? ?\[(?:plan_)?id=#?\d+\]")


@dataclass(frozen=True)
class Plan:
    """The final plan of one SQL execution."""

    sql: Sql

    @cached_property
    def children(self) -> dict[int, list[Node]]:
        """Nodes right below each, by `node_id`, the left one first."""
        found: dict[int, list[Node]] = defaultdict(list)
        for node in self.sql.nodes:
            if node.parent_node_id is not None:
                found[node.parent_node_id].append(node)
        return found

    @cached_property
    def by_id(self) -> dict[int, Node]:
        """All nodes by `node_id`."""
        return {node.node_id: node for node in self.sql.nodes}

    def below(self, node: Node) -> list[Node]:
        """Nodes below one, seen through wrappers and projections, the left one first."""
        found: list[Node] = []
        for child in self.children.get(node.node_id, ()):
            if _WRAPPERS.match(child.name):
                found += self.below(child)
            else:
                found.append(child)
        return found

    def beneath(self, node: Node) -> Iterator[Node]:
        """Give a node and all that lies under it, in pre-order."""
        yield node
        for child in self.children.get(node.node_id, ()):
            yield from self.beneath(child)

    def first(self, node: Node, name: str) -> Node | None:
        """Find the nearest node of a name at or under one, in pre-order."""
        return next((each for each in self.beneath(node) if each.name == name), None)


@once
def plans(facts: Facts) -> tuple[Plan, ...]:
    """Give the final plans of the window's SQL executions of the application."""
    app = None if facts.measured is None else facts.measured.app_index
    return tuple(Plan(sql) for sql in facts.summary.sql if sql.nodes and sql.app_index == app)


@once
def plans_by_id(facts: Facts) -> dict[int, Plan]:
    """Give these plans by the number of their execution."""
    return {plan.sql.sql_id: plan for plan in plans(facts)}


def nodes_named(facts: Facts, name: str) -> Iterator[tuple[Plan, Node]]:
    """Give the nodes of a name in these plans, each with its plan."""
    for plan in plans(facts):
        yield from ((plan, node) for node in plan.sql.nodes if node.name == name)


def operators_in(facts: Facts, stage: Stage) -> frozenset[str]:
    """Name the operators of final plans that ran in a stage."""
    return frozenset(_operators(facts).get(stage.number, ()))


@once
def _operators(facts: Facts) -> dict[int, set[str]]:
    found: dict[int, set[str]] = defaultdict(set)
    for plan in plans(facts):
        for node in plan.sql.nodes:
            for number in facts.stages_of(node, plan.sql):
                found[number].add(node.name)
    return found


def metric(node: Node, *names: str) -> int | None:
    """Give the first of some metrics of a node that there is, in its own unit."""
    for name in names:
        for one in node.metrics:
            if one.metric == name and one.value_sum is not None:
                return one.value_sum
    return None


def rows_out(plan: Plan, node: Node) -> int | None:
    """Give the rows that a node hands on: its own count, or that of the only node below."""
    own = output_rows(node)
    if own is not None:
        return own
    below = plan.below(node)
    return rows_out(plan, below[0]) if len(below) == 1 else None


def rows_into(facts: Facts, operator: Operator) -> int | None:
    """Give the rows that an operator's node takes from the nodes below it, together."""
    for plan in plans(facts):
        if plan.sql.sql_id == operator.sql_id and operator.node_id in plan.by_id:
            taken = [rows_out(plan, one) for one in plan.below(plan.by_id[operator.node_id])]
            known = [rows for rows in taken if rows is not None]
            return sum(known) if known and len(known) == len(taken) else None
    return None


def unnumbered(text: str | None) -> str:
    """Take the numbers of columns and plans away, which differ between executions of one query.

    Examples
    --------
    >>> unnumbered("Filter (v#12L > 3)")
    'Filter (v > 3)'
    >>> unnumbered("Exchange hashpartitioning(k#3, 8), ENSURE_REQUIREMENTS, [plan_id=398]")
    'Exchange hashpartitioning(k, 8), ENSURE_REQUIREMENTS'
    """
    return _unnumbered(text) if text else ""


@lru_cache(TEXTS)
def _unnumbered(text: str) -> str:
    return _NUMBERS.sub("", text)


def operator_of(facts: Facts, sql_id: int, node_id: int) -> Operator | None:
    """Find the sampled CPU of a node."""
    for one in facts.summary.operators:
        if one.sql_id == sql_id and one.node_id == node_id:
            return one
    return None


def shares_of_stages(facts: Facts, operator: Operator, part: float = 1.0) -> dict[int, float]:
    """Give an operator's CPU as shares of its stages' CPU, by number of the stage.

    Where it ran in several stages, its CPU is taken to lie in them as theirs does.

    Parameters
    ----------
    part : float
        The part of the operator's CPU that is meant, such as one of its expressions.
    """
    numbers = [n for n in map(facts.number, operator.stage_ids) if n is not None]
    total = sum(facts.cpu_ns.get(number, 0.0) for number in numbers)
    if total <= 0 or not operator.on_cpu_ns:
        return {}
    share = min(1.0, operator.on_cpu_ns * part / total)
    return {number: share for number in numbers if facts.cpu_ns.get(number, 0.0) > 0}


def sampled(estimate: Estimate | None, low: float = 1.0, high: float = 1.0) -> Extent:
    """Give how much of sampled CPU is sure, where a remedy achieves between two bounds of it."""
    if estimate is None or not estimate.value:
        return Extent(1.0, 0.5, 1.5, 1).times(low, high)
    return Extent(
        1.0,
        (estimate.low or 0.0) / estimate.value,
        (estimate.high if estimate.high is not None else estimate.value) / estimate.value,
        estimate.n,
    ).times(low, high)


def of_operators(
    operators: Sequence[Operator], wanted: Callable[[Expression], bool]
) -> Iterator[tuple[Operator, list[Expression]]]:
    """Give the wanted expressions of each operator, the operators with most CPU in them first.

    A sample is of one expression: their CPU times add up.
    """
    found = [(one, sorted(filter(wanted, one.expressions), key=_cpu)) for one in operators]
    found = [(one, mine) for one, mine in found if mine]
    found.sort(key=lambda pair: sum(map(_cpu, pair[1])))
    yield from found


def _cpu(expression: Expression) -> int:
    return -expression.on_cpu_ns


def total(expressions: Sequence[Expression]) -> Expression:
    """Add up expressions of one operator, named after the one with most CPU.

    Sampling errors are taken to be independent: half widths add in quadrature.
    """
    first = expressions[0]
    if len(expressions) == 1:
        return first
    known = [one.on_cpu for one in expressions if one.on_cpu is not None]
    whole = [one for one in known if None not in (one.value, one.low, one.high)]
    cpu = None
    if len(whole) == len(expressions):
        value = sum(one.value or 0.0 for one in whole)
        below = math.hypot(*((one.value or 0.0) - (one.low or 0.0) for one in whole))
        above = math.hypot(*((one.high or 0.0) - (one.value or 0.0) for one in whole))
        cpu = whole[0].model_copy(
            update={"value": value, "low": max(0.0, value - below), "high": value + above,
                    "n": sum(one.n for one in whole)}
        )  # fmt: skip
    return first.model_copy(
        update={
            "on_cpu_ns": sum(one.on_cpu_ns for one in expressions),
            "on_cpu": cpu,
            "samples_count": sum(one.samples_count for one in expressions),
            "share": min(1.0, sum(one.share for one in expressions)),
            "converting_share": min(1.0, sum(one.converting_share for one in expressions)),
        }
    )


def and_more(text: str, count: int) -> str:
    """Name the first of several things; of a long one, how it begins and ends.

    Examples
    --------
    >>> and_more("rlike(s, a)", 1), and_more("rlike(s, a)", 3)
    ('rlike(s, a)', 'rlike(s, a) and 2 more expressions')
    """
    text = without_middle(text)
    if count == 1:
        return text
    return f"{text} and {count - 1} more expression{'s' * (count > 2)}"
