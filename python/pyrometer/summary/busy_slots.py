"""What tasks did while the slots were busy: rows that explode, operators, waits, plain CPU."""

from __future__ import annotations

from pyrometer.accounts.ledger.elapsed.schema import HeldStage
from pyrometer.accounts.plan_schema import Explosion, Sql
from pyrometer.accounts.schema import Stage
from pyrometer.attribution.operators import across_executions
from pyrometer.attribution.plan_match import unnumbered
from pyrometer.core import units
from pyrometer.summary.contention import graded, queue_words
from pyrometer.summary.schema import Summary
from pyrometer.summary.story import Story, short
from pyrometer.summary.waits import waiting_words

_DOMINANT = 0.05
_NOTABLE = 0.1
_WAITS = {
    "task/gc_pause": "stood still in GC pauses",
    "task/shuffle_fetch": "waited for shuffle data",
}


def work(summary: Summary, stage: HeldStage | None) -> Story:
    """Tell what busy slots did, of one stage where it is known, else of all.

    Parameters
    ----------
    summary : Summary
        The window.
    stage : HeldStage or None
        The stage that is spoken of.
    """
    exploding = _explosion(summary, stage)
    if exploding is not None:
        query, found = exploding
        times = f"{units.count(round(found.factor))} times its input" if found.factor else ""
        return Story(
            f"its {found.name} emits {units.count(found.rows_out_count)} rows, {times}",
            f"look at the condition of {found.name}, node {found.node_id} of query"
            f" {query.sql_id}: pyrometer report RUN",
        )
    parts = [part for part in (_cpu(summary), _waits(summary)) if part]
    if parts:
        sampled = bool(summary.operators)
        step = "pyrometer flame RUN" if sampled else None
        return Story("; ".join(parts), step)
    return _counters(summary, stage)


def _explosion(summary: Summary, stage: HeldStage | None) -> tuple[Sql, Explosion] | None:
    found = [
        (query, one)
        for query in summary.sql
        for one in query.explosions
        if stage is None
        or (
            query.app_index == stage.app_index
            and (stage.stage_id in one.stage_ids if one.stage_ids else query.sql_id == stage.sql_id)
        )
    ]
    return max(found, key=lambda pair: pair[1].rows_out_count, default=None)


def _cpu(summary: Summary) -> str | None:
    named = [o for o in across_executions(summary.operators) if o.share_with_workers]
    base = summary.cpu_base.cpu
    if not named or (named[0].share_with_workers or 0) < _DOMINANT:
        if summary.categories and summary.categories[0].share:
            heavy = summary.categories[0]
            return f"{_percent(heavy.share)} of {base} is {heavy.category}"
        return None
    top = named[0]
    text = f"{_percent(top.share_with_workers)} of {base} is {top.operator}"
    if top.fused:
        text += f" (fused: {', '.join(top.fused)})"
    converting = [e for e in top.expressions if e.converting_share]
    of_all = sum(e.converting_share for e in converting) * top.share_of_threads
    if of_all >= _DOMINANT:
        whats = ", ".join(unnumbered(e.expression) for e in converting)
        return f"{text}, {_percent(of_all)} converting {short(whats, 70)}"
    heavy_one = next((c for c in summary.categories if (c.share or 0) >= _DOMINANT), None)
    if heavy_one and heavy_one.category != "unclassified":
        text += f"; by kind of work, {_percent(heavy_one.share)} is {heavy_one.category}"
    return text


def _waits(summary: Summary) -> str | None:
    """Name the largest wait of tasks: a share of slot time, or of task time in the run queue."""
    view = summary.ledger.slot_view
    rows = {row.path: row.share or 0 for row in view.rows}
    found = [(rows.get(path, 0), f"tasks {words}") for path, words in _WAITS.items()]
    found += [(one.share, f"tasks {one.words}") for one in waiting_words(view)[:1]]
    # A busy host has a sentence of its own, with the same figure.
    queued = queue_words(summary) if graded(summary) == "info" else None
    share, text = max(found)
    if queued and rows.get("task/run_queue", 0) >= max(share, _NOTABLE):
        return queued
    return f"{text} for {_percent(share)} of slot time" if share >= _NOTABLE else None


def _counters(summary: Summary, stage: HeldStage | None) -> Story:
    """Say what Spark's own counters show: of the stage, else of the window."""
    totals = summary.totals
    if stage is not None:
        of_it: Stage | None = next(
            (
                one
                for one in summary.stages
                if (one.app_index, one.stage_id, one.stage_attempt)
                == (stage.app_index, stage.stage_id, stage.stage_attempt)
            ),
            None,
        )
        totals = of_it.totals if of_it is not None else totals
    run = totals.get("executor_run_time_ns")
    if not run:
        return Story("")
    parts = []
    cpu = totals.get("executor_cpu_time_ns")
    if cpu is not None:
        parts.append(f"tasks were on the CPU for {_percent(min(1.0, cpu / run))} of their time")
    for name, what in (
        ("jvm_gc_time_ns", "in garbage collection"),
        ("shuffle_fetch_wait_time_ns", "waiting for shuffle data"),
        ("shuffle_write_time_ns", "writing shuffle data"),
    ):
        part = (totals.get(name) or 0) / run
        if part >= _NOTABLE:
            whose = "" if parts else " of task time"
            parts.append(f"{_percent(part)}{whose} {what}")
    spilled = totals.get("disk_spilled_bytes")
    if spilled:
        parts.append(f"{units.size(spilled)} spilled to disk")
    step = None if summary.operators else "pyrometer run -- COMMAND shows operators and waits"
    return Story(", ".join(parts), step)


def _percent(share: float | None) -> str:
    return f"{round((share or 0) * 100)} %"
