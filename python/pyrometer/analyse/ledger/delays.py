"""Delay accounting and pressure: totals of the kernel that overlap, so bounds and never addends."""

from __future__ import annotations

from pyrometer.analyse.ledger.comparison import TOLERANCE, compare
from pyrometer.analyse.model import Check, Row
from pyrometer.analyse.scope import Scope

_READING_NS = 1_000_000_000
"""Pressure and delays are read about once a second: what their window's ends leave open."""


def delay_memos(scope: Scope) -> list[Row]:
    """Give the delays of task threads in the window, kind by kind: beside the ledger."""
    if not scope.has("delays") or not scope.has_mono:
        return []
    source = "taskstats, task threads between tasks too; kinds overlap: a bound, never added"
    return [
        Row(path=f"delays/{kind}", value_ns=int(value), n=int(n), source=source)
        for kind, value, n in scope.tables.query(
            f"SELECT kind, sum(grown)::BIGINT, count(*) FROM ({_grown('delays', _TASK_DELAYS)})"
            " GROUP BY kind HAVING sum(grown) > 0 ORDER BY 2 DESC, 1"
        )
    ]


def delay_checks(scope: Scope) -> list[Check]:
    """Hold schedstat against delay accounting and against pressure, where these were read."""
    if not scope.has("thread_counters"):
        return []
    found = []
    delays = {row.path: row.value_ns for row in delay_memos(scope)}
    if "delays/cpu" in delays:
        counted = scope.tables.scalar(
            "SELECT sum(run_delay_ns)::BIGINT FROM w_threads WHERE role = 'task'"
        )
        found.append(
            compare(
                "run queue: schedstat and delay accounting",
                counted,
                delays["delays/cpu"],
                2 * _READING_NS,
                "One counter of the kernel by two ways; delays are read less often.",
            )
        )
    found += _pressure(scope)
    return found


def _pressure(scope: Scope) -> list[Check]:
    some = scope.tables.scalar(
        "SELECT sum(grown)::BIGINT FROM ("
        + _grown("os_series", "scope = 'host' AND name = 'psi_cpu_some_ns'")
        + ")"
    )
    most = scope.tables.scalar("SELECT max(run_delay_ns)::BIGINT FROM w_threads")
    if some is None or most is None:
        return []
    return [
        Check(
            name="run queue: longest of a thread and pressure",
            left_ns=most,
            right_ns=some,
            difference_ratio=(most - some) / some if some else None,
            ok=most <= (1 + TOLERANCE) * some + 2 * _READING_NS,
            explanation="While a thread waits for a CPU the pressure of CPUs grows: no thread can"
            " have waited longer than that.",
        )
    ]


_TASK_DELAYS = "tid IS NOT NULL AND (pid, tid) IN (SELECT DISTINCT pid, tid FROM spans)"
_COLUMNS = {
    "delays": ("kind", "total_ns", "pid, tid, kind"),
    "os_series": ("name AS kind", "value", "host, scope, name"),
}


def _grown(table: str, where: str) -> str:
    """Give the SQL for what cumulative readings grew by inside the window, in straight lines."""
    kind, value, keys = _COLUMNS[table]
    return (
        "SELECT kind, (v - v0)::DOUBLE * greatest(0, least(t, w.end_mono_ns)"
        "  - greatest(t0, w.start_mono_ns)) / greatest(t - t0, 1) AS grown"
        f" FROM (SELECT {kind}, t_mono_ns AS t, {value} AS v, lag(t_mono_ns) OVER s AS t0,"
        f"  lag({value}) OVER s AS v0 FROM {table} WHERE {where}"
        f"  WINDOW s AS (PARTITION BY {keys} ORDER BY t_mono_ns)) g"
        " JOIN w ON g.t > w.start_mono_ns AND g.t0 < w.end_mono_ns WHERE v >= v0"
    )
