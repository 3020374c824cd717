"""Spark's structure: applications, iterations, stages, SQL executions with their plans.

How a figure was found.

The process and the machine around Spark: CPU by role, I/O, collections, our instruments.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from pyrometer.core.estimate import Estimate

Totals = dict[str, int | None]


class Failed(BaseModel):
    """Totals of attempts that failed or were killed."""

    totals: Totals


Origin = Literal["set", "pyrometer", "spark", "jvm"]


class Setting(BaseModel):
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


class ExecutorGroup(BaseModel):
    """Executors alike in cores and memory, of all that ever registered.

    In local mode this is the driver, which runs the tasks. ``storage_memory_bytes`` is the most
    that Spark gives to storage, not the heap.
    """

    executors_count: int
    hosts_count: int
    removed_count: int = 0
    cores_count: int | None = None
    storage_memory_bytes: int | None = None


class App(BaseModel):
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


class PageCache(BaseModel):
    """Share of the pages of the workload's files that were resident when an iteration began.

    ``state`` is what was asked for with ``cache.state``; ``reason`` says why the state was not
    reached, or why the share is not known.
    """

    state: str | None = None
    resident_ratio: float | None = None
    method: str | None = None
    reason: str | None = None


class Iteration(BaseModel):
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


class TaskTime(BaseModel):
    """Durations (finish − launch) of a stage's successful attempts."""

    min_ns: int | None = None
    median_ns: int | None = None
    p95_ns: int | None = None
    max_ns: int | None = None


class Quantiles(BaseModel):
    """How the successful attempts of a stage spread in one measure; its name has the unit."""

    measure: str
    min: int | None = None
    p25: int | None = None
    median: int | None = None
    p75: int | None = None
    max: int | None = None


class SlowTask(BaseModel):
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


class TaskGroup(BaseModel):
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


class StageTasks(BaseModel):
    """Tasks of one stage attempt; groups are those with the most task time of ``_count``."""

    quantiles: list[Quantiles] = Field(default_factory=list)
    slowest: list[SlowTask] = Field(default_factory=list)
    executors: list[TaskGroup] = Field(default_factory=list)
    executors_count: int = 0
    hosts: list[TaskGroup] = Field(default_factory=list)
    hosts_count: int = 0


class Stage(BaseModel):
    """One stage attempt; ``tasks`` is None but for the longest 200."""

    app_index: int
    stage_id: int
    stage_attempt: int
    name: str | None = None
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


class NodeMetric(BaseModel):
    """One metric of a plan node, over all attempts that updated it."""

    metric: str
    metric_type: str | None = None
    value_sum: int | None = None
    value_min: int | None = None
    value_max: int | None = None


class Node(BaseModel):
    """One node of the final plan; ``node_id`` is its pre-order index.

    ``python_cpu_ns`` is the CPU of the Python workers that it drove, beside ``on_cpu_ns`` of the
    JVM's threads.
    """

    node_id: int
    parent_node_id: int | None = None
    depth: int
    name: str
    simple_string: str | None = None
    codegen_stage_id: int | None = None
    on_cpu_ns: int | None = None
    python_cpu_ns: int | None = None
    off_cpu_ns: int | None = None
    samples_count: int | None = None
    stage_ids: list[int] = Field(default_factory=list)
    metrics: list[NodeMetric] = Field(default_factory=list)


class Explosion(BaseModel):
    """An operator whose output has many times the rows of its input.

    Attributes
    ----------
    factor : float
        Output rows over input rows, all inputs together.
    """

    node_id: int
    name: str
    rows_in_count: int
    rows_out_count: int
    factor: float
    stage_ids: list[int] = Field(default_factory=list)


class Sql(BaseModel):
    """One SQL execution with its final plan."""

    app_index: int
    sql_id: int
    description: str | None = None
    iteration: int | None = None
    start_wall_ns: int | None = None
    end_wall_ns: int | None = None
    duration_ns: int | None = None
    error: str | None = None
    plan_versions_count: int
    nodes: list[Node] = Field(default_factory=list)
    explosions: list[Explosion] = Field(default_factory=list)


Method = Literal["exact", "sampled", "apportioned", "by_complement", "unavailable"]


class CpuRole(BaseModel):
    """CPU and run-queue time of the threads of one role."""

    role: str
    cpu_ns: int
    run_delay_ns: int | None = None
    threads_count: int
    method: Method = "exact"


class Cpu(BaseModel):
    """CPU of the whole application against CPU as Spark sees it."""

    process_cpu_ns: int | None = None
    executor_cpu_time_ns: int | None = None
    ratio: float | None = None
    run_delay_ns: int | None = None
    roles: list[CpuRole] = Field(default_factory=list)
    reason: str | None = None


class CpuTaker(BaseModel):
    """A process outside the run, by the CPU time that it used while the run lasted."""

    pid: int
    comm: str
    cpu_ns: int


class HostContention(BaseModel):
    """What others took of the CPUs that the run used, and what tasks waited behind them.

    Attributes
    ----------
    cpus : list of int
        CPUs that the run's threads were seen on, where these are not all of the host.
    cpus_count, host_cpus_count : int or None
        How many CPUs the run used, and the host has.
    others_ns, others_ratio : int, float or None
        CPU time of other processes on the run's CPUs, and its share of what these CPUs had.
    steal_ns, steal_ratio : int, float or None
        The same of what the hypervisor took.
    host_others_ratio : float or None
        Share of other processes in the CPU time of the whole host.
    task_ns, run_queue_ns, run_queue_ratio : int, float or None
        Time of tasks, and in it the wait for a CPU, whoever held it.
    behind_others_ns : Estimate or None
        The part of that wait in which others held the CPU, with its bounds.
    behind_others_ratio : float or None
        Its share of task time.
    takers : list of CpuTaker
        Processes that used most, where the launch saw them: over the whole run, not the window.
    """

    cpus: list[int] = Field(default_factory=list)
    cpus_count: int | None = None
    host_cpus_count: int | None = None
    others_ns: int | None = None
    others_ratio: float | None = None
    steal_ns: int | None = None
    steal_ratio: float | None = None
    host_others_ratio: float | None = None
    task_ns: int | None = None
    run_queue_ns: int | None = None
    run_queue_ratio: float | None = None
    behind_others_ns: Estimate | None = None
    behind_others_ratio: float | None = None
    takers: list[CpuTaker] = Field(default_factory=list)
    reason: str | None = None


class CacheReads(BaseModel):
    """Bytes that reads found in the page cache, and that block devices had to deliver."""

    hit_bytes: int | None = None
    missed_bytes: int | None = None
    ratio: float | None = None
    source: str | None = None
    reason: str | None = None


class ThreadIo(BaseModel):
    """Bytes that the threads of a role read and wrote: by calls, and from and to block devices."""

    role: str
    threads_count: int
    rchar_bytes: int | None = None
    wchar_bytes: int | None = None
    read_bytes: int | None = None
    written_bytes: int | None = None


class Io(BaseModel):
    """Bytes read: as Spark says, as the process did, as the scan's files are."""

    input_bytes: int | None = None
    process_read_chars_bytes: int | None = None
    process_read_bytes: int | None = None
    scan_files_size_bytes: int | None = None
    page_cache_ratio: float | None = None
    page_cache: CacheReads = Field(default_factory=CacheReads)
    threads: list[ThreadIo] = Field(default_factory=list)
    mb_per_s_per_core: float | None = None
    bytes_source: str | None = None
    reason: str | None = None


class GcKind(BaseModel):
    """Pauses of one kind."""

    kind: str
    pauses_count: int
    pause_total_ns: int
    pause_max_ns: int


class Gc(BaseModel):
    """Stop-the-world pauses of all JVMs of the run in the window."""

    pauses_count: int | None = None
    pause_total_ns: int | None = None
    pause_max_ns: int | None = None
    safepoints_count: int | None = None
    safepoint_total_ns: int | None = None
    by_kind: list[GcKind] = Field(default_factory=list)
    reason: str | None = None


class Instrument(BaseModel):
    """What one of our own instruments cost."""

    name: str
    cpu_ns: int | None = None
    share_of_process_cpu: float | None = None
    reason: str | None = None
    tier: str | None = None
