"""Of the rows that the agent of a host recorded, those of one run.

An agent that runs as a service follows every executor of its host, for as long as it lives. Of a
run are its own executors with their descendants, the control groups that rule these, and the host
itself while the run lasted.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import duckdb

from pyrometer.core import schema
from pyrometer.store.services.executors import Found
from pyrometer.store.services.machines import Service
from pyrometer.store.sql.text import from_parquet, literal

OF_HOST = {"perf_counts": "r.pid IS NULL", "io_latency": "r.kind <> 'read'"}
"""Rows of tables that are of the host, and of no process that a probe follows."""
MARGIN_NS = 60 * 10**9
"""What a host did right before and after a run is kept, too: readings there bound its own."""

_SLACK_NS = 20_000_000
"""Begins of a process, in ticks of the kernel, are the same."""
_TIMES = {
    "thread_counters": ("t_mono_ns", "t_mono_ns"),
    "os_series": ("t_mono_ns", "t_mono_ns"),
    "thread_states": ("begin_mono_ns", "end_mono_ns"),
    "off_cpu": ("begin_mono_ns", "end_mono_ns"),
    "io_latency": ("begin_mono_ns", "end_mono_ns"),
    "perf_counts": ("t_mono_ns", "t_mono_ns"),
    "delays": ("t_mono_ns", "t_mono_ns"),
}
# A value that stays has rows at its begin and its end alone, which may be hours away: a straight
# line between two equal ones has them at the ends of what is kept, too. Of a process, while it is
# seen.
_STAYED = """
WITH own AS (FROM {series} r WHERE {whose}),
edges AS (SELECT host, scope, name,
    arg_max(value, t_mono_ns) FILTER (t_mono_ns < {since}) AS early,
    arg_min(value, t_mono_ns) FILTER (t_mono_ns >= {since}) AS next,
    arg_max(value, t_mono_ns) FILTER (t_mono_ns <= {until}) AS previous,
    arg_min(value, t_mono_ns) FILTER (t_mono_ns > {until}) AS late,
    max(t_mono_ns) AS last
  FROM own GROUP BY ALL),
seen AS (SELECT *, CASE WHEN scope LIKE 'process/%' OR scope LIKE 'cgroup/%'
    THEN max(last) OVER (PARTITION BY host, scope)
    ELSE max(last) OVER () END >= {since} AS is_seen FROM edges)
SELECT host, {since}::BIGINT AS t_mono_ns, scope, name, early AS value FROM seen
  WHERE is_seen AND early = coalesce(next, early)
UNION ALL BY NAME
SELECT host, {until}::BIGINT AS t_mono_ns, scope, name, late AS value FROM seen
  WHERE previous = late
"""
# A process is a number and a begin: another may get its number later.
_STARTS = """
SELECT pid, since, lead(since, 1, 9223372036854775807) OVER (PARTITION BY pid ORDER BY since)
  AS until
FROM (SELECT DISTINCT TRY_CAST(substr(scope, 9) AS BIGINT) AS pid, value AS since FROM {series}
  WHERE scope LIKE 'process/%' AND name = 'start_time_mono_ns') WHERE pid IS NOT NULL
"""
_OURS = f"""
WITH RECURSIVE starts AS ({_STARTS}),
parents AS (SELECT DISTINCT s.pid, s.since, s.until, r.value AS parent
  FROM starts s JOIN {{series}} r ON r.scope = 'process/' || s.pid AND r.name = 'parent_pid'
  AND r.t_mono_ns >= s.since - {_SLACK_NS} AND r.t_mono_ns < s.until),
ours AS (
  SELECT s.* FROM starts s JOIN roots r ON r.pid = s.pid AND abs(s.since - r.since) <= {_SLACK_NS}
  UNION SELECT p.pid, p.since, p.until FROM parents p JOIN ours o ON o.pid = p.parent
    AND p.since >= o.since - {_SLACK_NS} AND p.since < o.until)
SELECT * FROM ours
"""
# Which process of somebody else made a request is none of the run's business.
_SUMMED = """
SELECT * REPLACE (sum(count)::BIGINT AS count, sum(sum_ns)::BIGINT AS sum_ns,
    sum(bytes)::BIGINT AS bytes)
  FROM (SELECT * REPLACE (CASE WHEN r.pid = 0 OR {ours} THEN r.pid END AS pid) FROM ({kept}) r)
  GROUP BY ALL
"""


def keep_own(
    connection: duckdb.DuckDBPyConnection,
    folder: Path,
    service: Service,
    window: tuple[int, int] | None,
) -> None:
    """Take everything out of a folder of tables that is not of a run.

    Parameters
    ----------
    connection : DuckDBPyConnection
        Does the work.
    folder : Path
        Tables of the streams of one life of an agent.
    service : Service
        What it found.
    window : (int, int) or None
        The run, on the host's CLOCK_MONOTONIC; ``None`` where that is not known.
    """
    series = folder / "os_series.parquet"
    roots = [
        (one.pid, one.start_ns)
        for one in service.found
        if not one.is_apart and one.start_ns is not None
    ]
    connection.execute("CREATE OR REPLACE TEMP TABLE roots (pid BIGINT, since BIGINT)")
    if roots:
        values = ", ".join(f"({pid}, {since})" for pid, since in roots)
        connection.execute(f"INSERT INTO roots VALUES {values}")
    connection.execute("CREATE OR REPLACE TEMP TABLE ours (pid BIGINT, since BIGINT, until BIGINT)")
    connection.execute("CREATE OR REPLACE TEMP TABLE own_groups (scope VARCHAR)")
    if series.is_file():
        named = f"SELECT DISTINCT scope FROM {from_parquet(series)} WHERE scope LIKE 'cgroup/%'"
        scopes = [scope for (scope,) in connection.execute(named).fetchall()]
        for scope in filter(lambda scope: rules(scope, service.found), scopes):
            connection.execute("INSERT INTO own_groups VALUES (?)", [scope])
    if series.is_file() and roots:
        source = from_parquet(series)
        connection.execute(f"INSERT INTO ours {_OURS.format(series=source)}")
    for name in (*_TIMES, "kernel_stacks"):
        file = folder / f"{name}.parquet"
        if file.is_file():
            _rewrite(connection, file, name, service.host, window)


def rules(scope: str, found: Iterable[Found]) -> bool:
    """Whether a control group, as series name it, is that of an executor, or above it.

    Where only the CPU is limited, as YARN may do, the group of the memory has another path: then
    both name the container.

    Examples
    --------
    >>> one = Found("app", "1", "executor", 7, None, None, cgroup="/pods/a/b", container="c1")
    >>> [rules(f"cgroup{path}", [one]) for path in ("/pods/a/b", "/pods", "/pods/a/bc", "/cpu/c1")]
    [True, True, False, True]
    """
    path = scope.removeprefix("cgroup").rstrip("/") + "/"
    return any(
        (one.cgroup is not None and f"{one.cgroup}/".startswith(path))
        or (one.container is not None and f"/{one.container}/" in path)
        for one in found
    )


def _rewrite(
    connection: duckdb.DuckDBPyConnection,
    file: Path,
    name: str,
    host: str,
    window: tuple[int, int] | None,
) -> None:
    columns = ", ".join(
        f"{literal(host)} AS host" if c.name == "host" else f'r."{c.name}"'
        for c in schema.tables()[name].columns
    )
    temporary = file.with_suffix(".own")
    rows = from_parquet(file)
    whose = _whose(name)
    kept = f"SELECT * FROM {rows} r WHERE {whose}"
    if window is not None and name in _TIMES:
        begin, end = _TIMES[name]
        since, until = window[0] - MARGIN_NS, window[1] + MARGIN_NS
        kept += f" AND r.{end} >= {since} AND r.{begin} <= {until}"
        if name == "os_series":
            stayed = _STAYED.format(series=rows, whose=whose, since=since, until=until)
            kept += f" UNION ALL BY NAME ({stayed})"
    if name == "io_latency":
        kept = _SUMMED.format(kept=kept, ours=_ours(name))
    connection.execute(
        f"COPY (SELECT {columns} FROM ({kept}) r) TO {literal(str(temporary))}"
        " (FORMAT parquet, COMPRESSION zstd)"
    )
    temporary.replace(file)


def _whose(name: str) -> str:
    if name not in _TIMES:
        return "true"
    # The group without a path is that of the agent.
    of_host = {
        "os_series": "r.scope NOT LIKE 'process/%' AND r.scope NOT LIKE 'cgroup%'"
        " OR r.scope IN (FROM own_groups)",
        **OF_HOST,
    }.get(name)
    return _ours(name) if of_host is None else f"(({of_host}) OR {_ours(name)})"


def _ours(name: str) -> str:
    begin, end = _TIMES[name]
    return (
        f"EXISTS (FROM ours o WHERE o.pid = {_pid(name)} AND r.{end} >= o.since - {_SLACK_NS}"
        f" AND r.{begin} < o.until)"
    )


def _pid(name: str) -> str:
    return "TRY_CAST(substr(r.scope, 9) AS BIGINT)" if name == "os_series" else "r.pid"
