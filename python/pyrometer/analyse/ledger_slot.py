"""Slot view: slots × wall of a window, every slot-second once.

Parents come from sources that do not know of each other: CPU and spans from the plugin, run queue
from the probe, pauses from the GC log, the rest of an attempt and idle slots from the event log.
What they miss or count twice together is the closure; no row is made to fill it.
"""

from __future__ import annotations

from typing import Any

from pyrometer.analyse.attempts import Attempts, read_attempts
from pyrometer.analyse.attribution import UNCLASSIFIED, attribution
from pyrometer.analyse.closure import SHARE_OF_PARENT, close
from pyrometer.analyse.counters import BUSY, growth
from pyrometer.analyse.model import Row, View
from pyrometer.analyse.scope import Scope
from pyrometer.analyse.shares import part_of
from pyrometer.analyse.slots import CAUSES, Slots, slots

SCHEDULER_DELAY_SOURCE = (
    "attempt − run − deserialisation − result serialisation − getting result, as Spark's"
    " core/src/main/scala/org/apache/spark/status/AppStatusUtils.scala"
)
# Samples below which a share says less than assuming the usual.
_ENOUGH = 10
# Both ends of an attempt are stamped in whole milliseconds: half of one each.
EVENT_LOG_MS = 1_000_000
_IDLE_SOURCE = {
    "driver": "no stage was running: the driver's time",
    "executor_startup": "tasks waited, and the executor had not yet run one",
    "waiting_to_launch": "tasks waited while slots were free: launch or locality delay",
    "too_few_tasks": "the running stages have fewer tasks than there are slots",
    "stage_tail": "all tasks launched, the last ones still running",
}


def slot_view(scope: Scope) -> View:
    """Make the slot view; coarser where only an event log is known."""
    found = slots(scope)
    if found is None:
        reason = "no executor's number of cores is known: slots × wall cannot be had"
        return View(window=scope.window.name, reason=reason)
    attempts = read_attempts(scope)
    seen = scope.has("spans") and scope.has_mono
    rows, memos = _from_spans(scope, attempts) if seen else _from_event_log(attempts)
    rows += _around(attempts, found.overlap_ns) + _idle(found)
    view = close(scope.window.name, found.total_ns, rows, memos, attempts.count * EVENT_LOG_MS)
    if not seen:
        view.reason = (
            "from the event log alone: whole milliseconds, and no second source that closure"
            " could be held against"
        )
    elif any(row.path == "task/off_cpu" for row in rows):
        view.reason = (
            "no wall-clock samples: what tasks waited for is known by subtraction, and closure"
            " holds only spans and attempts against the slots"
        )
    return view


def _from_spans(scope: Scope, attempts: Attempts) -> tuple[list[Row], list[Row]]:
    spans = scope.tables.record(
        "SELECT count(*) AS n, sum(end_ns - start_ns)::BIGINT AS wall,"
        " sum(cpu_ns * inside)::BIGINT AS cpu, count(cpu_ns) AS measured FROM w_spans"
    )
    wall, n = spans["wall"] or 0, spans["n"]
    rows = [Row(path="task", value_ns=wall, n=n, source="plugin: Σ task spans")]
    if n and spans["measured"] == n:
        cpu, source = spans["cpu"], "plugin: Σ thread CPU time between start and end of tasks"
    else:
        cpu, source = attempts.cpu_ns, "event log: Executor CPU Time"
    rows.append(_row("task/on_cpu", cpu, n, source))
    rows += on_cpu_children(scope, "task/on_cpu", cpu)
    delay = _run_queue(scope)
    rows.append(delay)
    stolen = _steal(scope, cpu)
    if stolen is not None:
        rows.append(stolen)
    paused = _pauses(scope)
    asleep, total = _wall_samples(scope)
    if paused is not None:
        rows.append(paused)
    if total:
        rows += _waiting(wall, asleep, total)
    else:
        parts = (delay, stolen, paused)
        known = (cpu or 0) + sum(part.value_ns or 0 for part in parts if part is not None)
        rows.append(
            Row(
                path="task/off_cpu",
                parent="task",
                value_ns=wall - known,
                n=n,
                method="by_complement",
                source="task − the rows above; wall-clock samples would tell what it waited for",
            )
        )
    n = attempts.count
    memos = [
        Row(path="result_serialization", value_ns=attempts.serialize_ns, n=n,
            source="event log: Result Serialization Time; it lies inside task"),
        Row(path="deserialize_total", value_ns=attempts.deserialize_ns, n=n,
            source="event log: Executor Deserialize Time; what lies inside task is counted there"),
        Row(path="scheduler_delay_of_spark", value_ns=attempts.spark_delay_ns, n=n,
            method="by_complement", source=SCHEDULER_DELAY_SOURCE),
    ]  # fmt: skip
    return rows, memos


def _from_event_log(attempts: Attempts) -> tuple[list[Row], list[Row]]:
    n = attempts.count
    rows = [
        Row(path="task", value_ns=attempts.run_ns, n=n, source="event log: Executor Run Time"),
        _row("task/on_cpu", attempts.cpu_ns, n, "event log: Executor CPU Time"),
    ]
    if attempts.fetch_wait_ns is not None:
        rows.append(
            _row("task/shuffle_fetch", attempts.fetch_wait_ns, n, "event log: Fetch Wait Time")
        )
    if attempts.cpu_ns is not None:
        off = attempts.run_ns - attempts.cpu_ns - (attempts.fetch_wait_ns or 0)
        rows.append(
            Row(
                path="task/off_cpu",
                parent="task",
                value_ns=off,
                n=n,
                method="by_complement",
                source="task − on CPU − shuffle fetch: I/O, run queue, GC pauses, locks",
            )
        )
    rows.append(
        Row(
            path="result_serialization",
            value_ns=attempts.serialize_ns,
            n=n,
            source="event log: Result Serialization Time",
        )
    )
    return rows, []


def _around(attempts: Attempts, overlap_ns: int) -> list[Row]:
    """Parts of attempts around the task's own time.

    The driver notes the end of an attempt after it has given the slot to the next one: that tail,
    attempts beyond the slots, is delay but no slot time.
    """
    n = attempts.count
    delay = attempts.scheduler_delay_ns
    source = SCHEDULER_DELAY_SOURCE
    if attempts.spark_delay_ns != delay:
        source = "attempt − task span − deserialisation before it − getting result"
    if overlap_ns:
        source += f"; less {overlap_ns} ns in which the slot already ran the next attempt"
    rows = [
        Row(
            path="deserialize",
            value_ns=attempts.deserialize_outside_ns,
            n=n,
            source="event log: Executor Deserialize Time, without what lies inside task",
        ),
        Row(
            path="getting_result",
            value_ns=attempts.getting_result_ns,
            n=n,
            source="event log: Getting Result Time to Finish Time",
        ),
        Row(
            path="scheduler_delay",
            value_ns=delay - min(delay, overlap_ns) if delay > 0 else delay,
            n=n,
            method="by_complement",
            source=source,
        ),
    ]
    if attempts.bare_ns:
        source = "event log: attempts that ended without metrics"
        rows.append(Row(path="task_without_metrics", value_ns=attempts.bare_ns, source=source))
    return rows


def _idle(found: Slots) -> list[Row]:
    source = "event log: registered slots without a task attempt"
    rows = [Row(path="idle", value_ns=sum(found.idle_ns.values()), source=source)]
    rows += [
        Row(path=f"idle/{c}", parent="idle", value_ns=found.idle_ns[c], source=_IDLE_SOURCE[c])
        for c in CAUSES
    ]
    return rows


def on_cpu_children(scope: Scope, parent: str, cpu_ns: int | None) -> list[Row]:
    """Split task CPU by category, and each category by operator, by shares of samples."""
    if cpu_ns is None:
        return []
    seen = attribution(scope)
    found = seen.by_category()
    rows = []
    for category in sorted(found, key=lambda c: (-sum(found[c].values()), c)):
        hits = sum(found[category].values())
        if not hits:
            continue
        path = f"{parent}/{_slug(category)}"
        rows.append(_sampled(path, parent, cpu_ns, hits, seen.total))
        if set(found[category]) == {None}:
            continue
        parts = sorted(found[category].items(), key=lambda part: (-part[1], part[0] or ""))
        rows += [
            _sampled(f"{path}/{_slug(name or 'no_operator')}", path, cpu_ns, n, seen.total)
            for name, n in parts
            if n
        ]
    return rows


def _sampled(path: str, parent: str, whole_ns: int, hits: int, total: int) -> Row:
    time = part_of(whole_ns, hits, total)
    return Row(
        path=path,
        parent=parent,
        value_ns=round(time.value or 0),
        low_ns=round(time.low or 0),
        high_ns=round(time.high or 0),
        n=hits,
        method="sampled",
        source=f"{SHARE_OF_PARENT}: {hits} of {total} CPU samples of task threads",
    )


def _run_queue(scope: Scope) -> Row:
    """Time in the run queue during tasks: a thread's own, by the part of its CPU inside spans."""
    path = "task/run_queue"
    if not scope.has("thread_counters"):
        why = "no probe: the kernel's run-queue time was not read"
        return Row(path=path, parent="task", method="unavailable", source=why)
    found = scope.tables.record(
        "SELECT coalesce(sum(run_delay_ns), 0)::BIGINT AS delay,"
        " coalesce(sum(readings_count), 0)::BIGINT AS n, sum(run_ns)::BIGINT AS run,"
        " (SELECT sum(cpu_ns * inside)::BIGINT FROM w_spans) AS cpu"
        " FROM w_threads WHERE role = 'task'"
    )
    delay, run, cpu = found["delay"], found["run"], found["cpu"]
    inside = min(1.0, cpu / run) if run and cpu is not None else 1.0
    value = round(delay * inside)
    row = _row(path, value, found["n"], "probe: schedstat run delay of task threads")
    if value != delay:
        # Between tasks a thread waits for a CPU too; that part is known no better than its size.
        row.method, row.low_ns, row.high_ns = "sampled", max(0, 2 * value - delay), delay
        row.source += f", the {100 * inside:.1f} % of it that goes with their CPU inside tasks"
    return row


def _steal(scope: Scope, cpu_ns: int | None) -> Row | None:
    """Time that the hypervisor took while a task was on a CPU; ``None`` where it took none.

    Linux counts stolen time neither as the thread's nor as waiting for a CPU
    (``update_rq_clock_task`` in kernel/sched/core.c), and /proc/stat has it for the host alone.
    """
    if cpu_ns is None or not scope.has("os_series"):
        return None
    host = growth(scope, "scope = 'host'")
    stolen, busy = host.get("cpu_steal_ns", 0), sum(host.get(name, 0) for name in BUSY)
    if not stolen or not busy:
        return None
    share = min(1.0, cpu_ns / busy)
    return Row(
        path="task/steal",
        parent="task",
        value_ns=round(stolen * share),
        method="apportioned",
        source=f"/proc/stat: the host's steal × {100 * share:.1f} %, the part of its busy CPU time"
        " that is task CPU",
    )


def _pauses(scope: Scope) -> Row | None:
    if not scope.has("gc_pauses"):
        return None
    overlap = scope.tables.record(
        "SELECT sum(least(s.end_ns, p.end_ns) - greatest(s.start_ns, p.start_ns))::BIGINT AS t,"
        " count(*) AS n FROM w_spans s JOIN w_pauses p"
        " ON (p.pid = s.pid OR p.pid IS NULL)"
        " AND s.start_ns < p.end_ns AND s.end_ns > p.start_ns"
    )
    value, n = overlap["t"] or 0, overlap["n"]
    path, source = "task/gc_pause", "GC log: pauses ∩ task spans"
    seen = scope.tables.record(
        "SELECT coalesce(sum(hits) FILTER (x.state = 'sleeping'), 0)::BIGINT AS asleep,"
        " coalesce(sum(hits), 0)::BIGINT AS n FROM w_samples x JOIN w_pauses p"
        " ON (p.pid = x.pid OR p.pid IS NULL) AND x.t_ns >= p.start_ns AND x.t_ns < p.end_ns"
        " WHERE x.event = 'wall' AND x.role = 'task' AND x.task_attempt_id IS NOT NULL"
    )
    if seen["n"] < _ENOUGH:
        return _row(path, value, n, f"{source}; a task counts as stopped for the whole pause")
    # Native code and blocked calls run on through a pause: only what slept is the pause's.
    row = _sampled(path, "task", value, seen["asleep"], seen["n"])
    row.source = f"{source} × {seen['asleep']} of {seen['n']} wall samples in them asleep"
    return row


def _wall_samples(scope: Scope) -> tuple[dict[str, int], int]:
    """Wall-clock ticks of task threads asleep outside GC pauses, by class; and all their ticks."""
    rows = scope.tables.query(
        f"SELECT coalesce(wait_class, '{UNCLASSIFIED}') AS c,"
        " coalesce(sum(hits) FILTER (state = 'sleeping' AND NOT EXISTS (SELECT 1 FROM w_pauses p"
        "  WHERE (p.pid = x.pid OR p.pid IS NULL) AND x.t_ns >= p.start_ns AND x.t_ns < p.end_ns"
        " )), 0)::BIGINT, sum(hits)::BIGINT"
        " FROM w_samples x WHERE event = 'wall' AND role = 'task'"
        " AND task_attempt_id IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1"
    )
    return {wait: int(n) for wait, n, _ in rows if n}, sum(int(n) for *_, n in rows)


def _waiting(wall: int, asleep: dict[str, int], total: int) -> list[Row]:
    """Sleeping outside GC pauses: the part of the spans that their wall samples found asleep."""
    path, hits = "task/waiting", sum(asleep.values())
    whole = _sampled(path, "task", wall, hits, total)
    whole.source = f"Σ task spans × {hits} of {total} wall samples asleep, GC pauses left out"
    rows = [whole]
    for wait, n in asleep.items():
        row = _sampled(f"{path}/{_slug(wait)}", path, wall, n, total)
        row.source = f"{SHARE_OF_PARENT}: {n} of {total} wall samples of task threads"
        rows.append(row)
    return rows


def _row(path: str, value: Any, n: int, source: str) -> Row:
    parent = path.rsplit("/", 1)[0]
    if value is None:
        why = f"{source}: this log has none"
        return Row(path=path, parent=parent, method="unavailable", source=why)
    return Row(path=path, parent=parent, value_ns=int(value), n=n, source=source)


def _slug(name: str) -> str:
    return name.replace("/", "_").strip()
