"""Text files of whole numbers, a line for each row."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
from pyarrow import csv

from pyrometer.workload.contract import Progress

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
