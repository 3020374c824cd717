"""CPU of tasks by operator, expression and kind of work."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from pyrometer.estimate import Estimate

By = Literal["line", "method", "frames"]


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
    python_cpu_ns : int or None
        CPU of the Python workers that it drove, beside ``on_cpu_ns`` of the JVM's threads;
        ``None`` where none was sampled.
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
    """What task threads, and Python workers for tasks, were doing on the CPU."""

    category: str
    on_cpu_ns: int | None = None
    estimate: Estimate | None = None
    share: float | None = None
