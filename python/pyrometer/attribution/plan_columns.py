"""Names for the columns that generated code numbers: ``input[4, decimal(18,6), true]``. Pure.

Spark binds an operator's expressions to what its children give before it generates code. What
they give is read from the texts of the plan; what these do not say (fields that were cut, buffers
of aggregates) stays as Spark has it. An expression that has operations in it is renamed only if
the operator's own text then holds it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyrometer.attribution.plan_match import PlanNode

INPUT = re.compile(r"input\[(\d+), (?:[^\[\]]|\[[^\]]*\])*?, (?:true|false)\]")
# Spark cuts the comments of expressions.
CUT = "..."
_MORE = re.compile(r"\.\.\. \d+ more fields")
_ATTRIBUTE = re.compile(r"(?:^| AS )([^\s(]+#\d+L?)$")
# fmt: off
_PASSES = frozenset({
    "AdaptiveSparkPlan", "AQEShuffleRead", "BroadcastExchange", "BroadcastQueryStage",
    "Coalesce", "CollectLimit", "ColumnarToRow", "CustomShuffleReader", "Exchange", "Filter",
    "GlobalLimit", "InputAdapter", "LocalLimit", "ResultQueryStage", "Sample",
    "ShuffleQueryStage", "Sort", "TableCacheQueryStage", "WholeStageCodegen",
})
# fmt: on
_LISTS = ("Project", "Scan", "BatchScan", "InMemoryTableScan", "LocalTableScan", "ReusedExchange")
_AGGREGATES = ("HashAggregate", "ObjectHashAggregate", "SortAggregate")
_BUILDING_JOINS = ("BroadcastHashJoin", "ShuffledHashJoin", "BroadcastNestedLoopJoin")
_BUILD_SIDES = {"BuildLeft": 0, "BuildRight": 1}
_MOST_BUFFERS = 64


@dataclass(frozen=True)
class Columns:
    """Columns by number; ``complete`` unless the text was cut after them."""

    names: tuple[str, ...] = ()
    complete: bool = False

    def __add__(self, other: Columns) -> Columns:
        """Columns of both, one after the other; what follows a cut has no known number."""
        return Columns(self.names + other.names, other.complete) if self.complete else self


class PlanColumns:
    """What the nodes of one plan give.

    Parameters
    ----------
    nodes : iterable of PlanNode
        The final plan.
    texts : mapping of int to str
        Fuller texts of nodes, by ``node_id``: with the output of aggregates.
    """

    def __init__(self, nodes: Iterable[PlanNode], texts: Mapping[int, str]) -> None:
        self._texts = texts
        self._known: dict[int, Columns] = {}
        self._children: dict[int, list[PlanNode]] = {}
        for node in nodes:
            if node.parent_node_id is not None:
                self._children.setdefault(node.parent_node_id, []).append(node)

    def named(self, expression: str, node: PlanNode) -> str:
        """Put names for numbers in an expression of ``node`` where that is certain."""
        numbers = [int(n) for n in INPUT.findall(expression)]
        if not numbers:
            return expression
        columns = self._inputs(node)
        if INPUT.fullmatch(expression):
            read = self._read_alone(node, columns).names
            return read[numbers[0]] if numbers[0] < len(read) else expression
        # Buffers of aggregates stand before the columns of the child.
        shifts = range(_MOST_BUFFERS) if node.operator in _AGGREGATES else (0,)
        found = {
            text
            for shift in shifts
            if all(0 <= n - shift < len(columns.names) for n in numbers)
            for text in (_held(_renamed(expression, columns.names, shift), node.simple_string),)
            if text
        }
        return found.pop() if len(found) == 1 else expression

    def _read_alone(self, node: PlanNode, columns: Columns) -> Columns:
        """Columns that code of a node reads without doing anything with them.

        A join on one side's table reads that side's rows by their own numbers
        (``genBuildSideVars`` of Spark's ``JoinCodegenSupport``); what streams past it is in
        variables already.
        """
        if node.operator in ("Project", "Filter"):
            return columns
        children = self._children.get(node.node_id, ())
        build = next((n for word, n in _BUILD_SIDES.items() if word in node.simple_string), None)
        if node.operator in _BUILDING_JOINS and len(children) == 2 and build is not None:
            return self._outputs(children[build])
        return Columns()

    def _inputs(self, node: PlanNode) -> Columns:
        given = [self._outputs(child) for child in self._children.get(node.node_id, ())]
        if len(given) == 2:
            text = node.simple_string
            swapped = "BuildLeft" in text or (
                node.operator == "SortMergeJoin" and ", RightOuter" in text
            )
            return given[1] + given[0] if swapped else given[0] + given[1]
        return given[0] if len(given) == 1 else Columns()

    def _outputs(self, node: PlanNode) -> Columns:
        if node.node_id not in self._known:
            self._known[node.node_id] = self._read(node)
        return self._known[node.node_id]

    def _read(self, node: PlanNode) -> Columns:
        text = self._texts.get(node.node_id, node.simple_string)
        if node.operator in _PASSES:
            return self._first(node)
        if node.operator in _LISTS:
            return _listed(text, text.find("["))
        if node.operator in (*_AGGREGATES, "TakeOrderedAndProject"):
            return _listed(text, text.rfind("output=[") + 7 if "output=[" in text else -1)
        if node.operator.endswith("Join"):
            if re.search(r", Left(Semi|Anti)\b", text):
                return self._first(node)
            if "ExistenceJoin" in text:
                return Columns(self._first(node).names)
            sides = [self._outputs(child) for child in self._children.get(node.node_id, ())]
            return sides[0] + sides[1] if len(sides) == 2 else Columns()
        return Columns()

    def _first(self, node: PlanNode) -> Columns:
        children = self._children.get(node.node_id, ())
        return self._outputs(children[0]) if children else Columns()


def _listed(text: str, start: int) -> Columns:
    """Columns of the list whose bracket opens at ``start``."""
    if start < 0:
        return Columns()
    names: list[str] = []
    for part in _parts(text[start + 1 : _close(text, start)]):
        if _MORE.fullmatch(part):
            return Columns(tuple(names))
        found = _ATTRIBUTE.search(part)
        if found is None:
            return Columns(tuple(names))
        names.append(found[1])
    return Columns(tuple(names), complete=True)


def _parts(text: str) -> list[str]:
    """Split at the commas outside of brackets."""
    parts, depth, begin = [], 0, 0
    for at, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            parts.append(text[begin:at].strip())
            begin = at + 1
    last = text[begin:].strip()
    return [*parts, last] if last else parts


def _close(text: str, start: int) -> int:
    """Where the bracket that opens at ``start`` closes, or the end."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0:
            return at
    return len(text)


def _renamed(expression: str, names: Sequence[str], shift: int) -> str:
    return INPUT.sub(lambda found: names[int(found[1]) - shift], expression)


def _held(expression: str, text: str) -> str | None:
    """Give the expression if a node's text holds it; complete it where its comment was cut."""
    if not expression.endswith(CUT):
        return expression if expression in text else None
    start = text.find(expression.removesuffix(CUT))
    opening = text.find("(", start) if start >= 0 else -1
    return text[start : _close(text, opening) + 1] if opening >= 0 else None
