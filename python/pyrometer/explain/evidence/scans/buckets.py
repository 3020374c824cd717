"""Tables in buckets: how many of them a scan reads, by tasks that take whole buckets."""

from __future__ import annotations

import re

from pyrometer.accounts.plan_schema import Node

_SELECTED = re.compile(r"\bBucketed: true\b.*\bSelectedBucketsCount: (\d+) out of \d+\b")


def buckets_of(node: Node) -> int | None:
    """Give how many buckets a scan reads; None where its tasks are not divided by buckets.

    There is a task for each bucket of the table, read or not; where a join made Spark coalesce
    buckets, for several.

    Examples
    --------
    >>> text = "FileScan parquet t[k#1] Bucketed: true, SelectedBucketsCount: 40 out of 40"
    >>> buckets_of(Node(node_id=0, depth=0, name="Scan parquet t", simple_string=text))
    40
    >>> text += " (Coalesced to 20)"
    >>> buckets_of(Node(node_id=0, depth=0, name="Scan parquet t", simple_string=text))
    40
    >>> text = "FileScan parquet t[k#1] Bucketed: false (disabled by query planner)"
    >>> buckets_of(Node(node_id=0, depth=0, name="Scan parquet t", simple_string=text))
    """
    found = _SELECTED.search(node.simple_string or "")
    return int(found[1]) if found else None
