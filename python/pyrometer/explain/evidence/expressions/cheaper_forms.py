"""Whether an expression has a cheaper form, or a place where it is evaluated less often."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pyrometer.accounts.explosions import output_rows
from pyrometer.accounts.plan_schema import Node
from pyrometer.attribution.plan_match import column_types
from pyrometer.attribution.schema import Expression
from pyrometer.core import units
from pyrometer.explain.evidence.expressions.parsed_text import taken_apart
from pyrometer.explain.evidence.expressions.plan_columns import COLUMN, aliases, columns, listed
from pyrometer.explain.evidence.pipelines import pipelines
from pyrometer.explain.evidence.plan_nodes import Plan, rows_out

CHEAPER_NS = (1000.0, 20.0)
"""What a cheaper form costs for a row, at most and at least: to parse one short text or time, and
to compare a column that is typed. Not measured; assumed."""
PARSES = (2.0, 0.3)
"""What one parse costs that gives all fields of a document, in parses for one field, at most and at
least. Not measured; assumed."""
ACHIEVED = (0.3, 0.95)
"""Of the CPU of the expression, where its rows are not known: a cheaper one still reads the column.
Not measured; assumed."""
MAY = (0.0, 0.5)
"""The same where nothing shows that there is a cheaper form. Not measured; assumed."""
BELOW = (0.8, 1.0)
"""Of the evaluations too many: a column that is carried instead costs the rest. Assumed."""
MOST_PARTS = 2
"""Parts that are taken out of a value, up to which it need not be built for them."""
DEAR_NS = 10 * CHEAPER_NS[1]
"""For a row: from here on a pattern costs much beside a plain comparison. Assumed."""
_PATTERN = re.compile(r"rlike|regexp|\blike\(|array_?sort\(.*,", re.IGNORECASE)
_PARSE = r"\b(?:to_date|to_timestamp|unix_timestamp|gettimestamp)\(|\bcast\("
_PARSES = re.compile(
    r"\b(?:to_date|to_timestamp|unix_timestamp|gettimestamp)\(|\bcast\([\w.`]+#\d+L? as"
    r" (?:date|timestamp|decimal|double|float|int|bigint)",
    re.IGNORECASE,
)
_THERE_AND_BACK = re.compile(
    rf"(?:{_PARSE})(?:cast\()?(?:date_format|from_unixtime|format_string|format_number)\(",
    re.IGNORECASE,
)
_FORMATS = re.compile(r"^(?:format_string|printf|concat_ws)\(", re.IGNORECASE)
_BOUNDED = re.compile(r"^levenshtein\([^,]+, [^,]+(?:, None)?\)$", re.IGNORECASE)
_BOUND = re.compile(r" (?:=|<|<=|>|>=) \d")
_PARSE_AGAIN = re.compile(
    r"\bXPath\w*Evaluator\([^()]*\)\.evaluate\((?P<new>[^()]+)\)"
    r"|\bxpath\w*\((?P<old>[^(),]+),[^()]*\)"
)
"""A document that is parsed for one of its fields; as of Spark 4, and before."""
_CALL = re.compile(r"^\w+\(.*\)$", re.DOTALL)
_INDEX = re.compile(r"\[([^\[\]]*)\]")
_UNARY_ENDS = re.compile(r"^(?:\w*Aggregate|Window|Expand|Union|\w*Scan)\b")


@dataclass(frozen=True)
class Cheaper:
    """What could be done with an expression, and the shares of its CPU that this saves.

    Attributes
    ----------
    remedy : str
        In words.
    """

    low: float
    high: float
    remedy: str

    @property
    def is_sure(self) -> bool:
        """Whether the plan shows that there is something to do."""
        return self.low > 0


def cheaper(plan: Plan, node: Node | None, rows: int | None, expression: Expression) -> Cheaper:
    """Say what could be done with an expression of a node, by the evidence that there is.

    Parameters
    ----------
    rows : int or None
        Rows that it is evaluated for, where that is known.
    """
    each = expression.on_cpu_ns / rows if rows else None
    text = expression.expression
    found = []
    fewest = None if node is None else fewest_rows(plan, node, columns(text))
    if rows and fewest is not None and fewest < rows:
        found.append(_fewer(rows, fewest, "compute it in a column before its rows multiply"))
    groups = None if node is None else _groups(plan, node, text)
    if rows and groups is not None and groups < rows:
        found.append(_fewer(rows, groups, "group by what it formats, and format each group"))
    if _PATTERN.search(text) and (each is None or each >= DEAR_NS):
        found.append(_form(each, _NO_PATTERN))
    elif _THERE_AND_BACK.search(text):
        found.append(_form(each, "convert the value directly, not by way of text"))
    elif node is not None and (calls := _parses_again(node, text)) > 1:
        low, high = (max(0.0, 1 - one / calls) for one in PARSES)
        found.append(Cheaper(low, high, _PARSED_ONCE))
    elif node is not None and _for_one_part(node, text):
        found.append(_form(each, _ONE_PART))
    elif node is not None and _is_bounded(node, text):
        found.append(_form(each, "test equality with =, and pass the bound to the function"))
    elif _is_stored_text(plan, text):
        found.append(_form(each, "store its result as a typed column"))
    if found:
        return max(found, key=lambda one: one.low + one.high)
    return Cheaper(*MAY, "use a cheaper expression, filter before it, or store its result as"
                   " a column")  # fmt: skip


_NO_PATTERN = (
    "use a cheaper expression, such as a prefix or a part between separators instead of a pattern"
)
_PARSED_ONCE = "parse the document once: from_xml (Spark 4) with a schema of the wanted fields"
_ONE_PART = "extract only the part that is needed, instead of building the whole value"


def _fewer(rows: int, fewest: int, remedy: str) -> Cheaper:
    """Give what is saved where the expression is evaluated for fewer rows."""
    gone = 1 - fewest / rows
    counts = f"{units.count(fewest)} times instead of {units.count(rows)}"
    return Cheaper(gone * BELOW[0], gone * BELOW[1], f"{remedy}: {counts}")


def _groups(plan: Plan, node: Node, text: str) -> int | None:
    """Give the groups that a text is formatted for, where rows are grouped by it right above."""
    above = plan.by_id.get(-1 if node.parent_node_id is None else node.parent_node_id)
    if above is None or not above.name.endswith("Aggregate") or not _FORMATS.match(text):
        return None
    keys = columns(", ".join(listed(above.simple_string, "keys")))
    is_key = any(made == text and number in keys for number, made in aliases(node))
    return output_rows(above) if is_key else None


def _is_bounded(node: Node, text: str) -> bool:
    """Whether a distance is only compared with a bound."""
    whole = node.simple_string or ""
    at = whole.find(text)
    return at >= 0 and bool(_BOUNDED.match(text) and _BOUND.match(whole, at + len(text)))


def _form(each: float | None, remedy: str) -> Cheaper:
    """Give what another form saves, by what this one costs for a row."""
    if each is None:
        return Cheaper(*ACHIEVED, remedy)
    low, high = (1 - cost / each if each > cost else 0.0 for cost in CHEAPER_NS)
    return Cheaper(max(ACHIEVED[0], low), max(ACHIEVED[1], high), remedy)


def _parses_again(node: Node, text: str) -> int:
    """Count the calls of a node that parse the document which an expression takes a field of."""
    mine = _PARSE_AGAIN.search(text)
    if mine is None:
        return 0
    document = mine["new"] or mine["old"]
    calls = {
        one[0] for one in _PARSE_AGAIN.finditer(node.simple_string or "")
        if document in (one["new"], one["old"])
    }  # fmt: skip
    return len(calls)


def _for_one_part(node: Node, text: str) -> bool:
    """Whether a function builds a value of which its node takes one part, or two."""
    if not _CALL.match(text):
        return False
    whole = node.simple_string or ""
    taken, at = set(), whole.find(text)
    while at >= 0:
        index = _INDEX.match(whole, at + len(text))
        if index is None:
            return False
        taken.add(index[1])
        at = whole.find(text, at + 1)
    return 0 < len(taken) <= MOST_PARTS


def _is_stored_text(plan: Plan, text: str) -> bool:
    """Whether an expression converts a text that a file holds, and nothing else."""
    found = _PARSES.search(text)
    if found is None:
        return False
    types = column_types(one.simple_string or "" for one in plan.sql.nodes)
    names = [one.partition("#")[0].strip("`") for one in COLUMN.findall(text)]
    return bool(names) and all(types.get(name) == "string" for name in names)


def fewest_rows(plan: Plan, node: Node, read: frozenset[int]) -> int | None:
    """Give the least rows of a node below that has some columns: they could be used there."""
    fewest: int | None = None
    below: Node | None = _next(plan, node, read)
    while below is not None and read:
        rows = rows_out(plan, below)
        if rows is not None and _gives(plan, below, read):
            fewest = rows if fewest is None else min(fewest, rows)
        if _UNARY_ENDS.match(below.name):
            break
        below = _next(plan, below, read)
    return fewest


def _next(plan: Plan, node: Node, read: frozenset[int]) -> Node | None:
    """Give the child of a node that has all of the columns, if one has."""
    for child in plan.children.get(node.node_id, ()):
        if _gives(plan, child, read):
            return child
    return None


def _gives(plan: Plan, node: Node, read: frozenset[int]) -> bool:
    made: set[int] = set()
    for one in plan.beneath(node):
        made |= columns(one.simple_string)
    return read <= made


def reads_lines(plan: Plan, node: Node, expression: Expression) -> bool:
    """Whether an expression takes lines of a text file apart: a matter of the file's format."""
    read = columns(expression.expression)
    return any(
        read <= taken_apart(plan, pipeline)
        for pipeline in pipelines(plan)
        if read and any(one.node_id == node.node_id for one in pipeline.nodes)
    )


def together(found: Sequence[tuple[Expression, Cheaper]]) -> tuple[float, float]:
    """Give the bounds of what is saved of the CPU of several expressions together."""
    whole = sum(one.on_cpu_ns for one, _ in found) or 1
    low, high = (
        sum(one.on_cpu_ns * getattr(form, side) for one, form in found) / whole
        for side in ("low", "high")
    )
    return low, high
