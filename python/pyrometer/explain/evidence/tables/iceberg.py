"""What Apache Iceberg says of its scans, in metrics of their nodes, and its own maintenance."""

from __future__ import annotations

import re

from pyrometer.accounts.plan_schema import Node
from pyrometer.explain.evidence.plan_nodes import metric
from pyrometer.explain.evidence.saying import code
from pyrometer.explain.facts import Facts
from pyrometer.explain.schema import Remedy

FILES, SIZE = "number of result data files", "total data file size (bytes)"
DELETES, INDEXED = "number of result delete files", "number of indexed delete files"
SKIPPED_ROWS = "number of row deletes applied"
_SPLITS = "number of file splits read"
_TABLE = re.compile(r"^BatchScan (?P<catalog>[^\s.]+)\.(?P<table>\S+)")
_LOCAL = re.compile(r"^(?:file:|/)")


def files_read(node: Node) -> tuple[int, float] | None:
    """Give how many files a scan read, and their bytes; None where that is not known.

    A filter that is known only at run time, as a MERGE has one, leaves out planned files: then
    fewer splits were read than there are files, and the bytes are those of average files.

    Examples
    --------
    >>> from pyrometer.accounts.plan_schema import NodeMetric
    >>> counts = {FILES: 40, SIZE: 4_000, "number of file splits read": 10}
    >>> metrics = [NodeMetric(metric=name, value_sum=value) for name, value in counts.items()]
    >>> files_read(Node(node_id=0, depth=0, name="BatchScan c.db.t", metrics=metrics))
    (10, 1000.0)
    """
    planned, size = metric(node, FILES), metric(node, SIZE)
    if not planned or size is None:
        return None
    splits = metric(node, _SPLITS)
    read = planned if splits is None else min(planned, splits)
    return (read, size * read / planned) if read else None


def table_of(node: Node) -> tuple[str, str]:
    """Give catalog and table of a scan; stand-ins where its name has none.

    Examples
    --------
    >>> table_of(Node(node_id=0, depth=0, name="BatchScan lake.db.orders"))
    ('lake', 'db.orders')
    >>> table_of(Node(node_id=0, depth=0, name="BatchScan"))
    ('catalog', 'db.table')
    """
    found = _TABLE.match(node.name)
    return (found["catalog"], found["table"]) if found else ("catalog", "db.table")


def is_remote(facts: Facts, node: Node) -> bool:
    """Whether the warehouse of a scan's catalog is said to be in a store that is not local."""
    place = facts.setting(f"spark.sql.catalog.{table_of(node)[0]}.warehouse")
    return place is not None and ":" in place and not _LOCAL.match(place)


def maintained(node: Node, text: str, *procedures: str, **options: str) -> Remedy:
    """Give calls of Iceberg's procedures for the table of a scan as a remedy.

    Parameters
    ----------
    **options : str
        Options of a procedure, by its name: ``'rewrite-all', 'true'``.
    """
    catalog, table = table_of(node)
    calls = []
    for name in procedures:
        more = f", options => map({options[name]})" if name in options else ""
        calls.append(f"CALL {catalog}.system.{name}(table => '{table}'{more})")
    return code(text, None, ";\n".join(calls), kind="data", example=False)
