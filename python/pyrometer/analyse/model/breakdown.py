"""Values about what CPU was spent in, whatever thread used it."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

from pyrometer.estimate import Estimate

Component = Literal["java", "codec", "gc", "jit", "vm", "kernel", "python", "native"]


class BreakdownRow(BaseModel):
    """Samples of one component or layer: their CPU, and their share of the whole in its row."""

    name: str
    on_cpu_ns: int
    share: Estimate


class Breakdown(BaseModel):
    """CPU of all threads by component, and what ran in Java by what it worked for.

    Shares of ``components`` are of all samples, shares of ``java`` of those that ran in Java.
    """

    samples_count: int
    on_cpu_ns: int
    components: list[BreakdownRow]
    java: list[BreakdownRow]
