"""How the files of a scanned table are compacted, in the words of its format."""

from __future__ import annotations

import re

from pyrometer.accounts.plan_schema import Node
from pyrometer.explain.evidence.plan_nodes import metric
from pyrometer.explain.evidence.saying import code, compact
from pyrometer.explain.evidence.tables import iceberg
from pyrometer.explain.schema import Remedy

_DELTA = re.compile(r"Location: (?:Tahoe\w*|PreparedDelta)FileIndex\b")


def compacted(node: Node, size: float, least: int) -> tuple[int, Remedy]:
    """Say how many larger files would hold a scan's bytes, and how they get there.

    Examples
    --------
    >>> text = "FileScan parquet db.t[a#1] Location: PreparedDeltaFileIndex(1 paths)[file:/t]"
    >>> node = Node(node_id=0, depth=0, name="Scan parquet db.t", simple_string=text)
    >>> wanted, remedy = compacted(node, 1e9, 2)
    >>> wanted, remedy.after
    (8, 'OPTIMIZE db.t')
    """
    wanted, remedy = compact(size, least)
    if metric(node, iceberg.FILES):
        return wanted, iceberg.maintained(node, remedy.text, "rewrite_data_files")
    if _DELTA.search(node.simple_string or ""):
        named = node.name.split()
        after = f"OPTIMIZE {named[2] if len(named) > 2 else 'delta.`path`'}"
        return wanted, code(remedy.text, None, after, kind="data", example=len(named) < 3)
    return wanted, remedy
