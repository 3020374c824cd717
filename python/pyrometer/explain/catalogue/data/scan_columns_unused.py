"""A scan reads columns that nothing above it uses.

What it is
    `spark.read.parquet(path).cache()` of a wide table of which queries use two columns; a source
    that cannot leave columns out. Spark prunes the columns of a plan, but stops at a cache: what is
    cached is read in full.

Mechanism
    With a `select` before the cache, the other columns are neither read nor encoded. From the tasks
    of the scan the simulator removes a share of their time: at least a fifth of the columns' share
    by number (`LEAST`) of the scan's own time, as columns differ in size; at most all of the tasks'
    time where they are cached, or of the scan's where they are not. The interval is that wide.

Evidence
    Columns in the scan's `ReadSchema` that no node up to the next projection, aggregation or cache
    mentions; of a cache, those that no plan of the application takes from it. "scan time".

Remedy
    Select the columns before `cache()`; with a source that prunes nothing, store a narrower copy.

When it is wrong
    The cached table is also used outside SQL (`df.rdd`, `mapPartitions` of an RDD), or by an
    application after this window. Scans whose text Spark has cut are left out; a longer
    `spark.sql.debug.maxToStringFields` and `spark.sql.maxMetadataStringLength` show them.

Source
    `InMemoryRelation` and `ColumnPruning` of Spark. Caching six columns of 1.5 million rows took
    4.7 s, and the one that was used 1.2 s, on two slots (one warm run, 2026-11-25).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from pyrometer.accounts.plan_schema import Node
from pyrometer.core import units
from pyrometer.explain.evidence.places import largest
from pyrometer.explain.evidence.plan_nodes import CACHE, SHELLS, Plan, metric, plans
from pyrometer.explain.evidence.saying import code, place, shown_by
from pyrometer.explain.evidence.scans.scan_text import columns_of, output, parts, read_columns
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SQL_PLANS, Rule, Suspect
from pyrometer.explain.what_if import Extent

LEAST = 0.2
"""Of the share by number: what unused columns cost at least. Not measured; assumed."""
_PASS = re.compile(
    rf"^(?:{SHELLS}|Filter|Exchange|BroadcastExchange|Sort|\w+Join|LocalLimit|GlobalLimit"
    r"|Coalesce)\b"
)
_ENDS = re.compile(r"^(Project|HashAggregate|SortAggregate|ObjectHashAggregate)\b")
_CACHE = re.compile(CACHE)


@dataclass(frozen=True)
class Use:
    """Names of a scan's columns that are used, and whether by way of a cache."""

    names: set[str]
    cached: bool


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    seen: list[tuple[Plan, Node, list[str], Use]] = []
    by_cache: dict[str, set[str]] = defaultdict(set)
    for plan in plans(facts):
        for node in plan.sql.nodes:
            columns = _columns(node)
            if len(columns) < 2:
                continue
            use = _use(plan, node, columns)
            seen.append((plan, node, columns, use))
            if use.cached:
                by_cache[node.simple_string or ""] |= use.names
    for plan, node, columns, use in seen:
        names = by_cache[node.simple_string or ""] if use.cached else use.names
        unused = [name for name in columns if name not in names]
        if unused:
            found = _suspect(facts, plan, node, columns, unused, use.cached)
            if found is not None:
                yield found


def _columns(node: Node) -> list[str]:
    """Give the names of columns that a scan reads from files, where its text has all of them."""
    read, handed = read_columns(node), output(node)
    if read is None or read.cut or handed.cut:
        return []
    names = {_name(item) for item in handed.items}
    return [name for item in read.items if (name := item.partition(":")[0].lower()) in names]


def _name(column: str) -> str:
    return column.partition("#")[0].lower()


def _use(plan: Plan, scan: Node, columns: list[str]) -> Use:
    """Find what is used of a scan's columns; all of them where that cannot be known."""
    every: set[str] = set(columns)
    names: set[str] = set()
    reused = any(node.name == "ReusedExchange" for node in plan.sql.nodes)
    cached = _under_cache(plan, scan)
    node = _above(plan, scan)
    while node is not None:
        text = node.simple_string or ""
        if "more field" in text or text.endswith("...") or (reused and "Exchange" in node.name):
            return Use(every, cached)
        mentioned = {_name(column) for column in columns_of(text)}
        if _CACHE.match(node.name) or (not cached and _ENDS.match(node.name)):
            return Use((names | mentioned) & every, cached)
        if cached and node.name == "Project":
            names |= _computed(text)
        elif _PASS.match(node.name):
            names |= mentioned
        else:
            break
        node = _above(plan, node)
    return Use(every, cached)


def _computed(text: str) -> set[str]:
    """Give the columns of a projection that it does not only hand on by their names."""
    items = parts(text.partition("[")[2].rpartition("]")[0], ",")
    return {
        _name(column)
        for item in items
        for column in columns_of(item)
        if column != item and " AS " in item
    }


def _under_cache(plan: Plan, node: Node) -> bool:
    above = _above(plan, node)
    while above is not None and not _CACHE.match(above.name):
        above = _above(plan, above)
    return above is not None


def _above(plan: Plan, node: Node) -> Node | None:
    return None if node.parent_node_id is None else plan.by_id.get(node.parent_node_id)


def _suspect(
    facts: Facts, plan: Plan, node: Node, columns: list[str], unused: list[str], cached: bool
) -> tuple[float, Suspect] | None:
    scan_ms = metric(node, "scan time")
    ran = {n: float(facts.tasks_of(n).duration_ns.sum()) for n in facts.stages_of(node, plan.sql)}
    whole = sum(ran.values())
    if whole <= 0 or not scan_ms:
        return None
    share, scanning = len(unused) / len(columns), min(1.0, scan_ms * 1e6 / whole)
    most = 1.0 if cached else scanning
    named = ", ".join(unused[:3]) + (f" and {len(unused) - 3} more" if len(unused) > 3 else "")
    link = f"/sql/{plan.sql.sql_id}/{node.node_id}"
    where = "no query takes from the cache" if cached else "nothing above it uses"
    return share * whole, Suspect(
        place=place(facts, "data", ran, sql_id=plan.sql.sql_id, node_id=node.node_id,
                    operator=node.name.strip()),
        mechanism=(
            f"{len(unused)} of {len(columns)} columns that the scan reads ({named}) {where}; it"
            f" took {units.duration(scan_ms * 1e6)} of {units.duration(whole)} of tasks."
        ),
        change=(facts.share_of_tasks(f"columns {plan.sql.sql_id} {node.node_id}", ran),),
        extent=Extent(share * (scanning + most) / 2, LEAST * share * scanning, most, 1),
        evidence=[
            shown_by("columns read", float(len(columns)), "count", "plan_nodes",
                     "show --json: sql[].nodes[].simple_string", link),
            shown_by("columns unused", float(len(unused)), "count", "plan_nodes",
                     "show --json: sql[].nodes[].simple_string", link),
            shown_by("time of the scan", scan_ms * 1e6, "ns", "node_metrics",
                     "show --json: sql[].nodes[].metrics", link),
        ],
        remedies=[code("select the columns that are used", "spark.read.parquet(path).cache()",
                       "spark.read.parquet(path).select(...).cache()")],
    )  # fmt: skip


RULE = Rule(
    code="scan.columns-unused",
    title="A scan reads columns that nothing uses",
    cause="columns not pruned",
    suspects=_suspects,
    needs=(SQL_PLANS,),
    refute="Select the columns right after the read: if it still takes as long, the others cost"
    " nothing.",
)
