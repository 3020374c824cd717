"""The verdict: one sentence for a newcomer that says where the time went, with numbers.

It claims nothing without evidence.
"""

from __future__ import annotations

from statistics import median

from pyrometer.attribution.operators import across_executions
from pyrometer.attribution.plan_match import unnumbered
from pyrometer.core import units
from pyrometer.summary.schema import Summary

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
