"""Values about memory and compiled code: parts of the structure of ``show --json``."""

from __future__ import annotations

from pydantic import BaseModel, Field

from pyrometer.estimate import Estimate


class ClassBytes(BaseModel):
    """Sampled bytes of one class."""

    class_name: str
    bytes: int
    share: float
    samples_count: int


class SampledBytes(BaseModel):
    """Bytes by the profiler's samples.

    Attributes
    ----------
    estimate : Estimate or None
        ``bytes`` with its interval.
    ratio : Estimate or None
        To the JVM's own count of the same, where there is one.
    """

    bytes: int | None = None
    estimate: Estimate | None = None
    ratio: Estimate | None = None
    samples_count: int | None = None
    by_class: list[ClassBytes] = Field(default_factory=list)
    reason: str | None = None


class Allocation(BaseModel):
    """What the threads of tasks allocated on the heap; the rate is per second of the window."""

    allocated_bytes: int | None = None
    bytes_per_s: float | None = None
    sampled: SampledBytes = Field(default_factory=SampledBytes)
    reason: str | None = None


class Faults(BaseModel):
    """Page faults of all processes of the application; major ones waited for a disk."""

    minor_count: int | None = None
    major_count: int | None = None
    reason: str | None = None


class Swap(BaseModel):
    """Most memory of the application in swap at once, and what the host read from and wrote to it.

    The host's bytes are those of all its programs.
    """

    peak_bytes: int | None = None
    host_read_bytes: int | None = None
    host_written_bytes: int | None = None
    reason: str | None = None


class Memory(BaseModel):
    """What tasks and processes did with memory."""

    allocation: Allocation = Field(default_factory=Allocation)
    live_heap: SampledBytes = Field(default_factory=SampledBytes)
    native: SampledBytes = Field(default_factory=SampledBytes)
    faults: Faults = Field(default_factory=Faults)
    swap: Swap = Field(default_factory=Swap)


class CodeKind(BaseModel):
    """Task CPU in Java code of one kind: ``interpreted``, ``c1``, ``c2`` or ``no_java_frame``."""

    kind: str
    on_cpu_ns: int | None = None
    estimate: Estimate | None = None
    share: float | None = None


class Code(BaseModel):
    """Task CPU by how the JVM ran its code."""

    kinds: list[CodeKind] = Field(default_factory=list)
    reason: str | None = None
