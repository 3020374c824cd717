"""A job of one process: its slots, its disks, its store, and the program beside it."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.faults.seventh.work import Work


def report(work: Work) -> DataFrame:
    """Count numbers by their last digits, so that code is loaded and warm."""
    numbers = work.spark.range(0, 400_000, 1, 4).select(
        F.pmod(F.xxhash64("id"), F.lit(97)).alias("k")
    )
    return numbers.groupBy("k").agg(F.count("*").alias("n"))
