"""Elapsed time of a window along the critical path, from the event log alone.

The path is walked for each application and each stretch of the window; every instant on it then
gets its cause from the tasks and slots of that instant, in the database.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyrometer.accounts.ledger.elapsed.causes import EXECUTORS, WAITING, Causes, causes_of
from pyrometer.accounts.ledger.elapsed.path import PathPart, PathStage, path_parts
from pyrometer.accounts.ledger.elapsed.schema import (
    Elapsed,
    Gap,
    HeldStage,
    Kind,
    LastTask,
    PathStretch,
    row_path,
)
from pyrometer.accounts.ledger.elapsed.waits import (
    KINDS,
    MEANINGS,
    NOT_GRANTED,
    OF_PODS,
    REST,
    UNSPLIT,
    why_unsplit,
)
from pyrometer.accounts.ledger.rows import close
from pyrometer.accounts.ledger.schema import Row, View
from pyrometer.accounts.ledger.slot_view import EVENT_LOG_MS
from pyrometer.window.scope import Scope

MOST_STAGES = 20
MOST_GAPS = 20
MOST_STRETCHES = 1000
MOST_ROWS = 12
_NO_APPLICATION = "no Spark application was seen: there are no stages to follow"
_SOURCES = {
    "executors": "event log: no executor had registered, or a stage waited and there was no slot",
    "executors/before_the_first_query": "event log: before the first query, no executor registered",
    "executors/stage_waiting": "event log: a stage was submitted, and there was no slot",
    "stages": "event log: from a stage's submission, or the launch of its first task, to its end",
    "driver": "event log: on the path, and no stage was waited for",
    "driver/start": "from the application's start to its first query or job",
    "driver/in_query": "in a query or job between its stages: planning, scheduling, results",
    "driver/between_queries": "outside all queries and jobs: the program itself",
    "driver/end": "from the last query or job to the application's end",
}
_CAUSES = {
    "slots_busy": "all slots ran tasks",
    "too_few_tasks": "the stage had fewer tasks than there were slots",
    "stage_tail": "all tasks launched, the last ones still running, slots free",
    "waiting_to_launch": "tasks waited while slots were free: launch or locality delay",
    "finishing": "no task left to run: results and completion",
    "running": "the number of slots is unknown, or the log lacks the tasks",
}


def elapsed(scope: Scope) -> tuple[Elapsed, View]:
    """Split the elapsed time of a window along the critical path.

    Returns
    -------
    tuple of Elapsed and View
        The stages and gaps on the path, and the same as a view of the ledger.
    """
    known = scope.kept.get("elapsed")
    if known is None:
        known = scope.kept["elapsed"] = _elapsed(scope)
    found: tuple[Elapsed, View] = known
    return found


@dataclass
class _Held:
    """What a stage held the path up with, over all its parts."""

    times: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    waits: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    slots: int | None = None
    busy: int = 0
    own: int = 0

    @property
    def total(self) -> int:
        return sum(self.times.values())

    def add(self, one: Causes) -> None:
        for cause, length in one.times.items():
            self.times[cause] += length
        for kind, length in one.waits.items():
            self.waits[kind] += length
        if one.slots:
            self.slots = max(self.slots or 0, one.slots)
        self.busy, self.own = self.busy + one.busy, self.own + one.own


def _elapsed(scope: Scope) -> tuple[Elapsed, View]:
    name = scope.window.name
    parts = list(path_parts(scope))
    if not parts:
        return Elapsed(reason=_NO_APPLICATION), View(window=name, reason=_NO_APPLICATION)
    held: dict[PathStage, _Held] = defaultdict(_Held)
    gaps: dict[str, int] = defaultdict(int)
    first: dict[str, int] = defaultdict(int)
    found = causes_of(scope, parts)
    for part, causes in zip(parts, found, strict=True):
        if part.stage is not None:
            held[part.stage].add(causes)
            continue
        for kind, length in causes.waits.items():
            first[kind] += length
        for cause, length in causes.times.items():
            gaps[EXECUTORS if cause == EXECUTORS else part.where or "in_query"] += length
    result = Elapsed(total_ns=sum(part.end - part.start for part in parts))
    result.submitted_before_ns = _submitted_before(scope)
    _fill(scope, result, parts, held)
    result.path = _drawn(parts, found)
    return result, _view(scope, result, held, gaps, first)


def _submitted_before(scope: Scope) -> int | None:
    """Time from ``spark-submit`` to the application's start, of a run of one application."""
    if scope.window.is_part:
        return None
    row = scope.tables.record(
        "SELECT count(*) AS n, min(start_wall_ns) AS start, min(TRY_CAST(json_extract_string("
        "spark_conf, '$.\"spark.app.submitTime\"') AS BIGINT)) AS asked FROM apps"
    )
    if row["n"] != 1 or row["asked"] is None or row["start"] is None:
        return None
    before = int(row["start"] - row["asked"] * EVENT_LOG_MS)
    return before if before >= 0 else None


def _fill(
    scope: Scope, result: Elapsed, parts: Sequence[PathPart], held: dict[PathStage, _Held]
) -> None:
    largest = sorted(held, key=lambda s: (-held[s].total, s.stage_id))
    result.stages_count = len(largest)
    tasks = _tasks(scope, largest[:MOST_STAGES])
    for stage in largest[:MOST_STAGES]:
        own = held[stage]
        result.stages.append(
            HeldStage(
                app_index=stage.app,
                stage_id=stage.stage_id,
                stage_attempt=stage.attempt,
                sql_id=stage.sql_id,
                name=stage.name,
                called=stage.called,
                tasks_count=stage.planned,
                duration_ns=stage.times.complete - stage.times.submit,
                held_ns=own.total,
                share=own.total / (result.total_ns or 1),
                causes=dict(sorted(own.times.items(), key=lambda one: -one[1])),
                slots_count=own.slots,
                own_ratio=own.own / own.busy if own.busy else None,
                last_task=tasks.get((stage.app, stage.stage_id, stage.attempt)),
            )
        )
    gaps = [number for number, part in enumerate(parts) if part.stage is None]
    gaps.sort(key=lambda number: parts[number].start - parts[number].end)
    result.gaps_count = len(gaps)
    result.gaps = [_gap(scope, parts, number) for number in gaps[:MOST_GAPS]]


def _gap(scope: Scope, parts: Sequence[PathPart], number: int) -> Gap:
    part = parts[number]
    after = next((p.stage for p in reversed(parts[:number]) if p.stage), None)
    before = next((p.stage for p in parts[number:] if p.stage), None)
    found = _query_at(scope, part) if part.where == "in_query" else {}
    return Gap(
        app_index=part.app,
        where=part.where or "in_query",
        start_ns=part.offset,
        length_ns=part.end - part.start,
        sql_id=found.get("sql_id"),
        description=found.get("description"),
        after_stage_id=after.stage_id if after else None,
        before_stage_id=before.stage_id if before else None,
    )


def _query_at(scope: Scope, part: PathPart) -> dict[str, Any]:
    """Find the query that runs in a part of the path: the last that began."""
    return scope.tables.record(
        "SELECT sql_id, description FROM sql_executions WHERE app_index = ? AND start_wall_ns < ?"
        " AND coalesce(end_wall_ns, ?) > ? ORDER BY start_wall_ns DESC LIMIT 1",
        [part.app, part.end, part.end, part.start],
    )


def _tasks(scope: Scope, stages: Sequence[PathStage]) -> dict[tuple[int, int, int], LastTask]:
    """Find the last task of each stage, beside the median of its tasks."""
    if not stages:
        return {}
    keys = ", ".join(f"({s.app}, {s.stage_id}, {s.attempt})" for s in stages)
    read = (
        "coalesce(input_bytes, 0) + coalesce(shuffle_read_local_bytes, 0)"
        " + coalesce(shuffle_read_remote_bytes, 0)"
    )
    rows = scope.tables.records(
        f"""
        SELECT app_index, stage_id, stage_attempt,
          arg_max(struct_pack(task_attempt_id, executor_id, host,
            duration_ns := finish_wall_ns - launch_wall_ns, cpu_ns := executor_cpu_time_ns,
            gc_ns := jvm_gc_time_ns, read_bytes := {read}), finish_wall_ns) AS last,
          quantile_disc(finish_wall_ns - launch_wall_ns, 0.5) AS median_ns,
          quantile_disc({read}, 0.5) AS median_read_bytes, count(*) AS n
        FROM tasks WHERE (app_index, stage_id, stage_attempt) IN ({keys})
          AND status = 'success' AND finish_wall_ns IS NOT NULL AND launch_wall_ns IS NOT NULL
        GROUP BY ALL
        """
    )
    return {
        (r["app_index"], r["stage_id"], r["stage_attempt"]): LastTask(
            **r["last"],
            median_ns=r["median_ns"] if r["n"] > 1 else None,
            median_read_bytes=r["median_read_bytes"] if r["n"] > 1 else None,
        )
        for r in rows
    }


def _drawn(parts: Sequence[PathPart], causes: Sequence[Causes]) -> list[PathStretch]:
    """Give the path for drawing; beyond the limit the shortest parts join the one before.

    The first part has none before it.
    """
    ranked = sorted(range(1, len(parts)), key=lambda n: (parts[n].start - parts[n].end, n))
    drawn = {0, *ranked[: MOST_STRETCHES - 1]}
    found: list[PathStretch] = []
    for number, (part, one) in enumerate(zip(parts, causes, strict=True)):
        end = part.offset + part.end - part.start
        if number not in drawn:
            found[-1].end_ns = end
            continue
        most = max(one.times, key=lambda cause: one.times[cause], default=None)
        kind: Kind = "stage" if part.stage else "driver"
        if most in (EXECUTORS, WAITING):
            kind = "executors"
        found.append(
            PathStretch(
                app_index=part.app,
                start_ns=part.offset,
                end_ns=end,
                kind=kind,
                stage_id=part.stage.stage_id if part.stage else None,
                stage_attempt=part.stage.attempt if part.stage else None,
            )
        )
    return found


def _view(
    scope: Scope,
    result: Elapsed,
    held: dict[PathStage, _Held],
    gaps: dict[str, int],
    first: dict[str, int],
) -> View:
    waiting = sum(one.times.get(WAITING, 0) for one in held.values())
    stages = {
        stage: {cause: ns for cause, ns in one.times.items() if cause != WAITING and ns}
        for stage, one in held.items()
    }
    before = gaps.pop(EXECUTORS, 0)
    result.executors_ns = before + waiting
    result.stages_ns = sum(sum(causes.values()) for causes in stages.values())
    result.driver_ns = sum(gaps.values())
    waits: dict[str, int] = defaultdict(int)
    for one in held.values():
        for kind, ns in one.waits.items():
            waits[kind] += ns
    why = why_unsplit(scope)
    rows = [
        _row("executors", before + waiting),
        *_waits("executors/before_the_first_query", before, first, why),
        *_waits("executors/stage_waiting", waiting, waits, why),
        _row("stages", result.stages_ns),
        *_stage_rows(stages),
        _row("driver", result.driver_ns),
        *(_row(f"driver/{w}", gaps.get(w, 0))
          for w in ("start", "in_query", "between_queries", "end")),
    ]  # fmt: skip
    resolution = 2 * EVENT_LOG_MS
    return close(scope.window.name, scope_length(scope), rows, [], resolution)


def _waits(path: str, whole: int, kinds: dict[str, int], why: str) -> Iterator[Row]:
    """Split a wait for executors by what they waited for; whole where that is not known of any."""
    unsplit = whole and kinds.get(UNSPLIT) == whole
    yield _row(path, whole, f"{_SOURCES[path]}; not split: {why}" if unsplit else "")
    if unsplit:
        return
    inside = {kind: kinds[kind] for kind in OF_PODS if kinds.get(kind)}
    if inside:
        rest = kinds.get(NOT_GRANTED, 0)
        inside |= {REST: rest} if rest else {}
        kinds = {**kinds, NOT_GRANTED: sum(inside.values()), **inside}
    for kind in (NOT_GRANTED, *OF_PODS, REST, *KINDS[1 + len(OF_PODS) :]):
        if kinds.get(kind):
            also = f" ({why})" if kind == UNSPLIT else ""
            yield _row(f"{path}/{kind}", kinds[kind], f"{MEANINGS[kind]}{also}")


def scope_length(scope: Scope) -> int:
    """Length of the window in which an application lived; of several, the sum of theirs."""
    return int(
        scope.tables.scalar(
            "SELECT coalesce(sum(greatest(0, least(w.end_wall_ns, a.gone_wall_ns)"
            " - greatest(w.start_wall_ns, a.born_wall_ns))), 0)::BIGINT FROM w, lives a"
            " WHERE a.born_wall_ns IS NOT NULL AND a.gone_wall_ns IS NOT NULL"
        )
    )


def _stage_rows(stages: dict[PathStage, dict[str, int]]) -> Iterator[Row]:
    ordered = sorted(stages, key=lambda s: (-sum(stages[s].values()), s.stage_id))
    several_apps = len({stage.app for stage in ordered}) > 1
    for stage in ordered[:MOST_ROWS]:
        path = row_path(stage.stage_id, stage.attempt, stage.app if several_apps else None)
        yield _row(path, sum(stages[stage].values()), stage.name or "")
        for cause, ns in sorted(stages[stage].items(), key=lambda one: -one[1]):
            yield _row(f"{path}/{cause}", ns, _CAUSES[cause])
    rest = ordered[MOST_ROWS:]
    if rest:
        path = f"stages/{len(rest)} other stages"
        yield _row(path, sum(sum(stages[s].values()) for s in rest), "the others on the path")
        sums: dict[str, int] = defaultdict(int)
        for stage in rest:
            for cause, ns in stages[stage].items():
                sums[cause] += ns
        for cause, ns in sorted(sums.items(), key=lambda one: -one[1]):
            yield _row(f"{path}/{cause}", ns, _CAUSES[cause])


def _row(path: str, value: int, source: str = "") -> Row:
    parent = path.rpartition("/")[0] or None
    return Row(path=path, parent=parent, value_ns=value, source=source or _SOURCES.get(path, ""))
