"""Numbers are wrapped into objects, row by row.

What it is
    A user's lambda, a typed Dataset function or an interpreted expression handles numbers as
    objects (`java.lang.Long`, `scala.runtime.ObjectRef`). Each row allocates some.

Mechanism
    Wrapping costs CPU, and the collector has to throw the objects away. The simulator removes
    samples in the code that wraps and unwraps, and the collector's time in proportion to what that
    code allocated.

Evidence
    CPU samples with `BoxesRunTime` or `valueOf` of a wrapper in the stack; allocation samples by
    class.

Remedy
    Column expressions instead of lambdas; primitive types in case classes and UDFs, specialised
    functions.

When it is wrong
    Escape analysis removes many of these objects: those are in no sample and are not counted.

Source
    CPU and allocation samples of async-profiler.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from pyrometer.core import units
from pyrometer.explain.change import Less
from pyrometer.explain.evidence.places import of_application
from pyrometer.explain.evidence.saying import code, flame, page, place, shown_by
from pyrometer.explain.evidence.stack_shares import through
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SAMPLES, Rule, Suspect
from pyrometer.explain.what_if import Extent
from pyrometer.statistics.shares import Z

WRAPPERS = r"java\.lang\.(Long|Integer|Double|Float|Short|Byte|Character|Boolean)"
FRAMES = rf"(^scala\.runtime\.BoxesRunTime\.|^{WRAPPERS}\.(valueOf|\w+Value)$)"
_ALLOCATED = f"""
SELECT x.stage_id, coalesce(a.stage_attempt, 0),
  coalesce(sum(x.weight) FILTER (boxes), 0)::DOUBLE, sum(x.weight)::DOUBLE,
  count(*) FILTER (boxes)
FROM (SELECT *, coalesce(regexp_matches(top_class,
    '^({WRAPPERS}|scala\\.runtime\\.\\w+Ref)$'), false) AS boxes FROM samples) x
JOIN w ON x.t_ns >= w.start_mono_ns AND x.t_ns < w.end_mono_ns
LEFT JOIN ({{attempts}}) a USING (task_attempt_id)
WHERE x.event = 'alloc' AND x.stage_id IS NOT NULL AND x.task_attempt_id IS NOT NULL
  AND {{own}}
GROUP BY ALL HAVING sum(x.weight) > 0
"""


def _suspects(facts: Facts) -> Iterator[Suspect]:
    found = through(facts, FRAMES)
    collected, boxes, boxed, allocated = {}, 0, 0.0, 0.0
    for stage_id, attempt, mine, whole, hits in facts.tables.query(
        _ALLOCATED.format(attempts=facts.attempts, own=of_application(facts, "x.pid"))
    ):
        number = facts.number(stage_id, attempt)
        if number is not None and mine:
            own = facts.tasks_of(number)
            gc = np.minimum(np.nan_to_num(own["jvm_gc_time_ns"]), own.duration_ns)
            collected[number] = mine / whole * gc
            boxes, boxed, allocated = boxes + hits, boxed + mine, allocated + whole
    n = boxes + found.found
    if not n:
        return
    parts = found.by_stage
    cost = {number: share * facts.cpu_ns.get(number, 0.0) for number, share in parts.items()}
    for number, lost in collected.items():
        cost[number] = cost.get(number, 0.0) + float(lost.sum())
    off = Z / math.sqrt(n)
    worst = max(cost, key=lambda number: cost[number])
    where = place(facts, "sql", cost, operator=found.operators.get(worst))
    heap = (
        f" {units.percent(boxed / allocated)} of what tasks allocated is such objects."
        if allocated
        else ""
    )
    yield Suspect(
        place=where,
        mechanism=(
            f"{units.percent(found.estimate.value)} of the CPU of tasks wraps numbers into objects"
            f" or unwraps them.{heap}"
        ),
        change=(facts.less_cpu("boxing", parts), Less("gc", collected)),
        extent=Extent(1.0, max(0.0, 1 - off), 1 + off, n).times(0.8, 1.0),
        evidence=[
            shown_by("task CPU in wrapping", found.estimate, "ratio", "samples",
                 "show --json: memory.allocation.sampled", page(where)),
            shown_by("allocated as wrappers", boxed, "bytes", "samples",
                 "SELECT top_class, sum(weight) FROM samples WHERE event = 'alloc' GROUP BY 1"
                 " ORDER BY 2 DESC", flame(event="alloc"), boxes),
        ],
        remedies=[
            code("use column expressions instead of a lambda, and primitive types in UDFs",
                 "ds.map((r: Row) => r.getAs[java.lang.Long](\"v\") + 1)",
                 "ds.select($\"v\" + 1)"),
        ],
    )  # fmt: skip


RULE = Rule(
    code="expression.boxing",
    title="Numbers are wrapped into objects row by row",
    cause="boxing",
    suspects=_suspects,
    needs=(SAMPLES,),
    refute="Write the function as a column expression: if CPU time and collections stay the same,"
    " boxing was not what they paid for.",
)
