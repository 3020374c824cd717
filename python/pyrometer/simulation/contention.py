"""Slow-downs of tasks that run at once on a host: the law of contention for a simulation.

A law is a function from load to slow-down. It is tabulated at whole loads for the native scheduler,
which first computes the work of each task under the law of the measured run. So the measured size
comes out as measured, whatever the law.

Slow-down of tasks that share CPUs: by probability, and fitted to the measurement.

A task that is ready to run competes with others that are ready: each other task with the
probability that it is on a CPU or waits for one, and background threads (compilers, the collector,
the driver, other processes) with a Poisson distribution for their share. If more are ready than
there are CPUs, all slow down equally (processor sharing). That probability depends on the slow-down
itself, so the law is a fixed point, as in approximate mean-value analysis of closed networks
(Schweitzer, "Approximate analysis of multiclass closed networks of queues", 1979): up to a sixth
above the exact solution where tasks mostly wait for something else.

Contention by the CPU shares of a run's ledger.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from pyrometer.accounts.ledger.parts import parts
from pyrometer.accounts.ledger.sums import Only
from pyrometer.accounts.window import open_scope
from pyrometer.simulation.measured import Floats, Measured
from pyrometer.simulation.queries import CONCURRENT_TASKS, CPUS_OF_HOSTS
from pyrometer.store import Run
from pyrometer.trial.factors import parse_cpus

LEAST_SHARE = 0.01
MOST_BACKGROUND = 8.0
MOST_CPUS = 4096
"""CPUs of the largest host whose law is computed: the time grows with their square."""
_ROUNDS = 100
_NEAR = 1e-9


@dataclass(frozen=True)
class Turns:
    """How tasks of one host share its CPUs.

    Attributes
    ----------
    cpus : float
        CPUs of the host, or its quota.
    share : float
        Part of a task's time, not counting waits for a CPU, in which it needs one.
    background : float
        CPU time of other threads for each second of CPU that a task uses.
    part : float
        Part of the waiting by probability that was measured; below 1 where tasks wait for one
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
    background: float = 0.0
    part: float = 1.0

    def __call__(self, load: float) -> float:
        """Give the slow-down at a load: the sum of shares of the running tasks."""
        return self.of_tasks(load / max(self.share, LEAST_SHARE))

    def of_tasks(self, tasks: float) -> float:
        """Give the slow-down with a number of running tasks; interpolated between whole numbers."""
        return 1 + self.part * (self._settled(tasks)[0] - 1)

    def _settled(self, tasks: float) -> tuple[float, float]:
        """Give the slow-down by probability alone, and the part of time that a task is ready."""
        share, slow, wants = min(max(self.share, LEAST_SHARE), 1.0), 1.0, 1.0
        for _ in range(_ROUNDS):
            wants = 1 / (1 + (1 - share) / (share * slow))
            before, slow = (
                slow,
                self._expected(max(tasks - 1, 0.0), wants, self.background * tasks * wants),
            )
            if abs(slow - before) < _NEAR * slow:
                break
        return slow, wants

    def _expected(self, others: float, wants: float, threads: float) -> float:
        """Give the mean of max(1, k / CPUs), where k threads are ready, including the task."""
        few, would = self._would_run(others, wants, threads)
        free = np.maximum(0, 1 - (few + 1) / self.cpus)
        return float((1 + others * wants + threads) / self.cpus + (would * free).sum())

    def _would_run(self, tasks: float, wants: float, threads: float) -> tuple[Floats, Floats]:
        """Give the probability that 0, 1, … tasks and threads are ready, for fewer than CPUs."""
        from scipy import stats  # half a second, which most readers of a run need not wait

        few = np.arange(math.ceil(self.cpus), dtype=np.float64)
        whole = math.floor(tasks)
        would = (1 - (tasks - whole)) * stats.binom.pmf(few, whole, wants)
        would += (tasks - whole) * stats.binom.pmf(few, whole + 1, wants)
        return few, np.convolve(would, stats.poisson.pmf(few, threads))[: few.size]


def as_measured(cpus: float, share: float, times: Mapping[float, float], free: float) -> Turns:
    """Find the law under which task time without slow-down is as measured.

    Slow-down beyond that of the tasks alone is attributed to background threads; where the tasks
    alone give too much, only a part of it counts.

    Parameters
    ----------
    times : mapping of float to float
        Task time by the number of tasks that ran at once on the host.
    free : float
        Task time without waiting for a CPU, in the same unit.

    Examples
    --------
    >>> law = as_measured(2, 0.8, {2: 12.0}, free=10.0)
    >>> round(law.of_tasks(2), 3), law.part, law.background > 0
    (1.2, 1.0, True)
    >>> round(as_measured(2, 0.8, {4: 11.0}, free=10.0).of_tasks(4), 3)
    1.1
    """
    from scipy.optimize import brentq

    def missed(law: Turns) -> float:
        return sum(time / law.of_tasks(tasks) for tasks, time in times.items()) - free

    alone = Turns(cpus, share)
    if abs(missed(alone)) <= _NEAR * free:
        return alone
    if missed(alone) > 0:
        most = replace(alone, background=MOST_BACKGROUND)
        if missed(most) >= 0:
            return most
        found = brentq(
            lambda x: missed(replace(alone, background=x)), 0, MOST_BACKGROUND, xtol=1e-7
        )
        return replace(alone, background=found)
    if missed(replace(alone, part=0.0)) <= 0:
        return replace(alone, part=0.0)
    return replace(alone, part=brentq(lambda x: missed(replace(alone, part=x)), 0, 1, xtol=1e-7))


SlowDown = Callable[[float], float]
LOADS = 1024
_EACH, _STEP = 64, 0.03


@dataclass(frozen=True)
class Contention:
    """How tasks slow one another down.

    Attributes
    ----------
    measured, asked : callable
        Slow-down by load, of the measured host and of the simulated one.
    load : dict of (int, int) to float, or None
        Load that a task of a stage attempt adds; ``None``: each adds 1.
    words : str
        Description of the law.
    turns : Turns or None
        The law of the measured host, if it depends on CPUs.
    """

    measured: SlowDown
    asked: SlowDown
    words: str
    load: dict[tuple[int, int], float] | None = None
    turns: Turns | None = None

    @property
    def cpus(self) -> float | None:
        """CPUs of the measured host, if the law depends on them."""
        return None if self.turns is None else self.turns.cpus

    def on(self, cpus: float | None) -> Contention:
        """Give the same for another number of CPUs, if the law depends on them."""
        if self.turns is None or cpus is None:
            return self
        return replace(self, asked=replace(self.turns, cpus=cpus))

    def unchanged(self) -> Contention:
        """Give the same on the measured host."""
        return replace(self, asked=self.measured)

    def tables(self) -> tuple[list[float], list[float]]:
        """Give both laws at loads 0, 1, 2, …."""
        return tabulate(self.measured), tabulate(self.asked)

    @property
    def driver(self) -> float:
        """Slow-down of the driver, one thread, relative to the measured host."""
        return self.asked(1.0) / self.measured(1.0)


def tabulate(law: SlowDown, loads: int = LOADS) -> list[float]:
    """Tabulate a law at loads 0, 1, 2, …; beyond 64 in steps of 3 %, and linear between."""
    each = range(min(loads, _EACH) + 1)
    steps = np.geomspace(_EACH, loads, max(2, round(math.log(loads / _EACH) / _STEP)))[1:]
    at = [*map(float, each), *(steps if loads > _EACH else ())]
    return list(map(float, np.interp(np.arange(loads + 1), at, [law(load) for load in at])))


def universal(alpha: float, beta: float) -> SlowDown:
    """Give the slow-down of Gunther's universal scalability law.

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
    """Give the load of a task of each node; a stage that is not in the ledger is all CPU."""
    if contention is None or contention.load is None:
        return [1.0] * nodes
    known: Sequence[float] = [
        contention.load.get((stage.stage_id, stage.attempt), 1.0) for stage in measured.stages
    ]
    return [*known, *([1.0] * (nodes - len(known)))]


OUTSIDE_RUN_TIME = ("scheduler_delay", "deserialize", "task/gc_pause")
"""Rows of tasks' time outside their run time: CPU of the driver or of other threads, including
their waits for a CPU, which are not separated."""


class StageTime(NamedTuple):
    """What tasks of a stage did with their time.

    Attributes
    ----------
    took, queued : float
        Their time, and the part of it in which they waited for a CPU, in the same unit.
    share : float
        Part of the rest in which they needed one.
    """

    took: float
    queued: float
    share: float


def of_ledger(
    run: Run, measured: Measured, window: str, asked_cpus: float | None
) -> tuple[Contention | None, str | None]:
    """Give the law of tasks that share CPUs, with the CPU share of each stage's tasks, or why not.

    A task's share is the part of its time without the run queue in which it did not wait (for I/O,
    locks, others): how busy it would keep a CPU of its own. The slow-down for lack of CPUs is
    measured: the tasks' time over their time without the run queue.
    """
    cpus = _cpus(run, measured.app_index)
    if isinstance(cpus, str):
        return None, cpus
    # Numbers of stages begin anew in each application of a run.
    only, most = Only(app_index=measured.app_index), max(1, len(measured.stages))
    stages, _ = parts(open_scope(run, window), "stage", only, most)
    times: dict[tuple[int, int], StageTime] = {}
    for group in stages:
        rows = {row.path: row.value_ns for row in group.view.rows}
        spent = stage_time(rows, group.view.total_ns)
        if spent is not None and group.stage_id is not None:
            times[group.stage_id, group.stage_attempt or 0] = spent
    if not times:
        return None, "the ledger does not show how long tasks waited for a CPU"
    asked = cpus if asked_cpus is None else asked_cpus
    words = f"CPU shares of the ledger on {asked:g} CPUs, measured on {cpus:g}"
    concurrent = dict(run.tables.query(CONCURRENT_TASKS, [measured.app_index]))
    took = sum(one.took for one in times.values())
    free = took - sum(one.queued for one in times.values())
    wanted = sum(one.share * (one.took - one.queued) for one in times.values())
    without_queue = sum(concurrent.values()) * free / took
    law = as_measured(cpus, wanted / free, concurrent, without_queue)
    load = {stage: one.share for stage, one in times.items()}
    return Contention(law, law, words, load, law).on(asked), None


def stage_time(rows: Mapping[str, float | None], total: float | None) -> StageTime | None:
    """Sum up a stage by its rows of the ledger; `None` if they do not show waits for a CPU.

    The scheduler's delay, deserialisation and pauses of the collector are CPU time as well, of the
    driver and other threads. They are assumed to wait for a CPU in the same proportion as tasks;
    else tasks would seem longer on a busy host.

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
        outside = sum(max(0.0, rows.get(path) or 0.0) for path in OUTSIDE_RUN_TIME)
        queued += outside * queue / (queue + on_cpu)
    if (free := total - queued) <= 0:
        return None
    return StageTime(total, queued, min(1.0, max(0.0, 1 - waits / free)))


UNKNOWN_CPUS = "the CPUs of the host are not known: only an event log"


def _cpus(run: Run, app_index: int) -> float | str:
    """Count the CPUs of a host that tasks of an application were allowed to use, or say why not."""
    if run.manifest is None:
        return UNKNOWN_CPUS
    allowed = run.manifest.host.cpus_count
    if run.tables.several_hosts:
        # The launcher's host may have run none of its tasks: those that did count, where known.
        counts = [int(count) for (count,) in run.tables.query(CPUS_OF_HOSTS, [app_index])]
        if len(counts) > 1:
            return f"its tasks ran on hosts of {' and '.join(map(str, counts))} CPUs"
        allowed = next(iter(counts), allowed)
    limits = [] if allowed is None else [float(allowed)]
    quota, cpus = (run.manifest.treatment.get(name) for name in ("cpu.quota", "host.cpus"))
    if quota is not None:
        limits.append(float(quota))
    if cpus is not None:
        some = parse_cpus(str(cpus))
        limits.append(float(some if isinstance(some, int) else len(some)))
    return min(limits, default=UNKNOWN_CPUS)
