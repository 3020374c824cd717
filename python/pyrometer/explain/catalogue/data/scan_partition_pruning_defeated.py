"""A filter or a join drops whole partitions that were read anyway.

What it is
    `WHERE f(day) = 3` with a Python function, `WHERE concat(day, hour) = '2026-01-0112'` with a
    column of the files in it, `WHERE (day, kind) IN ((3, 'a'), (4, 'b'))`: Spark prunes only by
    conditions on partition columns alone, in functions that it can compute itself before the job,
    and does not take tuples apart; `coalesce(day, written)` needs a column of the files where there
    is no day. A join by the partition column prunes only where its other side has a filter and
    dynamic pruning is on.

Mechanism
    With a condition on the bare partition column, the other partitions are not read. From the tasks
    of the scan the simulator removes as large a share as the filter drops of its rows: at least of
    the scan's own time (`FOR_SURE` of it), at most of all the time of the tasks, which also hand
    these rows to the function. Where other conditions or columns take part, nothing is certain;
    with tuples that hold every partition column, the partitions that none of them names are
    certain, and with a `coalesce` that begins with the only partition column, all but the one
    without a value.

Evidence
    Partition columns are those that the scan hands on and that are not in its `ReadSchema`;
    `PartitionFilters`, empty or null checks only; the filter's condition; "number of output rows"
    of both; "number of partitions read". Where Spark cuts the text of the scan, its log has the
    lists in full.

Remedy
    Compare the partition column itself, or add a condition on it: `day = '3'`; next to tuples, `day
    IN (3, 4)`, which keeps the same rows.

When it is wrong
    The condition cannot be put in terms of the partition column: then partition by what queries ask
    for.

Source
    `DataSourceUtils.getPartitionFiltersAndDataFilters` of Spark.
    Measured on 6 million rows in 20 partitions on two slots (one run, 2026-11-25): a Python
    function of the partition column 11.7 s, the bare column 0.3 s, both warm.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set

from pyrometer.core import units
from pyrometer.explain.evidence.places import largest
from pyrometer.explain.evidence.plan_nodes import Plan, metric, plans
from pyrometer.explain.evidence.saying import code, factor
from pyrometer.explain.evidence.scans.scan_filters import (
    Filtered,
    filtered_scans,
    in_words,
    is_wrapped,
    joined_scans,
    partition_columns,
    place_of_scan,
    rows_and_time,
    scanned,
)
from pyrometer.explain.evidence.scans.scan_text import COLUMN, columns_of, listed
from pyrometer.explain.evidence.scans.tuples import values_in_tuples
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SQL_PLANS, Rule, Suspect
from pyrometer.explain.schema import Remedy
from pyrometer.explain.what_if import Extent

DYNAMIC = "spark.sql.optimizer.dynamicPartitionPruning.enabled"
FOR_SURE = 0.8
"""Of the scan's time for the rows dropped: partitions differ in size of rows. Not measured;
assumed."""
UNKNOWN = 0.1
"""Of the time of tasks whose scan has no metric of its time, at least. Not measured; assumed."""

_COALESCED = re.compile(rf"\bcoalesce\(({COLUMN.pattern}), [^()]*\)")


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    for plan in plans(facts):
        for one in filtered_scans(facts, plan):
            partition = partition_columns(one)
            conditions = [
                each for each in one.conditions if columns_of(each) & partition and is_wrapped(each)
            ]
            pruned = listed(one.scan, "PartitionFilters")
            if not conditions or pruned is None or pruned.cut or not pruned.only_null_checks:
                continue
            suspect = _suspect(facts, plan, one, conditions)
            if suspect is not None:
                yield suspect
        for one in joined_scans(facts, plan):
            pruned, partition = listed(one.scan, "PartitionFilters"), partition_columns(one)
            keys = [key for key in one.conditions if columns_of(key) & partition]
            if not keys or pruned is None or pruned.cut or not pruned.only_null_checks:
                continue
            suspect = _by_join(facts, plan, one, keys)
            if suspect is not None:
                yield suspect


def _by_join(
    facts: Facts, plan: Plan, one: Filtered, keys: list[str]
) -> tuple[float, Suspect] | None:
    time = scanned(facts, plan, one)
    if time is None:
        return None
    share = time.scan_share
    # Where the join has other keys, these may have dropped the rows.
    least = (UNKNOWN if share is None else share * FOR_SURE) * (len(keys) == len(one.conditions))
    lost = {n: one.dropped * ns for n, ns in time.by_stage.items()}
    read = metric(one.scan, "number of partitions read")
    of_partitions = f" of {units.counted(read, 'partition')}" if read else ""
    is_off = (facts.setting(DYNAMIC, "true") or "").lower() == "false"
    remedies = [
        code("name the partitions, or filter the other side by a column of its own so that Spark"
             " prunes by it", 'df.join(days, "day")', 'df.where(col("day").isin(days))'),
    ]  # fmt: skip
    if is_off:
        remedies.insert(0, factor(DYNAMIC, "true", "let the other side prune partitions"))
    return one.dropped * time.whole_ns, Suspect(
        place=place_of_scan(facts, plan, one, time, in_words(keys)),
        mechanism=(
            f"{units.counted(one.rows_in, 'row')}{of_partitions} were read, of which {one.top.name}"
            f" by {in_words(keys)} keeps {units.count(one.rows_out)}, in"
            f" {units.duration(time.whole_ns)} of tasks: it prunes no partition"
            f"{', as dynamic pruning is off' * is_off}."
        ),
        change=(facts.share_of_tasks(f"pruning {plan.sql.sql_id} {one.scan.node_id}", lost),),
        extent=Extent((least + 1) / 2, least, 1.0, time.tasks_count),
        evidence=rows_and_time(plan, one, time),
        remedies=remedies,
    )


def _suspect(
    facts: Facts, plan: Plan, one: Filtered, conditions: list[str]
) -> tuple[float, Suspect] | None:
    time = scanned(facts, plan, one)
    if time is None:
        return None
    share = time.scan_share
    scanning = UNKNOWN if share is None else share * FOR_SURE
    read = metric(one.scan, "number of partitions read")
    named = _named(one)
    unnamed = _unnamed(one, named, read)
    least = scanning * min(1.0, unnamed / one.dropped)
    lost = {n: one.dropped * ns for n, ns in time.by_stage.items()}
    of_partitions = f" of {units.counted(read, 'partition')}" if read else ""
    names = f" It names {units.counted(named, 'partition')}." if named else ""
    return one.dropped * time.whole_ns, Suspect(
        place=place_of_scan(facts, plan, one, time, in_words(conditions[:1])),
        mechanism=(
            f"{in_words(conditions)} prunes no partition: {units.counted(one.rows_in, 'row')}"
            f"{of_partitions} were read, of which {units.count(one.rows_out)} are left, in"
            f" {units.duration(time.whole_ns)} of tasks.{names}"
        ),
        change=(facts.share_of_tasks(f"pruning {plan.sql.sql_id} {one.scan.node_id}", lost),),
        extent=Extent((least + 1) / 2, least, 1.0, time.tasks_count),
        evidence=rows_and_time(plan, one, time),
        remedies=[_beside_tuples() if named else
                  code("compare the partition column itself", 'df.where(f("day") == 3)',
                       "df.where(\"day = '3'\")")],
    )  # fmt: skip


def _unnamed(one: Filtered, named: int | None, read: int | None) -> float:
    """Give the share of the partitions that surely could be pruned where they keep no row."""
    columns = partition_columns(one)
    if all(columns_of(each) <= columns for each in one.conditions):
        return 1.0
    if not read:
        return 0.0
    first = [_of_first(each, columns) for each in one.conditions]
    if len(columns) == 1 and all(columns_of(each) <= columns for each in first):
        return 1 - 1 / read  # only in the partition without a value do other columns count
    return max(0.0, 1 - named / read) if named else 0.0


def _of_first(condition: str, columns: Set[str]) -> str:
    """Put a partition column in place of each `coalesce` that begins with it."""
    return _COALESCED.sub(lambda one: one[1] if one[1] in columns else one[0], condition)


def _named(one: Filtered) -> int | None:
    """Give how many partitions tuples name at most; None where they leave a column open."""
    columns = sorted(partition_columns(one))
    found = [values_in_tuples(each, columns) for each in one.conditions]
    return min((len(values) for values in found if values), default=None)


def _beside_tuples() -> Remedy:
    tuples = "(day, kind) IN ((3, 'a'), (4, 'b'))"
    return code("add a condition on the partition column next to the tuples",
                f'df.where("{tuples}")', f'df.where("day IN (3, 4) AND {tuples}")')  # fmt: skip


RULE = Rule(
    code="scan.partition-pruning-defeated",
    title="A condition of a partition column prunes no partition",
    cause="partition pruning defeated",
    suspects=_suspects,
    needs=(SQL_PLANS,),
    explains=("scan.pushdown-defeated", "scan.small-files-read"),
    refute="Compare the partition column itself: if just as many partitions are read, the condition"
    " was not why.",
)
