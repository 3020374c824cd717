"""What a trial spent: seconds of slots in one iteration, by what they were spent on."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyrometer.analyse.cpu import cpu
from pyrometer.analyse.hardware import hardware
from pyrometer.analyse.ledger.slot import slot_view
from pyrometer.analyse.model import Row, View
from pyrometer.analyse.summary import open_scope
from pyrometer.analyse.totals import window_totals
from pyrometer.store import Run

RESOURCES = {
    "cpus": ("tasks ready, waiting for a CPU", ("task/run_queue",)),
    "cpu_time": ("CPU time of tasks", ("task/on_cpu",)),
    "gc": ("tasks standing still for collections", ("task/gc_pause",)),
    "disk": ("tasks waiting for a disk", ("task/waiting/block_io",)),
    "memory": ("tasks waiting for memory", ("task/waiting/swap_in", "task/waiting/reclaim")),
    "steal": ("time the hypervisor took from tasks", ("task/steal",)),
    "waits": ("tasks waiting for something else", ("task/waiting", "task/off_cpu")),
    "driver": ("slots without a stage: the driver works or waits", ("idle/driver",)),
    "idle": ("other slots without a task", ("idle",)),
    "around": ("launch, deserialisation and results of tasks", ("",)),
}
"""What slots spend time on: words, and beginnings of the ledger's rows; the first that fits counts.
Together they are slots × time."""

TAKEN_APART = ("task", "idle", "task/waiting")
"""Rows whose parts are looked at."""


@dataclass(frozen=True)
class Spent:
    """What the slots of one trial spent in one iteration.

    Attributes
    ----------
    seconds : dict of str to float
        By resource; empty where it is not known, and `reason` says why.
    queues : dict of str to float
        Seconds that threads were ready and waited for a CPU, by their role.
    ipc : float or None
        Instructions per cycle.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    queues: dict[str, float] = field(default_factory=dict)
    ipc: float | None = None
    ipc_reason: str | None = None
    reason: str | None = None


def spent(run: Run, seconds: float) -> Spent:
    """Read what a run spent.

    Parameters
    ----------
    seconds : float
        Time of one of its iterations, as the experiment counts it.
    """
    scope = open_scope(run, None)
    view, counted = slot_view(scope), hardware(scope).ipc
    length = scope.window.length_ns / 1e9
    each = seconds / length if length else 0.0
    found = by_resource(view, each) if view.rows else {}
    # Without a probe what tasks lose is known as a whole only.
    probed = "cpus" in found
    return Spent(
        seconds=found if probed else {},
        queues={
            one.role: one.run_delay_ns * each / 1e9
            for one in cpu(scope, *window_totals(scope)).roles
            if one.run_delay_ns is not None
        },
        ipc=counted.ipc,
        ipc_reason=counted.reason,
        reason=None if probed else view.reason or "no probe: profile light or full",
    )


def by_resource(view: View, each: float) -> dict[str, float]:
    """Sum the rows of a slot view by resource, in seconds.

    Parameters
    ----------
    each : float
        Iterations in one window: what is summed over it is brought to one.
    """
    parts: dict[str | None, list[Row]] = {}
    for row in view.rows:
        if row.value_ns is not None:
            parts.setdefault(row.parent, []).append(row)
    made: dict[str, float] = {}

    def add(path: str, value_ns: float) -> None:
        below = parts.get(path, []) if path in TAKEN_APART else []
        for one in below:
            add(one.path, one.value_ns or 0)
        rest = value_ns - sum(one.value_ns or 0 for one in below)
        if not below or rest:
            name = resource_of(path)
            made[name] = made.get(name, 0.0) + rest * each / 1e9

    for row in parts.get(None, []):
        add(row.path, row.value_ns or 0)
    return made


def resource_of(path: str) -> str:
    """Name the resource that a row of the ledger is about.

    Examples
    --------
    >>> resource_of("task/waiting/block_io"), resource_of("task/waiting/lock"), resource_of("task")
    ('disk', 'waits', 'around')
    """
    return next(
        name
        for name, (_, starts) in RESOURCES.items()
        if any(not one or f"{path}/".startswith(f"{one}/") for one in starts)
    )
