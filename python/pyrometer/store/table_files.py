"""The Parquet files that tables are read from: in a folder here, or of a run elsewhere."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
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
        names = self._sizes.keys()
        parts = sorted(name for name in names if name.startswith(f"{table}-"))
        for name in [f"{table}.parquet", *(part for part in parts if table_of(part) == table)]:
            if name in names:
                yield str(self._folder / name), self._sizes[name]

    @cached_property
    def _sizes(self) -> dict[str, int]:
        """Sizes of its files when it was first asked for one: the folder is listed once."""
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(self._folder) as found:
            files = (one for one in found if one.name.endswith(".parquet") and one.is_file())
            return {file.name: file.stat().st_size for file in files}
        return {}

    def size_bytes(self) -> int:
        """Bytes of all of them."""
        return sum(self._sizes.values())

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
