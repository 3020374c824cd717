"""Slow-downs of tasks that run beside one another on a host: the law a simulation is given.

A law is a function of load that gives a slow-down. It is tabulated at whole loads for the native
scheduler, which first finds how much work each task must have had under the law of the measured
run. So the measured size comes out as measured, whatever the law.

Slow-down of tasks that take turns on CPUs: by chance of meeting, and as it was measured.

A task that would run finds others that would run as well: each other task by the chance that it is
on a CPU or waits for one, and threads that work beside the tasks (compilers, the collector, the
driver, other processes) as many as Poisson's law gives for their share. With more of them than
CPUs all go slower by as much (processor sharing). That chance depends on the slow-down itself, so
the law is a fixed point, as in approximate mean-value analysis of closed networks (Schweitzer,
"Approximate analysis of multiclass closed networks of queues", 1979): up to a sixth above the exact
solution where tasks mostly wait for something else.

Contention by the CPU shares that a run's ledger tells.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.optimize import brentq

from pyrometer.accounts.ledger.report import Request, ledger_report
from pyrometer.accounts.ledger.sums import Only
from pyrometer.simulation.measured import Floats, Measured
from pyrometer.simulation.queries import SIDE_BY_SIDE
from pyrometer.store import Run
from pyrometer.trial.factors import parse_cpus

LEAST_SHARE = 0.01
MOST_BESIDE = 8.0
_ROUNDS = 100
_NEAR = 1e-9


@dataclass(frozen=True)
class Turns:
    """How tasks of one host take turns on its CPUs.

    Attributes
    ----------
    cpus : float
        CPUs of the host, or its quota.
    share : float
        Part of a task's time, without waiting for a CPU, in which it wants one.
    beside : float
        CPU time of other threads for each second of CPU that a task uses.
    part : float
        Part of the waiting that chance gives which came about; below 1 where tasks wait for one
        another rather than for a CPU.

    Examples
    --------
    >>> [round(Turns(2, share=1.0).of_tasks(n), 3) for n in (1, 2, 3, 4)]
    [1.0, 1.0, 1.5, 2.0]
    >>> round(Turns(2, share=0.5).of_tasks(3), 3)
    1.142
    """

    cpus: float
    share: float = 1.0
    beside: float = 0.0
    part: float = 1.0

    def __call__(self, load: float) -> float:
        """Give the slow-down at a load: the sum of shares of the running tasks."""
        return self.of_tasks(load / max(self.share, LEAST_SHARE))

    def of_tasks(self, tasks: float) -> float:
        """Give how long so many running tasks take turns; between whole numbers by both."""
        return 1 + self.part * (self._settled(tasks)[0] - 1)

    def _settled(self, tasks: float) -> tuple[float, float]:
        """Give the slow-down by chance alone, and the part of its time that a task would run."""
        share, slow, wants = min(max(self.share, LEAST_SHARE), 1.0), 1.0, 1.0
        for _ in range(_ROUNDS):
            wants = 1 / (1 + (1 - share) / (share * slow))
            before, slow = slow, self._met(max(tasks - 1, 0.0), wants, self.beside * tasks * wants)
            if abs(slow - before) < _NEAR * slow:
                break
        return slow, wants

    def _met(self, others: float, wants: float, threads: float) -> float:
        """Give the mean of max(1, k / CPUs) over who would run: k, the task itself among them."""
        few, would = self._would_run(others, wants, threads)
        free = np.maximum(0, 1 - (few + 1) / self.cpus)
        return float((1 + others * wants + threads) / self.cpus + (would * free).sum())

    def _would_run(self, tasks: float, wants: float, threads: float) -> tuple[Floats, Floats]:
        """Give the chance that 0, 1, … of tasks and threads would run, below the CPUs there are."""
        few = np.arange(math.ceil(self.cpus), dtype=np.float64)
        whole = math.floor(tasks)
        would = (1 - (tasks - whole)) * stats.binom.pmf(few, whole, wants)
        would += (tasks - whole) * stats.binom.pmf(few, whole + 1, wants)
        return few, np.convolve(would, stats.poisson.pmf(few, threads))[: few.size]


def as_measured(cpus: float, share: float, beside: Mapping[float, float], free: float) -> Turns:
    """Find the law under which task time is, without what it slowed them down, as much as measured.

    What chance of tasks alone does not explain, threads beside them do; what it explains too much
    of is taken in part.

    Parameters
    ----------
    beside : mapping of float to float
        Task time by how many tasks ran at once on the host.
    free : float
        Task time without waiting for a CPU, in the same unit.

    Examples
    --------
    >>> law = as_measured(2, 0.8, {2: 12.0}, free=10.0)
    >>> round(law.of_tasks(2), 3), law.part, law.beside > 0
    (1.2, 1.0, True)
    >>> round(as_measured(2, 0.8, {4: 11.0}, free=10.0).of_tasks(4), 3)
    1.1
    """

    def missed(law: Turns) -> float:
        return sum(time / law.of_tasks(tasks) for tasks, time in beside.items()) - free

    alone = Turns(cpus, share)
    if abs(missed(alone)) <= _NEAR * free:
        return alone
    if missed(alone) > 0:
        most = replace(alone, beside=MOST_BESIDE)
        if missed(most) >= 0:
            return most
        found = brentq(lambda x: missed(replace(alone, beside=x)), 0, MOST_BESIDE, xtol=1e-4)
        return replace(alone, beside=found)
    if missed(replace(alone, part=0.0)) <= 0:
        return replace(alone, part=0.0)
    return replace(alone, part=brentq(lambda x: missed(replace(alone, part=x)), 0, 1, xtol=1e-4))


SlowDown = Callable[[float], float]
LOADS = 1024
_EACH, _STEP = 64, 0.03


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
    turns : Turns or None
        The law of the measured host, where it is by CPUs.
    """

    measured: SlowDown
    asked: SlowDown
    words: str
    load: dict[tuple[int, int], float] | None = None
    turns: Turns | None = None

    @property
    def cpus(self) -> float | None:
        """CPUs of the host that was measured, where the law is by them."""
        return None if self.turns is None else self.turns.cpus

    def on(self, cpus: float | None) -> Contention:
        """Give the same, asked about another number of CPUs, where the law is by them."""
        if self.turns is None or cpus is None:
            return self
        return replace(self, asked=replace(self.turns, cpus=cpus))

    def tables(self) -> tuple[list[float], list[float]]:
        """Give both laws at loads 0, 1, 2, …."""
        return tabulate(self.measured), tabulate(self.asked)

    @property
    def driver(self) -> float:
        """Slow-down of the driver, one thread, beside the measured host."""
        return self.asked(1.0) / self.measured(1.0)


def tabulate(law: SlowDown, loads: int = LOADS) -> list[float]:
    """Give a law's values at loads 0, 1, 2, …; beyond 64 in steps of 3 %, and linear between."""
    each = range(min(loads, _EACH) + 1)
    steps = np.geomspace(_EACH, loads, max(2, round(math.log(loads / _EACH) / _STEP)))[1:]
    at = [*map(float, each), *(steps if loads > _EACH else ())]
    return list(map(float, np.interp(np.arange(loads + 1), at, [law(load) for load in at])))


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


def fitted(alpha: float, beta: float) -> Contention:
    """Give a fitted universal law, the same at any size."""
    law = universal(alpha, beta)
    return Contention(law, law, f"universal law, α = {alpha:g}, β = {beta:g} per task of a host")


def loads(measured: Measured, contention: Contention | None, nodes: int) -> list[float]:
    """Give the load of a task of each node; a stage that the ledger does not tell is all CPU."""
    if contention is None or contention.load is None:
        return [1.0] * nodes
    told: Sequence[float] = [
        contention.load.get((stage.stage_id, stage.attempt), 1.0) for stage in measured.stages
    ]
    return [*told, *([1.0] * (nodes - len(told)))]


BESIDE_OWN = ("scheduler_delay", "deserialize", "task/gc_pause")
"""Rows of tasks' time that are CPU, of the driver or of other threads, and whatever they wait for
one: their wait is not told apart."""


class StageTime(NamedTuple):
    """What tasks of a stage did with their time.

    Attributes
    ----------
    took, queued : float
        Their time, and the part of it in which they waited for a CPU, in one unit.
    share : float
        Part of the rest in which they wanted one.
    """

    took: float
    queued: float
    share: float


def of_ledger(
    run: Run, measured: Measured, window: str, asked_cpus: float | None
) -> tuple[Contention | None, str | None]:
    """Give the law of tasks that take turns, with the CPU shares of each stage's tasks, or why not.

    A task's share is what it did not spend waiting (for I/O, locks, others) of its time without
    the run queue: what it would keep busy of a CPU that it need not wait for. How much slower
    tasks were for want of a CPU is measured: their time over what it was without the run queue.
    """
    cpus = _cpus(run)
    if cpus is None:
        return None, "the CPUs of the host are not known: only an event log"
    stages = ledger_report(
        run, window, Request(by="stage", only=Only(), most=max(1, len(measured.stages)))
    )
    times: dict[tuple[int, int], StageTime] = {}
    for group in stages.groups:
        rows = {row.path: row.value_ns for row in group.view.rows}
        made = stage_time(rows, group.view.total_ns)
        if made is not None and group.stage_id is not None:
            times[group.stage_id, group.stage_attempt or 0] = made
    if not times:
        return None, "the ledger does not show how long tasks waited for a CPU"
    asked = cpus if asked_cpus is None else asked_cpus
    words = f"CPU shares of the ledger on {asked:g} CPUs, measured on {cpus:g}"
    beside = dict(run.tables.query(SIDE_BY_SIDE, [measured.app_index]))
    took = sum(one.took for one in times.values())
    free = took - sum(one.queued for one in times.values())
    wanted = sum(one.share * (one.took - one.queued) for one in times.values())
    without_queue = sum(beside.values()) * free / took
    law = as_measured(cpus, wanted / free, beside, without_queue)
    load = {stage: one.share for stage, one in times.items()}
    return Contention(law, law, words, load, law).on(asked), None


def stage_time(rows: Mapping[str, float | None], total: float | None) -> StageTime | None:
    """Sum up a stage by its rows of the ledger; none where it does not tell who waited for a CPU.

    The scheduler's delay, deserialisation and pauses of the collector are CPU as well, of the
    driver and other threads: that they wait for one as long, for what they use, as tasks do is
    taken for granted. Without that a busy host would seem to have longer tasks.

    Examples
    --------
    >>> rows = {"task/on_cpu": 4, "task/run_queue": 4, "task/waiting": 1, "scheduler_delay": 2}
    >>> stage_time(rows, 11)
    StageTime(took=11, queued=5.0, share=0.8333333333333334)
    >>> stage_time({"task/on_cpu": 4}, 11)
    """
    queue, waits = rows.get("task/run_queue"), rows.get("task/waiting", rows.get("task/off_cpu"))
    on_cpu = rows.get("task/on_cpu") or 0.0
    if queue is None or waits is None or total is None:
        return None
    queued = queue
    if on_cpu > 0:
        beside_own = sum(max(0.0, rows.get(path) or 0.0) for path in BESIDE_OWN)
        queued += beside_own * queue / (queue + on_cpu)
    if (free := total - queued) <= 0:
        return None
    return StageTime(total, queued, min(1.0, max(0.0, 1 - waits / free)))


def _cpus(run: Run) -> float | None:
    """Count the CPUs that the run was allowed."""
    if run.manifest is None:
        return None
    allowed = run.manifest.host.cpus_count
    limits = [] if allowed is None else [float(allowed)]
    quota, cpus = (run.manifest.treatment.get(name) for name in ("cpu.quota", "host.cpus"))
    if quota is not None:
        limits.append(float(quota))
    if cpus is not None:
        some = parse_cpus(str(cpus))
        limits.append(float(some if isinstance(some, int) else len(some)))
    return min(limits, default=None)
