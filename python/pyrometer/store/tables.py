"""Read access to tables by SQL: DuckDB views over Parquet files, typed empty ones where absent."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from copy import copy
from pathlib import Path
from types import TracebackType
from typing import Any

import duckdb

from pyrometer.core import schema
from pyrometer.core.errors import UsageError
from pyrometer.core.process_numbers import KEY
from pyrometer.store.scratch import Scratch
from pyrometer.store.sql import host_views
from pyrometer.store.sql.failures import SPILL, no_room
from pyrometer.store.sql.heads import Head, read_heads
from pyrometer.store.sql.host_times import AXIS, on_axis, timed
from pyrometer.store.sql.host_views import HostRows
from pyrometer.store.sql.queries import Queries
from pyrometer.store.sql.text import from_parquet, literal
from pyrometer.store.table_files import files_of

# Each has its own part of what queries may hold: of a large machine's dozens it would be too small.
_MOST_THREADS = 8
# What a query let go goes back to the system from that much on: 15 MB less for 100 000 tasks, and
# 5 % more CPU. The next query of a small run takes it again at once: a third of its CPU, for 20 MB.
_LET_GO = "1MB"
_LET_GO_OF_FEW = "16MB"
_FEW_TASKS = 20_000
# Most runs are small, and most queries smaller: more threads only take CPU and memory from each
# other, a quarter of all for a report.
_SMALL_BYTES = 64 << 20
# Of them, planning costs more than reading: without that step a query takes a seventh less.
_OF_FEW_BYTES: dict[str, str | int] = {
    "threads": 1, "disabled_optimizers": "statistics_propagation",
}  # fmt: skip
# A table is read a dozen times: one that is not larger is read from memory after the first.
_LOADED_BYTES = 256 << 10
_LOADED_CELLS = 250_000

_CHECKED: set[str] = set()
"""Declared views whose columns were looked at in this process."""


class Tables(Queries):
    """Tables of one run directory.

    Every table of ``schema/tables.toml`` can be queried: one whose file is missing is empty, and a
    column that an older file lacks is null. Files ``<table>-<part>.parquet`` are more rows of a
    table. Rows of several hosts are read on one axis (`pyrometer.store.sql.host_views`).

    Parameters
    ----------
    folder : Path
        Folder of ``<table>.parquet``.
    host_rows : HostRows
        How rows of several hosts are read.
    only : collection of str, optional
        Names of the tables that are asked for; others cannot be queried then. Default: all.

    Attributes
    ----------
    defined : set of str
        Temporary tables of this connection.
    of_window : set of str
        Those of them that are of the window that was cut last.
    hosts : tuple of str
        The only hosts whose rows there are (`of_hosts`); empty: all.
    several_hosts : bool
        Whether rows are of several hosts, and are told apart.
    is_small : bool
        Whether all files together are so small that a query takes one thread.

    Raises
    ------
    UsageError
        If a file is not readable Parquet.
    """

    def __init__(
        self,
        folder: Path,
        host_rows: HostRows = HostRows.ON_ONE_AXIS,
        only: Collection[str] | None = None,
    ) -> None:
        self._files = files_of(folder)
        self.is_small = self._files.size_bytes() <= _SMALL_BYTES
        self._spill: Scratch | None = Scratch(SPILL)
        options: dict[str, str | int] = {
            "allocator_bulk_deallocation_flush_threshold": _LET_GO_OF_FEW,
            "temp_directory": str(self._spill.path),
            **(_OF_FEW_BYTES if self.is_small else {}),
        }
        super().__init__(folder, self._files.failure, options)
        self.hosts: tuple[str, ...] = ()
        self._rows: dict[str, int] = {}
        self._loaded: set[str] = set()
        self._heads: dict[str, Head] = {}
        self._timed: set[str] = set()
        self._laid = host_views.Laid()
        self._files.attach(self.connection)
        self.several_hosts = False
        self._begin()
        if self.scalar("SELECT current_setting('threads')") > _MOST_THREADS:
            self.connection.execute(f"SET threads = {_MOST_THREADS}")
        with self._in_range():
            self._open(host_rows, only)
        if not self.is_small or self.rows_count("tasks") > _FEW_TASKS:
            self.connection.execute(
                f"SET allocator_bulk_deallocation_flush_threshold = '{_LET_GO}'"
            )

    def _begin(self) -> None:
        """Start with a connection in which nothing is defined."""
        # Its bar would end up in the caller's output.
        self.connection.execute("SET enable_progress_bar = false")
        self.defined: set[str] = set()
        self.of_window: set[str] = set()

    def _open(self, host_rows: HostRows, only: Collection[str] | None) -> None:
        """Name tables: as they are, or where hosts are several, below views of these names."""
        every = list(schema.tables().values())
        of_axis = [table for table in every if table.name in AXIS]
        others = [table for table in every if table not in of_axis]
        names: list[str] = []
        if host_rows is HostRows.APART:
            names = host_views.recorded_hosts(self.connection, others, self._places)
        if only is not None:
            wanted = {*only, *host_views.OF_EXECUTORS}
            others = [table for table in others if table.name in wanted]
        self._heads = read_heads(
            self.connection, [p for table in (*of_axis, *others) for p in self._places(table.name)]
        )
        if len(names) > 1:
            host_views.number(self.connection, names)
        else:
            self._name(of_axis, "main")
        several = self.rows_count("hosts") + self.rows_count("host_names") > 1
        aligned = host_rows is HostRows.ON_ONE_AXIS and several
        self.several_hosts = aligned or len(names) > 1
        self._name(others, host_views.RECORDED if self.several_hosts else "main")
        if self.several_hosts:
            self._laid = host_views.Laid(tuple(others), aligned, self._timed)
            self._laid.lay(self._execute, self._loaded)

    def of_hosts(self, *hosts: str) -> Tables:
        """Give the same tables with nothing but what some hosts recorded; without any, of all.

        Of the event log they have the tasks and executors there. Rows that name no host are of the
        host of the axis. Files and memory are shared with these tables, which stay open meanwhile:
        the rows of all hosts are in schema ``main``.
        """
        own = copy(self)
        own.connection, own._spill = self.connection.cursor(), None
        own._begin()
        if self.several_hosts and hosts:
            own.hosts = hosts
            own._rows = self._rows | self._laid.lay_of(own._execute, hosts, self._rows)
        return own

    def _name(self, tables: Sequence[schema.Table], where: str) -> None:
        if where != "main":
            self.connection.execute(f"CREATE SCHEMA {where}")
        for table in tables:
            self._view(table, where)

    def _places(self, name: str) -> list[str]:
        return [place for place, _ in self._files.of(name)]

    def key_of(self, host: str | None) -> int:
        """Give what is added to numbers of processes and threads of a host."""
        if not self.several_hosts or host is None:
            return 0
        number = self.scalar("SELECT number FROM axis_hosts WHERE name = ?", [host])
        return int(number or 0) * KEY

    def _view(self, table: schema.Table, where: str) -> None:
        files = list(self._files.of(table.name))
        if not files:
            columns = ", ".join(f'NULL::{c.sql_type} AS "{c.name}"' for c in table.columns)
            self.connection.execute(
                f"CREATE VIEW {where}.{table.name} AS SELECT {columns} WHERE false"
            )
            return
        source = from_parquet(*(place for place, _ in files), more="union_by_name=true")
        try:
            head = self._head([place for place, _ in files], source)
        except duckdb.Error as error:
            failure = self._files.failure() or no_room(error, self.folder)
            if failure is not None:
                raise failure from error
            path = self.folder / f"{table.name}.parquet"
            raise UsageError(
                f"{path}: not a readable table ({str(error).splitlines()[0]})",
                f"delete {self.folder} and run the command again: tables are rebuilt from raw/",
            ) from error
        columns = ", ".join(
            f'"{c.name}"::{c.sql_type} AS "{c.name}"'
            if c.name in head.columns
            else f'NULL::{c.sql_type} AS "{c.name}"'
            for c in table.columns
        )
        times = [on_axis(name) for name in timed(table)]
        if where == host_views.RECORDED and times and self._have_all(files, times):
            self._timed.add(table.name)
            columns += "".join(f', "{name}"' for name in times)
        rows = self._rows[table.name] = head.rows_count
        small = (
            rows * len(table.columns) <= _LOADED_CELLS
            and sum(size for _, size in files) <= _LOADED_BYTES
        )
        if small:
            self._loaded.add(table.name)
        kind = "TABLE" if small else "VIEW"
        self.connection.execute(
            f"CREATE {kind} {where}.{table.name} AS SELECT {columns} FROM {source}"
        )

    def _have_all(self, files: Sequence[tuple[str, int]], columns: Sequence[str]) -> bool:
        """Whether every one of some files has some columns."""
        return all(
            place in self._heads and self._heads[place].columns.issuperset(columns)
            for place, _ in files
        )

    def _head(self, places: Sequence[str], source: str) -> Head:
        """Give what the footers of a table's files say; read one by one where one is broken."""
        if self._heads:
            heads = [self._heads[place] for place in places]
            columns = frozenset(name for head in heads for name in head.columns)
            return Head(sum(head.rows_count for head in heads), columns)
        described = self.connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
        [(rows,)] = self.connection.execute(f"SELECT count(*) FROM {source}").fetchall()
        return Head(int(rows), frozenset(row[0] for row in described))

    def has(self, name: str) -> bool:
        """Whether table ``name`` has at least one row."""
        return self._rows.get(name, 0) > 0

    def rows_count(self, name: str) -> int:
        """Rows of table ``name``."""
        return self._rows.get(name, 0)

    def define(self, name: str, sql: str, parameters: Sequence[object] = ()) -> None:
        """Keep the result of a query as temporary table ``name``, in this connection only.

        One that other modules read is declared in ``schema/views.toml``, with its columns.
        """
        self._execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {sql}", parameters)
        self._defined(name)

    def define_view(self, name: str, sql: str) -> None:
        """Name a query that is run wherever it is read, in this connection only."""
        self.connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {sql}")
        self._defined(name)

    def extend(self, name: str, sql: str) -> None:
        """Add the rows of a query to a temporary table; it is made where it is not there."""
        if name in self.defined:
            self._execute(f"INSERT INTO {name} {sql}")
        else:
            self.define(name, sql)

    def in_groups(self, name: str, most_rows: int) -> list[str]:
        """Write queries that give the rows of a table, a group of hosts at a time.

        For what is reckoned host by host: no group has more than so many rows, unless one host
        has. There is a single query where hosts are not told apart, or all are one group.
        """
        if not self.several_hosts or self.rows_count(name) <= most_rows:
            return [f"FROM {name}"]
        return self._laid.in_groups(self._execute, name, most_rows, self.hosts)

    def define_for_hosts(self, name: str, sql: str) -> None:
        """Keep the result of a query for these tables and for those of some hosts of them."""
        self._execute(f"CREATE TABLE main.{name} AS {sql}")

    def write(self, sql: str, target: Path, compression: str = "zstd") -> int:
        """Write the result of a query to a Parquet file as it comes; gives its rows."""
        temporary = target.with_name(f".{target.name}.tmp")
        counted = self._execute(
            f"COPY ({sql}) TO {literal(str(temporary))} (FORMAT parquet, COMPRESSION {compression})"
        ).fetchone()
        temporary.replace(target)
        return int(counted[0]) if counted else 0

    def drop(self, *names: str) -> None:
        """Let go of temporary tables: what is as large as a run is in memory otherwise."""
        for name in names:
            self.connection.execute(f"DROP TABLE temp.{name}")
            self.defined.discard(name)

    def _defined(self, name: str) -> None:
        self.defined.add(name)
        declared = schema.views().get(name)
        if declared is not None and name not in _CHECKED:
            found = tuple(row[0] for row in self.query(f"DESCRIBE {name}"))
            assert found == declared.columns, f"{name} has columns {found}: see schema/views.toml"
            _CHECKED.add(name)

    def keep(
        self, name: str, types: Mapping[str, str], columns: Mapping[str, Sequence[Any]]
    ) -> None:
        """Keep columns of values as temporary table ``name``, in this connection only.

        Parameters
        ----------
        name : str
            The table.
        types : mapping of str to str
            SQL type of each column.
        columns : mapping of str to sequence
            Values of each column, all of one length.
        """
        # A list as a parameter is converted value by value, a hundred times as long as JSON is.
        rows = ", ".join(
            f"""unnest(from_json(?::JSON, '["{types[column]}"]')) AS "{column}\""""
            for column in columns
        )
        self.define(name, f"SELECT {rows}", [json.dumps(list(v)) for v in columns.values()])

    def close(self) -> None:
        """Let go of the connection, and of its scratch folder if that is its own."""
        self.connection.close()
        if self._spill is not None:
            self._limits.close()
            self._spill.close()
            self._files.check()

    def __enter__(self) -> Tables:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
