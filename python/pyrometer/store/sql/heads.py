"""What the footers of Parquet files say: their rows and columns, of many files at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import duckdb

from pyrometer.store.sql.text import file_literal


class Head(NamedTuple):
    """What the footer of a file says.

    Attributes
    ----------
    rows_count : int
        Its rows.
    columns : frozenset of str
        Names of its columns, and of what is nested in them.
    """

    rows_count: int
    columns: frozenset[str]


def read_heads(connection: duckdb.DuckDBPyConnection, places: Sequence[str]) -> dict[str, Head]:
    """Read the footers of files by two queries; empty if one of the files cannot be read.

    Parameters
    ----------
    connection : DuckDBPyConnection
        Who reads.
    places : sequence of str
        Where DuckDB finds the files.
    """
    if not places:
        return {}
    files = f"[{', '.join(map(file_literal, places))}]"
    try:
        rows = connection.execute(
            f"SELECT file_name, num_rows FROM parquet_file_metadata({files})"
        ).fetchall()
        named = connection.execute(
            f"SELECT file_name, list(name) FROM parquet_schema({files}) GROUP BY 1"
        ).fetchall()
    except duckdb.Error:
        # Which of them it is, and why, is said where that one is opened.
        return {}
    columns = dict(named)
    found = {name: Head(int(count), frozenset(columns[name])) for name, count in rows}
    return found if found.keys() == set(places) else {}
