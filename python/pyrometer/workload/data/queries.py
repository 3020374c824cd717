"""Texts and answers of the TPC suites, by DuckDB: what a dataset's ``queries.json`` holds."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

from pyrometer.errors import CapabilityError
from pyrometer.workload.contract import Progress

FILE = "queries.json"
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
            f"pip install {package.replace('_', '-')}=={duckdb.__version__}",
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
    """Run all queries on the Parquet files in `folder`; write texts and answers to ``FILE``."""
    queries = texts(suite)
    answers = {}
    # One thread: additions of floats in one order, so the same bytes every time.
    with duckdb.connect(config={"threads": 1}) as connection:
        for table in tables:
            files = str(folder / table / "*.parquet").replace("'", "''")
            connection.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{files}')")
        for done, (name, text) in enumerate(queries.items()):
            progress("computing answers (queries)", done, len(queries))
            answers[name] = {"sql": to_spark(text), **answer(connection, text)}
    progress("computing answers (queries)", len(queries), len(queries))
    with (folder / FILE).open("w", encoding="utf-8") as out:
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
    unlimited = text[: limit.start()] if limit else text
    result = connection.execute(unlimited)
    names = [column[0].lower() for column in result.description or ()]
    rows = result.fetchall()
    count = min(len(rows), int(limit.group(1))) if limit else len(rows)
    first, last = count, count
    if count < len(rows):
        keys = _keys(unlimited, names)
        at_limit = [rows[count - 1][k] for k in keys]
        if [rows[count][k] for k in keys] == at_limit:
            while first and [rows[first - 1][k] for k in keys] == at_limit:
                first -= 1
            while last < len(rows) and [rows[last][k] for k in keys] == at_limit:
                last += 1
    return {
        "count": count,
        "rows": [[encode(value) for value in row] for row in rows[:first]],
        "tied": [[encode(value) for value in row] for row in rows[first:last]],
    }


def _keys(text: str, names: list[str]) -> list[int]:
    """Columns of the result that the last ORDER BY names; other keys are taken for equal."""
    *_, order = _ORDER.split(text)[1:] or [""]
    words = [_DIRECTION.sub("", part).strip().lower() for part in order.split(",")]
    short = [word.rpartition(".")[2].strip('"') for word in words]
    return [names.index(word) for word in short if word in names]


def encode(value: Any) -> Any:
    """Write a value as JSON; `pyrometer.workload.suite.decode` reads it."""
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if isinstance(value, date):
        return {"date": value.isoformat()}
    return value
