"""Rows inside a task's time: on CPU, run queue, stolen, paused, waiting."""

from __future__ import annotations

from pyrometer.analyse.ledger.rows import CPU_SAMPLES, left_open, row, sampled, split
from pyrometer.analyse.ledger.run_queue import NO_PROBE
from pyrometer.analyse.ledger.sums import Sums
from pyrometer.analyse.ledger.waiting import EVENTS, waiting
from pyrometer.analyse.model import Row

# Samples below which a share says less than assuming the usual.
ENOUGH = 10


def from_spans(found: Sums) -> list[Row]:
    """Rows of tasks that the plugin saw: every source by itself, none made to fill a gap."""
    wall, n = found.wall, found.spans
    rows = [Row(path="task", value_ns=wall, n=n, source="plugin: Σ task spans")]
    cpu, source = found.span_cpu, "plugin: Σ thread CPU time between start and end of tasks"
    if cpu is None:
        cpu, source = found.cpu, "event log: Executor CPU Time"
    rows.append(row("task/on_cpu", cpu, n, source))
    if cpu is not None:
        hits = sum(found.counts.on_cpu.values())
        rows += split("task/on_cpu", cpu, found.counts.on_cpu, hits, CPU_SAMPLES)
    delay, stolen, pause = run_queue(found), steal(found, cpu), gc_pause(found)
    rows += [one for one in (delay, stolen, pause) if one is not None]
    asleep = waiting(found)
    if asleep:
        return [*rows, *asleep]
    known = (cpu or 0) + sum(o.value_ns or 0 for o in (delay, stolen, pause) if o is not None)
    why = "task − the rows above; wall-clock samples would tell what it waited for"
    rows.append(
        Row(path="task/off_cpu", parent="task", value_ns=wall - known, n=n,
            method="by_complement", source=why)
    )  # fmt: skip
    return rows


def from_event_log(found: Sums) -> list[Row]:
    """Rows of tasks that only an event log knows, in whole milliseconds."""
    n = found.attempts
    rows = [
        Row(path="task", value_ns=found.run, n=n, source="event log: Executor Run Time"),
        row("task/on_cpu", found.cpu, n, "event log: Executor CPU Time"),
    ]
    if found.fetch_wait is not None:
        source = "event log: Fetch Wait Time"
        rows.append(row("task/shuffle_fetch", found.fetch_wait, n, source))
    if found.cpu is not None:
        off = found.run - found.cpu - (found.fetch_wait or 0)
        why = "task − on CPU − shuffle fetch: I/O, run queue, GC pauses, locks"
        rows.append(
            Row(path="task/off_cpu", parent="task", value_ns=off, n=n, method="by_complement",
                source=why)
        )  # fmt: skip
    source = "event log: Result Serialization Time"
    rows.append(Row(path="result_serialization", value_ns=found.serialize, n=n, source=source))
    return rows


def run_queue(found: Sums) -> Row:
    """Tell waiting for a CPU: by scheduler events at T0, else by counters between readings."""
    path = "task/run_queue"
    if found.off_cpu is not None:
        off = found.off_cpu
        made = row(path, off.run_queue, off.n, f"probe: {EVENTS} of task threads")
        return left_open(made, off.run_queue_low, off.run_queue_high, "sums over seconds")
    if found.run_queue is None:
        return Row(path=path, parent="task", method="unavailable", source=NO_PROBE)
    queue = found.run_queue
    made = row(
        path,
        queue.value_ns,
        queue.n,
        "probe: schedstat run delay of task threads; "
        "read from /proc on Linux 6.12 and later it may hold sleep",
    )
    return left_open(made, queue.low_ns, queue.high_ns, "readings")


def steal(found: Sums, cpu_ns: int | None) -> Row | None:
    """Time that the hypervisor took while a task was on a CPU; ``None`` where it took none.

    Linux counts stolen time neither as the thread's nor as waiting for a CPU
    (``update_rq_clock_task`` in kernel/sched/core.c), and /proc/stat has it for the host alone.
    """
    if cpu_ns is None or found.steal is None:
        return None
    stolen, busy = found.steal
    share = min(1.0, cpu_ns / busy)
    return Row(
        path="task/steal",
        parent="task",
        value_ns=round(stolen * share),
        method="apportioned",
        source=f"/proc/stat: the host's steal × {100 * share:.1f} %, the part of its busy CPU time"
        " that is task CPU",
    )


def gc_pause(found: Sums) -> Row | None:
    """Tell stop-the-world pauses in which the task's thread slept; ``None`` without a GC log."""
    if found.paused is None:
        return None
    value, n = found.paused.value_ns, found.paused.n
    path, source = "task/gc_pause", "GC log: pauses ∩ task spans"
    if found.off_cpu is not None:
        source = f"{source} ∩ time asleep by {EVENTS}"
        return row(path, found.off_cpu.in_pauses, n, source)
    asleep, seen = found.counts.asleep_in_pauses, found.counts.in_pauses
    if seen < ENOUGH:
        return row(path, value, n, f"{source}; a task counts as stopped for the whole pause")
    # Native code and blocked calls run on through a pause: only what slept is the pause's.
    made = sampled(path, value, asleep, seen, "")
    made.source = f"{source} × {asleep} of {seen} wall samples in them asleep"
    return made


def ended_by(found: Sums) -> list[Row]:
    """Tell waits by who ended them: a second breakdown of time asleep, never added to the first."""
    if found.off_cpu is None:
        return []
    ordered = sorted(found.off_cpu.ended_by.items(), key=lambda item: (-item[1][0], item[0]))
    source = f"probe: {EVENTS}: who woke the thread"
    return [Row(path=name, value_ns=t, n=n, source=source) for name, (t, n) in ordered]
