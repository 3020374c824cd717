"""Everything about one window of a run, as one value.

The ledger as rows of tables ``ledger_slot`` and ``ledger_core``, for reading by SQL.

The verdict: one sentence for a newcomer that says where the time went, with numbers, and claims
nothing without evidence.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from statistics import median
from typing import Any

from pyrometer.accounts.cpu import cpu, instruments
from pyrometer.accounts.hardware.hardware import hardware
from pyrometer.accounts.io import io, io_latency
from pyrometer.accounts.jvm.jvm import gc, jvm
from pyrometer.accounts.ledger.report import ledger
from pyrometer.accounts.ledger.schema import View
from pyrometer.accounts.memory import code, memory
from pyrometer.accounts.processes import account
from pyrometer.accounts.schema import Failed
from pyrometer.accounts.spark import apps, iterations, sql, stages, window_totals
from pyrometer.accounts.waits.extended_stacks import doubts as extended_stack_doubts
from pyrometer.accounts.waits.extended_stacks import extended_stacks
from pyrometer.accounts.waits.off_cpu import waits
from pyrometer.accounts.window import facts, open_scope
from pyrometer.attribution.operators import (
    across_executions,
    attribution_shares,
    categories,
    helpers,
    operators,
    too_large_to_compile,
)
from pyrometer.attribution.plan_match import unnumbered
from pyrometer.attribution.python_workers import python, with_python, with_workers
from pyrometer.attribution.samples import attribution
from pyrometer.core import schema, units
from pyrometer.core.doubt import Doubt
from pyrometer.store import Run
from pyrometer.summary import rules
from pyrometer.summary.rule import Rule
from pyrometer.summary.schema import Summary
from pyrometer.window.scope import Scope
from pyrometer.window.windows import windows

_KEPT = {"path", "parent", "value_ns", "low_ns", "high_ns", "n", "method", "source"}


def ledger_tables(summary: Summary) -> dict[str, list[dict[str, Any]]]:
    """Give both views of a summary's window as rows.

    The slot view is per application: where a run has several, it is of all together and has no row.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    if len(summary.apps) == 1:
        found["ledger_slot"] = _rows(summary.ledger.slot_view, app_index=summary.apps[0].app_index)
    host = summary.run.host.get("hostname")
    if host is not None:
        found["ledger_core"] = _rows(summary.ledger.core_view, host=host)
    return {table: rows for table, rows in found.items() if rows}


def _rows(view: View, **place: Any) -> list[dict[str, Any]]:
    return [{**place, "window": view.window, **row.model_dump(include=_KEPT)} for row in view.rows]


_DOMINANT = 0.05
_NOTABLE = 0.1
_WAITS = {
    "task/run_queue": "waited for a CPU that other threads held",
    "task/gc_pause": "stood still in GC pauses",
    "task/waiting": "slept (I/O, locks, shuffle)",
    "task/shuffle_fetch": "waited for shuffle data",
}
_IDLE_WORDS = {
    "idle/driver": "no stage running (the driver's time)",
    "idle/executor_startup": "executors starting up",
    "idle/waiting_to_launch": "tasks waiting to be launched",
    "idle/too_few_tasks": "fewer tasks than slots",
    "idle/stage_tail": "waiting for the last tasks of a stage",
}


def verdict(summary: Summary) -> str:
    """Say where the window's time went; a wrong result comes first."""
    wrong = next((doubt for doubt in summary.doubts if doubt.code == "wrong_result"), None)
    account = _account(summary)
    return account if wrong is None else f"Wrong result: {wrong.message} {account}"


def _account(summary: Summary) -> str:
    if not (summary.totals.get("tasks_count") or summary.failed.totals.get("tasks_count")):
        return "No task ended in this window." if summary.apps else _without_spark(summary)
    accounts = (_cpu_part(summary), _waits_part(summary), _slots_part(summary))
    parts = [text for text in accounts if text]
    failed = summary.failed.totals.get("tasks_count") or 0
    if failed:
        done = summary.totals.get("tasks_count") or 0
        parts.append(
            f"{units.count(failed)} of {units.count(done + failed)} task attempts failed or were"
            " killed"
        )
    if not parts:
        return _little(summary)
    sentence = "; ".join(parts)
    return sentence[0].upper() + sentence[1:] + "."


def _without_spark(summary: Summary) -> str:
    inside = [it for it in summary.iterations if it.iteration in summary.window.iterations]
    times = [it.elapsed_ns for it in inside if it.elapsed_ns]
    if not times:
        return "No Spark application was seen."
    parts = [f"{len(times)} iteration(s) without Spark, {units.duration(median(times))} each"]
    if summary.cpu.process_cpu_ns is not None and summary.window.length_ns:
        used = summary.cpu.process_cpu_ns / summary.window.length_ns
        parts.append(f"their processes were on a CPU for {_percent(used)} of that time")
    latencies = {
        name: median([it.counters[name] for it in inside if name in it.counters])
        for name in inside[0].counters
        if name.startswith("latency_") and name.endswith("_ns")
    }
    if latencies:
        shown = ", ".join(
            f"{name.removeprefix('latency_').removesuffix('_ns')} {units.duration(ns)}"
            for name, ns in latencies.items()
        )
        parts.append(f"latency of one read or query: {shown}")
    return f"{'; '.join(parts)} (medians)."


def _little(summary: Summary) -> str:
    tasks = summary.totals.get("tasks_count") or 0
    run = units.duration(summary.totals.get("executor_run_time_ns"))
    return f"{units.count(tasks)} tasks ran for {run} in all; this log says no more."


def _cpu_part(summary: Summary) -> str | None:
    run, cpu = (
        summary.totals.get("executor_run_time_ns"),
        summary.totals.get("executor_cpu_time_ns"),
    )
    named = [o for o in across_executions(summary.operators) if o.share_of_task_cpu]
    if named and (named[0].share_of_task_cpu or 0) >= _DOMINANT:
        top = named[0]
        text = f"{_percent(top.share_of_task_cpu)} of task CPU is {top.operator}"
        if top.fused:
            text += f" (fused: {', '.join(top.fused)})"
        converting = [e for e in top.expressions if e.converting_share]
        of_all = sum(e.converting_share for e in converting) * (top.share_of_task_cpu or 0)
        if of_all >= _DOMINANT:
            whats = ", ".join(unnumbered(e.expression) for e in converting)
            return f"{text}, {_percent(of_all)} converting {_short(whats)}"
        heavy = next((c for c in summary.categories if (c.share or 0) >= _DOMINANT), None)
        if heavy and heavy.category != "unclassified":
            text += f"; by kind of work, {_percent(heavy.share)} is {heavy.category}"
        return text
    if summary.categories:
        heavy = summary.categories[0]
        return f"{_percent(heavy.share)} of task CPU is {heavy.category}"
    if run and cpu is not None:
        return f"tasks were on the CPU for {_percent(min(1.0, cpu / run))} of their run time"
    return None


def _waits_part(summary: Summary) -> str | None:
    rows = [r for r in summary.ledger.slot_view.rows if r.path in _WAITS and r.share]
    worst = max(rows, key=lambda r: r.share or 0, default=None)
    if worst is None or (worst.share or 0) < _NOTABLE:
        return None
    return f"tasks {_WAITS[worst.path]} for {_percent(worst.share)} of slot time"


def _slots_part(summary: Summary) -> str | None:
    rows = {r.path: r for r in summary.ledger.slot_view.rows}
    idle = rows.get("idle")
    if idle is None or idle.share is None:
        return None
    if idle.share < _NOTABLE:
        return f"task slots were busy {_percent(1 - idle.share)} of the time"
    causes = [r for path, r in rows.items() if path in _IDLE_WORDS and r.share]
    if not causes:
        return None
    worst = max(causes, key=lambda r: r.share or 0)
    return (
        f"task slots were idle {_percent(idle.share)} of the time, mostly for"
        f" {_IDLE_WORDS[worst.path]} ({_percent(worst.share)})"
    )


def _percent(share: float | None) -> str:
    return f"{round((share or 0) * 100)} %"


def _short(text: str) -> str:
    return text if len(text) <= 70 else text[:69] + "…"


def summary(run: Run, window: str | None = None) -> Summary:
    """Account for one window of a run.

    Parameters
    ----------
    run : Run
        An open run.
    window : str, optional
        ``measured``, ``application`` or ``iteration/<n>``; by default, all measured iterations
        together, or the application where there are none.

    Raises
    ------
    UsageError
        If the run has no such window.
    """
    return summarise(open_scope(run, window))


def summarise(scope: Scope) -> Summary:
    """Account for the window of an open scope."""
    run = scope.run
    succeeded, failed = window_totals(scope)
    used, unmapped = operators(scope)
    used = with_python(scope, used)
    workers = python(scope)
    bytes_read, io_doubts = io(scope, succeeded, failed)
    process = cpu(scope, succeeded, failed)
    result = Summary(
        run=facts(run),
        window=scope.window.facts(),
        windows=[w.name for w in windows(run)],
        totals=succeeded,
        failed=Failed(totals=failed),
        apps=apps(scope),
        iterations=iterations(scope),
        stages=stages(scope),
        sql=sql(scope, used),
        operators=used,
        unmapped=unmapped,
        helpers=helpers(scope),
        told=attribution_shares(attribution(scope)),
        too_large_to_compile=too_large_to_compile(scope),
        categories=with_workers(categories(scope), workers.in_tasks_ns),
        cpu=process,
        io=bytes_read,
        io_latency=io_latency(scope),
        waits=waits(scope),
        gc=gc(scope),
        memory=memory(scope),
        code=code(scope),
        jvm=jvm(scope),
        hardware=hardware(scope),
        python=workers,
        extended_stacks=extended_stacks(scope),
        ledger=ledger(scope),
        account=account(scope),
        instruments=instruments(scope, process.process_cpu_ns),
        doubts=[*run.doubts, *io_doubts],
    )
    result.doubts += analysis_doubts(scope, result)
    result.verdict = verdict(result)
    return result


@cache
def every_rule() -> tuple[Rule, ...]:
    """Find the rules: ``RULE`` of each module of the folder, in the order of their names.

    Examples
    --------
    >>> [rule.code for rule in every_rule()][:2]
    ['ledger_open', 'python_unseen']
    """
    names = sorted(module.name for module in pkgutil.iter_modules(rules.__path__))
    return tuple(importlib.import_module(f"{rules.__name__}.{name}").RULE for name in names)


def analysis_doubts(scope: Scope, summary: Summary) -> list[Doubt]:
    """Doubts that only the analysis can raise."""
    found = [doubt for rule in every_rule() for doubt in rule.doubts(scope, summary)]
    found += extended_stack_doubts(summary.extended_stacks)
    if not scope.has("spans") and not scope.has("os_series"):
        found.append(schema.doubt("event_log_only", "no plugin and no probe ran"))
    elif not scope.has_mono:
        found.append(schema.doubt("clocks_unjoined", f"window {scope.window.name}"))
    return found
