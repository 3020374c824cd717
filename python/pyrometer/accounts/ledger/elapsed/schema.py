"""The structure of ``elapsed`` in ``show --json``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from pyrometer.core.model import Model

Kind = Literal["stage", "executors", "driver"]


class LastTask(Model):
    """The task that a stage waited for last, beside the median of the stage's tasks."""

    task_attempt_id: int
    executor_id: str | None = None
    host: str | None = None
    duration_ns: int
    median_ns: int | None = None
    cpu_ns: int | None = None
    gc_ns: int | None = None
    read_bytes: int | None = None
    median_read_bytes: int | None = None


class HeldStage(Model):
    """A stage attempt on the critical path.

    Attributes
    ----------
    called : str or None
        What says most of where it comes from; ``name`` is Spark's.
    held_ns : int
        Time in which it was what the application waited for; at most its duration.
    causes : dict of str to int
        The same time by cause: ``slots_busy`` (its tasks and those of others had every slot),
        ``too_few_tasks``, ``stage_tail`` (its last tasks ran, other slots were free),
        ``waiting_to_launch``, ``executor_startup``, ``finishing`` (no task left to run),
        ``running`` where the number of slots is unknown, or the log lacks the stage's tasks.
    slots_count : int or None
        The most slots there were meanwhile.
    own_ratio : float or None
        While all slots were busy, the share of them that ran this stage's tasks.
    last_task : LastTask or None
        Of a stage whose tasks are known.
    """

    app_index: int
    stage_id: int
    stage_attempt: int
    sql_id: int | None = None
    name: str | None = None
    called: str | None = None
    tasks_count: int | None = None
    duration_ns: int | None = None
    held_ns: int
    share: float
    causes: dict[str, int] = Field(default_factory=dict)
    slots_count: int | None = None
    own_ratio: float | None = None
    last_task: LastTask | None = None


class Gap(Model):
    """Time in which the driver held the application up.

    ``where`` is ``before_executors`` (none had registered), ``start`` (before the first query or
    job), ``in_query``, ``between_queries`` or
    ``end``; times are from the start of the window. The stages are those on the path around it.
    """

    app_index: int
    where: str
    start_ns: int
    length_ns: int
    sql_id: int | None = None
    description: str | None = None
    after_stage_id: int | None = None
    before_stage_id: int | None = None


class PathStretch(Model):
    """A part of the path; times are from the start of the window."""

    app_index: int
    start_ns: int
    end_ns: int
    kind: Kind
    stage_id: int | None = None
    stage_attempt: int | None = None


class Elapsed(Model):
    """Elapsed time of a window, split along the critical path.

    Attributes
    ----------
    total_ns : int or None
        Length of the window; of several applications, the sum of theirs.
    executors_ns, stages_ns, driver_ns : int
        What it waited for; they add up to the total.
    submitted_before_ns : int or None
        From ``spark-submit`` to the start of the application, which is before the window.
    stages, gaps : list
        The largest of each; ``stages_count`` and ``gaps_count`` say of how many.
    path : list of PathStretch
        In order of time, at most a thousand: the shortest are joined to their neighbours.
    reason : str or None
        Why there is none.
    """

    total_ns: int | None = None
    executors_ns: int = 0
    stages_ns: int = 0
    driver_ns: int = 0
    submitted_before_ns: int | None = None
    stages: list[HeldStage] = Field(default_factory=list)
    stages_count: int = 0
    gaps: list[Gap] = Field(default_factory=list)
    gaps_count: int = 0
    path: list[PathStretch] = Field(default_factory=list)
    reason: str | None = None


def row_names(stages: Sequence[HeldStage]) -> dict[str, str]:
    """Say what the stages of the view's rows are called, by path, whatever applications it has."""
    return {
        row_path(stage.stage_id, stage.stage_attempt, app): stage.called
        for stage in stages
        if stage.called
        for app in (stage.app_index, None)
    }


def row_path(stage_id: int, attempt: int, app: int | None) -> str:
    """Give the path of a stage's row in the view; with its application where there are several.

    Examples
    --------
    >>> row_path(3, 0, None), row_path(3, 1, 0)
    ('stages/stage 3', 'stages/stage 3.1 of application 0')
    """
    name = f"stage {stage_id}" + (f".{attempt}" if attempt else "")
    return f"stages/{name}" + ("" if app is None else f" of application {app}")
