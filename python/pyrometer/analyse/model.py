"""Values that an analysis hands over: the structure of ``show --json`` and ``ledger --json``.

Names and units: ARCHITECTURE.md and docs/reference/show-json.md. ``None`` where a number cannot
be had; a ``reason`` or a doubt then says why.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from pyrometer.analyse.model_resources import Code, Memory
from pyrometer.doubt import Doubt
from pyrometer.estimate import Estimate

Totals = dict[str, int | None]
Method = Literal["exact", "sampled", "apportioned", "by_complement", "unavailable"]
By = Literal["line", "method", "frames"]


class Failed(BaseModel):
    """Totals of attempts that failed or were killed."""

    totals: Totals


class RunFacts(BaseModel):
    """What ran, where and how it ended."""

    run_dir: str
    workload: str | None = None
    command: list[str] = Field(default_factory=list)
    variant: dict[str, Any] = Field(default_factory=dict)
    treatment: dict[str, Any] = Field(default_factory=dict)
    treatment_origin: dict[str, str] = Field(default_factory=dict)
    scale: str | float | None = None
    profile: str | None = None
    state: str | None = None
    exit_code: int | None = None
    spark_version: str | None = None
    started_wall_ns: int | None = None
    host: dict[str, Any] = Field(default_factory=dict)
    conf_overlay: list[dict[str, Any]] = Field(default_factory=list)


class WindowFacts(BaseModel):
    """What the numbers are about. Several iterations: the gaps between them are left out."""

    name: str
    iterations: list[int] = Field(default_factory=list)
    start_wall_ns: int | None = None
    end_wall_ns: int | None = None
    start_mono_ns: int | None = None
    end_mono_ns: int | None = None
    length_ns: int | None = None


class App(BaseModel):
    """One Spark application of the run."""

    app_index: int
    app_id: str | None = None
    app_name: str | None = None
    spark_version: str | None = None
    start_wall_ns: int | None = None
    end_wall_ns: int | None = None
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


class Stage(BaseModel):
    """One stage attempt."""

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
    totals: Totals = Field(default_factory=dict)


class NodeMetric(BaseModel):
    """One metric of a plan node, over all attempts that updated it."""

    metric: str
    metric_type: str | None = None
    value_sum: int | None = None
    value_min: int | None = None
    value_max: int | None = None


class Node(BaseModel):
    """One node of the final plan; ``node_id`` is its pre-order index."""

    node_id: int
    parent_node_id: int | None = None
    depth: int
    name: str
    simple_string: str | None = None
    codegen_stage_id: int | None = None
    on_cpu_ns: int | None = None
    off_cpu_ns: int | None = None
    samples_count: int | None = None
    stage_ids: list[int] = Field(default_factory=list)
    metrics: list[NodeMetric] = Field(default_factory=list)


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


class Expression(BaseModel):
    """CPU of one expression within an operator.

    Attributes
    ----------
    on_cpu : Estimate or None
        The same with its interval; ``None`` where several executions were added up.
    share : float
        Of the operator's CPU.
    converting_share : float
        Of the operator's CPU: converting values in this expression.
    by : str
        ``line``: told by the line of generated code; ``plan``: the operator's conversions as the
        plan has them, where lines do not tell which of them.
    """

    expression: str
    on_cpu_ns: int
    on_cpu: Estimate | None = None
    samples_count: int = 0
    share: float
    converting_share: float = 0
    by: Literal["line", "plan"] = "plan"


class Operator(BaseModel):
    """CPU of one operator of one SQL execution, by samples of task threads.

    Attributes
    ----------
    node_text : str or None
        The node as the plan has it, without the numbers of columns: alike in executions of the
        same query.
    fused : list of str
        For a code generation cluster: the operators whose code it holds, which samples in the
        pipeline's own method do not tell apart.
    samples_by : dict of str to int
        Samples by how the operator was told: ``line`` of generated code, name of a generated
        ``method``, ``frames`` of a class that works for it alone.
    kind : str
        ``sql``; ``rdd`` for code outside SQL; ``task`` for what a task does besides.
    """

    app_index: int | None = None
    operator: str
    kind: Literal["sql", "rdd", "task"] = "sql"
    node_id: int | None = None
    node_text: str | None = None
    sql_id: int | None = None
    fused: list[str] = Field(default_factory=list)
    stage_ids: list[int] = Field(default_factory=list)
    on_cpu_ns: int | None = None
    off_cpu_ns: int | None = None
    on_cpu: Estimate | None = None
    samples_count: int
    share_of_task_cpu: float | None = None
    samples_by: dict[By, int] = Field(default_factory=dict)
    expressions: list[Expression] = Field(default_factory=list)


class Helper(BaseModel):
    """CPU of helper threads by what they served.

    Attributes
    ----------
    serves : str
        A ``stage``, an ``sql`` execution, or ``application`` where nothing tells which.
    """

    thread: str
    serves: Literal["stage", "sql", "application"]
    app_index: int | None = None
    stage_id: int | None = None
    sql_id: int | None = None
    on_cpu_ns: int
    samples_count: int


class Told(BaseModel):
    """Shares of task CPU by how its operator was told; ``none_ratio``: not at all."""

    line_ratio: float | None = None
    method_ratio: float | None = None
    frames_ratio: float | None = None
    none_ratio: float | None = None


class HugeMethod(BaseModel):
    """A code generation cluster that ran with a method too large for HotSpot to compile.

    Attributes
    ----------
    node_id : int
        Node of the cluster; ``node_ids`` are the operators in it.
    max_method_bytes, limit_bytes : int
        Bytecode of its largest method, and HotSpot's limit (``HugeMethodLimit``).
    """

    app_index: int | None = None
    sql_id: int | None = None
    codegen_stage_id: int
    node_id: int
    node_ids: list[int] = Field(default_factory=list)
    operators: list[str] = Field(default_factory=list)
    max_method_bytes: int
    limit_bytes: int
    samples_count: int = 0


class Unmapped(BaseModel):
    """Task CPU whose stack names no operator."""

    on_cpu_ns: int | None = None
    ratio: float | None = None


class Category(BaseModel):
    """What task threads were doing on the CPU."""

    category: str
    on_cpu_ns: int | None = None
    estimate: Estimate | None = None
    share: float | None = None


class CpuRole(BaseModel):
    """CPU and run-queue time of the threads of one role."""

    role: str
    cpu_ns: int
    run_delay_ns: int | None = None
    threads_count: int
    method: Method = "exact"


class Cpu(BaseModel):
    """CPU of the whole application beside CPU as Spark sees it."""

    process_cpu_ns: int | None = None
    executor_cpu_time_ns: int | None = None
    ratio: float | None = None
    run_delay_ns: int | None = None
    roles: list[CpuRole] = Field(default_factory=list)
    reason: str | None = None


class Io(BaseModel):
    """Bytes read: as Spark says, as the process did, as the scan's files are."""

    input_bytes: int | None = None
    process_read_chars_bytes: int | None = None
    process_read_bytes: int | None = None
    scan_files_size_bytes: int | None = None
    page_cache_ratio: float | None = None
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


class Row(BaseModel):
    """One row of a ledger.

    Attributes
    ----------
    path : str
        Names from the top, separated by ``/``.
    parent : str or None
        Path of the row that this one is a part of.
    value_ns, low_ns, high_ns : int or None
        Time and its interval; an exact counter has no interval.
    n : int or None
        Readings, samples or attempts behind it.
    method : str
        ``exact``, ``sampled``, ``apportioned``, ``by_complement`` or ``unavailable``.
    source : str
        Where it comes from, or why it is missing.
    share : float or None
        Of the view's total.
    """

    path: str
    parent: str | None = None
    value_ns: int | None = None
    low_ns: int | None = None
    high_ns: int | None = None
    n: int | None = None
    method: Method = "exact"
    source: str = ""
    share: float | None = None


class View(BaseModel):
    """One view of the ledger: every slot- or core-second of a window once."""

    window: str
    total_ns: int | None = None
    rows: list[Row] = Field(default_factory=list)
    memos: list[Row] = Field(default_factory=list)
    closure_ratio: float | None = None
    unclassified_ratio: float | None = None
    sampling_error_ratio: float | None = None
    resolution_ns: int | None = None
    reason: str | None = None


class Check(BaseModel):
    """Two sources for the same quantity, side by side."""

    name: str
    left_ns: int | None
    right_ns: int | None
    difference_ratio: float | None
    ok: bool | None
    explanation: str


class Ledger(BaseModel):
    """Both views and the cross-checks."""

    slot_view: View
    core_view: View
    checks: list[Check] = Field(default_factory=list)


class Instrument(BaseModel):
    """What one of our own instruments cost."""

    name: str
    cpu_ns: int | None = None
    share_of_process_cpu: float | None = None
    reason: str | None = None


class Summary(BaseModel):
    """Everything that ``pyrometer show`` knows about one window of a run."""

    schema_name: str = Field(default="pyrometer/show/1", alias="schema")
    run: RunFacts
    window: WindowFacts
    windows: list[str] = Field(default_factory=list)
    verdict: str = ""
    totals: Totals
    failed: Failed
    apps: list[App] = Field(default_factory=list)
    iterations: list[Iteration] = Field(default_factory=list)
    stages: list[Stage] = Field(default_factory=list)
    sql: list[Sql] = Field(default_factory=list)
    operators: list[Operator] = Field(default_factory=list)
    unmapped: Unmapped = Field(default_factory=Unmapped)
    helpers: list[Helper] = Field(default_factory=list)
    told: Told = Field(default_factory=Told)
    too_large_to_compile: list[HugeMethod] = Field(default_factory=list)
    categories: list[Category] = Field(default_factory=list)
    cpu: Cpu = Field(default_factory=Cpu)
    io: Io = Field(default_factory=Io)
    gc: Gc = Field(default_factory=Gc)
    memory: Memory = Field(default_factory=Memory)
    code: Code = Field(default_factory=Code)
    ledger: Ledger
    instruments: list[Instrument] = Field(default_factory=list)
    doubts: list[Doubt] = Field(default_factory=list)

    model_config = {"populate_by_name": True}


class LedgerReport(BaseModel):
    """Structure of ``ledger --json``."""

    schema_name: str = Field(default="pyrometer/ledger/1", alias="schema")
    run: RunFacts
    window: WindowFacts
    slot_view: View
    core_view: View
    checks: list[Check]
    doubts: list[Doubt]

    model_config = {"populate_by_name": True}
