"""A change of a few rows writes whole files again.

What it is
    MERGE, UPDATE and DELETE on a table in Iceberg, Delta Lake or another format with copy-on-write:
    a file with one row that changes is written again with all its rows.

Mechanism
    The simulator takes away the part of the writing stages' time that goes with rows which were
    copied unchanged; where a search for the files had found the rows that change before, also of
    the stages that read these files again. With merge-on-read only changed rows and a mark for
    those deleted are written.

Evidence
    Rows copied, changed and inserted, by the command's own metrics; without them, rows read of the
    files less those that the search for the files found. Time of the tasks that wrote while the
    command ran.

Remedy
    Merge-on-read (`write.merge.mode`, `write.update.mode`, `write.delete.mode` in Iceberg, deletion
    vectors in Delta Lake); a condition on the columns by which the table is divided or clustered,
    so that fewer files are touched.

When it is wrong
    With merge-on-read all later readers pay for the marks until the table is compacted
    (`scan.deletes-applied`): a table that is read often and changed rarely is better off as it is.

Source
    Metrics of Spark's `MergeRowsExec` (since 4.1) and `ReplaceDataExec` (in 4.3, not in 3.5), and
    of Delta Lake's commands; `RowLevelOperationRuntimeGroupFiltering` of Spark, which looks for the
    files; Iceberg's documentation, "Row-level operations". Of 2 000 000 rows in 8 files one in a
    hundred changed (Spark 3.5, Iceberg 1.10, two slots of a busy machine, one run each on
    2026-12-01): a MERGE took 61 s, with merge-on-read 38; an UPDATE 31 and 11, a DELETE 25 and 13.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.accounts.plan_schema import Sql
from pyrometer.core import units
from pyrometer.explain.evidence.places import largest
from pyrometer.explain.evidence.plan_nodes import plans
from pyrometer.explain.evidence.saying import code, data, place, shown_by
from pyrometer.explain.evidence.tables.row_level import Copied, copied
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SQL_PLANS, Rule, Suspect
from pyrometer.explain.what_if import Extent

ACHIEVED = (0.3, 0.9)
"""Share of the time that goes: rows are still found, and marks of what is deleted are written. In
the three commands measured 0.49, 0.78 and 0.61; the bounds are assumed."""


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    for plan in plans(facts):
        found = copied(plan)
        written = _writing(facts, plan.sql) if found else []
        if found is not None and written:
            yield _suspect(facts, plan.sql, found, written)


def _writing(facts: Facts, sql: Sql) -> list[int]:
    """Give the numbers of the stages that wrote rows while a command ran.

    Some commands run their writes as queries of their own, which carry no number of the command.
    """
    if sql.start_wall_ns is None or sql.end_wall_ns is None:
        return []
    return [
        stage.number for stage in facts.stages
        if sql.start_wall_ns <= stage.submit_ns and stage.ran_ns <= sql.end_wall_ns
        and facts.tasks_of(stage.number).total("output_bytes") > 0
    ]  # fmt: skip


def _suspect(facts: Facts, sql: Sql, found: Copied, writing: list[int]) -> tuple[float, Suspect]:
    node, rows = found.node, found.rows
    written = found.written or sum(
        facts.tasks_of(number).total("output_records_count") for number in writing
    )
    share = min(1.0, rows / written) if written else 1.0
    reading = {number for one in found.again for number in facts.stages_of(one, sql)}
    lost = {
        number: share * float(facts.tasks_of(number).duration_ns.sum())
        for number in {*writing, *reading}
    }
    total = sum(lost.values())
    what = "of the tasks that write" + (" and read them" if reading.difference(writing) else "")
    name = node.name.strip()
    where = place(facts, "data", lost, sql_id=sql.sql_id, node_id=node.node_id, operator=name)
    link = f"/sql/{sql.sql_id}/{node.node_id}"
    return total, Suspect(
        place=where,
        mechanism=(
            f"{name} wrote {units.counted(rows, 'row')} again that did not change,"
            f" {units.percent(share)} of all rows written: {units.duration(total)} {what}."
        ),
        change=(facts.share_of_tasks("write", lost),),
        extent=Extent(n=rows).times(*ACHIEVED),
        evidence=[
            shown_by("rows written again unchanged", float(rows), "count", "node_metrics",
                     "show --json: sql[].nodes[].metrics", link),
            shown_by("time of the tasks that wrote", total / share, "ns", "tasks",
                     "show --json: stages[]", link, len(lost)),
        ],
        remedies=[
            data("let the table keep marks of deleted rows, and compact it later",
                      "CREATE TABLE t (…)",
                      "ALTER TABLE t SET TBLPROPERTIES ('write.merge.mode' = 'merge-on-read')"
                      "  -- Delta Lake: 'delta.enableDeletionVectors' = 'true'"),
            code("name the columns by which the table is divided in the condition of the command"),
        ],
    )  # fmt: skip


RULE = Rule(
    code="write.rows-copied",
    title="Unchanged rows are written again",
    cause="copy-on-write",
    suspects=_suspects,
    needs=(SQL_PLANS,),
    explains=("shuffle.heavy", "spill."),
    refute="Run the command on a copy of the table with merge-on-read: if it takes as long, it is"
    " not the copying.",
)
