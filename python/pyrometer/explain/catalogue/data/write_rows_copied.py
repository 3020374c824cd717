"""A change of a few rows writes whole files again.

What it is
    MERGE, UPDATE and DELETE on a table in Delta Lake, Iceberg or another format with copy-on-write:
    a file with one row that changes is written again with all its rows.

Mechanism
    The simulator takes away the part of the writing stages' time that goes with rows which were
    copied unchanged. With merge-on-read only changed rows and a mark for those deleted are written.

Evidence
    Rows copied, changed and inserted, by the command's own metrics; time of the tasks that wrote
    while the command ran.

Remedy
    Merge-on-read (deletion vectors in Delta Lake, `write.merge.mode` in Iceberg); a condition on
    the columns by which the table is divided or clustered, so that fewer files are touched.

When it is wrong
    With merge-on-read all later readers pay for the marks until the table is compacted: a table
    that is read often and changed rarely is better off as it is.

Source
    Metrics of `MergeRowsExec` of Spark 4.1 and later, and of Delta Lake's commands; Iceberg's
    documentation, "Row-level operations".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pyrometer.accounts.plan_schema import Node, Sql
from pyrometer.core import units
from pyrometer.explain.evidence.places import largest
from pyrometer.explain.evidence.plan_nodes import plans
from pyrometer.explain.evidence.saying import code, data, place, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SQL_PLANS, Rule, Suspect
from pyrometer.explain.what_if import Extent

COPIED = re.compile(r"^number of (?:target )?rows (?:copied|rewritten unmodified)\b")
CHANGED = re.compile(
    r"^number of (?:target )?rows (?:inserted|updated)\.?$|^number of (?:inserted|updated) rows$"
)
ACHIEVED = (0.3, 0.9)
"""Share of the time that goes: rows are still found, and marks of what is deleted are written. Not
measured; assumed."""


def _counted(node: Node, kind: re.Pattern[str]) -> int:
    return sum(one.value_sum or 0 for one in node.metrics if kind.match(one.metric))


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    for plan in plans(facts):
        for node in plan.sql.nodes:
            copied = _counted(node, COPIED)
            written = _writing(facts, plan.sql) if copied else {}
            if written:
                yield _suspect(facts, plan.sql, node, copied, written)


def _writing(facts: Facts, sql: Sql) -> dict[int, float]:
    """Give the time of stages that wrote rows while a command ran, by number.

    Some commands run their writes as queries of their own, which carry no number of the command.
    """
    if sql.start_wall_ns is None or sql.end_wall_ns is None:
        return {}
    found = {}
    for stage in facts.stages:
        tasks = facts.tasks_of(stage.number)
        inside = sql.start_wall_ns <= stage.submit_ns and stage.ran_ns <= sql.end_wall_ns
        if inside and tasks.total("output_bytes") > 0:
            found[stage.number] = float(tasks.duration_ns.sum())
    return found


def _suspect(
    facts: Facts, sql: Sql, node: Node, copied: int, written: dict[int, float]
) -> tuple[float, Suspect]:
    share = copied / (copied + _counted(node, CHANGED))
    lost = {number: share * ns for number, ns in written.items()}
    total = sum(lost.values())
    name = node.name.strip()
    where = place(facts, "data", lost, sql_id=sql.sql_id, node_id=node.node_id, operator=name)
    return total, Suspect(
        place=where,
        mechanism=(
            f"{name} wrote {units.counted(copied, 'row')} again that did not change,"
            f" {units.percent(share)} of all rows written:"
            f" {units.duration(total)} of the tasks that write."
        ),
        change=(facts.share_of_tasks("write", lost),),
        extent=Extent(n=copied).times(*ACHIEVED),
        evidence=[
            shown_by("rows written again unchanged", float(copied), "count", "node_metrics",
                     "show --json: sql[].nodes[].metrics", f"/sql/{sql.sql_id}/{node.node_id}"),
            shown_by("time of the tasks that wrote", sum(written.values()), "ns", "tasks",
                     "show --json: stages[]", f"/sql/{sql.sql_id}/{node.node_id}", len(written)),
        ],
        remedies=[
            data("let the table keep marks of deleted rows, and compact it later",
                      "CREATE TABLE t (…)",
                      "ALTER TABLE t SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
                      "  -- Iceberg: 'write.merge.mode' = 'merge-on-read'"),
            code("name the columns by which the table is divided in the condition of the command"),
        ],
    )  # fmt: skip


RULE = Rule(
    code="write.rows-copied",
    title="Unchanged rows are written again",
    cause="copy-on-write",
    suspects=_suspects,
    needs=(SQL_PLANS,),
    refute="Run the command on a copy of the table with merge-on-read: if it takes as long, it is"
    " not the copying.",
)
