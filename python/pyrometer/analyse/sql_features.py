"""What the text of a query asks for, counted on its syntax tree (DuckDB's ``json_serialize_sql``).

The columns follow Table I of Chiba and Onodera, "Workload Characterization and Optimization of
TPC-H Queries on Apache Spark" (IBM Research Report RT0968, 2015).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pyrometer.store import Run

QUERIES_FILE = "queries.json"


def sql_features(tree: Mapping[str, Any]) -> dict[str, int]:
    """Count group-bys, joins, outer joins, tables, unions and subqueries of a query.

    A comma between tables is a join, as in the study. Tables are different names, without those
    that ``WITH`` makes. A subquery is one in an expression or in ``FROM``.
    """
    nodes = list(_walk(tree))
    types = [node.get("type") for node in nodes]
    joins = [node for node in nodes if node.get("type") == "JOIN"]
    made = {
        entry.get("key") for node in nodes for entry in (node.get("cte_map") or {}).get("map", [])
    }
    tables = {node.get("table_name") for node in nodes if node.get("type") == "BASE_TABLE"}
    return {
        "group_bys": sum(bool(node.get("group_expressions")) for node in nodes),
        "joins": len(joins),
        "outer_joins": sum(one.get("join_type") in ("LEFT", "RIGHT", "OUTER") for one in joins),
        "tables": len(tables - made),
        "unions": sum(
            node.get("type") == "SET_OPERATION_NODE" and node.get("setop_type") == "UNION"
            for node in nodes
        ),
        "subqueries": types.count("SUBQUERY"),
    }


def features_by_query(run: Run) -> dict[str, dict[str, int]]:
    """Count the features of each query of a suite's run, by its name.

    The texts lie beside the data of the suite; empty where these are gone, or there are none.
    """
    launch = run.paths.raw / "workload.json"
    try:
        root = json.loads(launch.read_text(encoding="utf-8"))["prepared"]["root"]
        queries = json.loads((run.paths.raw / root / QUERIES_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    found = {}
    for name, query in queries.items():
        text = query["sql"].replace("`", '"')
        tree = json.loads(run.tables.scalar("SELECT json_serialize_sql(?::VARCHAR)", [text]))
        if not tree.get("error"):
            found[name] = sql_features(tree)
    return found


def _walk(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from _walk(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _walk(inner)
