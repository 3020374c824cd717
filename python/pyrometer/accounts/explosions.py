"""Operators whose output has many times the rows of their input: joins, generates, expands.

An operator's input is what the operators below it report, seen through those that hand rows on
and count none. Below one that may change their number without counting, the input is unknown, and
nothing is said. What hands rows on is never named itself: an exchange that many tasks read, or a
cached table, counts the same rows several times.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache

from pyrometer.accounts.plan_schema import Explosion, Node

# What is worth a mark: a factor that no ordinary join has, and enough rows to cost something.
LEAST_FACTOR = 10.0
LEAST_ROWS = 100_000

NAMES = 1024
"""Names of nodes of which what was read of them is kept: there are some hundred."""
# The second is how RAPIDS calls it.
_ROWS = ("number of output rows", "output rows")
_FAMILY = re.compile(r"^(?:Gpu|Photon|Velox)")
_KEEPS_ROWS = re.compile(
    r"^(?:AdaptiveSparkPlan|AQEShuffleRead|ArrowEvalPython|BatchEvalPython|BroadcastExchange"
    r"|BroadcastQueryStage|Coalesce\w*|Columnar\w*|CustomShuffleReader|DeserializeToObject"
    r"|Exchange|Execute|HostColumnarToGpu|InMemoryTableScan|InputAdapter|MapElements|Project|Result\w*Stage|Reused\w+"
    r"|RowToColumnar|SerializeFromObject|Shuffle\w*|Sort|TableCacheQueryStage|Union"
    r"|WholeStageCodegen|Window)\b"
)


def explosions(
    nodes: Sequence[Node], least_factor: float = LEAST_FACTOR, least_rows: int = LEAST_ROWS
) -> list[Explosion]:
    """Find operators of one plan whose output has at least ``least_factor`` times their input.

    Parameters
    ----------
    nodes : sequence of Node
        The nodes of one final plan.
    least_factor : float
        Output rows over input rows, all inputs together.
    least_rows : int
        Output rows below which nothing is worth saying.

    Returns
    -------
    list of Explosion
        The most output rows first.

    Examples
    --------
    >>> from pyrometer.accounts.plan_schema import NodeMetric
    >>> def rows(n):
    ...     return [NodeMetric(metric="number of output rows", value_sum=n)]
    >>> plan = [
    ...     Node(node_id=0, depth=0, name="CartesianProduct", metrics=rows(4_000_000)),
    ...     Node(node_id=1, depth=1, parent_node_id=0, name="Range", metrics=rows(2_000)),
    ...     Node(node_id=2, depth=1, parent_node_id=0, name="Project"),
    ...     Node(node_id=3, depth=2, parent_node_id=2, name="Range", metrics=rows(2_000)),
    ... ]
    >>> [(e.node_id, e.rows_in_count, e.factor) for e in explosions(plan)]
    [(0, 4000, 1000.0)]
    """
    children: dict[int, list[Node]] = defaultdict(list)
    for node in nodes:
        if node.parent_node_id is not None:
            children[node.parent_node_id].append(node)
    # In pre-order a child has the larger number: backwards, what is below is known.
    out: dict[int, int | None] = {}
    found = []
    for node in sorted(nodes, key=lambda n: -n.node_id):
        below = [out[child.node_id] for child in children[node.node_id]]
        known = [rows for rows in below if rows is not None]
        rows_in = sum(known) if known and len(known) == len(below) else None
        rows_out = output_rows(node)
        keeps = _keeps_rows(node.name)
        if rows_out is None:
            out[node.node_id] = rows_in if keeps else None
            continue
        out[node.node_id] = rows_out
        if not keeps and rows_in and rows_out >= max(least_rows, least_factor * rows_in):
            found.append(
                Explosion(
                    node_id=node.node_id,
                    name=node.name,
                    rows_in_count=rows_in,
                    rows_out_count=rows_out,
                    factor=rows_out / rows_in,
                    stage_ids=node.stage_ids,
                )
            )
    return sorted(found, key=lambda e: (-e.rows_out_count, e.node_id))


@lru_cache(NAMES)
def _keeps_rows(name: str) -> bool:
    return _KEEPS_ROWS.match(_FAMILY.sub("", name)) is not None


def output_rows(node: Node) -> int | None:
    """Rows that an operator counts as its output; None where it counts none."""
    for one in node.metrics:
        if one.metric in _ROWS:
            return one.value_sum
    return None
