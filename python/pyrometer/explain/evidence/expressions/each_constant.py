"""Filters that compare a value with each of some constants by a lambda, which `IN` does at once."""

from __future__ import annotations

import re

from pyrometer.accounts.plan_schema import Node

_EACH = re.compile(
    r"exists\(\[[^\[\]#,]*,[^\[\]#]*\], lambdafunction\(\((?:lambda (?P<one>\w+#\d+L?) (?:=|<=>) "
    r"(?P<right>.+)|(?P<left>.+) (?:=|<=>) lambda (?P<other>\w+#\d+L?))\), lambda "
    r"(?:(?P=one)|(?P=other)), false\)\)"
)
_CHEAP = re.compile(r"\bisnotnull\(|\b(?:AND|OR|NOT) ?\(")
_WORK = re.compile(r"\w\(|\bR?LIKE\b")
"""Calls, and patterns, which Spark writes between what they compare."""


def compared_with_each(node: Node) -> str | None:
    """Give the value that a filter computes for each of some constants, and does nothing else.

    Examples
    --------
    >>> text = "Filter exists([7,8], lambdafunction((lambda p#9 = hour(t#1)), lambda p#9, false))"
    >>> compared_with_each(Node(node_id=0, depth=0, name="Filter", simple_string=text))
    'hour(t#1)'
    >>> compared_with_each(Node(node_id=0, depth=0, name="Filter",
    ...                         simple_string=text.replace("t#1", "lambda p#9")))
    """
    text = node.simple_string or ""
    found = _EACH.search(text) if node.name == "Filter" else None
    if found is None:
        return None
    value, variable = found["right"] or found["left"], found["one"] or found["other"]
    rest = _CHEAP.sub("", text[: found.start()] + text[found.end() :])
    return None if variable in value or _WORK.search(rest) else str(value)
