"""Rows inside a task's time: on CPU, run queue, stolen, paused, waiting.

What tasks waited for: time asleep outside GC pauses, by wait class and operator.

The whole is exact where the scheduler's own events were recorded. Else it is a share of the spans:
by states that the probe saw pass by pass (extended stacks), or by wall-clock samples. Classes are
shares of it by the same observations.
"""

from __future__ import annotations

from collections import defaultdict

from pyrometer.accounts.ledger.delays import NO_PROBE
from pyrometer.accounts.ledger.rows import (
    CPU_SAMPLES,
    NO_OPERATOR,
    SHARE_OF_PARENT,
    WALL_SAMPLES,
    Parts,
    apportioned,
    row,
    sampled,
    slug,
    split,
    weighed,
)
from pyrometer.accounts.ledger.schema import Row
from pyrometer.accounts.ledger.sums import Sums
from pyrometer.accounts.waits.waits import Waits, Weighed

PATH = "task/waiting"
EVENTS = "scheduler events"
STATES = "sleeps that the probe saw in task threads; without a stack, split as wall samples of such"


def waiting(found: Sums) -> list[Row]:
    """Account for what tasks waited for, by the best source; empty where there is none."""
    if found.off_cpu is not None:
        off, paused = found.off_cpu, found.off_cpu.in_pauses
        whole = row(PATH, asleep_ns(found), off.n, f"probe: {EVENTS}, GC pauses left out")
        apportioned(whole, off.asleep_low - paused, off.asleep_high - paused, "sums over seconds")
        return [whole, *classes(found, PATH)]
    found_rows = classes(found, PATH, with_whole=True)
    if found_rows:
        share = found_rows[0].source.removeprefix(f"{SHARE_OF_PARENT}: ")
        found_rows[0].source = f"Σ task spans × {share} asleep, GC pauses left out"
    return found_rows


def asleep_ns(found: Sums) -> int:
    """Give the time of which sleeping is a share: exact, or that of the whole spans."""
    off = found.off_cpu
    return found.wall if off is None else off.asleep - off.in_pauses


def classes(
    found: Sums, path: str, of: set[str | None] | None = None, *, with_whole: bool = False
) -> list[Row]:
    """Split time asleep by wait class and operator.

    Parameters
    ----------
    path : str
        Path of the whole.
    of : set of str or None
        Only the time of these operators, together.
    with_whole : bool
        A row for the whole, too: a share of the spans.
    """
    exact, seen = found.off_cpu is not None, found.states
    if seen is not None and seen.seen().ns:
        return _by_states(found, seen, path, of, with_whole)
    asleep = found.counts.asleep
    total = sum(asleep.values()) if exact else found.counts.walls
    if not total:
        return []
    what = f"{WALL_SAMPLES} that were asleep" if exact else WALL_SAMPLES
    mine: Parts = defaultdict(int)
    for (name, operator), hits in asleep.items():
        if of is None or operator in of:
            mine[name, operator if of is None else None] += hits
    rows = split(path, asleep_ns(found), mine, total, what)
    if with_whole:
        rows.insert(0, sampled(path, asleep_ns(found), sum(mine.values()), total, what))
    return rows


def _by_states(
    found: Sums, seen: Waits, path: str, of: set[str | None] | None, with_whole: bool
) -> list[Row]:
    total = seen.seen() if found.off_cpu is None else seen.slept()
    whole_ns, whole = asleep_ns(found), Weighed()
    by_name: dict[str, dict[str | None, Weighed]] = defaultdict(lambda: defaultdict(Weighed))
    for (name, operator), part in seen.asleep.items():
        if of is None or operator in of:
            by_name[name][operator if of is None else None].add(part)
            whole.add(part)
    rows = [weighed(path, whole_ns, whole, total, STATES)] if with_whole else []
    for name, operators in sorted(by_name.items(), key=lambda o: (-_sum(o[1]).ns, o[0])):
        deeper = f"{path}/{slug(name)}"
        rows.append(weighed(deeper, whole_ns, _sum(operators), total, STATES))
        if set(operators) == {None}:
            continue
        for operator, part in sorted(operators.items(), key=lambda o: (-o[1].ns, o[0] or "")):
            place = f"{deeper}/{slug(operator or NO_OPERATOR)}"
            rows.append(weighed(place, whole_ns, part, total, STATES))
    return rows


def _sum(parts: dict[str | None, Weighed]) -> Weighed:
    whole = Weighed()
    for part in parts.values():
        whole.add(part)
    return whole


# With fewer samples than this, a share is less reliable than assuming the usual case.
ENOUGH = 10


def from_spans(found: Sums) -> list[Row]:
    """Rows of tasks that the plugin saw: every source by itself, none derived to fill a gap."""
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
    why = "task − the rows above; wall-clock samples would show what it waited for"
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
    """Time that tasks waited for a CPU: by scheduler events at T0, else by counters."""
    path = "task/run_queue"
    if found.off_cpu is not None:
        off = found.off_cpu
        whole = row(path, off.run_queue, off.n, f"probe: {EVENTS} of task threads")
        return apportioned(whole, off.run_queue_low, off.run_queue_high, "sums over seconds")
    if found.run_queue is None:
        return Row(path=path, parent="task", method="unavailable", source=NO_PROBE)
    queue = found.run_queue
    whole = row(
        path,
        queue.value_ns,
        queue.n,
        "probe: schedstat run delay of task threads; "
        "read from /proc on Linux 6.12 and later it may hold sleep",
    )
    if found.sources.unwatched:
        whole.source += f"; without that of tasks on {', '.join(found.sources.unwatched)}"
    return apportioned(whole, queue.low_ns, queue.high_ns, "readings")


def steal(found: Sums, cpu_ns: int | None) -> Row | None:
    """Time that the hypervisor took while a task was on a CPU; ``None`` where it took none.

    Linux counts stolen time neither as the thread's nor as waiting for a CPU
    (``update_rq_clock_task`` in kernel/sched/core.c), and /proc/stat has it for the host alone.
    """
    if found.steal_of_hosts is not None:
        return Row(
            path="task/steal",
            parent="task",
            value_ns=found.steal_of_hosts,
            method="apportioned",
            source="/proc/stat: the steal of each host × the part of its busy CPU time that is task"
            " CPU",
        )
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
    """Stop-the-world pauses in which the task's thread slept; ``None`` without a GC log."""
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
    # Native code and blocked calls run on through a pause: only what slept belongs to the pause.
    paused = sampled(path, value, asleep, seen, "")
    paused.source = f"{source} × {asleep} of {seen} wall samples in them asleep"
    return paused


def ended_by(found: Sums) -> list[Row]:
    """Time asleep by who ended it: a second breakdown, never added to the first."""
    if found.off_cpu is None:
        return []
    ordered = sorted(found.off_cpu.ended_by.items(), key=lambda item: (-item[1][0], item[0]))
    source = f"probe: {EVENTS}: who woke the thread"
    return [Row(path=name, value_ns=t, n=n, source=source) for name, (t, n) in ordered]
