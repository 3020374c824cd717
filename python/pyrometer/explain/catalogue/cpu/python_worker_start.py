"""Python workers are started, and import modules, again and again.

What it is
    A task that needs Python gets a worker process. It is forked, imports PySpark and the modules of
    the function, and reads broadcasts. With `spark.python.worker.reuse` off that happens in each
    task; otherwise once for each slot, and the imports still count in short applications.

Mechanism
    With reuse off, the simulator removes the start of all workers except one for each slot of the
    application, and one more for each after a minute in which no task needs one. With reuse on, it
    removes the import of modules, as far as they can be left out.

Evidence
    Spark's `time to start` and `time to initialize Python workers` (Spark 3.4 and later), or CPU of
    workers in imports, by samples.

Remedy
    `spark.python.worker.reuse=true`. Otherwise import less at the top of modules, or use one
    session for several jobs.

When it is wrong
    Where the function needs the modules, their import can be moved, not avoided.

Source
    Spark's PythonSQLMetrics and PythonWorkerFactory; CPU samples of workers.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.core import units
from pyrometer.explain.evidence.python.starts import REUSE, STARTS, as_times, starts
from pyrometer.explain.evidence.python.work import Work, sampled, without, work
from pyrometer.explain.evidence.saying import code, factor, page, place, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.what_if import Extent

IMPORTS = (0.1, 0.8)
"""Part of the imports that a leaner module leaves out: PySpark's own stay."""


def _suspects(facts: Facts) -> Iterator[Suspect]:
    if facts.is_on(REUSE, default=True):
        yield from _imports(facts)
    else:
        yield from _starts(facts)


def _starts(facts: Facts) -> Iterator[Suspect]:
    known = starts(facts)
    less = known.again_ns
    if not less:
        return
    names = ", ".join(f"'{name}'" for name in STARTS)
    tasks = sum(facts.stages[n].tasks_count for n in less)
    total = sum(known.all_ns[n] for n in less)
    where = place(facts, "setting", less, setting=REUSE)
    yield Suspect(
        place=where,
        mechanism=(
            f"{units.counted(tasks, 'task')} each started a Python worker of their own, with"
            f" {REUSE}=false: {units.duration(total)} in all, {units.duration(total / tasks)} each."
        ),
        change=(as_times(facts, facts.share_of_tasks("python_start", less)),),
        extent=Extent(1.0, 0.85, 1.0, tasks),
        evidence=[
            shown_by("starting Python workers", total, "ns", "node_metrics",
                 f"SELECT stage_id, sum(value_sum) * 1000000 FROM node_metrics WHERE metric IN"
                 f" ({names}) GROUP BY 1", page(where), tasks),
        ],
        remedies=[factor(REUSE, "true", "keep workers for the next task")],
    )  # fmt: skip


def _imports(facts: Facts) -> Iterator[Suspect]:
    found: dict[int, Work] = {
        n: one for n, one in work(facts).items() if one.ns.get("import", 0.0) > 0
    }
    if not found:
        return
    mine = {number: one.ns["import"] for number, one in found.items()}
    change, extent = without(facts, "python", mine, {})
    total, whole = sum(mine.values()), sum(one.workers_ns for one in found.values())
    n = sum(one.samples_count for one in found.values())
    modules = [
        one.function.removesuffix(".<module>")
        for one in facts.summary.python.functions
        if one.function.endswith(".<module>") and "." not in one.function.removesuffix(".<module>")
    ]
    named = f", most of it for {modules[0]}" if modules else ""
    first = max(found.values(), key=lambda one: one.workers_ns)
    where = place(facts, "python", mine, sql_id=first.sql_id, node_id=first.node_id,
                  operator=first.operator, source=modules[0] if modules else None)  # fmt: skip
    yield Suspect(
        place=where,
        mechanism=(
            f"Python workers spent {units.duration(total)} of {units.duration(whole)} of CPU on"
            f" importing modules{named}."
        ),
        change=(change,),
        extent=sampled(extent, total, whole, n).times(*IMPORTS),
        evidence=[
            shown_by("workers' CPU in imports", total, "ns", "samples", "show --json: python.work",
                 page(where), sum(one.samples["import"] for one in found.values())),
        ],
        remedies=[
            code("import in the module of the function only what it needs; run several jobs in one"
                 " session", "import pandas as pd  # for one helper", "import math"),
        ],
    )  # fmt: skip


RULE = Rule(
    code="python.worker-start",
    title="Python workers start again and again",
    cause="start of Python workers",
    suspects=_suspects,
    refute="Run with spark.python.worker.reuse=true (or without the imports): if tasks still last"
    " as long, starting workers is not what they pay for.",
)
