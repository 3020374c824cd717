"""Contention by the CPU shares that a run's ledger tells."""

from __future__ import annotations

from pyrometer.analyse.ledger.groups import Only
from pyrometer.analyse.ledger.report import Asked, ledger_report
from pyrometer.analyse.simulation.contention import Contention
from pyrometer.analyse.simulation.interference import Cost
from pyrometer.analyse.simulation.measured import Measured
from pyrometer.analyse.simulation.queries import SIDE_BY_SIDE
from pyrometer.analyse.simulation.turns import as_measured
from pyrometer.plan.factors import parse_cpus
from pyrometer.store import Run


def of_ledger(
    run: Run, measured: Measured, window: str, asked_cpus: float | None
) -> tuple[Contention | None, str | None]:
    """Give the law of tasks that take turns, with the CPU shares of each stage's tasks, or why not.

    A task's share is what it did not spend waiting (for I/O, locks, others) of its time without
    the run queue: what it would keep busy of a CPU that it need not wait for. Pauses of the
    collector and the scheduler's delay are CPU as well, of other threads. How much slower tasks
    were for want of a CPU is measured: their time over what it was without the run queue.
    """
    cpus = _cpus(run)
    if cpus is None:
        return None, "the CPUs of the host are not known: only an event log"
    stages = ledger_report(
        run, window, Asked(by="stage", only=Only(), most=max(1, len(measured.stages)))
    )
    load: dict[tuple[int, int], float] = {}
    took = queued = 0
    wanted = on_cpu = 0.0
    for group in stages.groups:
        rows = {row.path: row.value_ns for row in group.view.rows}
        queue, total = rows.get("task/run_queue"), group.view.total_ns
        waits = rows.get("task/waiting", rows.get("task/off_cpu"))
        if queue is None or waits is None or total is None or group.stage_id is None:
            continue
        if (free := total - queue) > 0:
            share = min(1.0, max(0.0, 1 - waits / free))
            load[group.stage_id, group.stage_attempt or 0] = share
            took, queued, wanted = took + total, queued + queue, wanted + share * free
            on_cpu += rows.get("task/on_cpu") or 0.0
    if not load:
        return None, "the ledger does not tell how long tasks waited for a CPU"
    asked = cpus if asked_cpus is None else asked_cpus
    words = f"CPU shares of the ledger on {asked:g} CPUs, measured on {cpus:g}"
    beside = dict(run.tables.query(SIDE_BY_SIDE, [measured.app_index]))
    without_queue = sum(beside.values()) * (took - queued) / took
    law = as_measured(cpus, wanted / (took - queued), beside, without_queue)
    cost = None
    if on_cpu and (ran := sum(beside.values())):
        busy = sum(time * law.busy(tasks) for tasks, time in beside.items()) / ran
        cost = Cost(busy, on_cpu / len(measured.intervals))
    return Contention(law, law, words, load, law, cost).on(asked), None


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
