"""Programs whose tasks wait for each other: for a monitor, or for a CPU."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pyrometer.errors import CapabilityError
from pyrometer.workload.contract import Prepared, Progress, WorkloadSpec, no_progress
from pyrometer.workload.truth.calibrated import Calibrated

if TYPE_CHECKING:
    from pyrometer.workload.cache import DataCache

_SCHEDSTAT = Path("/proc/self/schedstat")


class _Waiting(Calibrated):
    """What both have in common: the kernel's count of each thread's time."""

    program = "Endured"
    scales: ClassVar = {"test": 100, "default": 1_000, "seed": 10_000}

    def prepare(
        self, spec: WorkloadSpec, cache: DataCache, progress: Progress = no_progress
    ) -> Prepared:
        """Look for the kernel's count."""
        if not _SCHEDSTAT.exists():
            raise CapabilityError(
                f"{self.name} needs {_SCHEDSTAT}, which this kernel does not have",
                "boot a Linux kernel built with CONFIG_SCHED_INFO",
            )
        return super().prepare(spec, cache, progress)


class Lock(_Waiting):
    """Tasks blocked on a monitor."""

    name = "truth-lock"
    summary = "Tasks are blocked on a monitor for a declared share of their time"
    description = (
        "For each task another thread holds a monitor, a millisecond at a time, until the task has "
        "been blocked for its share; the wait for a CPU after it is not counted to it. The rest of "
        "the time is useful work."
    )
    expectation = "Wait class lock has the share of task time."
    cause, path, of = "lock", "task/waiting/lock", "task"


class RunQueue(_Waiting):
    """Tasks that wait for a CPU."""

    name = "truth-run-queue"
    summary = "Tasks wait for a CPU for a declared share of their time"
    description = (
        "Threads without work of their own take the CPUs until a task has waited for its share, "
        "by the kernel's own count (schedstat) for its thread; the rest of the time is its own. "
        "Waits are as long as the kernel's time slices, so a short run meets its share less well."
    )
    expectation = "Row task/run_queue has the share of task time."
    cause, path, of = "run_queue", "task/run_queue", "task"
    tolerance = 0.1
