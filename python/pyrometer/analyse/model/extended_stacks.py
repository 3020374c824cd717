"""Extended stacks: how well states of threads and their Java stacks were brought together."""

from __future__ import annotations

from pydantic import BaseModel, Field

from pyrometer.estimate import Estimate


class SleepLength(BaseModel):
    """Sleeps of tasks of some length.

    Attributes
    ----------
    low_ns, high_ns : int or None
        Bounds of the length; both ``None``: one pass saw them, and nothing says how long they were.
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


class JoinStatus(BaseModel):
    """Time asleep in tasks by how its Java stack was found, or why it was not."""

    status: str
    asleep_ns: int
    episodes_count: int


class WaitShare(BaseModel):
    """A wait class of tasks, as part of their time asleep outside GC pauses.

    ``split_ns`` is the part whose class is that of wall samples of sleeps without joined stacks.
    """

    wait_class: str
    asleep_ns: int
    joined_ns: int
    split_ns: int = 0
    share: Estimate
    episodes_count: int


class KernelStack(BaseModel):
    """The end of a kernel stack that no rule names."""

    symbols: str
    asleep_ns: int


class Skew(BaseModel):
    """Time between a pass and the sample whose Java stack it was given (0: the sample's own)."""

    p50_ns: int | None = None
    p95_ns: int | None = None
    max_ns: int | None = None
    n: int = 0


class WakeUps(BaseModel):
    """Sleeps that the profiler's signals interrupted, beside all switches of the same threads.

    Attributes
    ----------
    caused_count : int
        Wall samples of task threads that were asleep: each woke one. An upper bound: one that
        stands for a single further tick of a sleep cannot be told from a signal.
    switches_count : int or None
        Context switches of task threads.
    ratio : float or None
        The part of them that we caused.
    """

    caused_count: int = 0
    switches_count: int | None = None
    ratio: float | None = None


class ExtendedStacks(BaseModel):
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
        How often a class given by the place of a sleep is that of its own stack: each joined sleep
        against the others at its place.
    skew, wake_ups : object
        See there.
    dropped_ratio : float or None
        Rows of states that the probe lost, of all.
    unclassified : list
        Where threads waited that no rule names: the ends of the heaviest kernel stacks.
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
