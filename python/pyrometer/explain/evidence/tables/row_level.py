"""MERGE, UPDATE and DELETE on a table with copy-on-write: rows that were written again unchanged.

Delta Lake counts them, and so does Spark in late versions (a MERGE's since 4.1). Else they follow
from the plan: to find the files to write again, Spark looks for the rows that the command's
condition is true of, and of what is then read of these files, all other rows are copied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyrometer.accounts.explosions import output_rows
from pyrometer.accounts.plan_schema import Node
from pyrometer.explain.evidence.plan_nodes import Plan, rows_out

_COPIED = re.compile(
    r"^number of (?:target )?rows (?:copied|rewritten unmodified)\b|^number of copied rows$", re.I
)
_CHANGED = re.compile(
    r"^number of (?:target )?rows (?:inserted|updated)\.?$|^number of (?:inserted|updated) rows$"
)
_SUBQUERY = re.compile(r"^(?:Reused)?Subquery")
_BY_FILE = re.compile(r"\b_file#\d")
_GATHERS = re.compile(r"^(?:Hash|Sort|ObjectHash)Aggregate\b|^Exchange\b|^Sort\b")


@dataclass(frozen=True)
class Copied:
    """Rows that a command wrote again unchanged.

    Attributes
    ----------
    written : int
        All rows that it wrote; None where only its tasks say.
    again : sequence of Node
        Scans that read whole files only to copy them: which rows change was known before.
    """

    node: Node
    rows: int
    written: int | None
    again: Sequence[Node] = ()


def copied(plan: Plan) -> Copied | None:
    """Give the rows that the command of a plan copied; None where that is not known, or none."""
    writes = [node for node in plan.sql.nodes if node.name.strip() == "ReplaceData"]
    targets = [one for node in writes for one in _targets(plan, node)]
    again = [one for one in targets if _matches(plan, one)]
    found = max(map(_counted, plan.sql.nodes), key=lambda one: one.rows, default=None)
    if found is not None and found.rows:
        return Copied(found.node, found.rows, found.written, again)
    for node in writes:
        rows = _rows(plan, node, targets)
        if rows:
            return Copied(node, rows, output_rows(node), again)
    return None


def _counted(node: Node) -> Copied:
    rows, changed = (
        sum(one.value_sum or 0 for one in node.metrics if kind.match(one.metric))
        for kind in (_COPIED, _CHANGED)
    )
    return Copied(node, rows, rows + changed)


def _targets(plan: Plan, node: Node) -> Iterator[Node]:
    """Give the scans of the table that is written, without those that only look for files."""
    for child in plan.children.get(node.node_id, ()):
        if _SUBQUERY.match(child.name):
            continue
        if child.name.startswith("BatchScan") and _BY_FILE.search(child.simple_string or ""):
            yield child
        yield from _targets(plan, child)


def _matches(plan: Plan, scan: Node) -> Node | None:
    """Find what gives the rows that change, below the search for their files."""
    for child in plan.children.get(scan.node_id, ()):
        if not _SUBQUERY.match(child.name):
            continue
        below = plan.below(child)
        while len(below) == 1 and _GATHERS.match(below[0].name):
            below = plan.below(below[0])
        return below[0] if len(below) == 1 else None
    return None


def _rows(plan: Plan, node: Node, targets: Sequence[Node]) -> int:
    if not targets:
        return 0
    # An UPDATE whose condition has a subquery reads the same files twice.
    scan = max(targets, key=lambda one: rows_out(plan, one) or 0)
    read = rows_out(plan, scan) or 0
    matches = _matches(plan, scan)
    changed = None if matches is None else rows_out(plan, matches)
    if changed is not None:
        return max(0, read - changed)
    below = plan.below(node)
    written = rows_out(plan, below[0]) if len(below) == 1 else None
    merges = any(one.name == "MergeRows" for one in plan.sql.nodes)
    # What is left of fewer rows than were read is a DELETE's: nothing in it is new.
    return written if written is not None and not merges and written < read else 0
