"""What workers' time turned into: workers times elapsed time, taken apart without a rest."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel

from pyrometer.analyse.scaling.levels import Level

PARTS = ("cpu", "gc", "wait", "idle")


class WorkerTime(BaseModel):
    """Workers times elapsed time for one unit of work, and its parts, which sum up to it.

    Attributes
    ----------
    total : float
        In the unit of elapsed time.
    cpu : float or None
        On a CPU, in tasks.
    gc : float or None
        Garbage collection during tasks.
    wait : float or None
        Rest of tasks' run time: waiting for a CPU, input, output, locks.
    idle : float or None
        Workers without a task.
    """

    total: float
    cpu: float | None
    gc: float | None
    wait: float | None
    idle: float | None

    def minus(self, other: WorkerTime) -> WorkerTime:
        """Give what this has more than another, part by part."""
        made: dict[str, float | None] = {"total": self.total - other.total}
        for name in PARTS:
            mine, its = getattr(self, name), getattr(other, name)
            made[name] = None if mine is None or its is None else mine - its
        return WorkerTime.model_validate(made)

    def largest(self) -> tuple[str, float] | None:
        """Give the largest part, and its share of the total; ``None`` where none is known."""
        known = {name: one for name in PARTS if (one := getattr(self, name)) is not None}
        if not known or self.total <= 0:
            return None
        name = max(known, key=lambda one: known[one])
        return name, known[name] / self.total


def worker_time(level: Level) -> WorkerTime:
    """Take the workers' time of a level apart, as far as its facts go."""
    total = level.p * level.unit_time
    run, cpu, gc = (level.per_work(name) for name in ("run_time", "cpu", "gc"))
    wait = None if run is None or cpu is None else run - cpu - (gc or 0.0)
    return WorkerTime(
        total=total, cpu=cpu, gc=gc, wait=wait, idle=None if run is None else total - run
    )


def cpus_used(level: Level) -> float | None:
    """CPUs that tasks kept busy on average."""
    cpu = level.mean("cpu")
    return None if cpu is None else cpu / level.elapsed


def cpu_of_work(levels: Sequence[Level]) -> list[tuple[Level, float]]:
    """Give the levels of which the CPU time of a unit of work is known, each with it."""
    return [(one, cpu) for one in levels if (cpu := one.per_work("cpu"))]


def nearest_below(levels: Sequence[Level], p: float) -> Level:
    """Give the last level with at most so many workers, else the first."""
    found = [one for one in levels if one.p <= p]
    return found[-1] if found else levels[0]
