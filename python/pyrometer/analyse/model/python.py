"""CPU of Python workers, and of the driver's Python."""

from __future__ import annotations

from pydantic import BaseModel, Field


class PythonWork(BaseModel):
    """CPU of one kind of work in workers: kinds are those of ``schema/categories.toml``."""

    work: str
    on_cpu_ns: int
    share: float


class PythonFunction(BaseModel):
    """A function of the application, by the CPU of workers in it and in what it called."""

    function: str
    file: str | None = None
    on_cpu_ns: int
    share: float


class Python(BaseModel):
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
