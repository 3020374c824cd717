"""A table of random integers in few buckets, with the answer of its self join.

The columns are those of the published test: ``id`` counts, ``bucket``, ``val1`` and ``val2`` are
uniform below 200, 1 000 and 10. The expected sums follow from a table of counts, not of pairs: for
a row with ``val1 = v``, the partners are the rows of its bucket with ``val1 < 1000 - v``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyrometer.workloads.data.files import stream, write_file
from pyrometer.workloads.values import Progress

I64 = npt.NDArray[np.int64]

GENERATOR = "buckets/1"
BUCKETS = 200
VAL1_VALUES = 1_000
VAL2_VALUES = 10
FILES = 8
MAX_FILE_ROWS = 1_000_000


def recipe(rows: int) -> dict[str, Any]:
    """Say what determines the bytes of the dataset."""
    return {"generator": GENERATOR, "rows": rows, "pyarrow": pa.__version__}


def draw(first: int, rows: int) -> tuple[I64, I64, I64]:
    """Bucket, val1 and val2 of `rows` rows, beginning with the one of id `first`."""
    bucket, val1, val2 = (
        (stream(name, rows, first) % np.uint64(values)).astype(np.int64)
        for name, values in ((11, BUCKETS), (12, VAL1_VALUES), (13, VAL2_VALUES))
    )
    return bucket, val1, val2


def write_dataset(folder: Path, progress: Progress, rows: int) -> dict[str, Any]:
    """Write table ``t1``; the facts are the expected ``[bucket, tot]`` of each bucket in order."""
    (folder / "t1").mkdir()
    files = max(min(FILES, rows), -(-rows // MAX_FILE_ROWS))
    counts = np.zeros((BUCKETS, VAL1_VALUES), np.int64)
    sums = np.zeros_like(counts)
    for number in range(files):
        first, end = number * rows // files, (number + 1) * rows // files
        progress("writing t1 (rows)", first, rows)
        bucket, val1, val2 = draw(first, end - first)
        np.add.at(counts, (bucket, val1), 1)
        np.add.at(sums, (bucket, val1), val2)
        columns = {"id": np.arange(first, end), "bucket": bucket, "val1": val1, "val2": val2}
        write_file(folder / "t1" / f"part-{number:05d}.parquet", pa.table(columns), "snappy")
    progress("writing t1 (rows)", rows, rows)
    return {"rows": rows, "totals": expected(counts, sums)}


def expected(counts: I64, sums: I64) -> list[list[int]]:
    """Compute the join from rows and Σ val2 by (bucket, val1): ``[bucket, tot]`` where it has any.

    tot(b) = Σᵥ sums(b, v) · Σ_{w < 1000 − v} counts(b, w)
    """
    # Row v of the flipped running sum is the number of w ≤ 999 - v.
    partners = np.cumsum(counts, axis=1)[:, ::-1]
    totals = (sums * partners).sum(axis=1)
    pairs = (counts * partners).sum(axis=1)
    return [[int(b), int(totals[b])] for b in np.flatnonzero(pairs)]
