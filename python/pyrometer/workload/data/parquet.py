"""How Parquet files are written: as Spark would, and the same bytes every time."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

CODECS = {"snappy": None, "none": None, "zstd": 3, "gzip": 6, "lz4": None}
"""Compression level of each codec: the defaults of Spark's own writer."""


def write_file(path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch], codec: str) -> int:
    """Write one file of one row group; returns its rows.

    Decimals of up to 18 digits are stored as integers, dictionary and data pages are limited to
    1 MiB as by Spark's writer, and no Arrow schema is embedded. ``lz4`` is Parquet's LZ4_RAW.
    Rows are encoded as they come, so memory holds the compressed row group and one batch.
    """
    rows = 0
    with pq.ParquetWriter(
        path,
        schema,
        compression=codec,
        compression_level=CODECS[codec],
        store_decimal_as_integer=True,
        store_schema=False,
        data_page_size=1 << 20,
        dictionary_pagesize_limit=1 << 20,
        version="2.6",
    ) as writer:
        for batch in batches:
            writer.write_batch(batch, row_group_size=2**31 - 1)
            rows += batch.num_rows
    return rows
