"""Counts of the operators of a final plan that make a query cheap or dear.

The columns follow Table I of Chiba and Onodera, "Workload Characterization and Optimization of
TPC-H Queries on Apache Spark" (IBM Research Report RT0968, 2015), with the joins of today's Spark.

What the text of a query asks for is counted on its syntax tree (DuckDB's ``json_serialize_sql``),
with columns from the same table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict

from pyrometer.core.json_text import parse_json
from pyrometer.store import Run

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
            # Without functions (distinct) both halves look alike: the nodes between them decide.
            return bool(functions) or _parts(parent)[0] != keys
        if parent["name"].strip() in {"Project", "Filter"} or "Join" in parent["name"]:
            return True
        above = parent["parent_node_id"]
    return True


def _parts(node: PlanNode) -> tuple[str, str]:
    match = _KEYS.search(node["simple_string"] or "")
    return (match[1], match[2].rstrip("])")) if match else ("", "")


QUERIES_FILE = "queries.json"
_PARAMETER = re.compile(r"(?<![:\w]):([A-Za-z_]\w*)")


def sql_features(tree: Mapping[str, Any]) -> dict[str, int]:
    """Count group-bys, joins, outer joins, tables, unions and subqueries of a query.

    A comma between tables is a join, as in the study. Tables are different names, without those
    that ``WITH`` defines. A subquery is one in an expression or in ``FROM``.
    """
    nodes = list(_walk(tree))
    types = [node.get("type") for node in nodes]
    joins = [node for node in nodes if node.get("type") == "JOIN"]
    defined = {
        entry.get("key") for node in nodes for entry in (node.get("cte_map") or {}).get("map", [])
    }
    tables = {node.get("table_name") for node in nodes if node.get("type") == "BASE_TABLE"}
    return {
        "group_bys": sum(bool(node.get("group_expressions")) for node in nodes),
        "joins": len(joins),
        "outer_joins": sum(one.get("join_type") in ("LEFT", "RIGHT", "OUTER") for one in joins),
        "tables": len(tables - defined),
        "unions": sum(
            node.get("type") == "SET_OPERATION_NODE" and node.get("setop_type") == "UNION"
            for node in nodes
        ),
        "subqueries": types.count("SUBQUERY"),
    }


def features_by_query(run: Run) -> dict[str, dict[str, int]]:
    """Count the features of each query of the run of a suite or a SQL file, by its name.

    The texts of a suite are next to its data; those of a SQL file went to the runner. Left out is
    what DuckDB cannot read: a text of another dialect, a statement that is no query; and a text
    whose tree is nested deeper than `parse_json` reads.
    """
    found = {}
    for name, sql in _texts(run).items():
        text = sql.replace("`", '"')
        serialised = run.tables.scalar("SELECT json_serialize_sql(?::VARCHAR)", [text])
        try:
            tree = parse_json(serialised)
        except ValueError:
            continue
        if not tree.get("error"):
            found[name] = sql_features(tree)
    return found


def _texts(run: Run) -> dict[str, str]:
    try:
        launch = parse_json((run.paths.raw / "workload.json").read_text(encoding="utf-8"))
        prepared = launch["prepared"]
        statements = prepared.get("facts", {}).get("statements")
        if statements is not None:
            return {
                f"statement-{number}": _PARAMETER.sub(r"$\1", statement["text"])
                for number, statement in enumerate(statements, 1)
            }
        path = run.paths.raw / prepared["root"] / QUERIES_FILE
        queries = parse_json(path.read_text(encoding="utf-8"))
        return {name: query["sql"] for name, query in queries.items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}


def _walk(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from _walk(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _walk(inner)
