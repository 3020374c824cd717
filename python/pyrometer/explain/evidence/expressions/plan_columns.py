"""Columns in the texts of a plan: from which side of a join each comes, and who uses it above."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise

from pyrometer.accounts.plan_schema import Node
from pyrometer.explain.evidence.plan_nodes import Plan

LEFT, RIGHT = 0, 1
BOTH = frozenset({LEFT, RIGHT})
Sides = frozenset[int]
_NUMBER = re.compile(r"(?<=[\w)`\]}])#(\d+)")
_ALIAS = re.compile(r" AS \S*#(\d+)L?$")
_COLUMN = r"[\w.`]+#\d+L?"
COLUMN = re.compile(_COLUMN)
"""A column with its number."""
_PLAIN = rf"(?:cast\({_COLUMN} as \w+\)|{_COLUMN})"
_COMPARES = r"(?:=|<|>|<=|>=)"
_REJECTS = re.compile(
    rf"\(?(?:isnotnull\({_PLAIN}\)|{_PLAIN} {_COMPARES} [^()]+|[^()]+ {_COMPARES} {_PLAIN})\)?"
)
"""A condition that is not true where the column is null."""
_DEPTH = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


@lru_cache(maxsize=4096)
def columns(text: str | None) -> frozenset[int]:
    """Give the numbers of the columns that a text names.

    Examples
    --------
    >>> sorted(columns("Project [a#1, (b#2L + 1) AS c#33, count(1)#4L], [id=#9]"))
    [1, 2, 4, 33]
    """
    return frozenset(int(number) for number in _NUMBER.findall(text or ""))


def parts(text: str) -> list[str]:
    """Split a list at the commas outside of brackets, up to the bracket that closes it.

    Examples
    --------
    >>> parts("a#1, f(b#2, 3) AS c#4], functions=[]")
    ['a#1', 'f(b#2, 3) AS c#4']
    """
    depth, cuts = 0, [-1]
    end = len(text)
    for at, char in enumerate(text):
        depth += _DEPTH.get(char, 0)
        if depth < 0:
            end = at
            break
        if char == "," and depth == 0:
            cuts.append(at)
    found = [text[low + 1 : high].strip() for low, high in pairwise([*cuts, end])]
    return [one for one in found if one]


def listed(text: str | None, name: str = "") -> list[str]:
    """Give the parts of a list in a node's text: the first one, or that of a name.

    Examples
    --------
    >>> text = "HashAggregate(keys=[k#1], functions=[sum(v#2), count(1)])"
    >>> listed(text, "functions"), listed("Project [a#1, b#2]")
    (['sum(v#2)', 'count(1)'], ['a#1', 'b#2'])
    """
    start = f"{name}=[" if name else "["
    _, found, after = (text or "").partition(start)
    return parts(after) if found else []


def aliases(node: Node) -> Iterator[tuple[int, str]]:
    """Give the numbers of columns that a projection makes, each with what it is made of."""
    for part in listed(node.simple_string):
        alias = _ALIAS.search(part)
        if alias is not None:
            yield int(alias[1]), part[: alias.start()]


class Origins:
    """From which side of a join columns come, as far as its plan says; else from both."""

    def __init__(self, plan: Plan, join: Node) -> None:
        self._sides: dict[int, Sides] = {}
        for side, child in enumerate(plan.children.get(join.node_id, ())):
            for node in _ran(plan, child):
                for number in columns(node.simple_string):
                    self._sides[number] = self._sides.get(number, frozenset()) | {side}

    def of(self, text: str) -> Sides:
        """Give the sides that an expression reads."""
        found = (self._sides.get(number, BOTH) for number in columns(text))
        return frozenset().union(*found)

    def mixes(self, text: str) -> bool:
        """Whether an expression surely reads columns of both sides: of each at least one."""
        found = {self._sides.get(number, BOTH) for number in columns(text)}
        return {frozenset({LEFT}), frozenset({RIGHT})} <= found

    def pass_through(self, node: Node, *, plain: bool = False) -> None:
        """Note what a node above gives new names to; plain columns only, else it is of both."""
        for number, text in aliases(node):
            known = not plain or re.fullmatch(_PLAIN, text) is not None
            self._sides[number] = self.of(text) if known else BOTH


def _ran(plan: Plan, node: Node) -> Iterator[Node]:
    """Give a node and what ran below it.

    Below a reused exchange, and below a cached table, columns have other numbers.
    """
    yield node
    if not node.name.startswith(("Reused", "InMemoryTableScan")):
        for child in plan.children.get(node.node_id, ()):
            yield from _ran(plan, child)


def conjuncts(condition: str) -> list[str]:
    """Split a condition into what must hold together.

    Examples
    --------
    >>> conjuncts("((isnotnull(a#1) AND (b#2 > 3)) AND (c#3 OR d#4))")
    ['isnotnull(a#1)', '(b#2 > 3)', '(c#3 OR d#4)']
    """
    text = condition.strip()
    whole = parts(text[1:]) if text.startswith("(") else []
    if len(whole) == 1 and len(whole[0]) == len(text) - 2:
        inside = whole[0]
        found = _split(inside)
        return [one for part in found for one in conjuncts(part)] if len(found) > 1 else [text]
    found = _split(text)
    return [one for part in found for one in conjuncts(part)] if len(found) > 1 else [text]


def _split(text: str) -> list[str]:
    depth, begin, found = 0, 0, []
    for at, char in enumerate(text):
        depth += _DEPTH.get(char, 0)
        if depth == 0 and text.startswith(" AND ", at):
            found.append(text[begin:at])
            begin = at + 5
    return [*found, text[begin:]]


def drops_unmatched(plan: Plan, join: Node, side: int, over: Iterable[Node]) -> Node | None:
    """Find a filter above an outer join that drops rows in which a side's columns are null.

    Such are the rows of the other side that found no match.
    """
    origins = Origins(plan, join)
    for node in over:
        if node.name == "Filter":
            text = (node.simple_string or "").removeprefix("Filter ")
            for part in conjuncts(text):
                if _REJECTS.fullmatch(part) and any(
                    origins.of(name) == {side} for name in COLUMN.findall(part)
                ):
                    return node
        elif node.name == "Project":
            origins.pass_through(node, plain=True)
        elif node.name.endswith(("Aggregate", "Join", "Limit", "Union")):
            return None
    return None
