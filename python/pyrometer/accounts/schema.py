"""Spark's structure: applications with their settings, iterations, and stages with their tasks."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pyrometer.core.model import Model

Totals = dict[str, int | None]


class Failed(Model):
    """Totals of attempts that failed or were killed."""

    totals: Totals


Origin = Literal["set", "pyrometer", "spark", "jvm"]


class Setting(Model):
    """One setting of an application as its event log has it; secrets are struck.

    Attributes
    ----------
    origin : str
        ``set``: by the application, its submission or the platform; ``pyrometer``: for measuring;
        ``spark``: by Spark itself when it started; ``jvm``: a system property of the driver.
    default : str or None
        What Spark takes without the setting (``schema/spark_defaults.toml``), where it is known.
    is_default : bool or None
        The value is the default; None where that is not known.
    """

    name: str
    value: str
    origin: Origin
    default: str | None = None
    is_default: bool | None = None


class ExecutorGroup(Model):
    """Executors alike in cores and memory, of all that ever registered.

    In local mode this is the driver, which runs the tasks. ``storage_memory_bytes`` is the most
    that Spark gives to storage, not the heap.
    """

    executors_count: int
    hosts_count: int
    removed_count: int = 0
    cores_count: int | None = None
    storage_memory_bytes: int | None = None


class App(Model):
    """One Spark application of the run.

    ``executor_memory`` and ``driver_memory`` are as set, None where the application left them to
    Spark; ``settings`` are the first of ``settings_count``.
    """

    app_index: int
    app_id: str | None = None
    app_name: str | None = None
    spark_version: str | None = None
    java_version: str | None = None
    scala_version: str | None = None
    master: str | None = None
    user: str | None = None
    start_wall_ns: int | None = None
    end_wall_ns: int | None = None
    executors: list[ExecutorGroup] = Field(default_factory=list)
    executor_memory: str | None = None
    driver_memory: str | None = None
    settings: list[Setting] = Field(default_factory=list)
    settings_count: int = 0
    totals: Totals = Field(default_factory=dict)
    failed: Failed = Field(default_factory=lambda: Failed(totals={}))


class PageCache(Model):
    """Share of the pages of the workload's files that were resident when an iteration began.

    ``state`` is what was asked for with ``cache.state``; ``reason`` says why the state was not
    reached, or why the share is not known.
    """

    state: str | None = None
    resident_ratio: float | None = None
    method: str | None = None
    reason: str | None = None


class Iteration(Model):
    """One execution of the workload; ``counters`` is what the workload itself counted."""

    iteration: int
    warmup: bool
    elapsed_ns: int | None = None
    status: str
    result_rows_count: int | None = None
    result_checksum: str | None = None
    totals: Totals = Field(default_factory=dict)
    cache: PageCache | None = None
    counters: dict[str, int] = Field(default_factory=dict)


class TaskTime(Model):
    """Durations (finish − launch) of a stage's successful attempts."""

    min_ns: int | None = None
    median_ns: int | None = None
    p95_ns: int | None = None
    max_ns: int | None = None


class Quantiles(Model):
    """How the successful attempts of a stage spread in one measure; its name has the unit."""

    measure: str
    min: int | None = None
    p25: int | None = None
    median: int | None = None
    p75: int | None = None
    max: int | None = None


class SlowTask(Model):
    """One of the longest successful attempts of a stage."""

    task_attempt_id: int
    task_index: int | None = None
    attempt: int | None = None
    executor_id: str | None = None
    host: str | None = None
    locality: str | None = None
    speculative: bool = False
    duration_ns: int | None = None
    executor_run_time_ns: int | None = None
    executor_cpu_time_ns: int | None = None
    jvm_gc_time_ns: int | None = None
    scheduler_delay_ns: int | None = None
    input_bytes: int | None = None
    shuffle_read_bytes: int | None = None
    shuffle_written_bytes: int | None = None
    disk_spilled_bytes: int | None = None


class TaskGroup(Model):
    """The attempts of a stage on one executor or host; sums are of the successful ones."""

    executor_id: str | None = None
    host: str | None = None
    tasks_count: int
    failed_tasks_count: int
    median_ns: int | None = None
    max_ns: int | None = None
    executor_run_time_ns: int | None = None
    jvm_gc_time_ns: int | None = None
    input_bytes: int | None = None
    shuffle_read_bytes: int | None = None
    shuffle_written_bytes: int | None = None
    disk_spilled_bytes: int | None = None


class StageTasks(Model):
    """Tasks of one stage attempt; groups are those with the most task time of ``_count``."""

    quantiles: list[Quantiles] = Field(default_factory=list)
    slowest: list[SlowTask] = Field(default_factory=list)
    executors: list[TaskGroup] = Field(default_factory=list)
    executors_count: int = 0
    hosts: list[TaskGroup] = Field(default_factory=list)
    hosts_count: int = 0


class Stage(Model):
    """One stage attempt; ``tasks`` is None but for the longest 200.

    ``name`` is Spark's; ``called`` is what says most (`pyrometer.accounts.stage_names`).
    """

    app_index: int
    stage_id: int
    stage_attempt: int
    name: str | None = None
    called: str | None = None
    sql_id: int | None = None
    job_id: int | None = None
    iteration: int | None = None
    status: str
    tasks_count: int
    failed_tasks_count: int
    killed_tasks_count: int
    submit_wall_ns: int | None = None
    complete_wall_ns: int | None = None
    duration_ns: int | None = None
    task_time: TaskTime = Field(default_factory=TaskTime)
    tasks: StageTasks | None = None
    totals: Totals = Field(default_factory=dict)
