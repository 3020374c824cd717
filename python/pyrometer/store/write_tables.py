"""Tables written to Parquet files, through a temporary name: of rows, and of a query."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

from pyrometer.core import schema
from pyrometer.core.redaction import redacted
from pyrometer.store.sql.connected import connected
from pyrometer.store.sql.queries import BATCH_ROWS
from pyrometer.store.sql.text import literal, with_parameters
from pyrometer.store.tables import Tables


def write_rows(folder: Path, table: str, rows: Iterable[dict[str, Any]]) -> Path:
    """Write a table through a temporary name, a batch of rows at a time.

    Parameters
    ----------
    folder : Path
        Folder of the tables.
    table : str
        Name in ``schema/tables.toml``.
    rows : iterable of dict
        Values by column; a column that a row lacks is null.
    """
    columns = schema.tables()[table].columns
    rest = iter(rows)
    target = folder / f"{table}.parquet"
    temporary = folder / f".{table}.parquet.tmp"
    declared = ", ".join(f'"{c.name}" {c.sql_type}' for c in columns)
    holes = ", ".join("?" for _ in columns)
    with connected(folder, threads=1) as connection:
        connection.execute(f"CREATE TABLE t ({declared})")
        while batch := list(islice(rest, BATCH_ROWS)):
            values = [_kept(row.get(c.name)) for row in batch for c in columns]
            insert = "INSERT INTO t VALUES " + ", ".join([f"({holes})"] * len(batch))
            written = with_parameters(insert, values)
            if written is None:
                connection.execute(insert, values)
            else:
                connection.execute(written)
        connection.execute(f"COPY t TO {literal(str(temporary))} (FORMAT parquet)")
    temporary.replace(target)
    return target


def _kept(value: Any) -> Any:
    return redacted(value) if isinstance(value, str) else value


def write_part(tables: Tables, table: str, part: str, sql: str) -> int:
    """Write the result of a query as one more file of a table, through a temporary name.

    Parameters
    ----------
    tables : Tables
        Where the query runs, and whose folder takes the file.
    table, part : str
        The file is ``<table>-<part>.parquet``; columns that it lacks are null.
    sql : str
        The query.

    Returns
    -------
    int
        Rows written.
    """
    return tables.write(sql, tables.folder / f"{table}-{part}.parquet")
