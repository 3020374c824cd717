"""Texts and answers of the TPC suites, by DuckDB: what a dataset's ``queries.json`` holds."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

from pyrometer.core.errors import CapabilityError
from pyrometer.core.installation import pip
from pyrometer.store.sql.text import from_parquet
from pyrometer.workloads.answers import QUERIES_FILE
from pyrometer.workloads.values import Progress

Row = tuple[Any, ...]

_LIMIT = re.compile(r"\s+limit\s+(\d+)\s*$", re.IGNORECASE)
_ORDER = re.compile(r"\border\s+by\b", re.IGNORECASE)
_DIRECTION = re.compile(r"\s+(asc|desc|nulls\s+(first|last))\b", re.IGNORECASE)


def extension(suite: str) -> Path:
    """Find DuckDB's extension `suite` in the package that ships it.

    Raises
    ------
    CapabilityError
        If it is of another version of DuckDB.
    """
    import importlib

    package = f"duckdb_extension_{suite}"
    root = Path(str(importlib.import_module(package).__file__)).parent / "extensions"
    path = root / f"v{duckdb.__version__}" / f"{suite}.duckdb_extension"
    if not path.is_file():
        raise CapabilityError(
            f"{path} is missing: DuckDB is {duckdb.__version__}, "
            f"its extension {suite} is of another version",
            f"{pip()} install {package.replace('_', '-')}=={duckdb.__version__}",
        )
    return path


def recipe() -> dict[str, Any]:
    """Say what determines texts and answers."""
    return {"answers": "answers/1", "duckdb": duckdb.__version__}


def texts(suite: str) -> dict[str, str]:
    """Read the queries of ``tpch`` or ``tpcds`` by name (``q01``), as DuckDB ships them."""
    with duckdb.connect() as connection:
        connection.load_extension(str(extension(suite)))
        found = connection.execute(f"SELECT query_nr, query FROM {suite}_queries()").fetchall()
    return {f"q{number:02d}": text.strip().rstrip(";").strip() for number, text in sorted(found)}


def to_spark(text: str) -> str:
    """Turn DuckDB's dialect into Spark's.

    One rule suffices: a name in double quotes, which is a string to Spark, is put into backticks.
    """
    pieces = re.split(r"('(?:[^']|'')*')", text)
    return "".join(
        piece if piece.startswith("'") else re.sub(r'"([^"]*)"', r"`\1`", piece) for piece in pieces
    )


def write_answers(folder: Path, progress: Progress, suite: str, tables: Sequence[str]) -> None:
    """Run all queries on the Parquet files in `folder`; write ``queries.json``."""
    queries = texts(suite)
    answers = {}
    # One thread: additions of floats in one order, so the same bytes every time. Nulls where
    # Spark puts them: with a LIMIT their place decides which rows the answer holds.
    settings = {"threads": 1, "default_null_order": "nulls_first_on_asc_last_on_desc"}
    with (
        tempfile.TemporaryDirectory(prefix=".spill-", dir=folder) as spill,
        duckdb.connect(config={**settings, "temp_directory": spill}) as connection,
    ):
        for table in tables:
            files = sorted((folder / table).glob("*.parquet"))
            connection.execute(f"CREATE VIEW {table} AS SELECT * FROM {from_parquet(*files)}")
        for done, (name, text) in enumerate(queries.items()):
            progress("computing answers (queries)", done, len(queries))
            answers[name] = {"sql": to_spark(text), **answer(connection, text)}
    progress("computing answers (queries)", len(queries), len(queries))
    with (folder / QUERIES_FILE).open("w", encoding="utf-8") as out:
        json.dump(answers, out, indent=0, sort_keys=True)


def answer(connection: duckdb.DuckDBPyConnection, text: str) -> dict[str, Any]:
    """Compute a query's answer.

    Returns
    -------
    dict
        ``rows`` that the answer must hold; ``tied``: rows of which it holds as many as
        ``count`` has room for, since ORDER BY does not say which (empty without such a tie).
    """
    limit = _LIMIT.search(text)
    if limit is None:
        rows = connection.execute(text).fetchall()
        return _answer(len(rows), rows, [])
    unlimited, count = text[: limit.start()], int(limit.group(1))
    result = connection.execute(f"{unlimited} LIMIT {count + 1}")
    keys = _keys(unlimited, [column[0].lower() for column in result.description or ()])
    rows = result.fetchall()

    def key(row: Row) -> list[Any]:
        return [row[k] for k in keys]

    if len(rows) <= count or key(rows[count]) != key(rows[count - 1]):
        return _answer(min(count, len(rows)), rows[:count], [])
    rows = connection.execute(unlimited).fetchall()
    at_limit = key(rows[count - 1])
    first = next(n for n, row in enumerate(rows) if key(row) == at_limit)
    tied = [row for row in rows[first:] if key(row) == at_limit]
    return _answer(count, rows[:first], tied)


def _answer(count: int, rows: list[Row], tied: list[Row]) -> dict[str, Any]:
    return {
        "count": count,
        "rows": [[encode(value) for value in row] for row in rows],
        "tied": [[encode(value) for value in row] for row in tied],
    }


def _keys(text: str, names: list[str]) -> list[int]:
    """Columns that the final ORDER BY names; rows that differ in other keys count as tied."""
    _, *orders = _ORDER.split(text)
    if not orders or orders[-1].count("(") != orders[-1].count(")"):
        return []  # the last one belongs to a window or a subquery
    words = [_DIRECTION.sub("", part).strip().lower() for part in orders[-1].split(",")]
    if "(" not in orders[-1]:
        words = [names[int(word) - 1] if word.isdecimal() else word for word in words]
    short = [word.rpartition(".")[2].strip('"') for word in words]
    return [names.index(word) for word in short if word in names]


def encode(value: Any) -> Any:
    """Write a value as JSON; `pyrometer.workloads.answers.decode` reads it."""
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if isinstance(value, date):
        return {"date": value.isoformat()}
    return value
