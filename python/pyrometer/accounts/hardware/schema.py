"""Values about hardware and scheduler counters: parts of the structure of ``show --json``."""

from __future__ import annotations

from pydantic import Field

from pyrometer.core.estimate import Estimate
from pyrometer.core.model import Model


class Counter(Model):
    """A counter of all followed threads in the window.

    Attributes
    ----------
    value : int
        As counted.
    running_ratio : float or None
        Time on the hardware over the time it was meant to count; below 1 the counter took turns
        with others. ``None`` if its threads never ran.
    scaled : float or None
        ``value`` over ``running_ratio``: what it would have counted all the time, if what it did
        not see was like what it saw. Equal to ``value`` where it never left the hardware.
    user_only : bool
        Time in the kernel is not in it.
    """

    event: str
    kind: str
    value: int
    running_ratio: float | None = None
    scaled: float | None = None
    user_only: bool = False


class NotCounted(Model):
    """A counter that is not available, and the command that would enable it."""

    event: str
    reason: str
    remedy: str | None = None


class Ipc(Model):
    """Instructions and cycles of something, scaled where they took turns.

    Attributes
    ----------
    ipc, cpi : float or None
        Instructions per cycle, cycles per instruction.
    counted_ratio : float or None
        The part of the time of what was counted that lies between two readings of its counters.
    """

    cycles_count: float | None = None
    instructions_count: float | None = None
    ipc: float | None = None
    cpi: float | None = None
    running_ratio: float | None = None
    counted_ratio: float | None = None
    reason: str | None = None


class RoleCounters(Ipc):
    """Counters of the threads of one role; ``counts`` by event, scaled."""

    role: str
    threads_count: int
    counts: dict[str, float] = Field(default_factory=dict)


class StageCounters(Ipc):
    """Counters of the tasks of a stage attempt; of ``task_ipc`` one value per task."""

    app_index: int | None = None
    stage_id: int
    stage_attempt: int
    tasks_count: int
    counts: dict[str, float] = Field(default_factory=dict)
    task_ipc: Estimate | None = None


class TaskCounters(Ipc):
    """Counters of one task."""

    app_index: int | None = None
    stage_id: int
    stage_attempt: int
    task_attempt_id: int
    duration_ns: int
    counts: dict[str, float] = Field(default_factory=dict)


class OperatorIpc(Model):
    """Instructions per cycle of the moments in which an operator was sampled."""

    operator: str
    ipc: Estimate
    cycles_count: float
    samples_count: int


class CpiPart(Model):
    """One part of the cycles of an instruction."""

    part: str
    share: float
    cpi: float | None = None


class CpiBreakdown(Model):
    """Where cycles went; ``model`` and ``source`` name the formula."""

    model: str | None = None
    source: str | None = None
    parts: list[CpiPart] = Field(default_factory=list)
    running_ratio: float | None = None
    reason: str | None = None


class Traffic(Model):
    """Bytes of one node, package or link in the window.

    ``scope`` says which; with several hosts it also names the host.
    """

    scope: str
    read_bytes: int | None = None
    written_bytes: int | None = None
    total_bytes: int | None = None
    bytes_per_s: float | None = None
    running_ratio: float | None = None


class Bandwidth(Model):
    """Memory traffic in the window, per second of the window, and what the machine attains.

    Attributes
    ----------
    source : str or None
        ``memory controllers``, ``resctrl`` or ``cache misses``.
    of : str or None
        Whose traffic it is: that of the whole machine, or of the followed processes.
    lower_bound : bool
        Part of the traffic is not seen.
    attainable_bytes_per_s : Estimate or None
        Of the host card; ``attainable_by`` says which measurement.
    share_of_attainable : Estimate or None
        Its interval is that of the card.
    local_ratio : float or None
        Share of bytes, or of reads, that the local node's memory served.
    """

    source: str | None = None
    of: str | None = None
    lower_bound: bool = False
    read_bytes: int | None = None
    written_bytes: int | None = None
    total_bytes: int | None = None
    bytes_per_s: float | None = None
    attainable_bytes_per_s: Estimate | None = None
    attainable_by: str | None = None
    share_of_attainable: Estimate | None = None
    local_ratio: float | None = None
    local_by: str | None = None
    nodes: list[Traffic] = Field(default_factory=list)
    links: list[Traffic] = Field(default_factory=list)
    reason: str | None = None


class ThreadNode(Model):
    """Share of a thread's CPU time on a NUMA node."""

    node: int
    share: float | None = None


class NodeTime(Model):
    """CPU time of task threads on a NUMA node, with bounds; ``host`` of a run on several."""

    host: str | None = None
    node: int
    cpus_count: int
    cpu_ns: Estimate
    share: float | None = None


class ThreadPlaces(Model):
    """CPUs and NUMA nodes on which a task thread was seen."""

    pid: int
    tid: int
    cpus_count: int
    moves_count: int
    migrations_count: int | None = None
    nodes: list[ThreadNode] = Field(default_factory=list)
    node_moves_count: int | None = None


class Placement(Model):
    """Moves of task threads between CPUs in the window, and the NUMA nodes on which they ran.

    Attributes
    ----------
    migrations_count : int or None
        By the kernel's counter; else ``None``.
    moves_count : int or None
        Changes of the CPU between two readings of a thread: a lower bound.
    per_s : float or None
        Of the better of the two, per second of the window.
    by : str or None
        Which: ``cpu-migrations`` or ``readings``.
    nodes : list of NodeTime
        CPU time by node; ``nodes_reason`` where nodes are not known.
    node_moves_count : int or None
        Moves to another node between two readings of a thread: a lower bound.
    """

    migrations_count: int | None = None
    moves_count: int | None = None
    per_s: float | None = None
    by: str | None = None
    cpus_count: int | None = None
    threads_count: int | None = None
    threads: list[ThreadPlaces] = Field(default_factory=list)
    nodes: list[NodeTime] = Field(default_factory=list)
    node_moves_count: int | None = None
    nodes_reason: str | None = None
    reason: str | None = None


class Energy(Model):
    """Energy of one domain in the window.

    ``scope`` says where; with several hosts it also names the host.
    """

    measure: str
    scope: str
    energy_nj: int | None = None
    watts: float | None = None
    reason: str | None = None


class Hardware(Model):
    """What perf counters show of the window; ``reason`` where there is no hardware counter."""

    counters: list[Counter] = Field(default_factory=list)
    not_counted: list[NotCounted] = Field(default_factory=list)
    ipc: Ipc = Field(default_factory=Ipc)
    cpi: CpiBreakdown = Field(default_factory=CpiBreakdown)
    roles: list[RoleCounters] = Field(default_factory=list)
    stages: list[StageCounters] = Field(default_factory=list)
    tasks: list[TaskCounters] = Field(default_factory=list)
    operators: list[OperatorIpc] = Field(default_factory=list)
    bandwidth: Bandwidth = Field(default_factory=Bandwidth)
    placement: Placement = Field(default_factory=Placement)
    energy: list[Energy] = Field(default_factory=list)
    reason: str | None = None
