"""What Spark's log holds in full of scans of files, where it cuts the text of their nodes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from pyrometer.accounts.plan_schema import Node
from pyrometer.core.json_text import parse_json
from pyrometer.explain.evidence.plan_nodes import Plan
from pyrometer.explain.facts import Facts, once

_CUT = re.compile(r"\b([A-Z]\w+): ((?:(?!, [A-Z]\w+: ).)*?)\.\.\.(?=, [A-Z]\w+: |$)")
_METADATA = """
SELECT sql_id, node_id, metadata FROM plan_nodes
WHERE app_index = $1 AND is_final AND metadata LIKE '{%' AND contains(simple_string, '...')
"""


def uncut(facts: Facts, plan: Plan, node: Node) -> Node:
    """Give a scan with all of its text that the log holds."""
    text = node.simple_string or ""
    known = _metadata(facts).get((plan.sql.sql_id, node.node_id)) if "..." in text else None
    try:
        metadata = {} if known is None else parse_json(known)
    except ValueError:  # a damaged log: what the text says has to do
        metadata = {}
    return replace(node, simple_string=completed(text, metadata)) if metadata else node


@once
def _metadata(facts: Facts) -> Mapping[tuple[int, int], str]:
    app = 0 if facts.measured is None else facts.measured.app_index
    rows = facts.tables.query(_METADATA, [app]) if facts.has("plan_nodes") else []
    return {(sql, node): text for sql, node, text in rows}


def completed(text: str, metadata: Mapping[str, object]) -> str:
    """Put values in full where a text has their beginnings.

    Examples
    --------
    >>> completed("FileScan orc [a#1] ReadSchema: struct<a:i...", {"ReadSchema": "struct<a:int>"})
    'FileScan orc [a#1] ReadSchema: struct<a:int>'
    """

    def full(found: re.Match[str]) -> str:
        name, begun = found[1], found[2]
        value = str(metadata.get(name, ""))
        return f"{name}: {value}" if value.startswith(begun) and value else found[0]

    return _CUT.sub(full, text)
