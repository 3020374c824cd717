"""The process and the machine around Spark: CPU by role, I/O, collections, our instruments."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pyrometer.core.estimate import Estimate
from pyrometer.core.model import Model

Method = Literal["exact", "sampled", "apportioned", "by_complement", "unavailable"]


class CpuRole(Model):
    """CPU and run-queue time of the threads of one role."""

    role: str
    cpu_ns: int
    run_delay_ns: int | None = None
    threads_count: int
    method: Method = "exact"


class Cpu(Model):
    """CPU of the whole application against CPU as Spark sees it."""

    process_cpu_ns: int | None = None
    executor_cpu_time_ns: int | None = None
    ratio: float | None = None
    run_delay_ns: int | None = None
    roles: list[CpuRole] = Field(default_factory=list)
    reason: str | None = None


class CpuTaker(Model):
    """A process outside the run, by the CPU time that it used while the run lasted."""

    pid: int
    comm: str
    cpu_ns: int


class HostContention(Model):
    """What others took of the CPUs that the run used, and what tasks waited behind them.

    Attributes
    ----------
    host : str or None
        Which, where the run has several: that on which tasks waited most behind others, and where
        none did, that on which others took most.
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
    hosts : list of HostContention
        Of several hosts each that was looked at; empty in these.
    """

    host: str | None = None
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
    hosts: list[HostContention] = Field(default_factory=list)
    reason: str | None = None


class CacheReads(Model):
    """Bytes that reads found in the page cache, and that block devices had to deliver."""

    hit_bytes: int | None = None
    missed_bytes: int | None = None
    ratio: float | None = None
    source: str | None = None
    reason: str | None = None


class ThreadIo(Model):
    """Bytes that the threads of a role read and wrote: by calls, and from and to block devices."""

    role: str
    threads_count: int
    rchar_bytes: int | None = None
    wchar_bytes: int | None = None
    read_bytes: int | None = None
    written_bytes: int | None = None


class Disk(Model):
    """What a block device did in the window, for all programs of its host.

    Attributes
    ----------
    host : str or None
        Of a run on several hosts.
    lies_on_others : bool
        Its requests are also counted on the devices below it, or it is in memory.
    requests_count, read_bytes, written_bytes : int
        Reads and writes that finished, and what they moved.
    await_ns : Estimate or None
        Time of a request from its submission to its end, waiting in the queue included, with the
        bounds that the counters' resolution leaves; also of reads and writes alone.
    queue_depth : float or None
        Requests under way, in the mean over the window.
    busy_ratio : float or None
        Share of the window in which at least one request was under way. A device that serves many
        at once may be far from its limit at 1.
    reason : str or None
        Why a value is missing.
    """

    host: str | None = None
    device: str
    lies_on_others: bool = False
    requests_count: int
    read_bytes: int
    written_bytes: int
    await_ns: Estimate | None = None
    read_await_ns: Estimate | None = None
    write_await_ns: Estimate | None = None
    queue_depth: float | None = None
    busy_ratio: float | None = None
    reason: str | None = None


class Disks(Model):
    """Block devices that had requests, those with most time in them first.

    Attributes
    ----------
    requests_count, read_bytes, written_bytes : int or None
        Sums over devices that lie on no others.
    """

    devices: list[Disk] = Field(default_factory=list)
    requests_count: int | None = None
    read_bytes: int | None = None
    written_bytes: int | None = None
    reason: str | None = None


class Io(Model):
    """Bytes read: as Spark says, as the process did, as the scan's files are."""

    input_bytes: int | None = None
    process_read_chars_bytes: int | None = None
    process_read_bytes: int | None = None
    scan_files_size_bytes: int | None = None
    page_cache_ratio: float | None = None
    page_cache: CacheReads = Field(default_factory=CacheReads)
    threads: list[ThreadIo] = Field(default_factory=list)
    disks: Disks = Field(default_factory=Disks)
    mb_per_s_per_core: float | None = None
    bytes_source: str | None = None
    reason: str | None = None


class GcKind(Model):
    """Pauses of one kind."""

    kind: str
    pauses_count: int
    pause_total_ns: int
    pause_max_ns: int


class Gc(Model):
    """Stop-the-world pauses of all JVMs of the run in the window."""

    pauses_count: int | None = None
    pause_total_ns: int | None = None
    pause_max_ns: int | None = None
    safepoints_count: int | None = None
    safepoint_total_ns: int | None = None
    by_kind: list[GcKind] = Field(default_factory=list)
    reason: str | None = None


class Instrument(Model):
    """What one of our own instruments cost; of probes on several hosts, on each."""

    name: str
    host: str | None = None
    cpu_ns: int | None = None
    share_of_process_cpu: float | None = None
    reason: str | None = None
    tier: str | None = None
