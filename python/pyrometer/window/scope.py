"""A run cut to a window: temporary views that every account reads.

================  ==================================================================
``w``             stretches of time of the window, on both clocks
``w_stages``      stage attempts of the window
``w_tasks``       task attempts of the window, with iteration and SQL execution
``run_tasks``     the same of the whole run
``w_sql``         SQL executions of the window
``w_samples``     profiler samples of the window, without their stacks; none where many are missing
``w_spans``       task spans that touch the window, cut to it; none where some are missing
``process_apps``  from when to when a process ran which application
================  ==================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyrometer.window.recordings import (
    MOST_UNSAMPLED,
    OF_RECORDINGS,
    recordings_ended,
    unrecorded_ratio,
)
from pyrometer.window.windows import Window, clock_offset_ns

if TYPE_CHECKING:
    from pyrometer.store import Run, Tables


@dataclass
class Scope:
    """A run and a window, with the temporary views in place.

    ``machines`` has hosts whose machine another host stands for, such as pods of a node, and which
    does: what they read of that machine does not count again.
    """

    run: Run
    window: Window
    kept: dict[str, Any] = field(default_factory=dict)
    machines: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tables.of_window.clear()
        _define(self.tables, self.window)
        _define_samples(self.tables, self.unsampled is None)
        _define_spans(self.tables, self.unrecorded is None)

    @property
    def tables(self) -> Tables:
        """The tables of the run."""
        return self.run.tables

    @cached_property
    def offset_ns(self) -> int | None:
        """Unix time minus CLOCK_MONOTONIC."""
        return clock_offset_ns(self.run)

    @property
    def has_mono(self) -> bool:
        """Whether data on the monotonic clock can be cut to the window."""
        return self.window.has_mono

    def has(self, table: str) -> bool:
        """Whether the run has rows of ``table``, and of what JVMs wrote until the window's end."""
        return self.tables.has(table) and self.cut_short(table) is None

    def cut_short(self, table: str) -> str | None:
        """Say why ``table`` does not have all of the window; ``None`` where JVMs recorded it."""
        if table == "samples":
            return self.unsampled
        return self.unrecorded if table in OF_RECORDINGS else None

    @cached_property
    def unrecorded(self) -> str | None:
        """Why sums over what JVMs recorded are unknown; ``None`` where they are not."""
        ended = recordings_ended(self.tables)
        return f"{ended[0].whose} was not recorded to the end of this window" if ended else None

    @cached_property
    def unsampled(self) -> str | None:
        """Why shares of samples are unknown; ``None`` where next to all of the window has some."""
        missing = self.unrecorded and unrecorded_ratio(self.tables) > MOST_UNSAMPLED
        return self.unrecorded if missing else None

    @cached_property
    def task_cpu_ns(self) -> int | None:
        """CPU of tasks in the window: of spans where the plugin ran, else Spark's counter."""
        spans = self.tables.scalar("SELECT sum(cpu_ns * inside)::BIGINT FROM w_spans")
        if spans is not None:
            return int(spans)
        counter = self.tables.scalar("SELECT sum(executor_cpu_time_ns)::BIGINT FROM w_tasks")
        return None if counter is None else int(counter)


_EVER = 1 << 62
_FEW_TASKS = 4000
# A JVM has one SparkContext at a time: an application lasts until the next one begins.
_PROCESS_APPS = f"""
SELECT pid, app_index,
  CASE WHEN row_number() OVER own = 1 THEN {-_EVER} ELSE began END AS since,
  coalesce(lead(began) OVER own, {_EVER}) AS until
FROM (SELECT p.pid, min(a.app_index) AS app_index, min(p.start_mono_ns) AS began
  FROM processes p JOIN apps a USING (app_id) GROUP BY p.pid, p.app_id)
WINDOW own AS (PARTITION BY pid ORDER BY began, app_index)
"""


def _define(tables: Tables, window: Window) -> None:
    rows = ", ".join(
        f"({i.start_wall_ns}::BIGINT, {i.end_wall_ns}::BIGINT,"
        f" {_sql(i.start_mono_ns)}, {_sql(i.end_mono_ns)})"
        for i in window.intervals
    )
    names = "w(start_wall_ns, end_wall_ns, start_mono_ns, end_mono_ns)"
    empty = "(SELECT 0::BIGINT, 0::BIGINT, NULL::BIGINT, NULL::BIGINT WHERE false)"
    values = f"(VALUES {rows})" if rows else empty
    tables.define("w", f"SELECT * FROM {values} AS {names}")
    chosen = ", ".join(map(str, window.iterations))
    only = f"WHERE s.iteration IN ({chosen})" if chosen else ""
    if window.cut and window.intervals:
        only = _touching(window, "s.submit_wall_ns", "s.complete_wall_ns")
    tables.define("w_stages", f"SELECT * FROM stages s {only}")
    if window.cut and window.intervals:
        only = _touching(window, "s.launch_wall_ns", "s.finish_wall_ns")
    _define_tasks(tables, only)
    _define_sql(tables, chosen, window)
    tables.define("process_apps", _PROCESS_APPS)


def _touching(window: Window, start: str, end: str) -> str:
    """Keep what touches the window; what has no end counts as still running."""
    touching = " OR ".join(
        f"({start} < {each.end_wall_ns} AND coalesce({end}, {each.end_wall_ns})"
        f" > {each.start_wall_ns})"
        for each in window.intervals
    )
    return f"WHERE ({touching})"


def _define_tasks(tables: Tables, only: str) -> None:
    tables.define_view(
        "run_tasks",
        "SELECT t.*, s.iteration, s.sql_id"
        " FROM tasks t LEFT JOIN stages s USING (app_index, stage_id, stage_attempt)",
    )
    # Of few tasks, planning the view wherever it is read costs more than holding its rows.
    define = tables.define if tables.rows_count("tasks") <= _FEW_TASKS else tables.define_view
    define("w_tasks", f"SELECT * FROM run_tasks s {only}")


def _define_sql(tables: Tables, chosen: str, window: Window) -> None:
    marks = (
        "SELECT app_index, sql_id, iteration FROM stages"
        " UNION ALL SELECT app_index, sql_id, iteration FROM jobs"
    )
    only = f"WHERE m.iteration IN ({chosen})" if chosen else ""
    if window.cut and window.intervals:
        only = _touching(window, "q.start_wall_ns", "q.end_wall_ns")
    tables.define(
        "w_sql",
        # Plans are read node by node; their texts are the largest column.
        "SELECT q.* EXCLUDE (physical_plan), m.iteration FROM sql_executions q LEFT JOIN"
        f" (SELECT app_index, sql_id, min(iteration) AS iteration FROM ({marks})"
        "  WHERE sql_id IS NOT NULL GROUP BY ALL) m USING (app_index, sql_id)"
        f" {only}",
    )


# When a sample was taken, on the monotonic clock.
_MONO = "x.t_ns - CASE x.clock WHEN 'wall' THEN w.start_wall_ns - w.start_mono_ns ELSE 0 END"


def _define_samples(tables: Tables, enough: bool) -> None:
    """Cut samples to the window, if they stand for next to all of it."""
    # The frame of a generated stage nearest the leaf of each stack. A method that other classes
    # call gets a second entry, whose name ends in $.
    tables.define(
        "generated_methods",
        "SELECT s.stack_id, arg_max(f.frame, s.i) AS frame FROM"
        " (SELECT stack_id, unnest(frame_ids) AS frame_id, generate_subscripts(frame_ids, 1) AS i"
        "  FROM stacks WHERE stack_id IN"
        "   (SELECT java_stack FROM samples WHERE codegen_stage_id IS NOT NULL)) s"
        " JOIN (SELECT frame_id, {'class_name': class_name, 'method': rtrim(method, '$'),"
        "   'line': line} AS frame FROM frames WHERE class_name LIKE"
        "  '%.GeneratedClass$GeneratedIteratorForCodegenStage%') f USING (frame_id)"
        " GROUP BY s.stack_id",
    )
    tables.define(
        "w_samples",
        "SELECT coalesce(a.app_index, CASE WHEN (SELECT count(*) FROM apps) = 1"
        "  THEN (SELECT min(app_index) FROM apps) END) AS app_index,"
        " x.pid, x.tid, x.t_ns, x.event, x.weight, x.state, x.wait_class, x.category, x.role,"
        " x.java_stack,"
        " x.task_attempt_id, x.stage_id, x.sql_id, x.node_id, x.operator, x.codegen_stage_id,"
        " g.frame.class_name AS generated_class, g.frame.method AS method, g.frame.line AS line,"
        # A wall sample may stand for several ticks of one sleep: hits counts ticks.
        " greatest(1, round(x.weight / (SELECT greatest(min(y.weight), 1) FROM samples y"
        "  WHERE y.event = x.event AND y.source IS DISTINCT FROM 'python')))::BIGINT AS hits"
        " FROM samples x JOIN w ON"
        "  x.t_ns >= CASE x.clock WHEN 'wall' THEN w.start_wall_ns ELSE w.start_mono_ns END AND"
        "  x.t_ns < CASE x.clock WHEN 'wall' THEN w.end_wall_ns ELSE w.end_mono_ns END"
        # Of a sample whose time on the monotonic clock is unknown, the first application.
        f" LEFT JOIN process_apps a ON a.pid = x.pid AND coalesce({_MONO}, {-_EVER}) >= a.since"
        f"  AND coalesce({_MONO}, {-_EVER}) < a.until"
        " LEFT JOIN generated_methods g ON g.stack_id = x.java_stack"
        # Samples of Python processes are weighed, not counted: attribution.python_workers.
        f" WHERE x.event IN ('cpu', 'wall') AND x.source IS DISTINCT FROM 'python' AND {enough}",
    )


def _define_spans(tables: Tables, whole: bool) -> None:
    """Spans cut to the window, if there are all; ``inside`` is the part that lies in it."""
    tables.define(
        "w_spans",
        "SELECT coalesce(a.app_index, CASE WHEN (SELECT count(*) FROM apps) = 1"
        "  THEN (SELECT min(app_index) FROM apps) END) AS app_index,"
        " s.pid, s.tid, s.stage_id, s.stage_attempt, s.task_attempt_id, s.sql_id,"
        " s.iteration, s.cpu_ns, s.allocated_bytes,"
        " s.start_mono_ns AS span_start_ns, s.stop AS span_end_ns,"
        " greatest(s.start_mono_ns, w.start_mono_ns) AS start_ns,"
        " least(s.stop, w.end_mono_ns) AS end_ns,"
        " (least(s.stop, w.end_mono_ns) - greatest(s.start_mono_ns, w.start_mono_ns))::DOUBLE"
        "  / greatest(s.stop - s.start_mono_ns, 1) AS inside"
        " FROM (SELECT *, coalesce(spans.end_mono_ns,"
        "   (SELECT min(p.end_mono_ns) FROM processes p WHERE p.pid = spans.pid"
        "     AND p.end_mono_ns > spans.start_mono_ns),"
        "   (SELECT max(end_mono_ns) FROM w)) AS stop FROM spans) s"
        " JOIN w ON s.start_mono_ns < w.end_mono_ns AND s.stop > w.start_mono_ns"
        " LEFT JOIN process_apps a ON a.pid = s.pid AND s.start_mono_ns >= a.since"
        f"  AND s.start_mono_ns < a.until WHERE {whole}",
    )


def _sql(value: int | None) -> str:
    return "NULL::BIGINT" if value is None else f"{value}::BIGINT"
