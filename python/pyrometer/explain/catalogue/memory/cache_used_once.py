"""A DataFrame is cached, and read only once.

What it is
    `cache()` or `persist()` keeps the rows of a DataFrame, and only one stage ever reads them.

Mechanism
    Keeping rows means encoding them as batches of columns, allocating and holding these, and
    decoding them when they are read; nothing is saved, as nothing would have computed them a second
    time. Plans end at a cache, too: filters and columns of the query that reads it do not reach
    what is below, which computes all columns for all rows. The simulator removes the time of
    keeping. The statement `CACHE TABLE` counts the rows to fill the cache, and nobody sees the
    count: the work that only counts goes, too.

Evidence
    Of the whole run, one scan of the cached plan, one stage that reads it, and no other stage with
    the same RDDs. Samples of its operator in the stages that fill and read the cache, with pauses
    of the collector by what it allocated. Where columns are kept that the scan does not read, up to
    all of the stage that fills the cache may be needless: half of the rest is expected. Without
    samples, 10 to 90 % of that stage are assumed.

Remedy
    Leave `cache()` out; in place of `CACHE TABLE name AS`, create a temporary view of that name.

When it is wrong
    A program that was interrupted would have read it again. A cache also keeps what need not be
    computed twice when a task or a stage is retried. A `count()` of the program counts as a reader,
    as the program may use the number. RDDs that are cached without a plan are not looked at. Trials
    here, of 3 million rows with a hash that were grouped once: 4.4 s with the cache and 2.4 s
    without where the hash was read, 2.6 and 0.6 s where it was not (means of 3, Spark 4.3, local
    mode, November 2026); 60 % of the samples of such a run were of the cache.

Source
    Spark's SQL performance tuning guide, "Caching Data In Memory";
    `org.apache.spark.sql.execution.columnar.DefaultCachedBatchSerializer`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pyrometer.core import units
from pyrometer.explain.change import Less
from pyrometer.explain.evidence.memory.block_puts import Part, parts_of
from pyrometer.explain.evidence.memory.cached_plans import (
    CachedPlan,
    cached_plans,
    lineages,
    putters,
    used_once,
)
from pyrometer.explain.evidence.places import largest
from pyrometer.explain.evidence.saying import code, page, place, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SQL_PLANS, Rule, Suspect
from pyrometer.explain.what_if import Extent
from pyrometer.simulation.measured import Floats
from pyrometer.statistics.shares import wilson

ASSUMED = (0.1, 0.9)
"""Of the stage that fills the cache, where no samples tell what keeping rows costs."""
_KEEPING = "x.operator = 'InMemoryTableScan'"


def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    found = cached_plans(facts)
    if not found or not _ended(facts):
        return
    lineage = lineages(facts)
    once = [plan for plan in found if used_once(plan, lineage)]
    parts = parts_of(facts, _KEEPING) if once and facts.has("samples") else {}
    # A stage that also reads another cache does not tell which of them its samples are of.
    shared = [stage for plan in found if plan not in once for stage in plan.asking_readers]
    for plan in once:
        suspect = _suspect(facts, plan, putters(plan, lineage), parts, frozenset(shared))
        if suspect is not None:
            yield suspect


def _ended(facts: Facts) -> bool:
    """Whether the log has the application's end: else it may have read the rows later."""
    app = 0 if facts.measured is None else facts.measured.app_index
    rows = facts.tables.query("SELECT end_wall_ns FROM apps WHERE app_index = $1", [app])
    return bool(rows) and rows[0][0] is not None


def _suspect(
    facts: Facts,
    plan: CachedPlan,
    fillers: set[int],
    parts: dict[int, Part],
    shared: frozenset[int],
) -> tuple[float, Suspect] | None:
    fills = _numbers(facts, fillers)
    reads = [
        n for n in _numbers(facts, plan.asking_readers) if facts.stages[n].stage_id not in shared
    ]
    numbers = sorted({*fills, *reads})
    if not fills:
        return None
    ns: dict[int, Floats] = {}
    gc: dict[int, Floats] = {}
    low = high = 0.0
    for number in numbers:
        tasks = facts.tasks_of(number)
        time = tasks.duration_ns
        pauses = np.minimum(np.nan_to_num(tasks["jvm_gc_time_ns"]), time)
        part = parts.get(number)
        if part is None:
            continue
        share = part.cpu_share * facts.cpu_share(number)
        least, most = wilson(min(part.cpu, part.cpu_total), part.cpu_total)
        gc[number] = part.alloc_share * pauses
        ns[number] = np.minimum(time * share + gc[number], time)
        sure = least * facts.cpu_share(number) * time
        low += float(sure.sum())
        bound = np.minimum(most * time + gc[number], time)
        high += float(bound.sum())
    sampled = bool(facts.has("samples"))
    all_of_it = {number: facts.tasks_of(number).duration_ns for number in fills}
    if not sampled:
        middle = sum(ASSUMED) / 2
        ns = {number: time * middle for number, time in all_of_it.items()}
        gc = {number: time * 0.0 for number, time in all_of_it.items()}
        low, high = (sum(float(one.sum()) for one in all_of_it.values()) * x for x in ASSUMED)
    elif plan.unread:
        high = max(high, sum(float(time.sum()) for time in all_of_it.values()))
        for number in fills:
            ns[number] = (ns.get(number, 0.0) + all_of_it[number]) / 2
            gc.setdefault(number, all_of_it[number] * 0.0)
    for number in _numbers(facts, plan.counters):
        ns[number] = facts.tasks_of(number).duration_ns
        gc[number] = ns[number] * 0.0
        low, high = low + float(ns[number].sum()), high + float(ns[number].sum())
    total = sum(float(one.sum()) for one in ns.values())
    if total <= 0:
        return None
    costs = {number: float(one.sum()) for number, one in ns.items()}
    n = round(sum(parts[number].cpu_total for number in numbers if number in parts)) or 1
    (sql_id, node_id), _ = next(iter(plan.asking.items()))
    where = place(facts, "sql", costs, sql_id=sql_id, node_id=node_id, source=plan.text,
                  operator="InMemoryTableScan")  # fmt: skip
    return total, Suspect(
        place=where,
        mechanism=_sentence(facts, plan, reads, total),
        change=(
            Less("gc", gc),
            Less("cache", {number: one - gc[number] for number, one in ns.items()}),
        ),
        extent=Extent(1.0, min(1.0, low / total), max(1.0, high / total), n),
        evidence=[
            shown_by("stages that read the cached rows", 1, "count", "node_metrics",
                     "SELECT count(DISTINCT stage_id) FROM node_metrics WHERE (sql_id, node_id) ="
                     f" ({sql_id}, {node_id}) AND metric = 'number of output rows'", page(where)),
            shown_by("CPU of keeping and reading them, time of pauses included", total, "ns",
                     "samples" if sampled else "tasks",
                     _QUERY.format(stages=", ".join(
                         str(facts.stages[number].stage_id) for number in numbers))
                     if sampled else "SELECT stage_id, sum(finish_wall_ns - launch_wall_ns) FROM"
                     " tasks GROUP BY 1", page(where)),
        ],
        remedies=[_STATEMENT if plan.statements else _CALL],
    )  # fmt: skip


_CALL = code("do not keep what is read once", "df.cache()", "df")
_STATEMENT = code("leave the statement out, or let it create a view", "CACHE TABLE name AS SELECT",
                  "CREATE TEMPORARY VIEW name AS SELECT")  # fmt: skip
_QUERY = (
    "SELECT stage_id, operator, count(*) FROM samples WHERE event = 'cpu' AND role = 'task'"
    " AND stage_id IN ({stages}) GROUP BY ALL ORDER BY 1, 3 DESC"
)


def _numbers(facts: Facts, stages: set[int]) -> list[int]:
    return [number for number in map(facts.number, stages) if number is not None]


def _sentence(facts: Facts, plan: CachedPlan, reads: list[int], total: float) -> str:
    rows = sum(facts.tasks_of(number).total("input_bytes") for number in reads)
    alone = not plan.asking_readers & plan.fillers
    kept = f", {units.size(round(rows))} of them," if rows and alone else ""
    more = " Columns are kept that it does not read." if plan.unread else ""
    reader = min(plan.asking_readers)
    return (
        f"The cached rows{kept} were read once, by stage {reader}: keeping and reading them took"
        f" {units.duration(total)} of tasks.{more}"
    )


RULE = Rule(
    code="cache.used-once",
    title="What is cached is read once",
    cause="needless cache",
    suspects=largest(_suspects),
    needs=[SQL_PLANS],
    explains=("gc.heap-too-small", "gc.full", "gc.young-too-small", "gc.allocation-site"),
    refute="Leave the cache out: if the query still takes as long, keeping the rows costs nothing.",
)
