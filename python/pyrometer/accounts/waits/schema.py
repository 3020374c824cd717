"""Values about time off the CPU and latencies of I/O: parts of the structure of ``show --json``.

Extended stacks: how well states of threads were joined with their Java stacks.
"""

from __future__ import annotations

from pydantic import Field

from pyrometer.core.estimate import Estimate
from pyrometer.core.model import Model


class WaitKind(Model):
    """Time off the CPU of one kind.

    Attributes
    ----------
    kind : str
        ``sleeping``, ``disk`` (uninterruptible), ``preempted``, ``other`` (stopped, or new).
    off_ns, run_queue_ns : int
        Time off the CPU; the part of it in which the thread could run and waited for one.
    """

    kind: str
    count: int
    off_ns: int
    run_queue_ns: int


class RoleWaits(Model):
    """Time off the CPU of the threads of one role."""

    role: str
    threads_count: int
    count: int
    off_ns: int
    run_queue_ns: int
    kinds: list[WaitKind] = Field(default_factory=list)


class WaitEnd(Model):
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


class WaitStack(Model):
    """Where in the kernel threads of a role slept."""

    role: str
    kind: str
    stack: str
    count: int
    asleep_ns: int
    share: float


class Waits(Model):
    """Time off the CPU of all followed threads, by the scheduler's events (tier T0).

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


class LatencyBucket(Model):
    """Requests or calls that took ``low_ns`` to twice that."""

    low_ns: int
    count: int
    sum_ns: int


class LatencyProcess(Model):
    """A process's part of a histogram."""

    pid: int | None
    comm: str | None = None
    count: int
    sum_ns: int


class IoLatency(Model):
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


class SleepLength(Model):
    """Sleeps of tasks of some length.

    Attributes
    ----------
    low_ns, high_ns : int or None
        Limits of the length; both ``None``: one pass saw them, and their length is not known.
    asleep_ns, joined_ns : int
        Time that the passes stand for, and the part of it with a Java stack.
    uninterruptible_ns : int
        Time in which no signal of the profiler could reach the thread.
    joined_ratio : Estimate
        The joined part, with its interval by sleeps.
    episodes_count : int
        Sleeps seen.
    """

    low_ns: int | None = None
    high_ns: int | None = None
    asleep_ns: int = 0
    joined_ns: int = 0
    uninterruptible_ns: int = 0
    joined_ratio: Estimate
    episodes_count: int = 0


class JoinStatus(Model):
    """Time asleep in tasks by how its Java stack was found, or why it was not."""

    status: str
    asleep_ns: int
    episodes_count: int


class WaitShare(Model):
    """A wait class of tasks, as part of their time asleep outside GC pauses.

    ``split_ns`` is the part whose class is that of wall samples of sleeps without joined stacks.
    """

    wait_class: str
    asleep_ns: int
    joined_ns: int
    split_ns: int = 0
    share: Estimate
    episodes_count: int


class KernelStack(Model):
    """The end of a kernel stack that no rule names."""

    symbols: str
    asleep_ns: int


class Skew(Model):
    """Time between a pass and the sample whose Java stack it was given (0: the sample's own)."""

    p50_ns: int | None = None
    p95_ns: int | None = None
    max_ns: int | None = None
    n: int = 0


class WakeUps(Model):
    """Sleeps that the profiler's signals interrupted, and all switches of the same threads.

    Attributes
    ----------
    caused_count : int
        Wall samples of task threads that were asleep: each woke one. An upper bound: one that
        stands for a single further tick of a sleep cannot be distinguished from a signal.
    switches_count : int or None
        Context switches of task threads.
    ratio : float or None
        The part of them that we caused.
    """

    caused_count: int = 0
    switches_count: int | None = None
    ratio: float | None = None


class ExtendedStacks(Model):
    """Extended stacks of the window's tasks.

    Attributes
    ----------
    asleep_ns, joined_ns : int or None
        Time asleep in tasks, and the part of it with a Java stack.
    joined_ratio : Estimate or None
        The part, with its interval by sleeps.
    by_length, by_status, classes : list
        The same by length of the sleep, by outcome, by wait class.
    lengths_by : str or None
        What lengths are known by: scheduler events, or passes (then they are lower bounds).
    same_place_agreement : Estimate or None
        How often the class given by the place of a sleep is that of its stack: each joined sleep
        against the others at its place.
    skew, wake_ups : object
        See these classes.
    dropped_ratio : float or None
        Rows of states that the probe lost, of all.
    unclassified : list
        Waits that no rule names: the ends of the heaviest kernel stacks.
    reason : str or None
        Why something is missing.
    """

    asleep_ns: int | None = None
    joined_ns: int | None = None
    joined_ratio: Estimate | None = None
    by_length: list[SleepLength] = Field(default_factory=list)
    lengths_by: str | None = None
    by_status: list[JoinStatus] = Field(default_factory=list)
    classes: list[WaitShare] = Field(default_factory=list)
    same_place_agreement: Estimate | None = None
    skew: Skew = Field(default_factory=Skew)
    wake_ups: WakeUps = Field(default_factory=WakeUps)
    dropped_ratio: float | None = None
    unclassified: list[KernelStack] = Field(default_factory=list)
    reason: str | None = None
