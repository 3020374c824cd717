"""Workloads, each an iteration of some tenths of a second: what is measured while measured."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, udf

NAMES = ("scan", "small plans", "new plans", "shuffle", "python udf")
"""Names of the workloads."""

Iteration = Callable[[bool], None]
"""Runs one iteration; with ``True``, in Python workers that are sampled."""


def job(name: str, spark: SparkSession, data: Path | None, size: int = 1) -> Iteration:
    """Build a workload's iteration.

    Parameters
    ----------
    name : str
        One of `NAMES`.
    spark : SparkSession
        The session that runs it.
    data : Path or None
        For ``scan`` a folder of Parquet files; for ``small plans`` a suite's folder.
    size : int
        Rows of ``shuffle`` and ``python udf``, times those of an iteration of some tenths of a
        second; those of ``scan`` are in its data.
    """
    makers: dict[str, Callable[[], Iteration]] = {
        "scan": lambda: _scan(spark, data),
        "small plans": lambda: _plans(spark, data),
        "new plans": lambda: _new_plans(spark),
        "shuffle": lambda: _shuffle(spark, 400_000 * size),
        "python udf": lambda: _udf(spark, 60_000 * size),
    }
    return makers[name]()


def _scan(spark: SparkSession, data: Path | None) -> Iteration:
    spark.read.parquet(str(data)).createOrReplaceTempView("sales")
    sums = "SELECT sum(ws_quantity) AS n, max(ws_net_paid) FROM sales GROUP BY ws_item_sk"
    text = f"SELECT * FROM ({sums}) WHERE n < 0"
    return lambda sampled: _collect(spark, [text])


def _plans(spark: SparkSession, data: Path | None) -> Iteration:
    assert data is not None
    for table in data.iterdir():
        if table.is_dir() and not table.name.startswith("."):
            spark.read.parquet(str(table)).createOrReplaceTempView(table.name)
    suite = json.loads((data / "queries.json").read_text())
    # Every fourth: an iteration short enough for many switches.
    texts = [query["sql"] for _, query in sorted(suite.items())][::4]
    return lambda sampled: _collect(spark, texts)


def _new_plans(spark: SparkSession) -> Iteration:
    """Plans that were never seen: each is compiled, where those of other workloads are cached."""
    spark.range(0, 1000, 1, 2).createOrReplaceTempView("few")
    numbers = itertools.count(3)

    def run(sampled: bool) -> None:
        for _ in range(3):
            n = next(numbers)
            sums = f"SELECT id % {n} AS k, sum(id * {n} + 1) AS s, count(*) AS c FROM few"
            joined = f"SELECT * FROM ({sums} GROUP BY k) JOIN few ON k = id WHERE s > {n} AND c > 0"
            spark.sql(f"SELECT max(s + {n}), min(c) FROM ({joined})").collect()

    return run


def _shuffle(spark: SparkSession, count: int) -> Iteration:
    rows = spark.range(0, count, 1, 8).withColumn("key", col("id") * 2654435761 % 100_003)
    text = "SELECT max(n) FROM (SELECT key, count(*) AS n FROM rows_by_key GROUP BY key)"
    rows.repartition(8, "key").sortWithinPartitions("key", "id").createOrReplaceTempView(
        "rows_by_key"
    )
    return lambda sampled: _collect(spark, [text])


def _udf(spark: SparkSession, count: int) -> Iteration:
    def mixed(number: int) -> int:
        for _ in range(10):
            number = number * 31 + 7 & 0xFFFFFFFF
        return number

    context = spark.sparkContext
    asked = context.environment
    # A function takes its workers' environment when it is first used; one for each state.
    functions = {True: udf(mixed, "long"), False: udf(mixed, "long")}

    def run(sampled: bool) -> None:
        if sampled:
            asked.pop("PYROMETER_PYTHON_DIR", None)
        else:
            asked["PYROMETER_PYTHON_DIR"] = ""
        rows = spark.range(0, count, 1, 4)
        rows.select(functions[sampled](col("id")).alias("n")).agg({"n": "max"}).collect()

    return run


def _collect(spark: SparkSession, texts: list[str]) -> None:
    for text in texts:
        spark.sql(text).collect()
