"""Steps whose cost is a matter of the compiler."""

from __future__ import annotations

from functools import partial, reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.faults.conditions.functions import register
from benchmarks.faults.conditions.sales import sales
from benchmarks.faults.seventh.work import SIZE, Step, Work

REPORTS, FIGURES = 20, 12


def reports(work: Work) -> DataFrame:
    """Make twenty reports with figures of their own: code that is not used again."""
    some = [_report(work, number) for number in range(REPORTS)]
    return reduce(DataFrame.unionByName, some).coalesce(2)


def _report(work: Work, number: int) -> DataFrame:
    rows = sales(work, 60_000 * SIZE, first=number * 60_000 * SIZE, tasks=4)
    figures = [
        F.sum(F.expr(f"pmod(sale * {number + 3} + cents * {n}, {1009 + n * number})")
              .bitwiseXOR(F.shiftright("sale", n))).alias(f"figure_{n}")
        for n in range(FIGURES)
    ]  # fmt: skip
    return rows.groupBy("shop").agg(*figures).withColumn("report", F.lit(number))


def fares(work: Work, rows: int) -> DataFrame:
    """Look up fares, of which every second is beyond the end of the table."""
    of = register(work, "FareByException" if work.on else "FareByCheck")
    priced = work.spark.range(0, rows * SIZE, 1, 8).selectExpr(
        "id % 16 AS shop", f"{of}(id) AS fare"
    )
    return priced.groupBy("shop").agg(F.sum("fare").alias("fare"))


STEPS: dict[str, Step] = {
    "compiled-beside": reports,
    "compiled-aside": reports,
    "thrown": partial(fares, rows=400_000),
    "thrown-ready-made": partial(fares, rows=20_000_000),
}
