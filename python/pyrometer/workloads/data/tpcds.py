"""Tables of TPC-DS, by DuckDB's generator, in a separate process.

The generator builds all tables, takes a gigabyte at scale factor 1 and cannot be interrupted. A
separate process can be ended, and gives the memory back.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from pyrometer.core.errors import CapabilityError
from pyrometer.workloads.data.files import write_file
from pyrometer.workloads.data.queries import extension
from pyrometer.workloads.data.tpch import split_table
from pyrometer.workloads.values import Progress


def generate(table: str, order: tuple[str, ...], scale_factor: float, path: Path) -> None:
    """Write `table` to `path` as one Parquet file, sorted by `order`.

    Raises
    ------
    CapabilityError
        If the generator is missing or fails.
    """
    _generate([table, ",".join(order), str(scale_factor), str(path)], scale_factor)


def generate_all(scale_factor: float, folder: Path) -> None:
    """Write every table to ``folder/<table>.parquet``, in the order of its columns.

    Raises
    ------
    CapabilityError
        If the generator is missing or fails.
    """
    _generate([str(scale_factor), str(folder)], scale_factor)


def write_tables(folder: Path, progress: Progress, size: int, codec: str) -> dict[str, Any]:
    """Write a folder of Parquet files for each table; `size`: thousandths of the scale factor."""
    progress(f"generating TPC-DS scale factor {size / 1000:g}", 0, 0)
    generated = folder / ".generated"
    generated.mkdir()
    generate_all(size / 1000, generated)
    sources = sorted(generated.iterdir())
    rows = {}
    for done, source in enumerate(sources):
        progress("writing TPC-DS (tables)", done, len(sources))
        rows[source.stem] = split_table(source, folder / source.stem, codec)
    progress("writing TPC-DS (tables)", len(sources), len(sources))
    shutil.rmtree(generated)
    return {"rows": rows}


def recipe(size: int, codec: str) -> dict[str, Any]:
    """Say what determines the bytes of all tables."""
    return {
        "generator": "tpcds/1",
        "duckdb": duckdb.__version__,
        "pyarrow": pa.__version__,
        "size": size,
        "codec": codec,
    }


def _generate(words: list[str], scale_factor: float) -> None:
    extension("tpcds")
    child = subprocess.Popen(
        [sys.executable, "-m", __spec__.name, *words],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        _, said = child.communicate()
    finally:
        # Ctrl-C: the generator would run to its end for nothing.
        child.kill()
        child.wait()
    if child.returncode != 0:
        reason = (said.strip().splitlines() or [f"exit code {child.returncode}"])[-1]
        raise CapabilityError(
            f"DuckDB's TPC-DS generator failed at scale factor {scale_factor:g}: {reason}",
            "use a smaller --scale: each unit of the scale factor needs about 1.5 GB of memory",
        )


def _write(table: str, order: str, scale_factor: float, path: Path) -> None:
    with _generated(scale_factor, path.parent) as connection:
        _write_table(connection, table, order, path)


def _write_all(scale_factor: float, folder: Path) -> None:
    with _generated(scale_factor, folder) as connection:
        for (table,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall():
            _write_table(connection, table, "ALL", folder / f"{table}.parquet")


@contextmanager
def _generated(scale_factor: float, folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give a connection with all tables; what does not fit into memory lies below `folder`."""
    with (
        tempfile.TemporaryDirectory(prefix=".spill-", dir=folder) as spill,
        duckdb.connect(config={"threads": 1, "temp_directory": spill}) as connection,
    ):
        # By path: by name DuckDB would look for it on the network.
        connection.load_extension(str(extension("tpcds")))
        connection.execute(f"CALL dsdgen(sf = {scale_factor})")
        yield connection


def _write_table(connection: duckdb.DuckDBPyConnection, table: str, order: str, path: Path) -> None:
    rows: pa.Table = connection.execute(f"SELECT * FROM {table} ORDER BY {order}").to_arrow_table()
    # Surrogate keys and counts are INTEGER in TPC-DS; only numbers of orders and tickets grow.
    wide = ("_order_number", "_ticket_number")
    fields = [
        f.with_type(pa.int32()) if f.type == pa.int64() and not f.name.endswith(wide) else f
        for f in rows.schema
    ]
    write_file(path, rows.cast(pa.schema(fields)), "zstd")


if __name__ == "__main__":
    try:
        if len(sys.argv) == 3:
            _write_all(float(sys.argv[1]), Path(sys.argv[2]))
        else:
            _write(sys.argv[1], sys.argv[2], float(sys.argv[3]), Path(sys.argv[4]))
    except (duckdb.Error, pa.ArrowException, OSError, MemoryError) as error:
        # One line, the last that our parent reads.
        sys.exit(" ".join(str(error).split()) or type(error).__name__)
