"""CPU of tasks by operator, expression and kind of work.

CPU of Python workers, and of the driver's Python.

Structure of ``show --source --json``: generated source around the lines that CPU went to.
"""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from pyrometer.core.doubt import Doubt
from pyrometer.core.estimate import Estimate
from pyrometer.core.model import Model
from pyrometer.window.windows import RunFacts, WindowFacts

By = Literal["line", "method", "frames"]


TASK_THREADS = "task threads"
WITH_WORKERS = "tasks and their Python workers"


class CpuBase(Model):
    """What shares of operators and kinds of work are of: one base for all of a window.

    Attributes
    ----------
    name : str
        ``tasks and their Python workers`` where workers were sampled, else ``task threads``.
    task_threads_ns, workers_ns, total_ns : int or None
        CPU of the JVM's threads in tasks, of Python workers for these tasks, and of both.
    """

    name: str = TASK_THREADS
    task_threads_ns: int | None = None
    workers_ns: int | None = None
    total_ns: int | None = None

    @property
    def cpu(self) -> str:
        """Name the CPU that shares are of."""
        return f"the CPU of {self.name}" if self.name == WITH_WORKERS else "task CPU"


class Expression(Model):
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
        ``line``: from the line of generated code; ``plan``: the operator's conversions as the
        plan has them, where lines do not show which of them ran.
    """

    expression: str
    on_cpu_ns: int
    on_cpu: Estimate | None = None
    samples_count: int = 0
    share: float
    converting_share: float = 0
    by: Literal["line", "plan"] = "plan"


class Operator(Model):
    """CPU of one operator of one SQL execution, by samples of task threads.

    Attributes
    ----------
    node_text : str or None
        The node as the plan has it, without the numbers of columns: alike in executions of the
        same query.
    fused : list of str
        For a code generation cluster: the operators whose code it holds, which samples in the
        pipeline's method do not distinguish.
    samples_by : dict of str to int
        Samples by how they were attributed: ``line`` of generated code, name of a generated
        ``method``, ``frames`` of a class that works for it alone.
    kind : str
        ``sql``; ``rdd`` for code outside SQL; ``task`` for a task's work outside operators.
    share_of_task_cpu : float or None
        ``on_cpu_ns`` as a share of the CPU of task threads, Python workers left out.
    python_cpu_ns : int or None
        CPU of the Python workers that it drove, in addition to ``on_cpu_ns`` of the JVM's threads;
        ``None`` where none was sampled.
    share_with_workers : float or None
        Both together as a share of the summary's ``cpu_base``.
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
    python_cpu_ns: int | None = None
    python_samples_count: int = 0
    share_with_workers: float | None = None
    expressions: list[Expression] = Field(default_factory=list)

    @property
    def cpu_ns(self) -> int:
        """CPU of task threads and of the Python workers."""
        return (self.on_cpu_ns or 0) + (self.python_cpu_ns or 0)

    @property
    def share(self) -> float | None:
        """Its share of the summary's ``cpu_base``."""
        known = self.share_with_workers
        return self.share_of_task_cpu if known is None else known

    @property
    def share_of_threads(self) -> float:
        """The part of `share` that task threads used: what their samples divide."""
        return (self.share or 0) * (self.on_cpu_ns or 0) / self.cpu_ns if self.cpu_ns else 0.0


class Helper(Model):
    """CPU of helper threads by what they served.

    Attributes
    ----------
    serves : str
        A ``stage``, an ``sql`` execution, or ``application`` where nothing shows which.
    """

    thread: str
    serves: Literal["stage", "sql", "application"]
    app_index: int | None = None
    stage_id: int | None = None
    sql_id: int | None = None
    on_cpu_ns: int
    samples_count: int


class AttributionShares(Model):
    """Shares of task CPU by how it was attributed to operators; ``none_ratio``: not at all."""

    line_ratio: float | None = None
    method_ratio: float | None = None
    frames_ratio: float | None = None
    none_ratio: float | None = None


class HugeMethod(Model):
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


class Unmapped(Model):
    """CPU whose stack names no operator.

    Attributes
    ----------
    on_cpu_ns, ratio : int, float or None
        Of task threads, and its share of their CPU.
    python_cpu_ns : int or None
        Of Python workers for tasks.
    share_with_workers : float or None
        Both together as a share of the summary's ``cpu_base``.
    """

    on_cpu_ns: int | None = None
    ratio: float | None = None
    python_cpu_ns: int | None = None
    share_with_workers: float | None = None

    @property
    def share(self) -> float | None:
        """Its share of the summary's ``cpu_base``."""
        return self.ratio if self.share_with_workers is None else self.share_with_workers


class Category(Model):
    """What task threads, and Python workers for tasks, were doing on the CPU.

    ``share`` is of the summary's ``cpu_base``.
    """

    category: str
    on_cpu_ns: int | None = None
    estimate: Estimate | None = None
    share: float | None = None


class PythonWork(Model):
    """CPU of one kind of work in workers: kinds are those of ``schema/categories.toml``."""

    work: str
    on_cpu_ns: int
    share: float


class PythonFunction(Model):
    """A function of the application, by the CPU of workers in it and in what it called."""

    function: str
    file: str | None = None
    on_cpu_ns: int
    share: float


class Python(Model):
    """What Python processes spent their CPU on, by the kernel's clocks of their threads.

    Attributes
    ----------
    workers_count : int
        Worker processes that ran in the window.
    workers_ns, in_tasks_ns : int or None
        CPU of workers, and the part of it whose task is known.
    driver_ns : int or None
        CPU of the driver's Python.
    counted_ns : int or None
        CPU of all Python processes as the OS probe counted it; ``seen_ratio`` is the part of it
        that was sampled.
    reason : str or None
        Why something is missing.
    """

    workers_count: int = 0
    workers_ns: int | None = None
    in_tasks_ns: int | None = None
    driver_ns: int | None = None
    counted_ns: int | None = None
    seen_ratio: float | None = None
    work: list[PythonWork] = Field(default_factory=list)
    functions: list[PythonFunction] = Field(default_factory=list)
    reason: str | None = None


class SourceLine(Model):
    """One line of generated code; what it calls counts as its CPU.

    Attributes
    ----------
    share : float
        Of the window's task CPU.
    operator, node_id, expression : optional
        What the line is for; ``None`` where the source does not say.
    """

    line: int
    text: str
    samples_count: int = 0
    on_cpu_ns: int | None = None
    on_cpu: Estimate | None = None
    share: float | None = None
    operator: str | None = None
    node_id: int | None = None
    expression: str | None = None


class HotSource(Model):
    """One generated stage and the excerpts of it that hold its hottest lines.

    Attributes
    ----------
    candidates_count : int
        Sources that fit the plan and the samples equally well; this is the first of them.
    hidden_lines_count : int
        Sampled lines that no excerpt shows.
    """

    source_id: int
    class_name: str
    codegen_stage_id: int
    app_index: int | None = None
    sql_ids: list[int] = Field(default_factory=list)
    operators: list[str] = Field(default_factory=list)
    candidates_count: int = 1
    lines_count: int
    max_method_bytes: int | None = None
    samples_count: int
    on_cpu_ns: int | None = None
    on_cpu: Estimate | None = None
    share: float | None = None
    excerpts: list[list[SourceLine]] = Field(default_factory=list)
    hidden_lines_count: int = 0


class SourceReport(Model):
    """Everything that ``show --source`` knows; ``reason`` says why there is nothing."""

    schema_name: str = Field(default="pyrometer/source/1", alias="schema")
    run: RunFacts
    window: WindowFacts
    sources: list[HotSource] = Field(default_factory=list)
    hidden_sources_count: int = 0
    reason: str | None = None
    doubts: list[Doubt] = Field(default_factory=list)

    model_config = ConfigDict(populate_by_name=True)
