"""Tables of several hosts in SQL, as everything reads them: one time, and numbers that never mix.

Times of another host are given on the axis by the lines of ``host_clocks``. Its process and thread
numbers get the number of the host above bit 32, so that a join by them holds no two hosts together.
Hosts of the event log, which may be addresses, get the names that streams have.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import duckdb

from pyrometer.core import schema
from pyrometer.core.process_numbers import KEY
from pyrometer.store.sql.driver_times import OF_DRIVERS, drivers, logged_times
from pyrometer.store.sql.host_groups import host_groups
from pyrometer.store.sql.host_times import (
    OF_HOSTS,
    OF_THE_DRIVER,
    Times,
    has_host,
    is_recorded,
    lines,
    on_axis,
    on_wall,
    timed,
)
from pyrometer.store.sql.text import from_parquet, literal

Execute = Callable[[str], duckdb.DuckDBPyConnection]


class HostRows(enum.Enum):
    """How rows of several hosts are read.

    Attributes
    ----------
    ON_ONE_AXIS
        With times of one clock, and numbers of processes and threads that no two hosts share.
    APART
        With such numbers, and times as recorded: for joins within hosts while tables are made.
    AS_RECORDED
        As they are in the files.
    """

    ON_ONE_AXIS = "on one axis"
    APART = "apart"
    AS_RECORDED = "as recorded"


RECORDED = "recorded"
"""Schema of the tables as they were recorded, where views of the same names lie above them."""

_IDS = ("pid", "tid", "waker_pid", "waker_tid")
OF_EXECUTORS = ("apps", "processes", "executors")
"""Tables that say which executors are on which host."""
_WALL_OF_PAUSES = ("gc_pauses", "start_wall_ns")
_KEPT_CELLS = 1_000_000
"""Values of a table of some hosts that is kept in memory, at most."""

AXIS_HOSTS = """
SELECT host AS name, host, number, wall_offset_ns FROM hosts
UNION ALL
SELECT n.name, n.host, n.number, h.wall_offset_ns FROM host_names n JOIN hosts h USING (host)
"""
"""Names that rows bear, and the host of each: of pods, the node."""

EXECUTORS = f"""
SELECT a.app_index, p.executor_id, min(h.host) AS host
FROM {RECORDED}.processes p JOIN {RECORDED}.apps a USING (app_id)
JOIN axis_hosts h ON h.name = p.host
WHERE p.executor_id IS NOT NULL GROUP BY ALL HAVING count(DISTINCT h.host) = 1
"""
"""Where each executor is, by the plugin."""

NAMES = f"""
SELECT e.host AS name, min(x.host) AS host
FROM {RECORDED}.executors e JOIN axis_executors x USING (app_index, executor_id)
WHERE e.host NOT IN (SELECT host FROM hosts) GROUP BY e.host HAVING count(DISTINCT x.host) = 1
"""
"""Other names of hosts, by the executors there; one that several hosts bear is none's."""


def recorded_hosts(
    connection: duckdb.DuckDBPyConnection,
    every: Sequence[schema.Table],
    places: Callable[[str], list[str]],
) -> list[str]:
    """Name the hosts of rows in files of tables, in order."""
    files = [place for table in every if is_recorded(table) for place in places(table.name)]
    # One query for all; what is wrong with a file is said where it is opened, and of others known.
    found = _hosts_in(connection, files)
    if found is None:
        apart = [_hosts_in(connection, [place]) or set() for place in files]
        found = {name for names in apart for name in names}
    return sorted(found)


def _hosts_in(connection: duckdb.DuckDBPyConnection, files: Sequence[str]) -> set[str] | None:
    """Give the hosts of rows in files; `None` if one of them cannot be read."""
    parts = [f"SELECT host FROM {from_parquet(place)}" for place in files]
    if not parts:
        return set()
    sql = f"SELECT DISTINCT host FROM ({' UNION ALL '.join(parts)}) WHERE host <> ''"
    try:
        return {name for (name,) in connection.execute(sql).fetchall()}
    except duckdb.Error:
        return None


def number(connection: duckdb.DuckDBPyConnection, names: Sequence[str]) -> None:
    """Give hosts numbers, where their clocks are not compared."""
    values = ", ".join(f"({literal(name)}, {n})" for n, name in enumerate(names))
    connection.execute(
        "CREATE TABLE hosts AS SELECT *, NULL::BIGINT AS wall_offset_ns"
        f" FROM (VALUES {values}) v(host, number)"
    )
    connection.execute(
        "CREATE TABLE host_names (name VARCHAR, host VARCHAR, number INTEGER, pod VARCHAR)"
    )


@dataclass
class Laid:
    """Views of tables that lie above the recorded ones.

    Attributes
    ----------
    tables : tuple of Table
        The tables.
    times : bool
        Whether times are on the axis, or as recorded.
    stored : set of str
        Names of tables whose files have times on the axis.
    """

    tables: tuple[schema.Table, ...] = ()
    times: bool = False
    stored: Collection[str] = ()
    _several_drivers: bool = False
    _rows: dict[str, dict[str | None, int]] = field(default_factory=dict)

    def lay(self, execute: Execute, loaded: Collection[str]) -> None:
        """Lay those of all hosts; of tables that are in memory, tables."""
        execute(f"CREATE TABLE axis_hosts AS {AXIS_HOSTS}")
        execute(f"CREATE TABLE axis_executors AS {EXECUTORS}")
        execute(f"CREATE TABLE axis_names AS {NAMES}")
        execute(f"CREATE TABLE axis_drivers AS {drivers(RECORDED)}")
        [(others,)] = execute("SELECT count(*) FROM axis_drivers").fetchall()
        self._several_drivers = self.times and others > 0
        for table in self.tables:
            kind = "TABLE" if table.name in loaded else "VIEW"
            sql = view(table, None, self._times(table), self._several_drivers)
            execute(f"CREATE {kind} main.{table.name} AS {sql}")

    def lay_of(
        self, execute: Execute, hosts: Sequence[str], found: Collection[str]
    ) -> dict[str, int]:
        """Lay those of some hosts in front of those of all, where nobody else sees it.

        Parameters
        ----------
        execute : callable
            Runs a query on a cursor of the connection that has those of all hosts.
        hosts : sequence of str
            The hosts.
        found : collection of str
            Names of tables that have files.

        Returns
        -------
        dict of str to int
            Rows of each.
        """
        chosen, counts = _chosen(execute, hosts), {}
        for table in self.tables:
            if table.name not in found or not has_host(table):
                continue
            rows = counts[table.name] = chosen.count(table, self._counted(execute, table))
            # It is read dozens of times for each host.
            kind = "TABLE" if rows * len(table.columns) <= _KEPT_CELLS else "VIEW"
            sql = f"FROM main.{table.name} LIMIT 0"
            if rows:
                sql = view(table, chosen, self._times(table), self._several_drivers)
            execute(f"CREATE TEMP {kind} {table.name} AS {sql}")
        return counts

    def in_groups(
        self, execute: Execute, name: str, most_rows: int, hosts: Collection[str]
    ) -> list[str]:
        """Write a query for the rows of each group of hosts of a table, of at most so many rows.

        Parameters
        ----------
        execute : callable
            Runs a query on a cursor of the connection.
        name : str
            The table; recorded on the hosts.
        most_rows : int
            Rows of a group of several hosts.
        hosts : collection of str
            The only hosts; empty: all.
        """
        [table] = [table for table in self.tables if table.name == name]
        assert is_recorded(table), f"rows of {name} are the driver's"
        places = execute("SELECT name, host, number FROM axis_hosts ORDER BY number").fetchall()
        host_of: dict[str | None, str] = {name: host for name, host, _ in places}
        for host in [host for _, host, number in places if number == 0]:
            host_of[None] = host
        counted = self._counted(execute, table)
        if None in counted and None not in host_of:
            return [f"FROM {name}"]
        counts: dict[str, int] = {}
        for recorded, rows in sorted(counted.items(), key=str):
            host = host_of.get(recorded, str(recorded))
            if not hosts or host in hosts:
                counts[host] = counts.get(host, 0) + rows
        groups = list(host_groups(counts.items(), most_rows))
        if len(groups) < 2:
            return [f"FROM {name}"]
        times = self._times(table)
        return [view(table, _chosen(execute, group), times) for group in groups]

    def _times(self, table: schema.Table) -> Times:
        if not self.times:
            return Times.RECORDED
        return Times.STORED if table.name in self.stored else Times.LINES

    def _counted(self, execute: Execute, table: schema.Table) -> dict[str | None, int]:
        """Count the rows of each host, once for all."""
        if table.name not in self._rows:
            where = RECORDED if is_recorded(table) else "main"
            sql = f"SELECT host, count(*) FROM {where}.{table.name} GROUP BY host"
            self._rows[table.name] = dict(execute(sql).fetchall())
        return self._rows[table.name]


@dataclass(frozen=True)
class Chosen:
    """The hosts that rows are to be of.

    Attributes
    ----------
    hosts : tuple of str
        Their names.
    names : tuple of str
        Those that their rows bear: of their pods, too.
    is_axis : bool
        Whether the clock of one is the axis: rows of no host are its own, too.
    """

    hosts: tuple[str, ...]
    names: tuple[str, ...]
    is_axis: bool

    def condition(self, expression: str, names: Sequence[str]) -> str:
        """Write the condition that a row is of them."""
        said = f"{expression} IN ({', '.join(map(literal, names))})"
        return f"({said} OR {expression} IS NULL)" if self.is_axis else said

    def count(self, table: schema.Table, rows: Mapping[str | None, int]) -> int:
        """Add up the rows of a table that are of them."""
        names = self.names if is_recorded(table) else self.hosts
        of_none = rows.get(None, 0) if self.is_axis else 0
        return of_none + sum(rows.get(name, 0) for name in names)


def _chosen(execute: Execute, hosts: Sequence[str]) -> Chosen:
    wanted = ", ".join(map(literal, hosts))
    rows = execute(
        f"SELECT name, number FROM axis_hosts WHERE host IN ({wanted}) ORDER BY number"
    ).fetchall()
    names = tuple(dict.fromkeys([*(str(name) for name, _ in rows), *hosts]))
    return Chosen(tuple(hosts), names, any(number == 0 for _, number in rows))


def view(
    table: schema.Table, host: Chosen | None, times: Times, several_drivers: bool = False
) -> str:
    """Write the query of a table.

    Parameters
    ----------
    table : Table
        A table whose recorded rows lie in `RECORDED`.
    host : Chosen or None
        Only rows of this host, and those of none on the host of the axis.
    times : Times
        How times are given.
    several_drivers : bool
        Whether drivers' logs have times of several wall clocks (`driver_times`).
    """
    logged = logged_times(table) if several_drivers else {}
    if not has_host(table):
        if not logged:
            return f"SELECT * FROM {RECORDED}.{table.name}"
        replaced = ", ".join(f'{sql} AS "{name}"' for name, sql in logged.items())
        return f"SELECT r.* REPLACE ({replaced}) FROM {RECORDED}.{table.name} r {OF_DRIVERS}"
    if table.name in OF_THE_DRIVER:
        return _named(table, host, logged)
    moved: dict[str, str] = {}
    joins: list[str] = []
    if times is Times.LINES:
        moved, joins = lines(table)
    elif times is Times.STORED:
        moved = {name: f'r."{on_axis(name)}"' for name in timed(table)}
    columns = []
    for column in table.columns:
        expression = moved.get(column.name, f'r."{column.name}"')
        if column.name == "host":
            expression = "coalesce(h.host, r.host)"
        elif column.name in _IDS:
            expression = keyed(expression)
        elif times is not Times.RECORDED and (table.name, column.name) == _WALL_OF_PAUSES:
            expression = f"CASE WHEN r.host IS NOT NULL THEN {on_wall(expression)} END"
        elif (table.name, column.name) == ("os_series", "scope"):
            expression = (
                "CASE WHEN h.number > 0 AND r.scope LIKE 'process/%' THEN 'process/'"
                f" || (TRY_CAST(substr(r.scope, 9) AS BIGINT) + h.number::BIGINT * {KEY})"
                " ELSE r.scope END"
            )
        elif (table.name, column.name) == ("os_series", "value"):
            expression = _series_value(moved.get("t_mono_ns"))
        columns.append(f'{expression} AS "{column.name}"')
    only = "" if host is None else f" WHERE {host.condition('r.host', host.names)}"
    return (
        f"SELECT {', '.join(columns)} FROM (SELECT * FROM {RECORDED}.{table.name} r{only}) r"
        f" {OF_HOSTS} {' '.join(joins)}"
    )


def keyed(expression: str) -> str:
    """Give a process or thread number the number of its host (``h``); 0 is the kernel's own."""
    return (
        f"CASE WHEN h.number > 0 AND {expression} > 0"
        f" THEN {expression} + h.number::BIGINT * {KEY} ELSE {expression} END"
    )


def as_recorded(sql: str) -> str:
    """Take the numbers of hosts off the processes and threads of a query again."""
    bare = ", ".join(f"{own(name)} AS {name}" for name in ("pid", "tid"))
    return f"SELECT * REPLACE ({bare}) FROM ({sql})"


def own(expression: str) -> str:
    """Give the number of a process or thread on its own host, as people know it."""
    return f"CASE WHEN {expression} > {KEY} THEN {expression} % {KEY} ELSE {expression} END"


def _series_value(time: str | None) -> str:
    """Values are numbers, but for that of a parent, and the time when a process began.

    That is moved as the time of its row is.
    """
    begun = ""
    if time is not None:
        moved = f"TRY_CAST(r.value::HUGEINT + ({time}) - r.t_mono_ns AS BIGINT)"
        begun = f" WHEN h.number > 0 AND r.name = 'start_time_mono_ns' THEN {moved}"
    return f"CASE WHEN r.name = 'parent_pid' THEN {keyed('r.value')}{begun} ELSE r.value END"


def _named(table: schema.Table, host: Chosen | None, logged: Mapping[str, str]) -> str:
    name = "coalesce(x.host, n.host, h.host, r.host)"
    own = {"host": name, **logged}
    columns = ", ".join(
        f'{own[c.name]} AS "{c.name}"' if c.name in own else f'r."{c.name}"' for c in table.columns
    )
    only = "" if host is None else f" WHERE {host.condition(name, host.hosts)}"
    return (
        f"SELECT {columns} FROM {RECORDED}.{table.name} r"
        " LEFT JOIN axis_executors x USING (app_index, executor_id)"
        " LEFT JOIN axis_names n ON n.name = r.host"
        f" LEFT JOIN axis_hosts h ON h.name = r.host{f' {OF_DRIVERS}' if logged else ''}{only}"
    )
