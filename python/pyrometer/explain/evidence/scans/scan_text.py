"""The text of a scan of a data source, as Spark writes and cuts it: columns, filters, lists."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from pyrometer.accounts.plan_schema import Node
from pyrometer.explain.evidence.plan_nodes import TEXTS

COLUMN = re.compile(r"[^\s()\[\],=<>+*/%!]+#\d+L?")
NULL_CHECK = re.compile(r"^\(?(isnotnull|isnull|IsNotNull|IsNull)\([^()]*\)\)?$")
_OUTPUT = re.compile(r"\[([^\[\]]*#\d+[^\[\]]*)\]")


@dataclass(frozen=True)
class Listed:
    """A list in the text of a scan; Spark cuts long ones."""

    items: Sequence[str]
    cut: bool = False

    @property
    def only_null_checks(self) -> bool:
        """Whether nothing but null checks is there to be seen."""
        whole = self.items[:-1] if self.cut else self.items
        return all(NULL_CHECK.match(item) for item in whole)


def listed(node: Node, name: str) -> Listed | None:
    """Give a list that a scan names, such as ``PushedFilters``; None where there is none.

    Examples
    --------
    >>> text = "FileScan PushedFilters: [IsNotNull(a)]"
    >>> node = Node(node_id=0, depth=0, name="Scan", simple_string=text)
    >>> listed(node, "PushedFilters")
    Listed(items=['IsNotNull(a)'], cut=False)
    """
    return _listed(node.simple_string or "", name)


@lru_cache(TEXTS)
def _listed(text: str, name: str) -> Listed | None:
    found = re.search(rf"\b{name}: \[(.*?)(\]|\.\.\.)(?=, [A-Z]\w+: |$)", text)
    return None if found is None else Listed(parts(found[1], ","), found[2] == "...")


def output(node: Node) -> Listed:
    """Give the columns that a scan hands on, with their numbers."""
    return _output(node.simple_string or "")


@lru_cache(TEXTS)
def _output(text: str) -> Listed:
    found = _OUTPUT.search(text)
    items = parts(found[1], ",") if found else []
    cut = not found or any("more field" in item for item in items)
    return Listed([item for item in items if COLUMN.fullmatch(item)], cut)


def read_columns(node: Node) -> Listed | None:
    """Give names and types of the columns that a scan reads from files, as ``name:type``."""
    return _read_columns(node.simple_string or "")


@lru_cache(TEXTS)
def _read_columns(text: str) -> Listed | None:
    found = re.search(r"\bReadSchema: struct<(.*?)(>|\.\.\.)(?=, [A-Z]\w+: |$)", text)
    return None if found is None else Listed(parts(found[1], ",", "()<>"), found[2] == "...")


def parts(text: str, separator: str, brackets: str = "()[]{}") -> list[str]:
    """Split a text where no bracket is open.

    Examples
    --------
    >>> parts("a, f(b, c)", ",")
    ['a', 'f(b, c)']
    """
    return list(_parts(text, separator, brackets))


@lru_cache(TEXTS)
def _parts(text: str, separator: str, brackets: str) -> tuple[str, ...]:
    found, depth, begin = [], 0, 0
    for place, letter in enumerate(text):
        if depth == 0 and text.startswith(separator, place):
            found.append(text[begin:place].strip())
            begin = place + len(separator)
        elif letter in brackets:
            depth += -1 if brackets.index(letter) % 2 else 1
    return tuple(one for one in [*found, text[begin:].strip()] if one)


def columns_of(text: str) -> set[str]:
    """Give the columns in a text, with their numbers."""
    return set(COLUMN.findall(text))
