"""The account of plain processes: threads times wall."""

from __future__ import annotations

from pydantic import BaseModel, Field

from pyrometer.analyse.model.ledger import View
from pyrometer.estimate import Estimate


class ProcessAccount(BaseModel):
    """A process: where its threads' time went."""

    pid: int
    comm: str
    threads_count: int
    followed_ns: int
    on_cpu_ns: int
    run_queue_ns: int
    asleep_ns: int | None = None


class WaitTime(BaseModel):
    """Time asleep of one class, and the system call it was in."""

    wait_class: str
    syscall: str | None
    time_ns: int
    share: float


class ProgramWait(BaseModel):
    """Time asleep of a program's threads in a system call; ``?`` where none is known."""

    name: str
    time_ns: int
    share: float


class Program(BaseModel):
    """Threads of one name: where their time went, and in which system calls they were asleep."""

    name: str
    threads_count: int
    followed_ns: int
    on_cpu_ns: int
    run_queue_ns: int
    waits: list[ProgramWait] = Field(default_factory=list)


class Word(BaseModel):
    """A word of the application for what it does, and what the kernel says it did meanwhile.

    Attributes
    ----------
    idle : bool
        It means that there was nothing to do.
    waits : bool
        It means waiting.
    """

    word: str
    idle: bool
    waits: bool
    time_ns: int
    on_cpu_ns: int
    run_queue_ns: int
    asleep_ns: int
    share: Estimate


class Session(BaseModel):
    """The busiest annotated process of a stretch of time; ratios are of the time it was not idle.

    Attributes
    ----------
    cpu_ratio : float
        CPU time by the scheduler's counter.
    wait_ratio : float
        Time in words that mean waiting, as a sampler of such words counts it.
    cpu_and_wait_ratio : float
        Their sum: above 1 where time on a CPU is counted as waiting, too.
    cpu_in_wait_ratio, asleep_in_wait_ratio : float
        What the waiting was: on a CPU, and off it.
    closure_ratio : float
        CPU, run queue and time asleep, less the time there was, over it.
    """

    iteration: int | None
    pid: int
    followed_ns: int
    active_ns: int
    cpu_ratio: float
    wait_ratio: float
    cpu_and_wait_ratio: float
    no_wait_ratio: float
    cpu_in_wait_ratio: float
    asleep_in_wait_ratio: float
    run_queue_ratio: float
    closure_ratio: float


class Annotated(BaseModel):
    """A process whose main thread told what it does."""

    pid: int
    comm: str
    passes_count: int
    words: list[Word] = Field(default_factory=list)


class Account(BaseModel):
    """Plain processes over a window: every thread's time once."""

    view: View
    processes: list[ProcessAccount] = Field(default_factory=list)
    programs: list[Program] = Field(default_factory=list)
    waits: list[WaitTime] = Field(default_factory=list)
    annotated: list[Annotated] = Field(default_factory=list)
    sessions: list[Session] = Field(default_factory=list)
    reason: str | None = None
