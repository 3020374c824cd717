"""Threads that ended before anybody saw them: by their exits, else by what processes used more."""

from __future__ import annotations

from pyrometer.analyse.cpu import OWN_PROCESS, process_cpu_ns
from pyrometer.analyse.ledger.rows import slug
from pyrometer.analyse.model import Row
from pyrometer.analyse.scope import Scope

PATH = "exited_threads"
# The only row of such a thread is that of its exit: first sight and last.
UNSEEN = (
    "SELECT pid, tid FROM thread_counters GROUP BY pid, tid"
    ' HAVING count(*) = 1 AND bool_and("first" AND "last")'
)


def exited(scope: Scope) -> list[Row]:
    """Tell the CPU of threads that lived between two readings.

    Where the kernel told exits (taskstats, or the scheduler's events) they are exact, with the
    roles that their names tell, and count in closure. Else the row is what the processes used more
    than their threads as read, and does not count.
    """
    if scope.tables.scalar(f"SELECT count(*) FROM ({UNSEEN})"):
        return _told(scope)
    followed = process_cpu_ns(scope)
    if followed is None:
        why = "no CPU total of the followed processes"
        return [Row(path=PATH, method="unavailable", source=why)]
    counted = int(
        scope.tables.scalar(
            "SELECT coalesce(sum(run_ns), 0)::BIGINT FROM w_threads"
            f" WHERE pid NOT IN ({OWN_PROCESS})"
        )
    )
    return [
        Row(
            path=PATH,
            value_ns=followed - counted,
            method="by_complement",
            source="process totals − Σ their threads as read: threads that ended in between",
        )
    ]


def _told(scope: Scope) -> list[Row]:
    source = "probe: counters at the exit of threads that no reading saw"
    parts = [
        Row(path=f"{PATH}/{slug(role)}", parent=PATH, value_ns=int(run), n=int(n), source=source)
        for role, run, n in scope.tables.query(
            "SELECT role, sum(run_ns)::BIGINT, count(*) FROM w_threads"
            f" WHERE (pid, tid) IN ({UNSEEN}) AND pid NOT IN ({OWN_PROCESS})"
            " GROUP BY role ORDER BY 2 DESC, 1"
        )
    ]
    total, n = sum(row.value_ns or 0 for row in parts), sum(row.n or 0 for row in parts)
    return [Row(path=PATH, value_ns=total, n=n, source=source), *parts]
