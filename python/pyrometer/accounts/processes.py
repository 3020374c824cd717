"""The account of plain processes: threads times wall time."""

from __future__ import annotations

import math
from collections import defaultdict

from pyrometer.accounts.annotations import (
    Account,
    ProcessAccount,
    Program,
    ProgramWait,
    WaitTime,
    annotated,
    sessions,
)
from pyrometer.accounts.ledger.rows import close
from pyrometer.accounts.ledger.schema import Row, View
from pyrometer.window.counters import define_steps
from pyrometer.window.scope import Scope

Z = 1.959963984540054
"""Normal quantile of 97.5 %."""
MOST_PROGRAMS = 50
ASLEEP = "('sleeping', 'disk', 'stopped', 'other')"


def account(scope: Scope) -> Account | None:
    """Account for plain processes; ``None`` where Spark ran, or no thread's states were read."""
    if not scope.has("thread_states") or scope.has("apps"):
        return None
    name = scope.window.name
    if not scope.has_mono:
        return Account(view=View(window=name, reason="clocks are not joined"))
    define(scope)
    processes = _processes(scope)
    total = sum(process.followed_ns for process in processes)
    if not total:
        return Account(view=View(window=name, reason="no thread was followed in this window"))
    waits, rows = _asleep(scope, total)
    on_cpu = sum(process.on_cpu_ns for process in processes)
    queue = sum(process.run_queue_ns for process in processes)
    rows = [*_on_cpu(scope, on_cpu), _exact("run_queue", queue, "schedstat"), *rows]
    return Account(
        view=close(name, total, rows, [], 0),
        processes=processes,
        programs=_programs(scope),
        waits=waits,
        annotated=annotated(scope),
        sessions=sessions(scope),
    )


def define(scope: Scope) -> None:
    """Define ``a_times``, ``a_states``, ``a_threads``: stretches, what was seen, what was used.

    ``n`` numbers the stretches of the window: its iterations, where it has any.
    """
    rows = ", ".join(
        f"({place}, {one.start_mono_ns}, {one.end_mono_ns})"
        for place, one in enumerate(scope.window.intervals)
    )
    tables = scope.tables
    tables.define("a_times", f"SELECT * FROM (VALUES {rows}) AS t(n, start_ns, end_ns)")
    # A stay lasts from the first to the last pass that saw it; one seen by a single pass is there.
    tables.define(
        "a_states",
        "SELECT t.n, s.pid, s.tid, s.state, s.syscall, s.kernel_stack, s.annotation,"
        " x.wait_class, s.weight_ns * part.inside AS weight_ns,"
        " s.passes_count * part.inside AS passes_count,"
        " part.inside * CASE WHEN s.passes_count = 1 THEN pow(s.weight_ns::DOUBLE, 2)"
        "  ELSE pow(s.weight_ns::DOUBLE / s.passes_count, 2) / 6 END AS variance"
        " FROM thread_states s JOIN a_times t"
        "  ON s.begin_mono_ns < t.end_ns AND s.end_mono_ns >= t.start_ns"
        " CROSS JOIN LATERAL (SELECT CASE WHEN s.end_mono_ns > s.begin_mono_ns THEN"
        "  (least(s.end_mono_ns, t.end_ns) - greatest(s.begin_mono_ns, t.start_ns))::DOUBLE"
        "  / (s.end_mono_ns - s.begin_mono_ns) ELSE 1.0 END AS inside) part"
        " LEFT JOIN (SELECT pid, tid, t_ns, any_value(wait_class) AS wait_class FROM samples"
        "  WHERE source = 'probe' AND wait_class IS NOT NULL GROUP BY pid, tid, t_ns) x"
        "  ON x.pid = s.pid AND x.tid = s.tid AND x.t_ns = s.begin_mono_ns",
    )
    define_steps(scope)
    tables.define("a_threads", _THREADS)


_THREADS = """
WITH ends AS (
  SELECT max(t_mono_ns) AS stop FROM os_series WHERE name = 'passes_count'),
lives AS (
  SELECT pid, tid, last(comm ORDER BY t_mono_ns) AS comm, min(t_mono_ns) AS born,
    CASE WHEN bool_or(last) THEN max(t_mono_ns)
      ELSE greatest(max(t_mono_ns), coalesce((SELECT stop FROM ends), 0)) END AS gone
  FROM thread_counters GROUP BY pid, tid),
followed AS (
  SELECT t.n, l.pid, l.tid, l.comm, greatest(l.born, t.start_ns) AS since,
    least(l.gone, t.end_ns) AS until
  FROM lives l JOIN a_times t ON l.born < t.end_ns AND l.gone > t.start_ns),
used AS (
  SELECT f.n, f.pid, f.tid,
    sum(s.run * part.inside) AS run_ns, sum(s.delay * part.inside) AS delay_ns
  FROM followed f JOIN thread_steps s
    ON s.pid = f.pid AND s.tid = f.tid AND s.t > f.since AND s.since < f.until
  CROSS JOIN LATERAL (SELECT
    (least(s.t, f.until) - greatest(s.since, f.since))::DOUBLE / (s.t - s.since) AS inside) part
  GROUP BY ALL)
SELECT f.n, f.pid, f.tid, f.comm, (f.until - f.since)::BIGINT AS followed_ns,
  coalesce(u.run_ns, 0)::BIGINT AS on_cpu_ns, coalesce(u.delay_ns, 0)::BIGINT AS run_queue_ns
FROM followed f LEFT JOIN used u USING (n, pid, tid)
"""


def _processes(scope: Scope) -> list[ProcessAccount]:
    rows = scope.tables.records(
        "SELECT pid, coalesce(any_value(comm) FILTER (tid = pid), any_value(comm)) AS comm,"
        " count(DISTINCT tid) AS threads_count, sum(followed_ns)::BIGINT AS followed_ns,"
        " sum(on_cpu_ns)::BIGINT AS on_cpu_ns, sum(run_queue_ns)::BIGINT AS run_queue_ns"
        " FROM a_threads GROUP BY pid ORDER BY on_cpu_ns DESC, pid"
    )
    asleep = dict(
        scope.tables.query(
            f"SELECT pid, sum(weight_ns)::BIGINT FROM a_states WHERE state IN {ASLEEP} GROUP BY pid"
        )
    )
    return [ProcessAccount(**row, asleep_ns=asleep.get(row["pid"], 0)) for row in rows]


def _programs(scope: Scope) -> list[Program]:
    rows = scope.tables.records(
        "SELECT comm AS name, count(DISTINCT tid) AS threads_count,"
        " sum(followed_ns)::BIGINT AS followed_ns, sum(on_cpu_ns)::BIGINT AS on_cpu_ns,"
        " sum(run_queue_ns)::BIGINT AS run_queue_ns FROM a_threads GROUP BY comm"
        f" ORDER BY on_cpu_ns DESC, name LIMIT {MOST_PROGRAMS}"
    )
    asleep = defaultdict(list)
    for name, syscall, time in scope.tables.query(
        "SELECT t.comm, coalesce(s.syscall, '?'), sum(s.weight_ns)::BIGINT AS time FROM a_states s"
        " JOIN (SELECT DISTINCT pid, tid, comm FROM a_threads) t USING (pid, tid)"
        f" WHERE s.state IN {ASLEEP} GROUP BY ALL ORDER BY time DESC"
    ):
        asleep[name].append((syscall, time))
    return [
        Program(
            **row,
            waits=[
                ProgramWait(name=syscall, time_ns=time, share=time / max(1, row["followed_ns"]))
                for syscall, time in asleep[row["name"]]
            ],
        )
        for row in rows
    ]


def _on_cpu(scope: Scope, total: int) -> list[Row]:
    """CPU time, and how ticks share it out between user code and the kernel."""
    found = _exact("on_cpu", total, "schedstat")
    row = scope.tables.record(
        "SELECT sum(u1 - u0)::BIGINT AS user, sum(s1 - s0)::BIGINT AS system FROM"
        " (SELECT max(c.user_ns) AS u1, min(c.user_ns) AS u0, max(c.system_ns) AS s1,"
        "   min(c.system_ns) AS s0 FROM thread_counters c JOIN a_times t"
        "   ON c.t_mono_ns BETWEEN t.start_ns AND t.end_ns GROUP BY t.n, c.pid, c.tid)"
    )
    user, system = row.get("user") or 0, row.get("system") or 0
    if not total or not user + system:
        return [found]
    share = user / (user + system)
    parts = {"user": round(total * share), "system": total - round(total * share)}
    source = f"shared out as the ticks were: {user / 1e9:.2f} s user, {system / 1e9:.2f} s system"
    return [
        found,
        *(
            Row(path=f"on_cpu/{name}", parent="on_cpu", value_ns=value, method="apportioned",
                source=source)
            for name, value in parts.items()
        ),
    ]  # fmt: skip


def _asleep(scope: Scope, total: int) -> tuple[list[WaitTime], list[Row]]:
    rows = scope.tables.records(
        "SELECT CASE WHEN state = 'stopped' THEN 'stopped'"
        "  ELSE coalesce(wait_class, 'unclassified') END AS wait_class,"
        " syscall, sum(weight_ns) AS time_ns, sum(variance) AS variance,"
        f" sum(passes_count) AS passes FROM a_states WHERE state IN {ASLEEP}"
        " GROUP BY ALL ORDER BY time_ns DESC"
    )
    waits = [
        WaitTime(
            wait_class=row["wait_class"],
            syscall=row["syscall"],
            time_ns=round(row["time_ns"]),
            share=row["time_ns"] / total,
        )
        for row in rows
    ]
    sums: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for row in rows:
        for key in ("time_ns", "variance", "passes"):
            sums[row["wait_class"]][key] += row[key]
    return waits, _sampled_tree(sums)


def _sampled_tree(sums: dict[str, dict[str, float]]) -> list[Row]:
    whole: dict[str, float] = defaultdict(float)
    for one in sums.values():
        for key, value in one.items():
            whole[key] += value
    tree = [_sampled("asleep", None, whole)]
    for name, one in sums.items():
        tree.append(_sampled(f"asleep/{name}", "asleep", one))
    return tree


def _sampled(path: str, parent: str | None, sums: dict[str, float]) -> Row:
    half = Z * math.sqrt(sums["variance"])
    return Row(
        path=path,
        parent=parent,
        value_ns=round(sums["time_ns"]),
        low_ns=max(0, round(sums["time_ns"] - half)),
        high_ns=round(sums["time_ns"] + half),
        n=round(sums["passes"]),
        method="sampled",
        source="states of threads, pass by pass",
    )


def _exact(path: str, value: int, source: str) -> Row:
    return Row(
        path=path, value_ns=value, method="exact", source=f"the scheduler's count ({source})"
    )
