"""What a final plan does, counted: the operators that make a query cheap or dear.

The columns follow Table I of Chiba and Onodera, "Workload Characterization and Optimization of
TPC-H Queries on Apache Spark" (IBM Research Report RT0968, 2015), with the joins of today's Spark.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypedDict

FEATURES = (
    "loads",
    "hash_joins",
    "broadcast_joins",
    "sort_merge_joins",
    "nested_loop_joins",
    "cartesian_products",
    "outer_joins",
    "semi_joins",
    "anti_joins",
    "aggregates",
    "unions",
    "limits",
    "writes",
)
"""Counted of each plan. An outer, semi or anti join is also counted as what it is executed by."""

_BY_NAME = {
    "ShuffledHashJoin": "hash_joins",
    "BroadcastHashJoin": "broadcast_joins",
    "SortMergeJoin": "sort_merge_joins",
    "BroadcastNestedLoopJoin": "nested_loop_joins",
    "CartesianProduct": "cartesian_products",
    "Union": "unions",
    "TakeOrderedAndProject": "limits",
    "CollectLimit": "limits",
    "GlobalLimit": "limits",
}
_BY_TYPE = (
    (re.compile(r"\b(?:Left|Right|Full)Outer\b"), "outer_joins"),
    (re.compile(r"\bLeftSemi\b"), "semi_joins"),
    (re.compile(r"\bLeftAnti\b"), "anti_joins"),
)
_AGGREGATES = {"HashAggregate", "SortAggregate", "ObjectHashAggregate"}
_WRITES = re.compile(r"Execute (?:InsertInto|.*AsSelect)|AppendData|Overwrite")
_KEYS = re.compile(r"keys=\[(.*?)\], functions=\[(.*)")


class PlanNode(TypedDict):
    """A node of a plan in pre-order."""

    node_id: int
    parent_node_id: int | None
    name: str
    simple_string: str | None


def plan_features(nodes: Sequence[PlanNode]) -> dict[str, int]:
    """Count the `FEATURES` of one plan.

    Spark executes one aggregate as two to four nodes; it is counted once, at the node that
    finishes it.
    """
    found = dict.fromkeys(FEATURES, 0)
    by_id = {node["node_id"]: node for node in nodes}
    for node in nodes:
        name, text = node["name"].strip(), node["simple_string"] or ""
        if name in _BY_NAME:
            found[_BY_NAME[name]] += 1
        elif name in _AGGREGATES:
            found["aggregates"] += _finishes(node, by_id)
        elif name.startswith(("Scan ", "FileScan ", "BatchScan ")) and "OneRow" not in name:
            found["loads"] += 1
        elif _WRITES.match(name):
            found["writes"] += 1
        if "Join" in name:
            for pattern, feature in _BY_TYPE:
                found[feature] += bool(pattern.search(text))
    return found


def _finishes(node: PlanNode, by_id: dict[int, PlanNode]) -> bool:
    keys, functions = _parts(node)
    if re.search(r"\b(?:partial|merge)_", functions):
        return False
    above = node["parent_node_id"]
    while above is not None and above in by_id:
        parent = by_id[above]
        if parent["name"].strip() in _AGGREGATES:
            # Without functions (distinct) both halves look the same but for what is between.
            return bool(functions) or _parts(parent)[0] != keys
        if parent["name"].strip() in {"Project", "Filter"} or "Join" in parent["name"]:
            return True
        above = parent["parent_node_id"]
    return True


def _parts(node: PlanNode) -> tuple[str, str]:
    match = _KEYS.search(node["simple_string"] or "")
    return (match[1], match[2].rstrip("])")) if match else ("", "")
