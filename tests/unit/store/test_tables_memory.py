"""How much memory queries of tables may take."""

from __future__ import annotations

import tempfile
from pathlib import Path

import duckdb
import pytest

from pyrometer.core.beside import Beside
from pyrometer.core.errors import UsageError
from pyrometer.store import Tables
from pyrometer.store.axis.picked import join_parts
from pyrometer.store.imported import import_profiles
from pyrometer.store.sql import queries as module
from pyrometer.store.sql.connected import connected
from pyrometer.store.sql.failures import failure_of
from pyrometer.store.write_tables import write_rows

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


@pytest.mark.parametrize("table", ["iterations", "os_series-beside"])
def test_a_full_disk_is_one_message_also_while_tables_are_made(tmp_path: Path, table: str) -> None:
    building = tmp_path / "tables" / ".building-x"
    building.mkdir(parents=True)
    for part in (1, 2):
        made = write_rows(building, "os_series", [{"t_mono_ns": part}])
        made.rename(building / f"os_series-beside{part}.parquet")
    name = "os_series-beside.tmp" if "-" in table else f"{table}.parquet.tmp"
    (building / f".{name}").symlink_to("/dev/full")
    with pytest.raises(UsageError, match="there is no space left to write tables") as error:
        join_parts(building) if "-" in table else write_rows(building, table, [{"iteration": 1}])
    assert error.value.message.startswith(f"{tmp_path / 'tables'}: ")
    assert error.value.remedy == f"free some space on the disk of {tmp_path / 'tables'}"


def test_a_full_folder_for_temporary_files_is_one_message_while_tables_are_made(
    tmp_path: Path,
) -> None:
    with (
        pytest.raises(UsageError, match="or more room in") as error,
        connected(tmp_path, memory_limit="16MB") as connection,
    ):
        connection.execute(
            "SET max_temp_directory_size = '1MB';"
            " CREATE TABLE large AS SELECT hash(range) FROM range(10_000_000)"
        )
    assert f"free some space in {tempfile.gettempdir()}" in (error.value.remedy or "")


@pytest.mark.parametrize("limit", ["1MB", "100KB"])
def test_tables_that_memory_cannot_hold_are_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    rows = ({"t_mono_ns": n * 7919, "value": n * 31, "scope": f"cpu/{n}"} for n in range(12_000))
    write_rows(tmp_path, "os_series", rows)
    monkeypatch.setattr(module, "MEMORY_LIMIT", limit)
    with pytest.raises(UsageError, match="needs more memory"):
        Tables(tmp_path)


def test_a_mistake_of_a_source_stays_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(duckdb.ConversionException), connected(tmp_path) as connection:
        connection.execute("SELECT 3000000000::INTEGER").fetchall()


def test_no_connection_puts_anything_aside_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect, places = duckdb.connect, []

    def seen(config: dict[str, str]) -> duckdb.DuckDBPyConnection:
        places.append(Path(config["temp_directory"]).parent)
        return connect(config=config)

    monkeypatch.setattr(duckdb, "connect", seen)
    files = [tmp_path / name for name in ("a.folded", "b.folded")]
    for file in files:
        file.write_text("main;f 3\n")
    import_profiles(files, tmp_path / "run")
    assert set(places) == {Path(tempfile.gettempdir())}


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


def test_threads_that_lack_memory_do_not_take_it_from_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MEMORY_LIMIT", "16MB")

    def ask(tables: Tables) -> list[int]:
        return [tables.scalar(sql) for _ in range(5) for sql in (LARGE, "SELECT 7")]

    with (
        Tables(tmp_path) as tables,
        tables.of_hosts() as second,
        tables.of_hosts() as third,
        Beside(lambda: ask(second)) as of_second,
        Beside(lambda: ask(third)) as of_third,
    ):
        assert ask(tables) == of_second.outcome() == of_third.outcome() == [3_000_000, 7] * 5


def test_threads_are_few_enough_for_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyrometer.store.tables._SMALL_BYTES", -1)
    monkeypatch.setattr("pyrometer.store.tables._MOST_THREADS", 1)
    with Tables(tmp_path) as tables:
        assert tables.scalar("SELECT current_setting('threads')") == 1
