"""Tasks that compute for a given time, whatever they run on."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.faults.seventh.work import curve

ROUNDS = 24
PER_SECOND = 330_000
"""Rows that a CPU takes through `ROUNDS` in a second."""
KEPT = 40_000
"""One row in so many is a result."""


def marked(rounds: int = ROUNDS) -> Column:
    """Give what a row comes to, after so many rounds."""
    return F.pmod(F.xxhash64(curve(7.0)(F.pmod("id", F.lit(97)) / 3, rounds), "id"), F.lit(KEPT))


def even(spark: SparkSession, seconds: float, tasks: int) -> DataFrame:
    """Compute for so many seconds in so many equal tasks; few rows come out, always the same."""
    rows = spark.range(0, round(seconds * PER_SECOND), 1, tasks)
    return rows.where(marked() == 7)


def uneven(spark: SparkSession, seconds: Sequence[float]) -> DataFrame:
    """Compute in one task for each number, for so many seconds; few rows come out."""
    most = round(max(seconds) * PER_SECOND)
    own = F.array(*(F.lit(round(one * PER_SECOND)) for one in seconds))
    rows = spark.range(0, most * len(seconds), 1, len(seconds))
    mine = F.pmod("id", F.lit(most)) < F.element_at(own, F.expr(f"CAST(id DIV {most} AS INT) + 1"))
    return rows.where(mine & (marked() == 7))
