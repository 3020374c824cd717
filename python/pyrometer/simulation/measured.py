"""What a scheduler can know of a run: stages, jobs, tasks and executors of a window.

Of the start times of tasks only the first of all is used, and where the cores of an executor are
unknown, how many of its tasks ran at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyrometer.accounts.ledger.events import GIVEN_UP
from pyrometer.accounts.stage_names import stage_name
from pyrometer.core.errors import UsageError
from pyrometer.simulation.attempts import attempts
from pyrometer.simulation.queries import (
    CUT,
    DESCRIPTIONS,
    EXECUTORS,
    EXECUTORS_AT_ONCE,
    FIRST_LAUNCH,
    JOBS,
    STAGES,
)
from pyrometer.simulation.settings import Settings, settings_of
from pyrometer.store import Run, Tables
from pyrometer.store.lives import define_lives
from pyrometer.window.windows import Interval, Window

Floats = NDArray[np.float64]
MS = 1_000_000


@dataclass(frozen=True)
class Stage:
    """A stage attempt that was completed in the window.

    Attributes
    ----------
    tasks_count : int
        Task attempts; 0 where the log lacks some of its tasks: the stage keeps its measured time.
    pool : int
        Resource profile of the executors that ran it.
    called : str or None
        What says most of where it comes from; ``name`` is Spark's.
    hosts : tuple of str
        Hosts on which its tasks ran near their data.
    fetch_ns : int
        How long the driver still fetched results after the last task had given its slot back.
    app_index : int
        Its application: numbers of stages begin in each.
    """

    number: int
    job_id: int | None
    stage_id: int
    attempt: int
    name: str | None
    parent_ids: tuple[int, ...]
    submit_ns: int
    complete_ns: int
    tasks_count: int
    pool: int
    hosts: tuple[str, ...]
    called: str | None = None
    fetch_ns: int = 0
    app_index: int = 0

    @property
    def ran_ns(self) -> int:
        """When its last task gave its slot back: what comes then is the driver's."""
        return self.complete_ns - self.fetch_ns


@dataclass(frozen=True)
class Job:
    """A job that was submitted in the window; ``None``: its end is not in the window."""

    job_id: int
    submit_ns: int
    end_ns: int | None


@dataclass(frozen=True)
class Executor:
    """An executor; ``None``: it was present from the beginning, or to the end."""

    executor_id: str
    host: str
    slots: int
    cores: int
    pool: int
    add_ns: int | None
    remove_ns: int | None
    dynamic: bool


@dataclass(frozen=True)
class Tasks:
    """Columns of all task attempts, by stage in the order of ``stages``, then by ID."""

    duration_ns: Floats
    delay_ns: Floats
    level: NDArray[np.uint8]
    wasted: NDArray[np.uint8]
    retry_of: NDArray[np.int32]


@dataclass(frozen=True)
class Measured:
    """A window of an application. Times are Unix times, as the event log has them.

    Attributes
    ----------
    stages : list of Stage
        In the order in which they are scheduled: by job, then by stage.
    first_launch_ns : int or None
        When the first task of all was launched.
    open_ended : bool
        The log ends before the application: the window ends with the last stage or job.
    cut_count : int
        Stages that were running when the window ended: omitted.
    inferred : bool
        Cores of an executor are unknown, and assumed to be the most tasks that it ran at once.
    """

    app_index: int
    app_name: str | None
    intervals: tuple[Interval, ...]
    stages: list[Stage]
    jobs: list[Job]
    executors: list[Executor]
    tasks: Tasks
    settings: Settings
    first_launch_ns: int | None
    open_ended: bool
    cut_count: int
    inferred: bool

    @property
    def elapsed_ns(self) -> int:
        """Time in the window."""
        return sum(i.end_wall_ns - i.start_wall_ns for i in self.intervals)

    @cached_property
    def first_tasks(self) -> list[int]:
        """Place of each stage's first task, by its number, and the number of all tasks."""
        return [0, *np.cumsum([stage.tasks_count for stage in self.stages]).tolist()]


def measured_of(run: Run, window: Window, app_index: int | None = None) -> Measured:
    """Read what a scheduler can know of a window.

    Parameters
    ----------
    app_index : int, optional
        Which application; by default, the one with most task time.

    Raises
    ------
    UsageError
        If nothing in it can be scheduled.
    """
    tables = run.tables
    app = _application(tables, app_index)
    index = int(app["app_index"])
    intervals, open_ended = _intervals(tables, app, window)
    tables.keep(
        "sim_window",
        {"start_ns": "BIGINT", "end_ns": "BIGINT"},
        {
            "start_ns": [i.start_wall_ns for i in intervals],
            "end_ns": [i.end_wall_ns for i in intervals],
        },
    )
    tables.define("sim_stages", STAGES, [index])
    described = dict(tables.query(DESCRIPTIONS, [index]))
    stages = [
        Stage(
            **{**row, **{k: tuple(row[k] or ()) for k in ("parent_ids", "hosts")}},
            called=stage_name(row["name"], described.get(row["stage_id"])),
            app_index=index,
        )
        for row in tables.records("SELECT * FROM sim_stages ORDER BY number")
    ]
    if not any(stage.tasks_count for stage in stages):
        raise UsageError(
            f"no stage with its tasks was completed in window {window.name}: there is nothing to"
            " schedule",
            "choose another window (--window), or give a whole event log",
        )
    settings = settings_of(app["spark_conf"], app["master"], app["spark_version"])
    executors, inferred = _executors(tables, index, settings, intervals)
    if not executors:
        raise UsageError("no executor is known, nor where a task ran", "give a whole event log")
    jobs = [Job(**row) for row in tables.records(JOBS, [index])]
    return Measured(
        app_index=index,
        app_name=app["app_name"],
        intervals=intervals,
        stages=stages,
        jobs=jobs,
        executors=executors,
        tasks=_tasks(tables, index),
        settings=settings,
        first_launch_ns=tables.scalar(FIRST_LAUNCH, [index]),
        open_ended=open_ended,
        cut_count=int(tables.scalar(CUT, [index])),
        inferred=inferred,
    )


def _application(tables: Tables, app_index: int | None) -> dict[str, Any]:
    define_lives(tables)
    rows = tables.records(
        "SELECT a.app_index, a.app_name, a.master, a.spark_conf, a.spark_version,"
        " a.start_wall_ns, a.end_wall_ns,"
        " a.born_wall_ns, coalesce(t.work, 0) AS work FROM lives a"
        # Grouped by number: settings of an application are a long text.
        " LEFT JOIN (SELECT app_index, sum(finish_wall_ns - launch_wall_ns) AS work FROM tasks"
        "  GROUP BY app_index) t USING (app_index)"
        " ORDER BY work DESC, app_index"
    )
    if not rows:
        raise UsageError("no application in it", "give a run of Spark, or an event log")
    if app_index is None:
        return rows[0]
    for row in rows:
        if row["app_index"] == app_index:
            return row
    known = sorted((row["app_index"], row["app_name"] or "without a name") for row in rows)
    raise UsageError(
        f"--app {app_index}: the run has no such application",
        f"give one that it has: {', '.join(f'--app {n} ({name})' for n, name in known)}",
    )


def _intervals(
    tables: Tables, app: dict[str, Any], window: Window
) -> tuple[tuple[Interval, ...], bool]:
    """Give the window's intervals, and whether the log ends before the application."""
    if window.is_part:
        return tuple(_whole_ms(interval) for interval in window.intervals), False
    start = app["born_wall_ns"]
    if app["end_wall_ns"] is not None and start is not None:
        return (Interval(int(start), int(app["end_wall_ns"])),), False
    last = tables.scalar(
        "SELECT max(t) FROM (SELECT complete_wall_ns AS t FROM stages WHERE app_index = $1"
        " UNION ALL SELECT end_wall_ns FROM jobs WHERE app_index = $1)",
        [app["app_index"]],
    )
    if start is None or last is None:
        raise UsageError(
            "no stage in it was completed: there is nothing to schedule", "give a whole event log"
        )
    return (Interval(int(start), int(last)),), True


def _whole_ms(interval: Interval) -> Interval:
    """Widen an interval to whole milliseconds, as in event logs."""
    start, end = interval.start_wall_ns, interval.end_wall_ns
    return Interval(start // MS * MS, -(-end // MS) * MS)


def _executors(
    tables: Tables, app_index: int, settings: Settings, intervals: tuple[Interval, ...]
) -> tuple[list[Executor], bool]:
    first, last = intervals[0].start_wall_ns, intervals[-1].end_wall_ns
    found, inferred = [], False
    rows = tables.records(EXECUTORS, [app_index])
    if any(row["cores_count"] is None for row in rows):
        rows = tables.records(EXECUTORS_AT_ONCE, [app_index])
    for row in rows:
        cores, add, remove = row["cores_count"], row["add_wall_ns"], row["remove_wall_ns"]
        if cores is None:
            if not row["at_once"]:
                continue
            inferred, slots = True, int(row["at_once"])
        else:
            slots = settings.slots(int(cores))
        if (add is not None and add >= last) or (remove is not None and remove <= first):
            continue
        reason = (row["remove_reason"] or "").lower()
        found.append(
            Executor(
                executor_id=row["executor_id"],
                host=row["host"] or row["executor_id"],
                slots=slots,
                cores=slots if cores is None else int(cores),
                pool=row["pool"],
                add_ns=None if add is None or add <= first else add,
                remove_ns=None if remove is None or remove >= last else remove,
                dynamic=settings.dynamic and any(word in reason for word in GIVEN_UP),
            )
        )
    return found, inferred


def _tasks(tables: Tables, app_index: int) -> Tasks:
    columns = attempts(tables, app_index)

    def of(name: str, kind: type[np.generic]) -> NDArray[Any]:
        return np.ascontiguousarray(np.asarray(columns[name]), dtype=kind)

    return Tasks(
        duration_ns=of("duration_ns", np.float64),
        delay_ns=of("delay_ns", np.float64),
        level=of("level", np.uint8),
        wasted=of("wasted", np.uint8),
        retry_of=of("retry_of", np.int32),
    )
