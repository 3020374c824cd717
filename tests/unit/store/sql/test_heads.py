"""Footers of Parquet files, read for all tables at once, say what reading each one says."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from pyrometer.core.errors import UsageError
from pyrometer.store import Tables, write_rows
from pyrometer.store.sql.heads import read_heads


def stack(number: int) -> dict[str, object]:
    return {"stack_id": number, "frame_ids": [number, 7], "truncated": False}


def test_rows_and_columns_are_those_that_a_query_finds(tmp_path: Path) -> None:
    files = [
        write_rows(tmp_path, "stacks", [stack(1), stack(2)]),
        write_rows(tmp_path, "executors", []),
    ]
    with duckdb.connect() as connection:
        heads = read_heads(connection, [str(file) for file in files])
        for file in files:
            described = connection.execute(f"DESCRIBE SELECT * FROM '{file}'").fetchall()
            counted = connection.execute(f"SELECT count(*) FROM '{file}'").fetchone()
            head = heads[str(file)]
            assert (head.rows_count,) == counted
            assert {name for name, *_ in described} <= head.columns
        assert read_heads(connection, []) == {}


def test_a_file_that_is_none_is_said_by_name(tmp_path: Path) -> None:
    good = write_rows(tmp_path, "stacks", [stack(1)])
    broken = tmp_path / "frames.parquet"
    broken.write_bytes(b"PAR1 torn")
    with duckdb.connect() as connection:
        assert read_heads(connection, [str(good), str(broken)]) == {}
    with pytest.raises(UsageError, match=str(broken)):
        Tables(tmp_path)
    with Tables(tmp_path, only=["stacks"]) as tables:
        assert tables.query("SELECT stack_id FROM stacks") == [(1,)]


def test_a_table_of_several_files_has_the_rows_and_columns_of_all(tmp_path: Path) -> None:
    write_rows(tmp_path, "stacks", [stack(1)])
    with duckdb.connect() as connection:
        part = tmp_path / "stacks-probe.parquet"
        connection.execute(f"COPY (SELECT 5 AS stack_id, [1] AS frame_ids) TO '{part}'")
    with Tables(tmp_path) as tables:
        assert tables.rows_count("stacks") == 2
        found = tables.query("SELECT stack_id, truncated FROM stacks ORDER BY 1")
    assert found == [(1, False), (5, None)]


def test_tables_that_were_not_asked_for_cannot_be_queried(tmp_path: Path) -> None:
    write_rows(tmp_path, "stacks", [stack(1)])
    with Tables(tmp_path, only=["frames"]) as tables:
        assert tables.query("SELECT * FROM frames") == []
        with pytest.raises(duckdb.CatalogException):
            tables.query("SELECT * FROM stacks")
