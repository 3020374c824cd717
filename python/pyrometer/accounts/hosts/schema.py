"""Several hosts as Spark's event log has them: slots, task sums, and how uneven they are."""

from __future__ import annotations

from pydantic import Field

from pyrometer.accounts.schema import Failed, Totals
from pyrometer.core.estimate import Estimate
from pyrometer.core.model import Model


class HostTasks(Model):
    """One host: its executors, their slots, and the tasks that ran there.

    Attributes
    ----------
    host : str
        Its name, as its streams have it, else as the event log does.
    executors_count, removed_executors_count : int
        Executors that were there in the window, and how many of them were removed in it.
    cores_count, storage_memory_bytes : int or None
        Of these executors together; what one did not report, None.
    slots_count : int or None
        Most slots at one time.
    slots_ns, used_ns, idle_ns : int or None
        Slots × wall in the window, the part in which they ran task attempts, and the rest; None
        where cores are not known.
    task_ns : int
        Task attempts from launch to finish, inside the window.
    task_time_ratio : Estimate or None
        How long its tasks took, over the other hosts' median, within the same stages and without
        the first tasks of each executor, which load code.
    totals : dict
        Of its successful attempts (docs/reference/totals.md).
    failed : Failed
        The same of attempts that failed or were killed.
    """

    host: str
    executors_count: int = 0
    removed_executors_count: int = 0
    cores_count: int | None = None
    storage_memory_bytes: int | None = None
    slots_count: int | None = None
    slots_ns: int | None = None
    used_ns: int | None = None
    idle_ns: int | None = None
    task_ns: int = 0
    task_time_ratio: Estimate | None = None
    totals: Totals = Field(default_factory=dict)
    failed: Failed = Field(default_factory=lambda: Failed(totals={}))


class HostSkew(Model):
    """One measure of the host that has most of it, against the median of the others.

    Attributes
    ----------
    measure : str
        A total of the tasks, or ``task_ns``; its name has the unit.
    host : str
        The host that has most of it.
    value, others_median : float
        What it has, and the median of what the others have.
    ratio : Estimate
        One over the other; the interval is what another assignment of the same tasks to hosts
        could have made of it. ``value`` is None where the others' median is nothing.
    slots_ratio : float or None
        Its slot time over the others' median: with twice the slots twice the work is no skew.
    """

    measure: str
    host: str
    value: float
    others_median: float
    ratio: Estimate
    slots_ratio: float | None = None


class Hosts(Model):
    """The hosts that executors ran on; of one host, none.

    Attributes
    ----------
    hosts : list of HostTasks
        Those with most task time first, of ``hosts_count``.
    skew : list of HostSkew
        The measures that any task has something of, over the hosts that ran any.
    uneven : list of str
        In words, what of it neither chance nor the slots of a host explain: first the host on which
        tasks take longest.
    """

    hosts: list[HostTasks] = Field(default_factory=list)
    hosts_count: int = 0
    skew: list[HostSkew] = Field(default_factory=list)
    uneven: list[str] = Field(default_factory=list)
