"""How Parquet files are written: as Spark would, and the same bytes every time.

Text files of whole numbers, a line for each row.

Pseudo-random numbers that depend on nothing but their key: no library, machine or order.

Random 64-bit integers as text: lines of ten, separated by commas.

Nothing larger than a chunk is held in memory, so the published 3·10⁹ integers (57 GB) can be
written anywhere they fit on the disk. The smallest ten, compared as text, are kept on the way.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

from pyrometer.workloads.values import Progress

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


_OPTIONS = csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none")


def write_lines(
    folder: Path, progress: Progress, what: str, blocks: Iterable[list[pa.Array]], count: int
) -> None:
    """Write a file for each block, its columns separated by spaces, as GraphX's loader reads."""
    folder.mkdir()
    done = 0
    for number, columns in enumerate(blocks):
        progress(f"writing {what}", done, count)
        table = pa.table(columns, names=[str(i) for i in range(len(columns))])
        csv.write_csv(table, folder / f"part-{number:05}.txt", _OPTIONS)
        done += table.num_rows
    progress(f"writing {what}", count, count)


U64 = npt.NDArray[np.uint64]


def splitmix64(keys: U64) -> U64:
    """Mix each key into 64 uniform bits (the finaliser of SplitMix64)."""
    z = keys + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def stream(name: int, count: int, first: int = 0) -> U64:
    """Draw `count` 64-bit numbers of the stream `name`, beginning with number `first` of it.

    Streams are independent of one another, and what is drawn in pieces is what is drawn at once.
    """
    start = splitmix64(np.array([name], dtype=np.uint64))
    return splitmix64(
        np.add(start, np.arange(first, first + count, dtype=np.uint64), dtype=np.uint64)
    )


GENERATOR = "integers-text/1"
FILE = "dataset.txt"
PER_LINE = 10
CHUNK = 1_000_000
KEPT = 10


def recipe(count: int) -> dict[str, Any]:
    """Say what determines the bytes: the form of an integer as text does not change."""
    return {"generator": GENERATOR, "integers": count}


def write_dataset(folder: Path, progress: Progress, count: int) -> dict[str, Any]:
    """Write ``dataset.txt``; the facts hold the ten smallest words in order."""
    smallest = pa.array([], pa.string())
    with (folder / FILE).open("wb") as out:
        for first in range(0, count, CHUNK):
            progress("writing integers", first, count)
            drawn = stream(21, min(CHUNK, count - first), first).view(np.int64)
            words = pa.array(drawn).cast(pa.string())
            _write_lines(out, words)
            seen = pa.concat_arrays([smallest, words])
            kept = pc.select_k_unstable(seen, KEPT, [("", "ascending")])
            smallest = seen.take(kept)
    progress("writing integers", count, count)
    return {"integers": count, "smallest": sorted(smallest.to_pylist())}


def _write_lines(out: BinaryIO, words: pa.Array) -> None:
    starts = range(0, len(words), PER_LINE)
    offsets = pa.array([*starts, len(words)], pa.int32())
    lines = pc.binary_join(pa.ListArray.from_arrays(offsets, words), ",")
    for line in lines.to_pylist():
        out.write(line.encode() + b"\n")
