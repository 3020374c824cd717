"""The tables of TPC-H, by tpchgen-cli, as Parquet files in the form that Spark writes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pyrometer.core.errors import CapabilityError
from pyrometer.core.installation import pip
from pyrometer.workloads.data.files import write_file
from pyrometer.workloads.values import Progress

GENERATOR = "tpch/1"
TABLES = (
    "customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier",
)  # fmt: skip
FILE_ROWS = 750_000
"""Rows of a file, which is one row group: 8 files of lineitem for each unit of the scale factor."""
FEWEST_FILES = 4
"""Files of a table of more than a handful of rows: two cores have two tasks each."""


def recipe(
    size: int, codec: str, tables: Sequence[str] = TABLES, group_rows: int | None = None
) -> dict[str, Any]:
    """Say what determines the bytes: `size` is in thousandths of the scale factor."""
    return {
        **({"group_rows": group_rows} if group_rows else {}),
        "generator": GENERATOR,
        "tpchgen-cli": _version(),
        "pyarrow": pa.__version__,
        "size": size,
        "codec": codec,
        "tables": sorted(tables),
    }


def _version() -> str:
    try:
        return metadata.version("tpchgen-cli")
    except metadata.PackageNotFoundError as error:
        raise _missing() from error


def _missing() -> CapabilityError:
    return CapabilityError("tpchgen-cli is not installed", f"{pip()} install tpchgen-cli")


def write_tables(
    folder: Path,
    progress: Progress,
    size: int,
    codec: str,
    tables: Sequence[str] = TABLES,
    group_rows: int | None = None,
) -> dict[str, Any]:
    """Write a folder of Parquet files for each of `tables`; returns the rows of each.

    Raises
    ------
    CapabilityError
        If the generator is missing or fails.
    """
    generated = folder / ".generated"
    generated.mkdir()
    progress(f"generating TPC-H scale factor {size / 1000:g}", 0, 0)
    _generate(generated, tables, size)
    rows = {}
    for done, table in enumerate(sorted(tables)):
        progress("writing TPC-H (tables)", done, len(tables))
        source = generated / f"{table}.parquet"
        rows[table] = split_table(source, folder / table, codec, group_rows)
        source.unlink()
    progress("writing TPC-H (tables)", len(tables), len(tables))
    shutil.rmtree(generated)
    return {"rows": rows}


def split_table(source: Path, folder: Path, codec: str, group_rows: int | None = None) -> int:
    """Rewrite a Parquet file as a folder of files, each of one row group by default."""
    folder.mkdir()
    file = pq.ParquetFile(source)
    total = file.metadata.num_rows
    wanted = -(-total // FEWEST_FILES) if total > 1_000 else max(1, total)
    batches = file.iter_batches(batch_size=min(FILE_ROWS, wanted))
    for number, batch in enumerate(batches):
        table = _plain(pa.Table.from_batches([batch]))
        write_file(folder / f"part-{number:05d}.parquet", table, codec, group_rows)
    return int(total)


def _plain(table: pa.Table) -> pa.Table:
    """Convert string views to ordinary strings: not every version can write views."""
    fields = [f.with_type(pa.string()) if f.type == pa.string_view() else f for f in table.schema]
    return table.cast(pa.schema(fields))


def _generate(folder: Path, tables: Sequence[str], size: int) -> None:
    installed = Path(sys.executable).with_name("tpchgen-cli")
    program = str(installed) if installed.is_file() else shutil.which("tpchgen-cli")
    if program is None:
        raise _missing()
    child = subprocess.Popen(
        [
            program,
            "parquet",
            "-s",
            f"{size / 1000:g}",
            "--tables",
            ",".join(tables),
            "--output-dir",
            folder,
        ],
        env={**os.environ, "RUST_LOG": "error"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        _, said = child.communicate()
    finally:
        child.kill()  # Ctrl-C: the generator would run on for nothing
        child.wait()
    if child.returncode != 0:
        reason = (said.strip().splitlines() or [f"exit code {child.returncode}"])[-1]
        raise CapabilityError(f"tpchgen-cli failed at scale factor {size / 1000:g}: {reason}")
