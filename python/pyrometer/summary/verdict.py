"""The verdict: elapsed time, what it went to, why, and what to do next.

It speaks of the critical path (`pyrometer.accounts.ledger.elapsed`): what is not on it costs no
elapsed time. It claims nothing without evidence.
"""

from __future__ import annotations

from statistics import fmean, median

from pyrometer.core import units
from pyrometer.summary.contention import contention, contention_words, graded
from pyrometer.summary.held_up import driver_story, executors_story, stage_story
from pyrometer.summary.schema import Summary
from pyrometer.summary.story import Story, capital

_SECOND = 0.2


def verdict(summary: Summary) -> tuple[str, str | None]:
    """Say what the elapsed time went to, and what to do next; failures and wrong results first.

    Returns
    -------
    tuple of str and str or None
        One or two sentences, and a command or an edit; ``RUN`` in it stands for the run.
    """
    found = _account(summary)
    wrong = next((doubt for doubt in summary.doubts if doubt.code == "wrong_result"), None)
    text = found.text if wrong is None else f"Wrong result: {wrong.message} {found.text}"
    if summary.failure is not None:
        # Time is not what one asks about first: no advice on it.
        return f"{summary.failure.text} {text}", None
    return text, found.next_step


def _account(summary: Summary) -> Story:
    ended = summary.totals.get("tasks_count") or summary.failed.totals.get("tasks_count")
    if not ended and not summary.apps:
        return Story(_without_spark(summary))
    story = _largest(summary)
    text = f"{_took(summary)}: {story.text}."
    lost = _failed(summary) if ended else "no task ended in this window"
    said = [lost] if lost else []
    contended = contention(summary)
    if contended is not None and graded(summary) != "info":
        said.append(contention_words(contended))
    return Story(" ".join([text, *(f"{capital(one)}." for one in said)]), story.next_step)


def _took(summary: Summary) -> str:
    """Write the elapsed time: of iterations the mean, which the page has with its interval."""
    inside = [it for it in summary.iterations if it.iteration in summary.window.iterations]
    times = [it.elapsed_ns for it in inside if it.elapsed_ns]
    if len(times) > 1:
        return f"{units.duration(fmean(times))} an iteration (mean of {len(times)})"
    return units.duration(summary.elapsed.total_ns or summary.window.length_ns)


def _largest(summary: Summary) -> Story:
    """Tell of the largest part of the critical path, and of a second one that is large, too."""
    path = summary.elapsed
    if not path.total_ns:
        return Story("where it went is not known")
    driver = [
        row.value_ns or 0
        for row in summary.ledger.elapsed_view.rows
        if row.path.startswith("driver/")
    ]
    parts = [
        (path.stages_ns, stage_story),
        (path.executors_ns, executors_story),
        (max(driver, default=0), driver_story),
    ]
    parts.sort(key=lambda part: -part[0])
    first = parts[0][1](summary)
    if parts[1][0] < _SECOND * path.total_ns:
        return first
    second = parts[1][1](summary)
    text = f"{first.text}. {capital(second.text)}"
    return Story(text, first.next_step or second.next_step)


def _failed(summary: Summary) -> str | None:
    failed = summary.failed.totals.get("tasks_count") or 0
    if not failed:
        return None
    done = summary.totals.get("tasks_count") or 0
    return (
        f"{units.count(failed)} of {units.count(done + failed)} task attempts failed or were killed"
    )


def _without_spark(summary: Summary) -> str:
    inside = [it for it in summary.iterations if it.iteration in summary.window.iterations]
    times = [it.elapsed_ns for it in inside if it.elapsed_ns]
    if not times:
        return "No Spark application was seen."
    parts = [
        f"{units.counted(len(times), 'iteration')} without Spark,"
        f" {units.duration(fmean(times))} each{' on average' if len(times) > 1 else ''}"
    ]
    if summary.cpu.process_cpu_ns is not None and summary.window.length_ns:
        used = summary.cpu.process_cpu_ns / summary.window.length_ns
        parts.append(f"their processes were on a CPU for {units.percent(used)} of that time")
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
        many = " (medians)" if len(inside) > 1 else ""
        parts.append(f"latency of one read or query: {shown}{many}")
    return f"{'; '.join(parts)}."
