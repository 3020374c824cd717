"""A day of events and the luminosity blocks of that day, with the answer of their join.

Events are spread over the day, in the order of time, as a log is. Intervals do not overlap and
leave gaps of up to a tenth of their length, so some events belong to none; one event in a
thousand lies exactly on a bound, where ``between`` must include it. The expected result follows
from the integers drawn here, without any engine.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyrometer.workloads.data.files import stream, write_file
from pyrometer.workloads.values import Progress

I64 = npt.NDArray[np.int64]

GENERATOR = "intervals/1"
DAY_START_US = 1_682_899_200_000_000
"""2023-05-01T00:00:00Z in microseconds of Unix time."""
DAY_US = 86_400_000_000
FILES = 32
MAX_FILE_ROWS = 250_000
ELEMENTS = 5_000
BOUND_EVERY = 1_009
DECIMAL = pa.decimal128(18, 6)
"""Seconds of Unix time with microseconds."""


def recipe(events: int, intervals: int) -> dict[str, Any]:
    """Say what determines the bytes of the dataset."""
    return {
        "generator": GENERATOR,
        "events": events,
        "intervals": intervals,
        "pyarrow": pa.__version__,
    }


def write_dataset(folder: Path, progress: Progress, events: int, intervals: int) -> dict[str, Any]:
    """Write ``eventhistory``, ``luminosity_decimal`` and ``luminosity_timestamp``."""
    progress("drawing events", 0, 0)
    start, end = draw_intervals(intervals)
    ts, element, quarter = draw_events(events, start, end)
    for kind in ("decimal", "timestamp"):
        table = _luminosity(start, end, kind)
        (folder / f"luminosity_{kind}").mkdir()
        path = folder / f"luminosity_{kind}" / "part-00000.parquet"
        write_file(path, table, "snappy")
    _write_events(folder / "eventhistory", progress, ts, element, quarter)
    return {"events": events, "intervals": intervals} | expected(ts, element, quarter, start, end)


def draw_intervals(count: int) -> tuple[I64, I64]:
    """First and last microsecond of each interval, ascending, both inclusive."""
    width = DAY_US // count
    slot = DAY_START_US + width * np.arange(count, dtype=np.int64)
    margin = np.uint64(width // 20)
    late = (stream(1, count) % margin).astype(np.int64)
    early = (stream(2, count) % margin).astype(np.int64)
    return slot + late, slot + width - 1 - early


def draw_events(count: int, start: I64, end: I64) -> tuple[I64, I64, I64]:
    """Time in microseconds (ascending), element and value in quarters of each event."""
    ts = DAY_START_US + (stream(3, count) % np.uint64(DAY_US)).astype(np.int64)
    bounds = np.concatenate((start, end))
    place = slice(None, None, BOUND_EVERY)
    chosen = (stream(4, count)[place] % np.uint64(len(bounds))).astype(np.int64)
    ts[place] = bounds[chosen]
    ts.sort()
    element = 1 + (stream(5, count) % np.uint64(ELEMENTS)).astype(np.int64)
    quarter = (stream(6, count) % np.uint64(4_000)).astype(np.int64)
    return ts, element, quarter


def expected(ts: I64, element: I64, quarter: I64, start: I64, end: I64) -> dict[str, Any]:
    """Compute the join: matches, Σ lumi_number × element_id, Σ value_number."""
    found = np.searchsorted(start, ts, side="right") - 1
    match = (found >= 0) & (ts <= end[found])
    lumi = found[match] + 1
    return {
        "matches": int(match.sum()),
        "pairing": int((lumi * element[match]).sum()),
        # Quarters add up exactly, in any order: the sum stays far below 2^53.
        "value": int(quarter[match].sum()) / 4,
    }


def _luminosity(start: I64, end: I64, kind: str) -> pa.Table:
    def column(us: I64) -> pa.Array:
        if kind == "timestamp":
            return pa.array(us, pa.timestamp("us", tz="UTC"))
        return pa.array([Decimal(int(value)).scaleb(-6) for value in us], DECIMAL)

    numbers = pa.array(np.arange(1, len(start) + 1, dtype=np.int32))
    return pa.table({"lumi_number": numbers, "starttime": column(start), "endtime": column(end)})


def _write_events(folder: Path, progress: Progress, ts: I64, element: I64, quarter: I64) -> None:
    folder.mkdir()
    rows = len(ts)
    files = max(min(FILES, rows), -(-rows // MAX_FILE_ROWS))
    for number in range(files):
        progress("writing eventhistory (rows)", number * rows // files, rows)
        piece = slice(number * rows // files, (number + 1) * rows // files)
        table = pa.table(
            {
                "ts": pa.array(ts[piece], pa.timestamp("us", tz="UTC")),
                "element_id": pa.array(element[piece].astype(np.int32)),
                "value_number": pa.array(quarter[piece] / 4),
            }
        )
        path = folder / f"part-{number:05d}.parquet"
        write_file(path, table, "snappy")
    progress("writing eventhistory (rows)", rows, rows)
