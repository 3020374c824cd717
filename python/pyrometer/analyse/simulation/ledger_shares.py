"""Contention by the CPU shares that a run's ledger tells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pyrometer.analyse.ledger.groups import Only
from pyrometer.analyse.ledger.report import Asked, ledger_report
from pyrometer.analyse.simulation.contention import Contention
from pyrometer.analyse.simulation.measured import Measured
from pyrometer.analyse.simulation.queries import SIDE_BY_SIDE
from pyrometer.analyse.simulation.turns import as_measured
from pyrometer.plan.factors import parse_cpus
from pyrometer.store import Run

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
        run, window, Asked(by="stage", only=Only(), most=max(1, len(measured.stages)))
    )
    times: dict[tuple[int, int], StageTime] = {}
    for group in stages.groups:
        rows = {row.path: row.value_ns for row in group.view.rows}
        made = stage_time(rows, group.view.total_ns)
        if made is not None and group.stage_id is not None:
            times[group.stage_id, group.stage_attempt or 0] = made
    if not times:
        return None, "the ledger does not tell how long tasks waited for a CPU"
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
