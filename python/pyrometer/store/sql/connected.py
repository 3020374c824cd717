"""Connections that make tables; what memory cannot hold lies among temporary files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from pyrometer.store.scratch import Scratch
from pyrometer.store.sql.failures import SPILL, no_room


@contextmanager
def connected(folder: Path, **settings: str | int) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give a connection that makes tables of a folder.

    Parameters
    ----------
    folder : Path
        Where they are made.
    **settings
        Of DuckDB.

    Raises
    ------
    UsageError
        If there was no room: names the folder that lacks it.
    """
    with Scratch(SPILL) as spill:
        try:
            with duckdb.connect(config={"temp_directory": str(spill.path), **settings}) as made:
                yield made
        except duckdb.Error as error:
            if (found := no_room(error, folder)) is None:
                raise
            raise found from error
