"""What of a run a scheduler can know: stages, jobs, tasks and executors of a window.

Of the start times of tasks only the first of all is read, and where an executor does not tell its
cores, how many of its tasks ran at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyrometer.analyse.simulation.settings import Settings, settings_of
from pyrometer.analyse.windows import Interval, Window
from pyrometer.errors import UsageError
from pyrometer.store import Run, Tables

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Stage:
    """A stage attempt that was completed in the window.

    Attributes
    ----------
    tasks_count : int
        Task attempts; 0 where the log lacks some of its tasks: it takes as long as it took.
    pool : int
        Resource profile of the executors that ran it.
    hosts : tuple of str
        Where its tasks found their data near.
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


@dataclass(frozen=True)
class Job:
    """A job that was submitted in the window; ``None``: its end was not seen there."""

    job_id: int
    submit_ns: int
    end_ns: int | None


@dataclass(frozen=True)
class Executor:
    """An executor; ``None``: it was there from the beginning, or stayed."""

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
        In the order in which they are served: by job, then by stage.
    first_launch_ns : int or None
        When the first task of all was launched.
    open_ended : bool
        The log ends before the application: the window ends with the last stage or job.
    cut_count : int
        Stages that were running when the window ended: left out.
    inferred : bool
        Cores of an executor are not known, and were taken to be as many as it ever ran tasks.
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


def measured_of(run: Run, window: Window, app_index: int | None = None) -> Measured:
    """Read what a scheduler can know of a window.

    Parameters
    ----------
    app_index : int, optional
        Which application; unasked, the one with most task time.

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
    tables.define("sim_stages", _STAGES, [index])
    stages = [
        Stage(**{**row, **{k: tuple(row[k] or ()) for k in ("parent_ids", "hosts")}})
        for row in tables.records("SELECT * FROM sim_stages ORDER BY number")
    ]
    if not any(stage.tasks_count for stage in stages):
        raise UsageError(
            f"{run.paths.root}: no stage with its tasks was completed in window {window.name}:"
            " there is nothing to schedule",
            "another window (--window), or a whole event log",
        )
    settings = settings_of(app["spark_conf"], app["master"], app["spark_version"])
    executors, inferred = _executors(tables, index, settings, intervals)
    if not executors:
        raise UsageError(f"{run.paths.root}: no executor is known, nor where a task ran")
    jobs = [Job(**row) for row in tables.records(_JOBS, [index])]
    return Measured(
        app_index=index,
        app_name=app["app_name"],
        intervals=intervals,
        stages=stages,
        jobs=jobs,
        executors=executors,
        tasks=_tasks(tables, index),
        settings=settings,
        first_launch_ns=tables.scalar(_FIRST_LAUNCH, [index]),
        open_ended=open_ended,
        cut_count=int(tables.scalar(_CUT, [index])),
        inferred=inferred,
    )


def _application(tables: Tables, app_index: int | None) -> dict[str, Any]:
    rows = tables.records(
        "SELECT a.app_index, a.app_name, a.master, a.spark_conf, a.spark_version,"
        " a.start_wall_ns, a.end_wall_ns,"
        " a.first_event_wall_ns, coalesce(sum(t.finish_wall_ns - t.launch_wall_ns), 0) AS work"
        " FROM apps a LEFT JOIN tasks t USING (app_index) GROUP BY ALL"
        " ORDER BY work DESC, app_index"
    )
    if not rows:
        raise UsageError("no application in it", "give a run of Spark, or an event log")
    if app_index is None:
        return rows[0]
    for row in rows:
        if row["app_index"] == app_index:
            return row
    known = ", ".join(str(n) for n in sorted(row["app_index"] for row in rows))
    raise UsageError(f"--app {app_index}: the run has {known}")


def _intervals(
    tables: Tables, app: dict[str, Any], window: Window
) -> tuple[tuple[Interval, ...], bool]:
    """Give the window's stretches, and whether the log ends before the application."""
    if window.iterations:
        return window.intervals, False
    start = app["start_wall_ns"] or app["first_event_wall_ns"]
    if app["end_wall_ns"] is not None and start is not None:
        return (Interval(int(start), int(app["end_wall_ns"])),), False
    last = tables.scalar(
        "SELECT max(t) FROM (SELECT complete_wall_ns AS t FROM stages WHERE app_index = $1"
        " UNION ALL SELECT end_wall_ns FROM jobs WHERE app_index = $1)",
        [app["app_index"]],
    )
    if start is None or last is None:
        raise UsageError("no stage in it was completed: there is nothing to schedule")
    return (Interval(int(start), int(last)),), True


def _executors(
    tables: Tables, app_index: int, settings: Settings, intervals: tuple[Interval, ...]
) -> tuple[list[Executor], bool]:
    first, last = intervals[0].start_wall_ns, intervals[-1].end_wall_ns
    found, inferred = [], False
    for row in tables.records(_EXECUTORS, [app_index]):
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
                dynamic=settings.dynamic and any(word in reason for word in _GIVEN_UP),
            )
        )
    return found, inferred


def _tasks(tables: Tables, app_index: int) -> Tasks:
    columns = tables.columns(_TASKS, [app_index])

    def of(name: str, kind: type[np.generic]) -> NDArray[Any]:
        return np.ascontiguousarray(np.asarray(columns[name]), dtype=kind)

    return Tasks(
        duration_ns=of("duration_ns", np.float64),
        delay_ns=of("delay_ns", np.float64),
        level=of("level", np.uint8),
        wasted=of("wasted", np.uint8),
        retry_of=of("retry_of", np.int32),
    )


# How Spark and its cluster managers word that dynamic allocation gave an executor up.
_GIVEN_UP = ("killed by driver", "explicit termination request", "idle", "decommission")

# The job of a stage is the first that lists it and was running when it was submitted. An attempt
# that was never seen to end is taken to have ended with its stage.
_STAGES = """
WITH ran AS (
  SELECT t.stage_id, t.stage_attempt, count(DISTINCT t.task_attempt_id) AS attempts,
    count(DISTINCT t.task_index) FILTER (t.status = 'success') AS done,
    coalesce(mode(e.resource_profile_id), 0) AS pool,
    list_sort(list(DISTINCT coalesce(e.host, t.executor_id))
      FILTER (t.locality IN ('PROCESS_LOCAL', 'NODE_LOCAL'))) AS hosts
  FROM tasks t LEFT JOIN executors e USING (app_index, executor_id)
  WHERE t.app_index = $1 AND t.launch_wall_ns IS NOT NULL GROUP BY ALL),
done AS (
  SELECT s.*, r.pool, r.hosts,
    CASE WHEN s.status = 'succeeded' AND r.done < s.planned_tasks_count THEN 0
      ELSE coalesce(r.attempts, 0) END AS tasks_count,
    (SELECT min(j.job_id) FROM jobs j WHERE j.app_index = s.app_index
      AND list_contains(j.stage_ids, s.stage_id) AND j.submit_wall_ns <= s.submit_wall_ns
      AND coalesce(j.end_wall_ns, s.submit_wall_ns) >= s.submit_wall_ns) AS of_job
  FROM stages s JOIN sim_window w
    ON s.submit_wall_ns >= w.start_ns AND s.complete_wall_ns <= w.end_ns
  LEFT JOIN ran r USING (stage_id, stage_attempt) WHERE s.app_index = $1)
SELECT row_number() OVER (ORDER BY of_job NULLS LAST, stage_id, stage_attempt) - 1 AS number,
  of_job AS job_id, stage_id, stage_attempt AS attempt, name, parent_ids,
  submit_wall_ns AS submit_ns, complete_wall_ns AS complete_ns, tasks_count,
  coalesce(pool, 0) AS pool, hosts
FROM done
"""
_FIRST_LAUNCH = """
SELECT min(t.launch_wall_ns) FROM tasks t JOIN sim_stages s USING (stage_id)
WHERE t.app_index = $1 AND t.stage_attempt = s.attempt AND s.tasks_count > 0
"""
_CUT = """
SELECT count(*) FROM stages s JOIN sim_window w
  ON s.submit_wall_ns >= w.start_ns AND s.submit_wall_ns < w.end_ns
WHERE s.app_index = $1 AND (s.complete_wall_ns IS NULL OR s.complete_wall_ns > w.end_ns)
"""
_JOBS = """
SELECT j.job_id, j.submit_wall_ns AS submit_ns,
  CASE WHEN j.end_wall_ns <= w.end_ns THEN j.end_wall_ns END AS end_ns
FROM jobs j JOIN sim_window w ON j.submit_wall_ns >= w.start_ns AND j.submit_wall_ns <= w.end_ns
WHERE j.app_index = $1 ORDER BY j.job_id
"""
# An attempt whose result was lost later has a second row; its scheduler delay is Spark's:
# core/src/main/scala/org/apache/spark/status/AppStatusUtils.scala.
_TASKS = """
WITH each AS (
  SELECT s.number, t.task_attempt_id, any_value(t.task_index) AS task_index,
    any_value(t.attempt) AS attempt, bool_or(t.speculative) AS speculative,
    bool_or(t.status <> 'success') AS wasted,
    max(greatest(0, coalesce(t.finish_wall_ns, s.complete_ns) - t.launch_wall_ns)) AS duration,
    max(CASE WHEN t.has_metrics THEN t.finish_wall_ns - t.launch_wall_ns
        - coalesce(t.executor_run_time_ns, 0) - coalesce(t.executor_deserialize_time_ns, 0)
        - coalesce(t.result_serialization_time_ns, 0)
        - coalesce(t.finish_wall_ns - t.getting_result_wall_ns, 0) END) AS delay,
    any_value(CASE t.locality WHEN 'NODE_LOCAL' THEN 1 WHEN 'RACK_LOCAL' THEN 2 WHEN 'ANY' THEN 3
      ELSE 0 END) AS level
  FROM tasks t JOIN sim_stages s USING (stage_id)
  WHERE t.app_index = $1 AND t.stage_attempt = s.attempt AND s.tasks_count > 0
    AND t.launch_wall_ns IS NOT NULL
  GROUP BY s.number, t.task_attempt_id),
placed AS (
  SELECT *, row_number() OVER (PARTITION BY number ORDER BY task_attempt_id) - 1 AS place
  FROM each),
chained AS (
  SELECT *, CASE WHEN NOT speculative AND task_index IS NOT NULL THEN lag(place) OVER (
    PARTITION BY number, task_index, speculative ORDER BY attempt, task_attempt_id) END AS before
  FROM placed)
SELECT duration::DOUBLE AS duration_ns,
  least(greatest(coalesce(delay, 0), 0), duration)::DOUBLE AS delay_ns,
  level::UTINYINT AS level, wasted::UTINYINT AS wasted,
  coalesce(before, -1)::INTEGER AS retry_of
FROM chained ORDER BY number, place
"""
_EXECUTORS = """
WITH steps AS (
  SELECT executor_id, launch_wall_ns AS t, 1 AS d FROM tasks
    WHERE app_index = $1 AND finish_wall_ns IS NOT NULL
  UNION ALL SELECT executor_id, finish_wall_ns, -1 FROM tasks
    WHERE app_index = $1 AND launch_wall_ns IS NOT NULL),
ran AS (
  SELECT executor_id, max(n) AS at_once FROM (
    SELECT executor_id, sum(d) OVER (PARTITION BY executor_id ORDER BY t, d) AS n FROM steps)
  GROUP BY executor_id)
SELECT executor_id, e.host, e.cores_count, e.add_wall_ns, e.remove_wall_ns, e.remove_reason,
  coalesce(e.resource_profile_id, 0) AS pool, r.at_once
FROM (SELECT * FROM executors WHERE app_index = $1) e FULL JOIN ran r USING (executor_id)
ORDER BY e.add_wall_ns NULLS FIRST, TRY_CAST(executor_id AS BIGINT), executor_id
"""
