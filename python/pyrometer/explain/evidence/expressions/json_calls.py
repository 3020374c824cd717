"""Calls that parse JSON in the text of plans: which text each parses, and for how many rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from pyrometer.accounts.plan_schema import Node
from pyrometer.explain.evidence.pipelines import Pipeline
from pyrometer.explain.evidence.plan_nodes import Plan, rows_out

PARSER = r"\.(GetJsonObject|JsonToStructs|JsonTuple)\w*(\$\S*)?\."
"""Frames of the expressions, below which the whole work of a call lies. Scans of JSON files use
the same parser, not these classes."""
_CALL = re.compile(r"\b(get_json_object|from_json|jsontostructs|json_tuple)\(", re.IGNORECASE)
_COLUMN = re.compile(r"#\d")
_HIDDEN = re.compile(r"\.\.\. (\d+) more fields")
_BRANCHES = re.compile(r"\b(if|coalesce|nvl2?|ifnull|nullif)$", re.IGNORECASE)
_DEPTH = {"(": 1, "[": 1, ")": -1, "]": -1}


@dataclass(frozen=True)
class Call:
    """One call in the text of a node.

    Attributes
    ----------
    text : str
        The JSON argument, as the plan writes it.
    whole : str
        The call with all its arguments.
    conditional : bool
        Whether it stands in a branch, so that a row may not need it.
    """

    function: str
    text: str
    whole: str
    conditional: bool = False


@dataclass
class Parsed:
    """One JSON text of a pipeline: its calls, and the parses of rows that they make.

    Attributes
    ----------
    rows : float
        Rows that need a parse at all.
    low, high : float
        Parses that the calls make, at least and at most.
    """

    text: str
    rows: float
    low: float
    high: float
    calls: list[tuple[Node, Call]] = field(default_factory=list)


def json_calls(text: str) -> list[Call]:
    """Give the calls of JSON parsers in the text of a node.

    Examples
    --------
    >>> [one.text for one in json_calls("Project [get_json_object(t#4, $.a) AS a#5, upper(u#6)]")]
    ['t#4']
    >>> json_calls("Project [from_json(StructField(a,LongType,true), t#4, Some(UTC))]")[0].text
    't#4'
    >>> json_calls("Project [coalesce(x#1, get_json_object(t#4, $.a))]")[0].conditional
    True
    """
    found = []
    for start in _CALL.finditer(text):
        arguments, end = _arguments(text, start.end())
        parsed = next((one for one in arguments if _COLUMN.search(one)), None)
        if parsed is not None:
            whole = text[start.start() : end]
            branch = _in_branch(text[: start.start()])
            found.append(Call(start[1].lower(), parsed, whole, branch))
    return found


def json_texts(plan: Plan, pipeline: Pipeline, once: bool) -> list[Parsed]:
    """Give the JSON texts that nodes of the same tasks parse.

    Parameters
    ----------
    once : bool
        Whether equal calls of one projection are evaluated once.
    """
    calling = [(node, calls) for node in pipeline.nodes if (calls := _evaluated(node, once))]
    return _texts(plan, calling)


def _evaluated(node: Node, once: bool) -> list[Call]:
    """Give the calls that a node makes for a row: a final aggregate only names its inputs'."""
    text = node.simple_string or ""
    aggregates = node.name.endswith("Aggregate") and "partial_" in text
    if not aggregates and node.name not in ("Project", "Filter", "Generate"):
        return []
    found = json_calls(text)
    if once and node.name != "Filter":
        found = list({one.whole: one for one in reversed(found)}.values())[::-1]
    return found


def _texts(plan: Plan, calling: Sequence[tuple[Node, list[Call]]]) -> list[Parsed]:
    into = {}
    for node, _ in calling:
        below = plan.children.get(node.node_id)
        into[node.node_id] = rows_out(plan, below[0]) if below else None
    most = float(max((rows for rows in into.values() if rows), default=1))
    found: dict[str, Parsed] = {}
    for node, calls in calling:
        known = into[node.node_id] if len(calling) > 1 else most
        least, rows = (0.0, most) if known is None else (float(known), float(known))
        # A filter evaluates what comes later for rows that have passed what comes first.
        later = float(rows_out(plan, node) or 0) if node.name == "Filter" else least
        hidden = sum(int(count) for count in _HIDDEN.findall(node.simple_string or ""))
        for place, call in enumerate(calls):
            one = found.setdefault(call.text, Parsed(call.text, 0.0, 0.0, 0.0))
            one.calls.append((node, call))
            one.rows = max(one.rows, rows)
            one.low += 0.0 if call.conditional else min(rows, later) if place else least
            one.high += rows * (1 + (hidden if place == 0 else 0))
    for one in found.values():
        one.low = max(one.low, one.rows)
    return list(found.values())


def _arguments(text: str, begin: int) -> tuple[list[str], int]:
    """Split the arguments of a call, up to its closing parenthesis."""
    depth, cuts, at = 0, [begin - 1], begin
    while at < len(text):
        depth += _DEPTH.get(text[at], 0)
        if depth < 0:
            break
        if text[at] == "," and depth == 0:
            cuts.append(at)
        at += 1
    cuts.append(at)
    return [text[low + 1 : high].strip() for low, high in pairwise(cuts)], at + 1


def _in_branch(before: str) -> bool:
    """Whether what follows a text stands in a CASE, or among the arguments of `if` and its like."""
    if len(re.findall(r"\bCASE\b", before)) > len(re.findall(r"\bEND\b", before)):
        return True
    depth = 0
    for at in range(len(before) - 1, -1, -1):
        depth += _DEPTH.get(before[at], 0)
        if depth > 0:
            depth = 0
            if before[at] == "(" and _BRANCHES.search(before[max(0, at - 10) : at]):
                return True
    return False
