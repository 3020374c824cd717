"""A scan applies marks of deleted rows, file by file.

What it is
    A table with merge-on-read: each MERGE, UPDATE or DELETE leaves files that say which rows of
    older files are gone, and every reader opens them and skips these rows, until somebody rewrites
    the table.

Mechanism
    After a rewrite there is no delete file to open, and no row to skip. From the tasks of the scan
    the simulator removes what opening costs: their time in Iceberg's code that loads and applies
    deletes, by samples of the wall clock. Without such samples each file that is opened costs
    between `LEAST_NS` and `MOST_NS` (`REMOTE` where the catalog's warehouse is not local): at least
    each delete file once, as executors keep what they loaded (`spark.sql.iceberg.executor-cache`);
    at most each as often as a data file needs it.

    Rows that are read and skipped cost their share of the scan, of which nothing but its tasks'
    time is known: between `OF_TASKS` of that.

Evidence
    Iceberg's metrics of the scan: "number of result delete files" (one for each data file that
    needs it), "number of indexed delete files", "number of row deletes applied".

Remedy
    Rewrite data files that have many deletes; rewrite position deletes more often, as fewer files.

When it is wrong
    The table is read less often than it is changed: then rewriting it costs more than it saves.

Source
    `SparkScan` and `BaseDeleteLoader` of Iceberg; "rewrite_position_delete_files" and
    "rewrite_data_files" in its documentation of Spark procedures.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.accounts.plan_schema import Node
from pyrometer.core import units
from pyrometer.explain.evidence.places import largest
from pyrometer.explain.evidence.plan_nodes import Plan, metric, plans
from pyrometer.explain.evidence.saying import place, shown_by
from pyrometer.explain.evidence.stack_shares import Shares, through
from pyrometer.explain.evidence.tables import iceberg
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SQL_PLANS, Rule, Suspect
from pyrometer.explain.what_if import Extent

LEAST_NS, OPEN_NS, MOST_NS = 0.5e6, 3e6, 10e6
"""Cost of opening a delete file: at least, expected, at most. Small Parquet files take 3.4 ms each
(`scan.small-files-read`); the bounds are assumed."""
REMOTE = 20
"""Times that, of an object store. Assumed."""
OF_TASKS = (0.1, 0.4, 0.8)
"""Share of the tasks' time that is the scan's: at least, expected, at most. Assumed."""
LOADS = r"^org\.apache\.iceberg\.(data\.(\w*DeleteLoader|DeleteFilter)|deletes\.)"
"""Code that loads and applies deletes, as ``class.method``."""

Triple = tuple[float, float, float]
"""At least, expected, at most."""


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    sampled = through(facts, LOADS, event="wall") if facts.has("samples") else Shares({}, {})
    for plan in plans(facts):
        for node in plan.sql.nodes:
            if (one := _suspect(facts, plan, node, sampled)) is not None:
                yield one


def _suspect(facts: Facts, plan: Plan, node: Node, sampled: Shares) -> tuple[float, Suspect] | None:
    needed, planned = metric(node, iceberg.DELETES), metric(node, iceberg.FILES)
    read = iceberg.files_read(node)
    if not needed or not planned or read is None:
        return None
    needed = round(needed * read[0] / planned)
    ran = {n: float(facts.tasks_of(n).duration_ns.sum()) for n in facts.stages_of(node, plan.sql)}
    whole = sum(ran.values())
    if whole <= 0:
        return None
    gone, kept = metric(node, iceberg.SKIPPED_ROWS) or 0, metric(node, "number of output rows") or 0
    dead = gone / (gone + kept) if gone else 0.0
    opening = _sampled(sampled, ran) or _opening(facts, node, needed, whole)
    low, value, high = (
        min(whole, each + dead * of * (whole - each))
        for each, of in zip(opening, OF_TASKS, strict=True)
    )
    if high <= 0:
        return None
    link = f"/sql/{plan.sql.sql_id}/{node.node_id}"
    lost = {n: high * ns / whole for n, ns in ran.items()}
    skipped = f", and {units.counted(gone, 'row')} were read and skipped" if gone else ""
    return value, Suspect(
        place=place(facts, "data", lost, sql_id=plan.sql.sql_id, node_id=node.node_id,
                    operator=node.name.strip()),
        mechanism=(
            f"{units.counted(read[0], 'data file')} needed {units.counted(needed, 'delete file')}"
            f"{skipped}: {units.duration(value)} of {units.duration(whole)} of its tasks."
        ),
        change=(facts.share_of_tasks(f"deletes {plan.sql.sql_id} {node.node_id}", lost),),
        extent=Extent(value / high, low / high, 1.0, needed),
        evidence=[
            shown_by("delete files that data files needed", float(needed), "count", "node_metrics",
                     "show --json: sql[].nodes[].metrics", link),
            shown_by("rows read and skipped", float(gone), "count", "node_metrics",
                     "show --json: sql[].nodes[].metrics", link),
            shown_by("time of its tasks", whole, "ns", "tasks", "show --json: stages[]", link),
        ],
        remedies=[
            iceberg.maintained(node, "rewrite the files that have deletes",
                               "rewrite_data_files", "rewrite_position_delete_files",
                               rewrite_data_files="'delete-file-threshold', '1'"),
        ],
    )  # fmt: skip


def _sampled(found: Shares, ran: dict[int, float]) -> Triple | None:
    """Give the time in code that loads and applies deletes; None without samples of it."""
    mine = Shares(
        {n: found.hits.get(n, 0) for n in ran if n in found.totals},
        {n: found.totals[n] for n in ran if n in found.totals},
    )
    if not mine.found:
        return None
    value = sum(ran[n] * share for n, share in mine.by_stage.items())
    bounds = mine.extent()
    return value * bounds.low, value, value * bounds.high


def _opening(facts: Facts, node: Node, needed: int, whole: float) -> Triple:
    """Give what opening costs: each file once, once an executor, and each time it is needed."""
    distinct = min(needed, metric(node, iceberg.INDEXED) or needed)
    executors = len(facts.measured.executors) if facts.measured else 1
    times = REMOTE if iceberg.is_remote(facts, node) else 1
    low, value, high = (
        min(whole, count * ns * times)
        for count, ns in (
            (distinct, LEAST_NS),
            (min(needed, distinct * max(1, executors)), OPEN_NS),
            (needed, MOST_NS),
        )
    )
    return low, value, high


RULE = Rule(
    code="scan.deletes-applied",
    title="Deletes are applied while a table is read",
    cause="merge-on-read",
    suspects=_suspects,
    needs=(SQL_PLANS,),
    explains=("scan.remote-storage-latency",),
    refute="Read a rewritten copy of the table: if the scan takes as long, it is not the deletes.",
)
