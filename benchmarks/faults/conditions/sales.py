"""Sales of some shops, made as they are read, and what several steps do with them."""

from __future__ import annotations

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from benchmarks.faults.seventh.work import SIZE, Work, curve

SHELVED = 3_000_000 * SIZE
rounds = curve(40_000.0)


def sales(work: Work, count: int, first: int = 0, tasks: int = 8) -> DataFrame:
    """Make so many sales, in as many tasks as said."""
    return work.spark.range(first, first + count, 1, tasks).select(
        F.col("id").alias("sale"),
        F.pmod(F.xxhash64("id"), F.lit(16)).alias("shop"),
        F.pmod(F.xxhash64("id", F.lit(7)), F.lit(9973)).alias("cents"),
        F.lpad(F.hex(F.xxhash64("id", F.lit(3))), 16, "0").alias("code"),
    )


def text(parts: int) -> Column:
    """Make a text of so many times sixteen letters, that nothing compresses much."""
    hashes = [F.lpad(F.hex(F.xxhash64("sale", F.lit(n))), 16, "0") for n in range(parts)]
    return F.concat(*hashes)


def shelf(work: Work, level: StorageLevel, reads: int) -> DataFrame:
    """Keep 300 MB of texts, and read all of them some times."""
    kept = sales(work, SHELVED).select("shop", text(6).alias("text")).persist(level)
    frame = kept.groupBy("shop").agg(F.count("*").alias("n"), F.max("text").alias("last"))
    for _ in range(reads):
        frame.collect()
    return frame
