"""Steps whose cost is a matter of the heap."""

from __future__ import annotations

from functools import partial

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.faults.conditions.functions import register
from benchmarks.faults.conditions.sales import rounds, sales, shelf
from benchmarks.faults.seventh.work import SIZE, Step, Work


def arrays(work: Work, rows: int, every: int, effort: int) -> DataFrame:
    """Make a text of more than half a mebibyte of every so many sales, and follow a curve."""
    large = F.when(F.col("sale") % every == 0, F.expr("octet_length(repeat(code, 34000))"))
    return (
        sales(work, rows * SIZE)
        .groupBy("shop")
        .agg(F.sum(large).alias("bytes"), F.sum(rounds(F.col("cents"), effort)).alias("curve"))
    )


def texts(work: Work) -> DataFrame:
    """Make a text of a kilobyte and a half of each sale, and keep its end."""
    end = F.substring(F.repeat("code", 90), -18, 18)
    return sales(work, 8_000_000 * SIZE).groupBy("shop").agg(F.max(end).alias("last"))


def numbers(work: Work) -> DataFrame:
    """Follow a curve: no objects."""
    rows = sales(work, 2_000_000 * SIZE)
    return rows.groupBy("shop").agg(F.sum(rounds(F.col("cents"), 24)).alias("curve"))


def trend(work: Work, rows: int, kept: int) -> DataFrame:
    """Compare prices with those of some sales before, kept as objects or as numbers."""
    of = register(work, "TrendOfObjects" if work.on else "TrendOfNumbers")
    changes = work.spark.range(0, rows * SIZE, 1, 8).selectExpr(
        "id % 16 AS shop", f"{of}(id, {kept}) AS change"
    )
    return changes.groupBy("shop").agg(F.sum("change").alias("change"), F.max("change").alias("up"))


STEPS: dict[str, Step] = {
    "large-arrays": partial(arrays, rows=60_000, every=1, effort=1),
    "few-arrays": partial(arrays, rows=2_000_000, every=8_000, effort=24),
    "small-young": texts,
    "little-garbage": numbers,
    "object-per-row": partial(trend, rows=20_000_000, kept=50_000),
    "objects-in-room": partial(trend, rows=20_000_000, kept=50),
    "large-heap": partial(shelf, level=StorageLevel.MEMORY_AND_DISK_DESER, reads=2),
    "large-off-heap": partial(shelf, level=StorageLevel.OFF_HEAP, reads=2),
    "off-heap-unseen": partial(shelf, level=StorageLevel.OFF_HEAP, reads=1),
}
