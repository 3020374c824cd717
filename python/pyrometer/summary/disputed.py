"""Numbers of a summary that another source contradicts, each with the better one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from pyrometer.accounts.io import FILES_METRIC, TRUSTED, UNDERCOUNTED
from pyrometer.accounts.schema import Stage
from pyrometer.core import units
from pyrometer.store import elsewhere
from pyrometer.summary.schema import Disputed, DisputedStage, Summary

MAX_STAGES = 1000
"""Stages whose own number is told, those that lack most first."""
_TOO_LOW = (
    "eventlog_compacted", "eventlog_part_missing", "eventlog_frame_corrupt",
    "eventlog_line_too_long",
)  # fmt: skip
"""Doubts after which tasks are missing, and nobody knows how many."""
_FAR = 0.1
_TICK_NS = 1_000_000
_CPU_CHECK = "task CPU: spans and Spark"


def disputed(summary: Summary) -> list[Disputed]:
    """List the numbers that the rest of the summary knows to be wrong, or to mean something else.

    Parameters
    ----------
    summary : Summary
        A summary with its doubts.
    """
    found: list[Disputed] = []
    for rule in RULES:
        found += rule(summary)
    return found


def _cut_log(s: Summary) -> Iterator[Disputed]:
    doubt = next((doubt for doubt in s.doubts if doubt.code in _TOO_LOW), None)
    if doubt is None:
        return
    for name in ("stages_count", "tasks_count"):
        yield Disputed(
            field=f"totals.{name}",
            value=s.totals.get(name),
            better_source="too low, by how much is not known",
            why=doubt.message,
            doubt=doubt.code,
        )


def _elapsed(s: Summary) -> Iterator[Disputed]:
    stages, whole = s.totals.get("elapsed_ns"), s.window.length_ns
    if stages and whole and _far(stages, whole):
        yield Disputed(
            field="totals.elapsed_ns",
            value=stages,
            better=whole,
            better_source="of the window",
            why="It lasts from the submission of the first stage to the end of the last: what was"
            " before and after is missing, and gaps between iterations count.",
        )


def _task_cpu(s: Summary) -> Iterator[Disputed]:
    spark = s.totals.get("executor_cpu_time_ns")
    if spark is None:
        return
    base = s.cpu_base
    if base.workers_ns and base.total_ns and _far(spark, spark + base.workers_ns):
        yield Disputed(
            field="totals.executor_cpu_time_ns",
            value=spark,
            better=base.total_ns,
            better_source="with Python workers",
            why=f"Spark counts threads of the JVM alone: Python workers used"
            f" {units.duration(base.workers_ns)} for these tasks.",
        )
        yield _column(
            "executor_cpu_time_ns",
            "without Python workers",
            "Spark counts threads of the JVM alone; operators are shown with their workers.",
            [],
        )
        return
    check = next((check for check in s.ledger.checks if check.name == _CPU_CHECK), None)
    if check is None or check.ok is not False or s.failed.totals.get("tasks_count"):
        return
    around = s.totals.get("executor_deserialize_cpu_time_ns") or 0
    if check.left_ns is not None and check.left_ns > spark + around:
        yield Disputed(
            field="totals.executor_cpu_time_ns",
            value=spark,
            better=check.left_ns - around,
            better_source="by spans of tasks",
            why="Tasks are without metrics in the event log; the plugin read the same clock at"
            " their begin and end.",
        )


def _gc(s: Summary) -> Iterator[Disputed]:
    spark, log = s.totals.get("jvm_gc_time_ns"), s.gc.pause_total_ns
    slack = (s.totals.get("tasks_count") or 0) * _TICK_NS
    if spark is None or log is None or not _far(spark, log) or abs(spark - log) <= slack:
        return
    if any(doubt.code == elsewhere.CODE for doubt in s.doubts):
        # The log is the driver's, the time that of executors.
        return
    yield Disputed(
        field="totals.jvm_gc_time_ns",
        value=spark,
        better=log,
        better_source="of pauses by the GC log",
        why="Spark charges a collection to every task that runs, and to none where no task runs.",
    )


def _gc_of_stages(s: Summary) -> Iterator[Disputed]:
    found = []
    for stage in s.stages:
        gc, run = (stage.totals.get(name) for name in ("jvm_gc_time_ns", "executor_run_time_ns"))
        if gc is not None and run and gc > run + stage.tasks_count * _TICK_NS:
            found.append((gc - run, _of_stage(stage, run)))
    if found:
        yield _column(
            "jvm_gc_time_ns",
            "at most, the run time",
            "A task runs for longer than it waits for collections: Spark also counts those while"
            " the task was deserialised.",
            [one for _, one in sorted(found, key=lambda pair: -pair[0])],
        )


def _of_stage(stage: Stage, better: int) -> DisputedStage:
    return DisputedStage(
        app_index=stage.app_index,
        stage_id=stage.stage_id,
        stage_attempt=stage.stage_attempt,
        better=better,
    )


def _column(
    name: str, source: str, why: str, stages: Sequence[DisputedStage], doubt: str | None = None
) -> Disputed:
    return Disputed(
        field=f"stages.totals.{name}",
        better_source=source,
        why=why,
        doubt=doubt,
        stages=list(stages[:MAX_STAGES]),
        stages_count=len(stages),
    )


def _fetch_wait(s: Summary) -> Iterator[Disputed]:
    spark = s.totals.get("shuffle_fetch_wait_time_ns")
    slept = sum(c.asleep_ns for c in s.extended_stacks.classes if c.wait_class == "shuffle_fetch")
    slack = (s.totals.get("tasks_count") or 0) * _TICK_NS
    if spark is None or slept <= spark + slack or not _far(spark, slept):
        return
    yield Disputed(
        field="totals.shuffle_fetch_wait_time_ns",
        value=spark,
        better=slept,
        better_source="at least, by stacks of sleeping tasks",
        why="Spark counts only the wait for the next block; tasks slept in the fetch for longer.",
    )


def _peak_memory(s: Summary) -> Iterator[Disputed]:
    name = "peak_execution_memory_max_bytes"
    spark = s.totals.get(name)
    if spark is None or s.failed.totals.get("tasks_count"):
        return
    peaks = [
        (metric.value_max or 0, node.name)
        for query in s.sql
        for node in query.nodes
        for metric in node.metrics
        if metric.metric == "peak memory"
    ]
    most, operator = max(peaks, default=(0, ""))
    if most > spark and _far(spark, most):
        yield Disputed(
            field=f"totals.{name}",
            value=spark,
            better=most,
            better_source=f"at least, by {operator}",
            why=f"A task's peak is no less than that of each of its operators; {operator} reports"
            f" {units.size(most)}.",
        )


def _input(s: Summary) -> Iterator[Disputed]:
    doubt = next((doubt for doubt in s.doubts if doubt.code == UNDERCOUNTED), None)
    if doubt is None:
        return
    field = (s.io.bytes_source or "").partition(":")[0]
    better = getattr(s.io, field) if field in TRUSTED else None
    yield Disputed(
        field="totals.input_bytes",
        value=s.totals.get("input_bytes"),
        better=better,
        better_source=TRUSTED.get(field, "too low"),
        why=doubt.message,
        doubt=doubt.code,
    )
    stages = _undercounted_stages(s)
    if stages:
        yield _column(
            "input_bytes",
            "at most, in the scan's files",
            "Spark undercounts Parquet that it reads by vectored I/O; a scan reads only the columns"
            " that it needs of its files.",
            stages,
            doubt.code,
        )


def _undercounted_stages(s: Summary) -> list[DisputedStage]:
    """Find stages of which Spark counts less than half of their files, by what they lack."""
    files: dict[tuple[int, int], int] = defaultdict(int)
    for query in s.sql:
        for node in query.nodes:
            # A scan that several stages share tells nothing of each.
            if len(node.stage_ids) == 1:
                sizes = [m.value_sum or 0 for m in node.metrics if m.metric == FILES_METRIC]
                files[query.app_index, node.stage_ids[0]] += sum(sizes)
    attempts = Counter((stage.app_index, stage.stage_id) for stage in s.stages)
    found = []
    for stage in s.stages:
        key = (stage.app_index, stage.stage_id)
        counted, size = stage.totals.get("input_bytes"), files.get(key, 0)
        if counted is not None and attempts[key] == 1 and counted < 0.5 * size:
            found.append(_of_stage(stage, size))
    return sorted(found, key=lambda one: -one.better)


def _far(value: int, better: int) -> bool:
    return abs(value - better) > _FAR * max(value, better)


RULES = (
    _cut_log, _elapsed, _task_cpu, _gc, _gc_of_stages, _fetch_wait, _peak_memory, _input,
)  # fmt: skip


def about(found: Sequence[Disputed], field: str) -> Disputed | None:
    """Give what is said of a number, if it is disputed.

    Examples
    --------
    >>> about([Disputed(field="totals.tasks_count", better_source="too low", why="cut")], "io.x")
    """
    return next((one for one in found if one.field == field), None)


def mark(one: Disputed) -> str:
    """Write the mark that stands behind a disputed number: the better one, and where it is from.

    Examples
    --------
    >>> mark(Disputed(field="totals.input_bytes", value=491_520, better=6_442_450_944,
    ...               better_source="by read calls", why="…"))
    '✗ 6.00 GiB by read calls'
    """
    parts = [units.quantity(one.field, one.better)] if one.better is not None else []
    return " ".join(["✗", *parts, one.better_source])
