"""Growth of cumulative counters inside a window.

A reading shows what was added since the one before. A thread that slept is not read, so its
addition belongs to the last sampling period before the reading, not to the whole gap; a process or
host series is read before every change, so straight lines between its readings are right.
"""

from __future__ import annotations

from pyrometer.store.sql.text import literal
from pyrometer.store.thread_roles import role_case
from pyrometer.window.scope import Scope

BUSY = ("cpu_user_ns", "cpu_nice_ns", "cpu_system_ns", "cpu_irq_ns", "cpu_softirq_ns")
"""Series of the host that add up to the time its CPUs worked."""
COUNTERS_OF_DISKS = (
    "reads_count", "read_bytes", "read_time_ns", "writes_count", "written_bytes", "write_time_ns",
    "busy_time_ns",
)  # fmt: skip
"""Series of a block device of which ``w_series`` has the growth."""
_DEFAULT_PERIOD_NS = 50_000_000


def period_ns(scope: Scope) -> int:
    """Give the sampling period of the probes: the median time between passes of one."""
    if "period_ns" not in scope.kept:
        found = scope.tables.scalar(
            "SELECT median(gap)::BIGINT FROM"
            " (SELECT t - lag(t) OVER (PARTITION BY host, scope ORDER BY t) AS gap FROM"
            "  (SELECT DISTINCT host, scope, t_mono_ns AS t FROM os_series"
            "   WHERE name = 'passes_count'))"
        )
        scope.kept["period_ns"] = int(found) if found else _DEFAULT_PERIOD_NS
    period: int = scope.kept["period_ns"]
    return period


def define_threads(scope: Scope) -> None:
    """Define ``w_threads``: what each thread used in the window, with its role.

    Columns: pid, tid, comm, role, run_ns, run_delay_ns, readings_count. A thread is a task's where
    the plugin's spans say so; else its name decides (``schema/roles.toml``).
    """
    define_steps(scope)
    scope.tables.define("w_threads", _threads_sql())


def define_steps(scope: Scope) -> None:
    """Define ``thread_steps``: what each thread's counters grew by from one reading to the next.

    Columns: pid, tid, comm, since, t, run, delay. The growth lies between ``since`` and ``t``.
    """
    if "thread_steps" not in scope.tables.defined:
        scope.tables.define("thread_steps", _steps_sql(period_ns(scope)))


def _steps_sql(period: int) -> str:
    return f"""
    WITH steps AS (
      SELECT pid, tid, comm, t_mono_ns AS t, run_ns, run_delay_ns,
        lag(t_mono_ns) OVER th AS t0, lag(run_ns) OVER th AS run0,
        lag(run_delay_ns) OVER th AS delay0
      FROM thread_counters WINDOW th AS (PARTITION BY pid, tid ORDER BY t_mono_ns)),
    grown AS (
      SELECT pid, tid, comm, t, t0,
        run_ns - coalesce(run0, 0) AS run, run_delay_ns - coalesce(delay0, 0) AS delay
      FROM steps WHERE t0 IS NULL OR run_ns >= run0)
    SELECT pid, tid, comm, t, run, delay,
      least(greatest(coalesce(t0, t - greatest({period}, run + delay)),
        t - greatest({period}, run + delay)), t - 1) AS since
    FROM grown WHERE run > 0 OR delay > 0 OR t0 IS NULL
    """


def _threads_sql() -> str:
    return f"""
    WITH cut AS (
      SELECT s.pid, s.tid, s.comm, s.run, s.delay,
        greatest(0, least(s.t, w.end_mono_ns) - greatest(s.since, w.start_mono_ns))::DOUBLE
          / (s.t - s.since) AS inside
      FROM thread_steps s JOIN w ON s.t > w.start_mono_ns AND s.since < w.end_mono_ns),
    used AS (
      SELECT pid, tid, last(comm) AS comm, sum(run * inside)::BIGINT AS run_ns,
        sum(delay * inside)::BIGINT AS run_delay_ns, count(*) AS readings_count
      FROM cut GROUP BY pid, tid)
    SELECT u.*, coalesce(t.role, {role_case("u.comm")}) AS role
    FROM used u LEFT JOIN (SELECT DISTINCT pid, tid, 'task' AS role FROM spans) t USING (pid, tid)
    """


def define_series(scope: Scope) -> None:
    """Define ``w_series``: growth of cumulative host and process series in the window, by host."""
    _define_growth(scope, "w_series", "w")
    if scope.machines:
        scope.tables.define(
            "w_series",
            "SELECT * FROM w_series WHERE scope LIKE 'process/%' OR scope LIKE 'probe%'"
            f" OR {stands_for_itself(scope)}",
        )


def stands_for_itself(scope: Scope) -> str:
    """Write the condition that what a row's host read of its machine counts."""
    return f"(host IN ({', '.join(map(literal, scope.machines))})) IS NOT TRUE"


def define_busy_series(scope: Scope) -> None:
    """Define ``b_series``: the same over those times of the window in which a stage was running."""
    offset = scope.offset_ns or 0
    scope.tables.define(
        "b",
        f"""
        WITH cut AS (
          SELECT greatest(s.submit_wall_ns - {offset}, w.start_mono_ns) AS since,
            least(s.complete_wall_ns - {offset}, w.end_mono_ns) AS until
          FROM stages s JOIN w ON s.submit_wall_ns < w.end_wall_ns
            AND s.complete_wall_ns > w.start_wall_ns),
        marked AS (
          SELECT *, max(until) OVER (ORDER BY since, until
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
          FROM cut WHERE until > since),
        islands AS (
          SELECT *, sum(CASE WHEN before >= since THEN 0 ELSE 1 END)
            OVER (ORDER BY since, until ROWS UNBOUNDED PRECEDING) AS island
          FROM marked)
        SELECT min(since) AS start_mono_ns, max(until) AS end_mono_ns FROM islands GROUP BY island
        """,
    )
    _define_growth(scope, "b_series", "b")


def define_watched_series(scope: Scope) -> dict[str, int]:
    """Define ``o_series``: the same over what of the window lies between readings of each host.

    Returns
    -------
    dict of str to int
        Of each host, the time of the window before its first reading and after its last.
    """
    first, machine = "true", "g.host"
    if scope.machines:
        first = stands_for_itself(scope)
        cases = (f"WHEN {literal(a)} THEN {literal(b)}" for a, b in scope.machines.items())
        machine = f"CASE g.host {' '.join(cases)} ELSE g.host END"
    scope.tables.define(
        "o",
        f"""
        SELECT host, greatest(start_mono_ns, since) AS start_mono_ns,
          least(end_mono_ns, until) AS end_mono_ns
        FROM w, (SELECT host, min(t_mono_ns) AS since, max(t_mono_ns) AS until FROM os_series
          WHERE scope = 'host' AND name = 'cpu_idle_ns' AND {first} GROUP BY host)
        WHERE start_mono_ns < until AND end_mono_ns > since
        """,
    )
    _define_growth(scope, "o_series", "o", f" AND w.host = {machine}")
    length = scope.window.length_ns
    return {
        host: max(0, length - int(watched))
        for host, watched in scope.tables.query(
            "SELECT s.host, coalesce(sum(end_mono_ns - start_mono_ns), 0)::BIGINT"
            f" FROM (SELECT DISTINCT host FROM os_series WHERE scope = 'host' AND {first}) s"
            " LEFT JOIN o ON o.host IS NOT DISTINCT FROM s.host GROUP BY s.host"
        )
    }


_MOST_ROWS = 400_000
"""Readings that are compared at once; of one host all are. So few are compared once for all."""
_GROWN = "growth_steps"


def _define_growth(scope: Scope, name: str, stretches: str, also: str = "") -> None:
    tables = scope.tables
    tables.drop(*({name} & tables.defined))
    if 0 < tables.rows_count("os_series") <= _MOST_ROWS:
        if _GROWN not in tables.defined:
            tables.define(_GROWN, _grown_sql("FROM os_series", period_ns(scope)))
        tables.define(name, _growth_sql(_GROWN, stretches, also))
        return
    for rows in tables.in_groups("os_series", _MOST_ROWS):
        grown = f"({_grown_sql(rows, period_ns(scope))})"
        tables.extend(name, _growth_sql(grown, stretches, also))


def _growth_sql(grown: str, stretches: str, also: str) -> str:
    return f"""
        SELECT g.host, g.scope, g.name,
          sum(growth::DOUBLE
            * greatest(0, least(t, w.end_mono_ns) - greatest(t0, w.start_mono_ns))
            / greatest(t - t0, 1)::DOUBLE)::BIGINT AS growth
        FROM {grown} g JOIN {stretches} w ON g.t > w.start_mono_ns AND g.t0 < w.end_mono_ns{also}
        GROUP BY ALL
        """


def _grown_sql(rows: str, period: int) -> str:
    return f"""
        WITH series AS MATERIALIZED (
          SELECT host, scope, name, t_mono_ns, value FROM ({rows})
          WHERE (scope = 'host' AND (name LIKE 'cpu_%' OR name LIKE 'swapped_%'))
             OR (scope LIKE 'process/%' AND name IN ('cpu_ns', 'rchar_bytes', 'read_bytes',
               'minor_faults_count', 'major_faults_count', 'start_time_mono_ns', 'parent_pid'))
             OR (scope LIKE 'probe%' AND name = 'own_cpu_ns')
             OR (scope LIKE 'kernel/%' AND name = 'cpu_ns')
             OR (scope LIKE 'disk/%' AND name IN {COUNTERS_OF_DISKS})),
        steps AS (
          SELECT host, scope, name, t_mono_ns AS t, value,
            lag(t_mono_ns) OVER s AS t0, lag(value) OVER s AS value0
          FROM series WHERE name NOT IN ('start_time_mono_ns', 'parent_pid')
          WINDOW s AS (PARTITION BY host, scope, name ORDER BY t_mono_ns)),
        first_reading AS (
          -- What a process had used when it was first seen was used since it began.
          SELECT s.host, s.scope, s.name, s.t, s.value,
            least(coalesce(b.value, s.t - 1), s.t - 1) AS t0
          FROM steps s JOIN series b ON b.scope = s.scope AND b.name = 'start_time_mono_ns'
          WHERE s.t0 IS NULL AND s.scope LIKE 'process/%'),
        grown AS (
          SELECT host, scope, name, t0, t, value - value0 AS growth FROM steps
          WHERE t0 IS NOT NULL AND value >= value0
          UNION ALL SELECT host, scope, name, t0, t, value FROM first_reading),
        waited_for AS (
          -- The kernel adds the bytes of a child that was waited for to its parent's: they would
          -- count twice. The parent's first step that can hold them does; in one pass of the probe
          -- the parent may be read before its child.
          SELECT p.scope, p.name, min(p.t) AS t, c.value
          FROM (SELECT scope, name, max(t_mono_ns) AS ended, max(value) AS value FROM series
            WHERE scope LIKE 'process/%' AND name IN ('rchar_bytes', 'read_bytes')
            GROUP BY ALL HAVING max(value) > 0) c
          JOIN series e ON e.scope = c.scope AND e.name = 'parent_pid'
          JOIN grown p ON p.scope = 'process/' || e.value AND p.name = c.name
            AND p.t > greatest(c.ended, e.t_mono_ns - {period}) AND p.growth >= c.value
          GROUP BY p.scope, p.name, c.scope, c.value),
        twice AS (
          SELECT scope, name, t, sum(value) AS value FROM waited_for GROUP BY scope, name, t)
        -- Where several probes recorded a process, its first reading is there once for each.
        SELECT DISTINCT g.host, g.scope, g.name, g.t0, g.t,
          greatest(0, g.growth - coalesce(c.value, 0)) AS growth
        FROM grown g LEFT JOIN twice c USING (scope, name, t)
        """


def growth(scope: Scope, where: str, table: str = "w_series") -> dict[str, int]:
    """Sum of the growth of series by name, over the hosts and scopes that ``where`` keeps."""
    rows = scope.tables.query(
        f"SELECT name, sum(growth)::BIGINT FROM {table} WHERE {where} GROUP BY ALL"
    )
    return {name: int(value) for name, value in rows if value is not None}
