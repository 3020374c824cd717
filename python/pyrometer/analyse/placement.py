"""On which CPUs task threads ran, and how often they moved between them."""

from __future__ import annotations

from pyrometer.analyse.bandwidth import seconds
from pyrometer.analyse.model.hardware import Placement, ThreadPlaces
from pyrometer.analyse.perf_counts import THREAD
from pyrometer.analyse.scope import Scope

MOST_THREADS = 200
NOT_SEEN = "the probe read no CPU of a task thread in this window"
MIGRATIONS = "cpu-migrations"


def placement(scope: Scope) -> Placement:
    """Count moves of task threads, by the kernel's counter and by the probe's readings.

    Two readings of a thread on one CPU may have a move there and back between them: readings give
    a lower bound.
    """
    if not scope.has_mono:
        return Placement(reason=NOT_SEEN)
    rows = scope.tables.query(_PLACES)
    if not rows:
        return Placement(reason=NOT_SEEN)
    threads = [
        ThreadPlaces(
            pid=pid,
            tid=tid,
            cpus_count=cpus,
            moves_count=moves,
            migrations_count=None if migrations is None else round(migrations),
        )
        for pid, tid, cpus, moves, migrations in rows
    ]
    counted = [one.migrations_count for one in threads if one.migrations_count is not None]
    # Of threads without the counter the kernel's sum would say less than it seems to.
    exact = sum(counted) if len(counted) == len(threads) else None
    moves = sum(one.moves_count for one in threads)
    length = seconds(scope)
    cpus = scope.tables.scalar(f"SELECT count(DISTINCT cpu) FROM ({_SEEN})")
    return Placement(
        migrations_count=exact,
        moves_count=moves,
        per_s=(moves if exact is None else exact) / length if length else None,
        by="readings" if exact is None else MIGRATIONS,
        cpus_count=int(cpus),
        threads_count=len(threads),
        threads=threads[:MOST_THREADS],
        reason=f"the {MOST_THREADS} that moved most are listed"
        if len(threads) > MOST_THREADS
        else None,
    )


_SEEN = """
    SELECT c.pid, c.tid, c.t_mono_ns AS t, c.cpu FROM thread_counters c
    JOIN (SELECT DISTINCT pid, tid FROM w_threads WHERE role = 'task') USING (pid, tid)
    JOIN w ON c.t_mono_ns >= w.start_mono_ns AND c.t_mono_ns < w.end_mono_ns
    WHERE c.cpu >= 0 AND NOT c.last
"""

_PLACES = f"""
    SELECT p.pid, p.tid, p.cpus, p.moves, m.value FROM (
      SELECT pid, tid, count(DISTINCT cpu) AS cpus, count(*) FILTER (cpu <> before) AS moves
      FROM (SELECT *, lag(cpu) OVER (PARTITION BY pid, tid ORDER BY t) AS before FROM ({_SEEN}))
      GROUP BY pid, tid) p
    LEFT JOIN (SELECT pid, tid, sum(value) AS value FROM w_perf
      WHERE scope = '{THREAD}' AND event = '{MIGRATIONS}' GROUP BY pid, tid) m USING (pid, tid)
    ORDER BY greatest(p.moves, coalesce(m.value, 0)) DESC, p.pid, p.tid
"""
