"""TPC-DS ``web_sales`` of any size: DuckDB's generator makes a base, copies of it fill the table.

A copy has its order numbers shifted, so keys stay unique; its items, customers and addresses are
rotated within their tables; and each line takes its quantity and prices, which belong together,
from a line of the base drawn at random. So a copy holds no run of values that another copy holds:
plain repetition would compress three times better than real data, and be another workload. The
lines of an order stay together, and a file is sorted by date, which is what a table partitioned
by date looks like from inside.

Partitions are spans of the sale's date, as fine (year, quarter, month) as files of 64-128 MB
permit: a partition for each of the 1824 days would make thousands of tiny files below the
published size. Rows without a date form a partition of their own, as Hive writes it.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from pyrometer.workloads.data import tpcds
from pyrometer.workloads.data.files import splitmix64, write_file
from pyrometer.workloads.values import Prepared, Progress

I64 = npt.NDArray[np.int64]

GENERATOR = "web_sales/3"
TABLE = "web_sales"
PARTITION = "sold_period"
NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
FILE_ROWS = 2_000_000
"""Most rows in a file: about 110 MB at 55 bytes a row."""
MOST_WRITERS = 4
"""Files written at once: each takes some 500 MB of memory."""
ROTATED = tuple(
    f"ws_{name}_sk"
    for name in (
        "item",
        *(
            f"{who}_{what}"
            for who in ("bill", "ship")
            for what in ("customer", "cdemo", "hdemo", "addr")
        ),
    )
)
"""Keys of other tables, which each copy moves round by its own step; null stays null."""
FIRST_PRICE = "ws_quantity"
"""From this column on a row describes what was paid."""
_PRICE = pa.decimal32(7, 2)
_STEP = 104_729
_JULIAN_DAY_OF_1970 = 2_440_588
# Rows of a table from which its smallest whole partition fills a file, too: sales of a year start
# low, the first quarter has a seventh of them.
_FINER_FROM = {"quarter": 40_000_000, "month": 140_000_000}


@dataclass(frozen=True)
class FilePlan:
    """One file to write: its path, its period, and the copies of the base it holds."""

    path: str
    period: str
    copies: range


def base_recipe(scale_factor: float) -> dict[str, Any]:
    """Say what determines the bytes of the base table."""
    return {
        "generator": "web_sales-base/2",
        "scale_factor": scale_factor,
        "duckdb": duckdb.__version__,
        "pyarrow": pa.__version__,
    }


def scale_factor_of(size: int) -> float:
    """TPC-DS scale factor of the base for a table of `size` rows."""
    return 1.0 if size >= 1_000_000 else 0.1


def write_base(folder: Path, progress: Progress, scale_factor: float) -> dict[str, Any]:
    """Generate the base table into ``folder/base.parquet``, in order of its key."""
    progress(f"generating TPC-DS scale factor {scale_factor:g}", 0, 0)
    path = folder / "base.parquet"
    tpcds.generate("web_sales", ("ws_order_number", "ws_item_sk"), scale_factor, path)
    return {"rows": pq.read_metadata(path).num_rows}


def recipe(size: int, codec: str, group_rows: int | None = None) -> dict[str, Any]:
    """Say what determines the bytes of the table."""
    return {
        **({"group_rows": group_rows} if group_rows else {}),
        "generator": GENERATOR,
        "base": base_recipe(scale_factor_of(size)),
        "rows": size,
        "codec": codec,
    }


def granularity_of(size: int) -> str:
    """Span of a partition in a table of `size` rows: ``year``, ``quarter`` or ``month``."""
    if size >= _FINER_FROM["month"]:
        return "month"
    return "quarter" if size >= _FINER_FROM["quarter"] else "year"


def write_table(
    folder: Path,
    progress: Progress,
    base: Prepared,
    size: int,
    codec: str,
    group_rows: int | None = None,
) -> dict[str, Any]:
    """Write the table into ``folder/web_sales``, several files at once; returns facts."""
    source = _Base(pq.read_table(Path(base.root) / "base.parquet"), size)
    plans = source.plan()
    done = 0

    def write(plan: FilePlan) -> int:
        path = folder / TABLE / plan.path
        path.parent.mkdir(parents=True, exist_ok=True)
        return write_file(path, source.rows_of(plan), codec, group_rows)

    with ThreadPoolExecutor(min(len(os.sched_getaffinity(0)), MOST_WRITERS)) as pool:
        futures = [pool.submit(write, plan) for plan in plans]
        try:
            progress("writing web_sales (rows)", 0, size)
            for future in as_completed(futures):
                done += future.result()
                progress("writing web_sales (rows)", done, size)
        except BaseException:
            # Ctrl-C or a full disk: no thread may write on into a folder that is removed.
            pool.shutdown(cancel_futures=True)
            raise
    return {"rows": done, "columns": source.table.num_columns, "partitioned_by": source.granularity}


class _Base:
    """The base table cut into periods, and how copies of it make up `size` rows."""

    def __init__(self, table: pa.Table, size: int) -> None:
        # Four bytes a price instead of sixteen: a file's rows are built in memory.
        narrow = [f.with_type(_PRICE) if pa.types.is_decimal(f.type) else f for f in table.schema]
        self.table = table.combine_chunks().cast(pa.schema(narrow))
        names = table.column_names
        split = names.index(FIRST_PRICE)
        self._keys = self.table.select(names[:split])
        self._prices = self.table.select(names[split:])
        self._rotated: dict[str, I64] = {
            name: table[name].cast(pa.int64()).fill_null(0).to_numpy() for name in ROTATED
        }
        self.granularity = granularity_of(size)
        self._order: I64 = table["ws_order_number"].to_numpy()
        dates: I64 = table["ws_sold_date_sk"].cast(pa.int64()).fill_null(0).to_numpy()
        self._date = dates
        self._shift = int(self._order.max())
        self._copies, rest = divmod(size, table.num_rows)
        # The last copy holds the first `rest` rows of the base only.
        self._last_rows = rest
        self._copies += bool(rest)
        labels = _periods(dates, self.granularity)
        self._rows_of = {str(label): np.flatnonzero(labels == label) for label in np.unique(labels)}

    def plan(self) -> list[FilePlan]:
        """Files in a fixed order; each holds whole copies of its period."""
        plans = []
        for period, rows in self._rows_of.items():
            full = self._copies - bool(self._last_rows)
            total = len(rows) * full + int(np.searchsorted(rows, self._last_rows))
            count = min(-(-total // FILE_ROWS), self._copies)
            for number in range(count):
                copies = range(number * self._copies // count, (number + 1) * self._copies // count)
                path = f"{PARTITION}={period}/part-{number:05d}.parquet"
                plans.append(FilePlan(path, period, copies))
        return plans

    def rows_of(self, plan: FilePlan) -> pa.Table:
        """Rows of one file, orders by date, those of a day in an order that the copy decides."""
        index, copy = self._sequence(plan)
        keys = self._keys.take(pa.array(index))
        columns = dict(zip(keys.column_names, keys.columns, strict=True))
        columns["ws_order_number"] = pa.array(self._order[index] + copy * self._shift)
        for name, base in self._rotated.items():
            value = base[index]
            moved = (value - 1 + copy * _STEP) % int(base.max()) + 1
            columns[name] = pa.array(moved.astype(np.int32), mask=value == 0)
        drawn = splitmix64(splitmix64(copy.astype(np.uint64)) ^ index.astype(np.uint64))
        prices = self._prices.take(pa.array(drawn % np.uint64(self.table.num_rows)))
        columns |= dict(zip(prices.column_names, prices.columns, strict=True))
        return pa.table(columns, schema=self.table.schema)

    def _sequence(self, plan: FilePlan) -> tuple[I64, I64]:
        rows = self._rows_of[plan.period]
        starts, lengths, copies = [], [], []
        for copy in plan.copies:
            last = copy == self._copies - 1 and self._last_rows
            kept = rows[: np.searchsorted(rows, self._last_rows)] if last else rows
            first = _run_starts(self._order[kept], self._date[kept])
            starts.append(first)
            lengths.append(np.diff(first, append=len(kept)))
            copies.append(np.full(len(first), copy))
        start, length, copy_of = (np.concatenate(part) for part in (starts, lengths, copies))
        mixed = splitmix64(
            self._order[rows[start]].astype(np.uint64)
            ^ (copy_of.astype(np.uint64) << np.uint64(40))
        )
        sequence = np.lexsort((mixed, self._date[rows[start]]))
        start, length, copy_of = start[sequence], length[sequence], copy_of[sequence]
        before = np.cumsum(length) - length
        within = np.arange(int(length.sum())) - np.repeat(before, length)
        return rows[np.repeat(start, length) + within], np.repeat(copy_of, length)


def _run_starts(order: I64, date: I64) -> I64:
    if not len(order):
        return np.empty(0, dtype=np.int64)
    change = (np.diff(order) != 0) | (np.diff(date) != 0)
    return np.concatenate(([0], np.flatnonzero(change) + 1))


def _periods(dates: I64, granularity: str) -> npt.NDArray[np.str_]:
    days = (dates - _JULIAN_DAY_OF_1970).astype("datetime64[D]")
    months = days.astype("datetime64[M]")
    names = months.astype(str)
    if granularity == "year":
        names = days.astype("datetime64[Y]").astype(str)
    elif granularity == "quarter":
        quarter = (months.astype(np.int64) % 12) // 3 + 1
        years = days.astype("datetime64[Y]").astype(str)
        names = np.char.add(np.char.add(years, "-Q"), quarter.astype(str))
    return np.where(dates == 0, NULL_PARTITION, names)
