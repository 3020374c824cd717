"""Text of files that expressions parse: rows of a reader's format, or lines taken apart by hand."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pyrometer.accounts.plan_schema import Node
from pyrometer.attribution.schema import Expression
from pyrometer.explain.evidence.expressions.plan_columns import COLUMN, aliases, columns, parts
from pyrometer.explain.evidence.pipelines import Pipeline, pipelines
from pyrometer.explain.evidence.plan_nodes import Plan, plans
from pyrometer.explain.evidence.stack_shares import Shares, through
from pyrometer.explain.facts import Facts
from pyrometer.explain.what_if import Extent

PARSERS = r"\.expressions\.(\w+\.)?(Csv|Json|Xml)ToStructs\w*(\$\S*)?\."
"""Frames of expressions that parse a text as a reader would, with the reader's own parser."""
_WHOLE = re.compile(r"\b(?:from_(?:csv|json|xml)|(?:csv|json|xml)tostructs)\(", re.IGNORECASE)
_OF_FILES = re.compile(r"^(?:Gpu|Photon)?(?:File|Batch)?Scan (?!ExistingRDD)(\w+)")
_LINES = "text"


@dataclass(frozen=True)
class ParsedText:
    """Text that the tasks of a pipeline parse by expressions.

    Attributes
    ----------
    node : Node
        Where the costliest expression is evaluated.
    expression : str
        It, as far as the plan names it.
    scan : Node
        What reads the text.
    shares : mapping of int to float
        Of each stage's CPU, by number of the stage.
    extent : Extent
        How much of that is sure, by its samples.
    samples_count : int
        Samples in it.
    """

    plan: Plan
    node: Node
    expression: str
    scan: Node
    shares: Mapping[int, float]
    extent: Extent
    samples_count: int


def parsed_texts(facts: Facts) -> Iterator[ParsedText]:
    """Give what the pipelines of all plans parse, where samples say what it costs."""
    if not facts.has("samples"):
        return
    parsing: Shares | None = None
    for plan in plans(facts):
        for pipeline in pipelines(plan):
            scan = next((one for one in pipeline.nodes if _OF_FILES.match(one.name)), None)
            if scan is None:
                continue
            calling = [one for one in pipeline.nodes if _WHOLE.search(one.simple_string or "")]
            if calling and parsing is None:
                parsing = through(facts, PARSERS)
            found = _of_pipeline(facts, plan, pipeline, scan, calling, parsing)
            if found is not None:
                yield found


def taken_apart(plan: Plan, pipeline: Pipeline) -> set[int]:
    """Give the numbers of columns that are lines of text, or parts of one and nothing else."""
    found: set[int] = set()
    for node in reversed(pipeline.nodes):  # what is below comes first
        kind = _OF_FILES.match(node.name)
        if kind is not None and kind[1] == _LINES:
            found |= columns((node.simple_string or "").partition("]")[0])
        elif node.name == "Project":
            for number, text in aliases(node):
                if (read := columns(text)) and read <= found:
                    found.add(number)
    return found


def of_lines(facts: Facts, plan: Plan, pipeline: Pipeline) -> list[tuple[Node, Expression]]:
    """Give the sampled expressions of a pipeline that take lines of text apart."""
    lines = taken_apart(plan, pipeline)
    if not lines:
        return []
    nodes = {node.node_id: node for node in pipeline.nodes}
    return [
        (nodes[one.node_id], each)
        for one in facts.summary.operators
        if one.sql_id == plan.sql.sql_id and one.node_id in nodes
        for each in one.expressions
        if (read := columns(each.expression)) and read <= lines and "(" in each.expression
    ]


def _of_pipeline(
    facts: Facts,
    plan: Plan,
    pipeline: Pipeline,
    scan: Node,
    calling: list[Node],
    parsing: Shares | None,
) -> ParsedText | None:
    numbers = [n for n in map(facts.number, sorted(pipeline.stage_ids)) if n is not None]
    by_hand = [
        pair for pair in of_lines(facts, plan, pipeline)
        if not _WHOLE.search(pair[1].expression)
    ]  # fmt: skip
    mine = Shares(
        {n: parsing.hits[n] for n in numbers if parsing and parsing.hits.get(n)},
        {n: parsing.totals[n] for n in numbers if parsing and parsing.hits.get(n)},
    )  # fmt: skip
    calls = calling if mine.found else []
    shares: dict[int, float] = defaultdict(float, mine.by_stage if calls else {})
    whole = sum(facts.cpu_ns.get(n, 0.0) for n in numbers)
    apart = sum(each.on_cpu_ns for _, each in by_hand)
    if whole > 0:
        for number in numbers if apart else ():
            shares[number] = min(1.0, shares[number] + apart / whole)
    if not shares:
        return None
    costliest = max(by_hand, key=lambda pair: pair[1].on_cpu_ns, default=None)
    hits = (mine.found if calls else 0) + sum(each.samples_count for _, each in by_hand)
    total = sum(sum(facts.samples_by_stage.get(n, {}).values()) for n in numbers)
    extent = Shares({0: hits}, {0: max(total, hits)}).extent()
    if calls:
        node, expression = calls[0], _call_of(calls[0])
    elif costliest is not None:
        node, expression = costliest[0], costliest[1].expression
    else:
        return None
    return ParsedText(plan, node, expression, scan, dict(shares), extent, hits)


def _call_of(node: Node) -> str:
    """Give the call that parses, with the columns that it reads, and without its schema.

    Examples
    --------
    >>> text = "Project [from_csv(StructField(id,LongType,true), value#0, None) AS r#2, k#1]"
    >>> _call_of(Node(node_id=0, depth=0, name="Project", simple_string=text))
    'from_csv(value#0)'
    """
    text = node.simple_string or ""
    found = _WHOLE.search(text)
    if found is None:
        return text
    read = [one for part in parts(text[found.end() :]) for one in COLUMN.findall(part)]
    return f"{found[0]}{', '.join(read)})"
