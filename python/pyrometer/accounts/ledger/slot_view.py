"""Slot view: slots × wall of a window, or the time of some task attempts, every second once.

Parents come from sources that do not know of each other: CPU and spans from the plugin, run queue
from the probe, pauses from the GC log, the rest of an attempt and idle slots from the event log.
What they miss or count twice together is the closure; no row is added to fill it.
"""

from __future__ import annotations

from pyrometer.accounts.ledger.cluster_memos import cluster_memos
from pyrometer.accounts.ledger.delays import delay_memos
from pyrometer.accounts.ledger.host_slots import HostSlots
from pyrometer.accounts.ledger.idle_slots import CAUSES, Slots, slots_over_time
from pyrometer.accounts.ledger.in_task import ended_by, from_event_log, from_spans
from pyrometer.accounts.ledger.messages import delay_parts
from pyrometer.accounts.ledger.rows import close
from pyrometer.accounts.ledger.schema import Row, View
from pyrometer.accounts.ledger.sums import Only, Sums, group_all, prepare, sums
from pyrometer.window.scope import Scope


def slots(scope: Scope) -> Slots | None:
    """Sweep over the window; ``None`` where executors that ran tasks do not report their cores."""
    return slots_over_time(scope) if slots_known(scope) else None


def slots_known(scope: Scope) -> bool:
    """Whether all executors that ran tasks in the window report their cores."""
    known = scope.tables.scalar("SELECT count(*) FROM executors WHERE cores_count > 0")
    unknown = not known or scope.tables.scalar(_CORES_UNKNOWN)
    return not unknown and bool(scope.window.intervals)


# A log without its head lacks executors that were added before: the slots of the others alone are
# not where its tasks ran.
_CORES_UNKNOWN = """
SELECT count(*) FROM w_tasks t ANTI JOIN (SELECT * FROM executors WHERE cores_count > 0) e
  ON e.app_index = t.app_index AND e.executor_id = t.executor_id
WHERE t.executor_id IS NOT NULL
"""

SCHEDULER_DELAY_SOURCE = (
    "attempt − run − deserialisation − result serialisation − getting result, as Spark's"
    " core/src/main/scala/org/apache/spark/status/AppStatusUtils.scala"
)
# Both ends of an attempt are rounded to milliseconds: each may be half of one off.
EVENT_LOG_MS = 1_000_000
_IDLE = "event log: registered slots without a task attempt"
_IDLE_SOURCE = {
    "driver": "no stage was running: the driver's time",
    "executor_startup": "tasks waited, and the executor had not yet run one",
    "waiting_to_launch": "tasks waited while slots were free: launch or locality delay",
    "too_few_tasks": "the running stages have fewer tasks than there are slots",
    "stage_tail": "all tasks launched, the last ones still running",
}
NO_CORES = (
    "the number of cores of executors that ran tasks is not known: slots × wall cannot be had"
)
COARSE = (
    "from the event log alone: whole milliseconds, and no second source to check closure against"
)
NO_WALL = (
    "no wall-clock samples: what tasks waited for is known by subtraction, and closure"
    " checks only spans and attempts against {whole}"
)


def slot_view(scope: Scope) -> View:
    """Build the slot view of the window: slots × wall, idle ones too."""
    found = slots(scope)
    if found is None:
        return View(window=scope.window.name, reason=NO_CORES)
    prepare(scope)
    mine = sums(scope, group_all(scope))[0]
    rows, memos = _rows(mine, found.overlap_ns)
    rows += _idle(found)
    memos += delay_memos(scope) + cluster_memos(scope)
    if found.held_ns:
        memos.append(_held(found.held_ns))
    return _closed(scope, mine, found.total_ns, rows, memos, "the slots")


def part_view(scope: Scope, mine: Sums) -> View:
    """Build the slot view of some task attempts: their time from launch to finish."""
    rows, memos = _rows(mine, 0)
    return _closed(scope, mine, mine.total, rows, memos, "the attempts")


def host_view(scope: Scope, mine: Sums, found: HostSlots) -> View:
    """Build the slot view of one host; why slots were idle is only known of all together."""
    rows, memos = _rows(mine, found.overlap_ns)
    rows.append(Row(path="idle", value_ns=found.idle_ns, source=_IDLE))
    return _closed(scope, mine, found.total_ns, rows, memos, "the slots")


def part_times(mine: Sums) -> dict[str, int]:
    """Give the time of some task attempts by path of the row, where it is known."""
    rows, _ = _rows(mine, 0)
    return {row.path: row.value_ns for row in rows if row.value_ns is not None}


def only_view(scope: Scope, only: Only) -> View:
    """Build the slot view of the task attempts that a filter keeps, together."""
    prepare(scope)
    return part_view(scope, sums(scope, group_all(scope, only))[0])


def _rows(mine: Sums, overlap_ns: int) -> tuple[list[Row], list[Row]]:
    seen = mine.sources.spans
    rows = from_spans(mine) if seen else from_event_log(mine)
    memos = _memos(mine) if seen else []
    used, n = mine.python
    if used:
        source = "samples of Python workers: CPU they used for these tasks, which awaited them"
        memos.append(Row(path="python_workers", value_ns=used, n=n, source=source))
    return rows + _around(mine, overlap_ns), memos


def _closed(
    scope: Scope, mine: Sums, total_ns: int, rows: list[Row], memos: list[Row], whole: str
) -> View:
    resolution = mine.attempts * EVENT_LOG_MS
    view = close(scope.window.name, total_ns, rows, memos, resolution)
    view.ended_by = ended_by(mine)
    for row in view.ended_by:
        row.share = (row.value_ns or 0) / total_ns if total_ns else None
    if not mine.sources.spans:
        view.reason = COARSE
    elif any(row.path == "task/off_cpu" for row in rows):
        view.reason = NO_WALL.format(whole=whole)
    return view


def _memos(mine: Sums) -> list[Row]:
    n = mine.attempts
    return [
        Row(path="result_serialization", value_ns=mine.serialize, n=n,
            source="event log: Result Serialization Time; it lies inside task"),
        Row(path="deserialize_total", value_ns=mine.deserialize, n=n,
            source="event log: Executor Deserialize Time; what lies inside task is counted there"),
        Row(path="scheduler_delay_of_spark", value_ns=mine.spark_delay, n=n,
            method="by_complement", source=SCHEDULER_DELAY_SOURCE),
    ]  # fmt: skip


def _around(mine: Sums, overlap_ns: int) -> list[Row]:
    """Parts of attempts around the task's own time.

    The driver notes the end of an attempt after it has given the slot to the next one: that tail,
    attempts beyond the slots, is delay but no slot time.
    """
    n, delay = mine.attempts, mine.delay
    source = SCHEDULER_DELAY_SOURCE
    if mine.spark_delay != delay:
        source = "attempt − task span − deserialisation before it − getting result"
    if overlap_ns:
        source += f"; less {overlap_ns} ns in which the slot already ran the next attempt"
    if mine.sources.spans and mine.sources.delay_unsplit:
        source += f"; not split by its messages: {mine.sources.delay_unsplit}"
    rows = [
        Row(
            path="deserialize",
            value_ns=mine.deserialize_outside,
            n=n,
            source="event log: Executor Deserialize Time, without what lies inside task",
        ),
        Row(
            path="getting_result",
            value_ns=mine.getting,
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
        *delay_parts(mine, min(delay, overlap_ns) if delay > 0 else 0),
    ]
    if mine.bare:
        source = "event log: attempts that ended without metrics"
        rows.append(Row(path="task_without_metrics", value_ns=mine.bare, source=source))
    return rows


def _held(held_ns: int) -> Row:
    return Row(
        path="locality_wait",
        value_ns=held_ns,
        low_ns=0,
        high_ns=held_ns,
        method="apportioned",
        source="event log: inside idle/waiting_to_launch, while a stage launched nothing until it"
        " took a place further from the data: an upper bound",
    )


def _idle(found: Slots) -> list[Row]:
    rows = [Row(path="idle", value_ns=sum(found.idle_ns.values()), source=_IDLE)]
    rows += [
        Row(path=f"idle/{c}", parent="idle", value_ns=found.idle_ns[c], source=_IDLE_SOURCE[c])
        for c in CAUSES
    ]
    return rows
