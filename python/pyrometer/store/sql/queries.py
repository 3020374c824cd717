"""Queries of one connection to DuckDB, in as little memory as each can do with."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import duckdb

from pyrometer.core.errors import PyrometerError
from pyrometer.store.sql.failures import failure_of
from pyrometer.store.sql.text import with_parameters
from pyrometer.store.sql.turns import Turns

MEMORY_LIMIT = "96MB"
"""What DuckDB holds in memory; the rest lies in its folder for temporary files."""
MORE_MEMORY = "320MB"
"""The same for a query that cannot do with less: some of what it holds cannot be put aside."""
MOST_MEMORY = "1GB"
"""The same for one that cannot do with that either."""
BATCH_ROWS = 4096

Answer = TypeVar("Answer")
Batch = tuple[duckdb.DuckDBPyConnection, list[tuple[Any, ...]]]


class Queries:
    """Runs queries; one that lacks memory runs again with more, while no other does.

    Parameters
    ----------
    folder : Path
        Folder of the files that are read.
    why_unread : callable
        Says why one of these files could not be read; ``None`` if that is not known.
    options : mapping
        Settings of DuckDB, beside those of every connection.
    """

    def __init__(
        self,
        folder: Path,
        why_unread: Callable[[], PyrometerError | None],
        options: Mapping[str, str | int],
    ) -> None:
        self.folder = folder
        self._why_unread = why_unread
        self.connection = duckdb.connect(
            config={
                "memory_limit": MEMORY_LIMIT,
                "preserve_insertion_order": False,
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
                **options,
            }
        )
        # Of its own: a statement ends the rows that another still gives.
        self._limits = self.connection.cursor()
        self._turns = Turns(self._limit)

    def query(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Rows of a query. Only for results that are small whatever the run."""
        found: list[tuple[Any, ...]] = self._answer(sql, parameters, lambda rows: rows.fetchall())
        return found

    def batches(self, sql: str, parameters: Sequence[object] = ()) -> Iterator[tuple[Any, ...]]:
        """Rows of a query that may be large, one by one; no other query until the last one."""

        # A query that lacks memory fails before its first row, as a rule: then it gets more.
        def begun(cursor: duckdb.DuckDBPyConnection) -> Batch:
            return cursor, cursor.fetchmany(BATCH_ROWS)

        cursor, rows = self._answer(sql, parameters, begun)
        while rows:
            yield from rows
            with self._in_range():
                rows = cursor.fetchmany(BATCH_ROWS)

    def records(self, sql: str, parameters: Sequence[object] = ()) -> list[dict[str, Any]]:
        """Rows of a query by column name."""

        def named(cursor: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
            names = [column[0] for column in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

        return self._answer(sql, parameters, named)

    def record(self, sql: str, parameters: Sequence[object] = ()) -> dict[str, Any]:
        """Give the only row of a query; empty if there is none."""
        found = self.records(sql, parameters)
        return found[0] if found else {}

    def scalar(self, sql: str, parameters: Sequence[object] = ()) -> Any:
        """Give the only value of a query, or ``None``."""
        row = self._answer(sql, parameters, lambda rows: rows.fetchone())
        return row[0] if row else None

    def columns(self, sql: str, parameters: Sequence[object] = ()) -> dict[str, Any]:
        """Columns of a query as numpy arrays (masked where a value is null)."""
        found: dict[str, Any] = self._answer(sql, parameters, lambda rows: rows.fetchnumpy())
        return found

    def _execute(self, sql: str, parameters: Sequence[object] = ()) -> duckdb.DuckDBPyConnection:
        return self._answer(sql, parameters, lambda cursor: cursor)

    def _answer(
        self,
        sql: str,
        parameters: Sequence[object],
        taken: Callable[[duckdb.DuckDBPyConnection], Answer],
    ) -> Answer:
        """Run a query; its parameters go into the text, as DuckDB imports pandas for others."""
        written = with_parameters(sql, parameters)
        asked = (sql, parameters) if written is None else (written,)
        with self._in_range():
            with contextlib.suppress(duckdb.OutOfMemoryException), self._turns.beside():
                return taken(self.connection.execute(*asked))
            with self._turns.alone() as limit:
                limit(MORE_MEMORY)
                with contextlib.suppress(duckdb.OutOfMemoryException):
                    return taken(self.connection.execute(*asked))
                limit(MOST_MEMORY)
                return taken(self.connection.execute(*asked))

    def _limit(self, most: str | None) -> bool:
        """Set what queries may take; the usual is taken back late, as DuckDB would keep more."""
        with contextlib.suppress(duckdb.Error):
            self._limits.execute(f"SET memory_limit = '{most or MEMORY_LIMIT}'")
            return True
        return False

    @contextlib.contextmanager
    def _in_range(self) -> Iterator[None]:
        """Say in one message what could not be fetched or added up, or had no room."""
        try:
            yield
        except duckdb.Error as error:
            found = self._why_unread() or failure_of(error, self.folder)
            if found is None:
                raise
            raise found from error
