"""The process and the machine beside Spark: CPU by role, I/O, collections, our instruments."""

from __future__ import annotations

from pydantic import BaseModel, Field

from pyrometer.analyse.model.ledger import Method


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
