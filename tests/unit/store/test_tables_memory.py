"""How much memory queries of tables may take."""

from __future__ import annotations

import tempfile
from pathlib import Path

import duckdb
import pytest

from pyrometer.core.errors import UsageError
from pyrometer.store import Tables
from pyrometer.store import tables as module
from pyrometer.store.sql.failures import failure_of

LARGE = "SELECT len(list(range)) FROM range(3_000_000)"


def test_a_query_that_cannot_do_with_less_gets_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MEMORY_LIMIT", "16MB")
    with Tables(tmp_path) as tables:
        assert tables.scalar(LARGE) == 3_000_000
    monkeypatch.setattr(module, "MORE_MEMORY", "16MB")
    with Tables(tmp_path) as tables:
        assert tables.scalar(LARGE) == 3_000_000
        assert list(tables.batches(LARGE)) == [(3_000_000,)]
    monkeypatch.setattr(module, "MOST_MEMORY", "16MB")
    with Tables(tmp_path) as tables, pytest.raises(UsageError, match="needs more memory"):
        tables.scalar(LARGE)


def test_a_full_folder_for_temporary_files_is_named_with_what_to_do(tmp_path: Path) -> None:
    file = f"{tempfile.gettempdir()}/pyrometer-duckdb-1/duckdb_temp_storage_DEFAULT-0.tmp"
    why = f'IO Error: Could not write file "{file}": No space left on device'
    found = failure_of(duckdb.IOException(why), tmp_path)
    assert found is not None
    assert f"{tempfile.gettempdir()}, has no space left ({why})" in found.message
    assert "TMPDIR" in (found.remedy or "")
    assert failure_of(duckdb.IOException("IO Error: No such file"), tmp_path) is None


def test_a_full_disk_of_the_tables_is_not_taken_for_that_of_temporary_files(tmp_path: Path) -> None:
    file = tmp_path / ".samples.parquet.tmp"
    why = f'IO Error: Could not write file "{file}": No space left on device'
    found = failure_of(duckdb.IOException(why), tmp_path)
    assert found is not None
    assert found.message == f"{tmp_path}: there is no space left to write tables ({why})"
    assert found.remedy == f"free some space on the disk of {tmp_path}"


def test_what_such_a_query_got_is_not_kept_for_later_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MEMORY_LIMIT", "16MB")
    limit = "SELECT current_setting('memory_limit')"
    with Tables(tmp_path) as tables:
        usual = tables.scalar(limit)
        with tables.of_hosts() as own:
            own.scalar(LARGE)
        assert tables.scalar(limit) == usual
        tables.define("large", LARGE)
        assert tables.scalar(limit) == usual
        assert tables.query("SELECT * FROM large") == [(3_000_000,)]


def test_threads_are_few_enough_for_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SMALL_BYTES", -1)
    monkeypatch.setattr(module, "_MOST_THREADS", 1)
    with Tables(tmp_path) as tables:
        assert tables.scalar("SELECT current_setting('threads')") == 1
