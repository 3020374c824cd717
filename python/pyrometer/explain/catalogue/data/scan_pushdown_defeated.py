"""A filter computes something from a column, so that the scan cannot skip what it drops.

What it is
    `WHERE cast(id AS string) = '17'`, `WHERE substring(day, 1, 4) = '2026'`, a UDF: Spark hands a
    source only comparisons of bare columns, and reads everything for the rest.

Mechanism
    With the comparison pushed, Parquet and ORC skip row groups whose statistics exclude it, and a
    database sends fewer rows. From the tasks of the scan the simulator removes at most as large a
    share of their time as the filter drops of its rows: reading these rows, and computing the
    condition. How much of that comes true depends on how the data are ordered: where rows match in
    every row group, nothing is saved. All that is known of it are the tasks in which no row
    matched, beyond as many as chance would leave with so few rows: their part of "scan time" is the
    least.

Evidence
    `PushedFilters` of the scan, empty or null checks only; the filter's condition; "number of
    output rows" of both, and the tasks in which the filter's was not zero; "scan time".

Remedy
    Compare the bare column: `id = 17`, a range of dates; store the column with the type that it is
    compared with.

When it is wrong
    Rows that match lie together in another order than the column's; the condition cannot be put in
    terms of the bare column. Conditions of several columns are left out: no source can use them.

Source
    `DataSourceStrategy.translateFilter` of Spark; Parquet's documentation of its page index and of
    statistics of row groups. 6 million rows in order of `id` took 5.2 s with `substring(cast(id AS
    string), 1, 9) = '17'` and 0.6 s with `id = 17`, on two slots (one run on 2026-11-25).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from pyrometer.core import units
from pyrometer.explain.evidence.places import largest
from pyrometer.explain.evidence.plan_nodes import Plan, plans, unnumbered
from pyrometer.explain.evidence.saying import code, shown_by
from pyrometer.explain.evidence.scans.scan_filters import (
    Filtered,
    filtered_scans,
    in_words,
    is_wrapped,
    partition_columns,
    place_of_scan,
    rows_and_time,
    scanned,
)
from pyrometer.explain.evidence.scans.scan_text import columns_of, listed
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SQL_PLANS, Rule, Suspect
from pyrometer.explain.what_if import Extent

CERTAIN = 0.5
"""Of tasks in which no row matched: the share whose statistics exclude the condition, at least. Not
measured; assumed."""
_FORMAT = re.compile(r"\bFormat: (\w+)")
_SKIPS = {"parquet", "orc"}
"""Formats of files with statistics: others are read from end to end, whatever is pushed."""
_TASKS = """
SELECT sql_id, node_id, max(updates_count)::BIGINT FROM node_metrics
WHERE app_index = $1 AND metric = 'number of output rows' AND stage_id IS NOT NULL
GROUP BY sql_id, node_id
"""


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    found = [(plan, one) for plan in plans(facts) for one in filtered_scans(facts, plan)
             if _defeated(one)]  # fmt: skip
    if not found:
        return
    app = 0 if facts.measured is None else facts.measured.app_index
    matched = {(sql, node): n for sql, node, n in facts.tables.query(_TASKS, [app])} if facts.has(
        "node_metrics") else {}  # fmt: skip
    for plan, one in found:
        suspect = _suspect(facts, plan, one, matched.get((plan.sql.sql_id, one.top.node_id), 0))
        if suspect is not None:
            yield suspect


def _defeated(one: Filtered) -> list[str]:
    """Give the conditions that a source could use if they were of the bare column."""
    text = one.scan.simple_string or ""
    form = _FORMAT.search(text)
    pushed = listed(one.scan, "PushedFilters")
    partition = listed(one.scan, "PartitionFilters")
    if (form and form[1].lower() not in _SKIPS) or pushed is None or not pushed.only_null_checks:
        return []
    if pushed.cut and not all(is_wrapped(each) for each in one.conditions):
        return []
    names = unnumbered(" ".join(partition.items)) if partition else ""
    return [
        each
        for each in one.conditions
        if len(columns_of(each) - partition_columns(one)) == len(columns_of(each)) == 1
        and is_wrapped(each)
        and unnumbered(each) not in names
    ]


def _suspect(facts: Facts, plan: Plan, one: Filtered, matched: int) -> tuple[float, Suspect] | None:
    time = scanned(facts, plan, one)
    if time is None:
        return None
    tasks = time.tasks_count
    # Of so many rows, spread by chance, so many tasks would have none.
    idle = 1 - min(matched, tasks) / tasks if matched else 0.0
    chance = math.exp(-one.rows_out / tasks)
    scanning = time.scan_share or 0.0
    least = CERTAIN * scanning * min(1.0, max(0.0, idle - chance) / one.dropped)
    conditions = _defeated(one)
    lost = {n: one.dropped * ns for n, ns in time.by_stage.items()}
    of_scan = f", {units.duration(time.scan_ns)} of it in the scan" if time.scan_ns else ""
    return one.dropped * time.whole_ns, Suspect(
        place=place_of_scan(facts, plan, one, time, in_words(conditions[:1])),
        mechanism=(
            f"{in_words(conditions)} cannot be pushed into the scan: {units.count(one.rows_in)}"
            f" rows were read, of which {units.count(one.rows_out)} are left, in"
            f" {units.duration(time.whole_ns)} of tasks{of_scan}."
        ),
        change=(facts.share_of_tasks(f"pushdown {plan.sql.sql_id} {one.scan.node_id}", lost),),
        extent=Extent((least + 1) / 2, least, 1.0, tasks),
        evidence=[
            *rows_and_time(plan, one, time),
            shown_by("tasks in which a row matched", float(matched), "count", "node_metrics",
                     "SELECT updates_count FROM node_metrics WHERE metric = 'number of output rows'"
                     f" AND sql_id = {plan.sql.sql_id} AND node_id = {one.top.node_id}",
                     f"/sql/{plan.sql.sql_id}/{one.scan.node_id}"),
        ],
        remedies=[code("compare the bare column", "df.where(\"cast(id AS string) = '17'\")",
                       'df.where("id = 17")')],
    )  # fmt: skip


RULE = Rule(
    code="scan.pushdown-defeated",
    title="A filter cannot be pushed into the scan",
    cause="predicate pushdown defeated",
    suspects=_suspects,
    needs=(SQL_PLANS,),
    refute="Compare the bare column: if the scan hands on just as many rows, nothing can be"
    " skipped.",
)
