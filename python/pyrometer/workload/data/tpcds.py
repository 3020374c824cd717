"""One table of TPC-DS, by DuckDB's generator, in a process of its own.

The generator makes all tables, takes a gigabyte at scale factor 1 and cannot be interrupted. A
process of its own can, and gives the memory back.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa

from pyrometer.errors import CapabilityError
from pyrometer.workload.data.parquet import write_file


def generate(table: str, order: tuple[str, ...], scale_factor: float, path: Path) -> None:
    """Write `table` to `path` as one Parquet file, sorted by `order`.

    Raises
    ------
    CapabilityError
        If the generator is missing or fails.
    """
    _extension()
    words = [table, ",".join(order), str(scale_factor), str(path)]
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
        # Ctrl-C: it would go on to its end, and nobody would want what it makes.
        child.kill()
        child.wait()
    if child.returncode != 0:
        reason = (said.strip().splitlines() or [f"exit code {child.returncode}"])[-1]
        raise CapabilityError(
            f"DuckDB's TPC-DS generator failed at scale factor {scale_factor:g}: {reason}",
            "it needs about 1.5 GB of memory for each unit of the scale factor",
        )


def _extension() -> Path:
    import duckdb_extension_tpcds

    root = Path(duckdb_extension_tpcds.__file__).parent / "extensions"
    path = root / f"v{duckdb.__version__}" / "tpcds.duckdb_extension"
    if not path.is_file():
        raise CapabilityError(
            f"{path} is missing: DuckDB is {duckdb.__version__}, "
            "its TPC-DS extension is of another version",
            f"pip install duckdb-extension-tpcds=={duckdb.__version__}",
        )
    return path


def _write(table: str, order: str, scale_factor: float, path: Path) -> None:
    with duckdb.connect(config={"threads": 1}) as connection:
        # By path: by name DuckDB would look for it on the network.
        connection.load_extension(str(_extension()))
        connection.execute(f"CALL dsdgen(sf = {scale_factor})")
        rows: pa.Table = connection.execute(
            f"SELECT * FROM {table} ORDER BY {order}"
        ).to_arrow_table()
    # Surrogate keys and counts are INTEGER in TPC-DS; only numbers of orders and tickets grow.
    wide = ("_order_number", "_ticket_number")
    fields = [
        f.with_type(pa.int32()) if f.type == pa.int64() and not f.name.endswith(wide) else f
        for f in rows.schema
    ]
    write_file(path, rows.cast(pa.schema(fields)), "zstd")


if __name__ == "__main__":
    try:
        _write(sys.argv[1], sys.argv[2], float(sys.argv[3]), Path(sys.argv[4]))
    except (duckdb.Error, pa.ArrowException, OSError, MemoryError) as error:
        # One line, the last that our parent reads.
        sys.exit(" ".join(str(error).split()) or type(error).__name__)
