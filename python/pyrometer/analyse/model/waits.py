"""Values about time off the CPU and latencies of I/O: parts of the structure of ``show --json``."""

from __future__ import annotations

from pydantic import BaseModel, Field

from pyrometer.estimate import Estimate


class WaitKind(BaseModel):
    """Time off the CPU of one kind.

    Attributes
    ----------
    kind : str
        ``sleeping``, ``disk`` (uninterruptible), ``preempted``, ``other`` (stopped, or new).
    off_ns, run_queue_ns : int
        Time off the CPU; of it runnable, waiting for one.
    """

    kind: str
    count: int
    off_ns: int
    run_queue_ns: int


class RoleWaits(BaseModel):
    """Time off the CPU of the threads of one role."""

    role: str
    threads_count: int
    count: int
    off_ns: int
    run_queue_ns: int
    kinds: list[WaitKind] = Field(default_factory=list)


class WaitEnd(BaseModel):
    """Time that threads of a role slept until somebody woke them.

    Attributes
    ----------
    ended_by : str
        The waker's role; ``disk_interrupt`` (a device had answered), ``interrupt`` (a timer or
        another device), ``other_threads``, ``other_processes``, ``nobody_or_several``.
    asleep_ns : int
        Time off the CPU without the wait for a CPU.
    share : float
        Of what threads of this role slept.
    """

    role: str
    ended_by: str
    count: int
    asleep_ns: int
    share: float


class WaitStack(BaseModel):
    """Where in the kernel threads of a role slept."""

    role: str
    kind: str
    stack: str
    count: int
    asleep_ns: int
    share: float


class Waits(BaseModel):
    """Time off the CPU of all followed threads, by the scheduler's own events (tier T0).

    Attributes
    ----------
    lost_count : int or None
        Events of the whole run that found no room.
    """

    off_ns: int | None = None
    run_queue_ns: int | None = None
    count: int | None = None
    lost_count: int | None = None
    roles: list[RoleWaits] = Field(default_factory=list)
    ended_by: list[WaitEnd] = Field(default_factory=list)
    stacks: list[WaitStack] = Field(default_factory=list)
    reason: str | None = None


class LatencyBucket(BaseModel):
    """Requests or calls that took ``low_ns`` to twice that."""

    low_ns: int
    count: int
    sum_ns: int


class LatencyProcess(BaseModel):
    """A process's part of a histogram."""

    pid: int | None
    comm: str | None = None
    count: int
    sum_ns: int


class IoLatency(BaseModel):
    """Latencies of one kind of request or call.

    Attributes
    ----------
    kind : str
        ``block`` (issue to completion), ``queue`` (insertion to completion) or ``read`` (calls).
    mean_ns : float
        Exact: of times added up, not of buckets.
    p50_ns, p99_ns : Estimate
        Within the bucket that holds the quantile, and those that its sampling error reaches.
    """

    kind: str
    device: str | None = None
    operation: str
    count: int
    sum_ns: int
    bytes: int | None = None
    mean_ns: float
    p50_ns: Estimate
    p99_ns: Estimate
    buckets: list[LatencyBucket] = Field(default_factory=list)
    processes: list[LatencyProcess] = Field(default_factory=list)
