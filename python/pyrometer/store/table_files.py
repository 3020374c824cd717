"""The Parquet files that tables are read from: in a folder here, or of a run elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pyrometer.store.remote.opened import mirror_of
from pyrometer.store.tables_folder import table_of

if TYPE_CHECKING:
    import duckdb

    from pyrometer.core.errors import PyrometerError
    from pyrometer.store.remote.tables import RemoteFiles


class LocalFiles:
    """The files of a folder.

    Parameters
    ----------
    folder : Path
        Folder of ``<table>.parquet`` and ``<table>-<part>.parquet``.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def attach(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Do nothing: DuckDB reads them where they are."""

    def of(self, table: str) -> Iterator[tuple[str, int]]:
        """Give where DuckDB finds each file of a table, and its size."""
        path = self._folder / f"{table}.parquet"
        parts = sorted(self._folder.glob(f"{table}-*.parquet"))
        parts = [file for file in parts if table_of(file.name) == table]
        for file in [*([path] if path.is_file() else []), *parts]:
            yield str(file), file.stat().st_size

    def size_bytes(self) -> int:
        """Bytes of all of them."""
        return sum(file.stat().st_size for file in self._folder.glob("*.parquet"))

    def marks(self) -> list[str]:
        """Give what tells the state of each."""
        states = [(file.name, file.stat()) for file in sorted(self._folder.glob("*.parquet"))]
        return [f"{name} {state.st_size} {state.st_mtime_ns}" for name, state in states]

    def failure(self) -> PyrometerError | None:
        """Give why a part could not be fetched: nothing is."""
        return None

    def check(self) -> None:
        """Do nothing: a file that is open stays as it is."""


def files_of(folder: Path) -> LocalFiles | RemoteFiles:
    """Give the files of a folder of tables."""
    mirror = mirror_of(folder.parent)
    if mirror is not None:
        from pyrometer.store.remote.tables import remote_files

        found = remote_files(mirror, folder)
        if found is not None:
            return found
    return LocalFiles(folder)
