"""How Parquet files are written: as Spark would, and the same bytes every time."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

CODECS = {"snappy": None, "none": None, "zstd": 3, "gzip": 6, "lz4": None}
"""Compression level of each codec: the defaults of Spark's own writer."""


SMALL_GROUP_ROWS = 20_000
"""Rows of a small row group: about 1 MB, a hundredth of what Spark writes."""


def write_file(path: Path, table: pa.Table, codec: str, group_rows: int | None = None) -> int:
    """Write one file of one row group, or of several of `group_rows`; returns its rows.

    Decimals of up to 18 digits are stored as integers, dictionary and data pages are limited to
    1 MiB as by Spark's writer, and no Arrow schema is embedded. ``lz4`` is Parquet's LZ4_RAW.
    """
    pq.write_table(
        table,
        path,
        row_group_size=group_rows or max(1, table.num_rows),
        compression=codec,
        compression_level=CODECS[codec],
        store_decimal_as_integer=True,
        store_schema=False,
        data_page_size=1 << 20,
        dictionary_pagesize_limit=1 << 20,
        version="2.6",
    )
    return int(table.num_rows)
