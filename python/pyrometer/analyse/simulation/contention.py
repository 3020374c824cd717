"""Slow-downs of tasks that run beside one another on a host: the law a simulation is given.

A law is a function of load that gives a slow-down. It is tabulated at whole loads for the native
scheduler, which first finds how much work each task must have had under the law of the measured
run. So the measured size comes out as measured, whatever the law.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyrometer.analyse.ledger.groups import Only
from pyrometer.analyse.ledger.report import Asked, ledger_report
from pyrometer.analyse.simulation.measured import Measured
from pyrometer.store import Run

SlowDown = Callable[[float], float]
LOADS = 1024


@dataclass(frozen=True)
class Contention:
    """How tasks slow one another down.

    Attributes
    ----------
    measured, asked : callable
        Slow-down by load of the host that was measured, and of the one that is asked about.
    load : dict of (int, int) to float, or None
        What a task of a stage attempt adds to the load; ``None``: each adds 1.
    words : str
        What the law is.
    """

    measured: SlowDown
    asked: SlowDown
    words: str
    load: dict[tuple[int, int], float] | None = None

    def tables(self) -> tuple[list[float], list[float]]:
        """Give both laws at loads 0, 1, 2, …."""
        return tabulate(self.measured), tabulate(self.asked)

    @property
    def driver(self) -> float:
        """Slow-down of the driver, one thread, beside the measured host."""
        return self.asked(1.0) / self.measured(1.0)


def tabulate(law: SlowDown, loads: int = LOADS) -> list[float]:
    """Give a law's values at loads 0, 1, 2, …."""
    return [law(float(load)) for load in range(loads + 1)]


def universal(alpha: float, beta: float) -> SlowDown:
    """Make the slow-down of Gunther's universal law of scalability.

    Examples
    --------
    >>> law = universal(0.02, 0.001)
    >>> law(1), round(law(8), 3)
    (1.0, 1.196)
    """

    def law(load: float) -> float:
        beyond = max(load, 1.0) - 1
        return 1 + alpha * beyond + beta * max(load, 1.0) * beyond

    return law


def cpu_limit(cpus: float) -> SlowDown:
    """Make the slow-down of tasks that share CPUs, by how many they would keep busy.

    The utilisation law: below as many nothing waits, above it the CPUs are the bottleneck (Denning
    and Buzen, "The operational analysis of queueing network models", 1978).

    Examples
    --------
    >>> law = cpu_limit(2)
    >>> law(1.5), law(3)
    (1.0, 1.5)
    """
    return lambda load: max(1.0, load / cpus)


def fitted(alpha: float, beta: float) -> Contention:
    """Give a fitted universal law, the same at any size."""
    law = universal(alpha, beta)
    return Contention(law, law, f"universal law, α = {alpha:g}, β = {beta:g} per task of a host")


def of_ledger(
    run: Run, measured: Measured, window: str, asked_cpus: float | None
) -> tuple[Contention | None, str | None]:
    """Give the CPU limit with the CPU shares of each stage's tasks, or why it cannot be had.

    A task's share is what it did not spend waiting (for I/O, locks, others) of its time without
    the run queue: what it would keep busy of a CPU that it need not wait for. Pauses of the
    collector and the scheduler's delay are CPU as well, of other threads.
    """
    cpus = _cpus(run)
    if cpus is None:
        return None, "the CPUs of the host are not known: only an event log"
    stages = ledger_report(
        run, window, Asked(by="stage", only=Only(), most=max(1, len(measured.stages)))
    )
    load = {}
    for group in stages.groups:
        rows = {row.path: row.value_ns for row in group.view.rows}
        queue, total = rows.get("task/run_queue"), group.view.total_ns
        waits = rows.get("task/waiting", rows.get("task/off_cpu"))
        if queue is None or waits is None or total is None or group.stage_id is None:
            continue
        if (free := total - queue) > 0:
            share = min(1.0, max(0.0, 1 - waits / free))
            load[group.stage_id, group.stage_attempt or 0] = share
    if not load:
        return None, "the ledger does not tell how long tasks waited for a CPU"
    asked = cpus if asked_cpus is None else asked_cpus
    words = f"CPU shares of the ledger on {asked:g} CPUs, measured on {cpus:g}"
    return Contention(cpu_limit(cpus), cpu_limit(asked), words, load), None


def loads(measured: Measured, contention: Contention | None, nodes: int) -> list[float]:
    """Give the load of a task of each node; a stage that the ledger does not tell is all CPU."""
    if contention is None or contention.load is None:
        return [1.0] * nodes
    told: Sequence[float] = [
        contention.load.get((stage.stage_id, stage.attempt), 1.0) for stage in measured.stages
    ]
    return [*told, *([1.0] * (nodes - len(told)))]


def _cpus(run: Run) -> float | None:
    """Count the CPUs that the run was allowed."""
    if run.manifest is None:
        return None
    treatment = run.manifest.treatment
    for factor in ("cpu.quota", "host.cpus"):
        level = treatment.get(factor)
        if isinstance(level, int | float) and level > 0:
            return float(level)
        if isinstance(level, list | tuple | set | frozenset) and level:
            return float(len(level))
    return float(run.manifest.host.cpus_count) if run.manifest.host.cpus_count else None
