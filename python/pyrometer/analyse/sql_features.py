"""What the text of a query asks for, counted on its syntax tree (DuckDB's ``json_serialize_sql``).

The columns follow Table I of Chiba and Onodera, "Workload Characterization and Optimization of
TPC-H Queries on Apache Spark" (IBM Research Report RT0968, 2015).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pyrometer.store import Run

QUERIES_FILE = "queries.json"
_PARAMETER = re.compile(r"(?<![:\w]):([A-Za-z_]\w*)")


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
    """Count the features of each query of the run of a suite or a SQL file, by its name.

    The texts of a suite lie beside its data; those of a SQL file went to the runner. Left out is
    what DuckDB cannot read: a text of another dialect, a statement that is no query.
    """
    found = {}
    for name, sql in _texts(run).items():
        text = sql.replace("`", '"')
        tree = json.loads(run.tables.scalar("SELECT json_serialize_sql(?::VARCHAR)", [text]))
        if not tree.get("error"):
            found[name] = sql_features(tree)
    return found


def _texts(run: Run) -> dict[str, str]:
    try:
        launch = json.loads((run.paths.raw / "workload.json").read_text(encoding="utf-8"))
        prepared = launch["prepared"]
        statements = prepared.get("facts", {}).get("statements")
        if statements is not None:
            return {
                f"statement-{number}": _PARAMETER.sub(r"$\1", statement["text"])
                for number, statement in enumerate(statements, 1)
            }
        path = run.paths.raw / prepared["root"] / QUERIES_FILE
        queries = json.loads(path.read_text(encoding="utf-8"))
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
