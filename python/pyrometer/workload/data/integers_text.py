"""Random 64-bit integers as text: lines of ten, separated by commas.

Nothing larger than a chunk is held in memory, so the published 3·10⁹ integers (57 GB) can be
written anywhere they fit on the disk. The smallest ten, compared as text, are kept on the way.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyrometer.workload.contract import Progress
from pyrometer.workload.data.random64 import stream

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
