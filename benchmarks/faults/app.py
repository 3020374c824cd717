"""The application of planted faults: one cause, on or off, on one of several shapes of data.

``spark-submit app.py CASE SHAPE on|off FOLDER``. With the cause off it computes the same result by
the same plan but for the cause. Data is generated once into the folder, before the first query.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

ROWS = {"orders": 3_000_000, "events": 1_500_000, "readings": 2_000_000}
"""Shapes of data, and their rows: narrow and numeric; wide and of text; few keys."""

CASES: dict[str, Callable[[SparkSession, DataFrame, bool], Any]] = {}


def case(function: Callable[[SparkSession, DataFrame, bool], Any]) -> Any:
    """Enter a case under the name of its function."""
    CASES[function.__name__.replace("_", "-")] = function
    return function


def data(spark: SparkSession, shape: str, folder: Path) -> DataFrame:
    """Read the data of a shape, which is generated where it is missing."""
    path = folder / shape
    if not (path / "_SUCCESS").exists():
        rows = ROWS[shape]
        table = spark.range(0, rows, 1, 8).withColumn("h", F.xxhash64("id"))
        columns = {
            "orders": ["id", "pmod(h, 1000) AS k", "pmod(h, 9973) / 7.0 AS v"],
            "events": [
                "id", "pmod(h, 500) AS k", "pmod(h, 9973) / 7.0 AS v",
                "concat('2026-', lpad(1 + pmod(h, 12), 2, '0'), '-', lpad(1 + pmod(h, 28), 2, '0'))"
                " AS day",
                "concat('{\"a\": ', pmod(h, 100), ', \"b\": \"', hex(h), '\"}') AS body",
            ],
            "readings": ["id", "pmod(h, 12) AS k", "pmod(h, 9973) / 7.0 AS v", "hex(h) AS tag"],
        }  # fmt: skip
        table.selectExpr(*columns[shape]).write.mode("overwrite").parquet(str(path))
    return spark.read.parquet(str(path))


def run(frame: DataFrame) -> None:
    """Compute all of a frame, and write none of it."""
    frame.write.format("noop").mode("overwrite").save()


def heavy(column: str = "v", rounds: int = 6) -> Any:
    """Make an expression that costs some CPU a row."""
    found = F.col(column)
    for _ in range(rounds):
        found = F.log(F.abs(F.sin(found)) + F.lit(1.5)) + F.sqrt(F.abs(found))
    return found


@case
def one_task(spark: SparkSession, table: DataFrame, on: bool) -> None:
    """All work in one task."""
    run((table.repartition(1) if on else table.repartition(4)).select(F.sum(heavy())))


@case
def many_tasks(spark: SparkSession, table: DataFrame, on: bool) -> None:
    """Thousands of tasks for work that a few could do."""
    run(table.repartition(3000 if on else 8).select(heavy(rounds=1).alias("x")))


@case
def skewed_key(spark: SparkSession, table: DataFrame, on: bool) -> None:
    """One key has most of the rows of an operation that needs a key's rows together."""
    key = F.when(F.col("id") % 10 < 8, F.lit(0)).otherwise(F.col("id") % 997)
    keyed = table.withColumn("g", key if on else F.col("id") % 997)
    run(keyed.repartition(8, "g").select("g", heavy(rounds=12).alias("x")))


@case
def range_join(spark: SparkSession, table: DataFrame, on: bool) -> None:
    """A join by range without anything to hash by."""
    few = table.where("id % 200 = 0").select("id", "v")
    spans = spark.range(0, 1500).selectExpr("id * 1.0 AS a", "id * 1.0 + 1.0 AS b", "id AS span")
    if on:
        joined = few.join(F.broadcast(spans), (few.v >= spans.a) & (few.v < spans.b))
    else:
        joined = few.join(F.broadcast(spans), F.floor(few.v) == spans.span)
    run(joined.select("span", "v"))


@case
def costly_pattern(spark: SparkSession, table: DataFrame, on: bool) -> None:
    """A regular expression that backtracks, where a prefix would do."""
    text = F.concat(F.lit("x"), F.hex("id"), F.lit("-aaaaaaaaaaaaaaaa"))
    kept = text.rlike("^(x|X)([0-9A-F]+)*-(a|aa)+a{2}$") if on else text.startswith("x")
    run(table.where(kept).select("id"))


@case
def python_function(spark: SparkSession, table: DataFrame, on: bool) -> None:
    """A Python function row by row, where Spark has the same."""
    from pyspark.sql.types import DoubleType

    double = F.udf(lambda v: v * 2.0 + 1.0, DoubleType(), useArrow=False)
    few = table.where("id % 2 = 0")
    run(few.select(double("v") if on else F.col("v") * 2.0 + 1.0))


@case
def computed_again(spark: SparkSession, table: DataFrame, on: bool) -> None:
    """The same costly result is computed for each of four queries."""
    costly = table.select("k", heavy(rounds=10).alias("x")).groupBy("k").agg(F.sum("x").alias("s"))
    if not on:
        costly = costly.cache()
    for limit in range(4):
        run(costly.where(F.col("s") > limit))


@case
def tiny_jobs(spark: SparkSession, table: DataFrame, on: bool) -> None:
    """A job for each key, where one does all."""
    few = table.where("id % 20 = 0").cache()
    few.count()
    if on:
        for key in range(60):
            few.where(F.col("k") == key % 12).agg(F.sum("v")).collect()
    else:
        few.groupBy("k").agg(F.sum("v")).collect()


@case
def idle_driver(spark: SparkSession, table: DataFrame, on: bool) -> None:
    """The program works between its queries, and nothing runs meanwhile."""
    for _ in range(3):
        run(table.select(heavy(rounds=4)))
        if on:
            until = time.monotonic() + 2.5
            while time.monotonic() < until:
                sum(n * n for n in range(10_000))


@case
def collected(spark: SparkSession, table: DataFrame, on: bool) -> None:
    """Rows go to the driver, which only counts them."""
    rows = table.where("id % 4 = 0")
    if on:
        len(rows.collect())
    else:
        rows.count()


@case
def schema_inferred(spark: SparkSession, table: DataFrame, on: bool) -> None:
    """Text is read once for its types, and again for its rows."""
    path = f"{sys.argv[4]}/{sys.argv[2]}-csv"
    if not Path(path, "_SUCCESS").exists():
        table.select("id", "k", "v").write.mode("overwrite").option("header", True).csv(path)
    reader = spark.read.option("header", True)
    read = reader.option("inferSchema", True) if on else reader.schema("id LONG, k LONG, v DOUBLE")
    run(read.csv(path).where("k = 3"))


@case
def small_files(spark: SparkSession, table: DataFrame, on: bool) -> None:
    """The same rows in a thousand files, or in eight."""
    files = 1500 if on else 8
    path = f"{sys.argv[4]}/{sys.argv[2]}-files-{files}"
    if not Path(path, "_SUCCESS").exists():
        table.where("id % 4 = 0").repartition(files).write.mode("overwrite").parquet(path)
    run(spark.read.parquet(path).select(heavy(rounds=1)))


@case
def spilling(spark: SparkSession, table: DataFrame, on: bool) -> None:
    """A sort in little memory, by settings that the harness gives."""
    wide = table.select("*", F.repeat(F.hex("id"), 6).alias("pad"))
    run(wide.repartition(2, "k").sortWithinPartitions("v", "pad"))


@case
def small_heap(spark: SparkSession, table: DataFrame, on: bool) -> None:
    """Groups kept in little heap, by settings that the harness gives."""
    pairs = table.select(F.col("id").cast("string").alias("s"), "v")
    run(pairs.groupBy(F.substring("s", 1, 6).alias("g")).agg(F.collect_list("s"), F.max("v")))


@case
def parsed_again(spark: SparkSession, table: DataFrame, on: bool) -> None:
    """The same JSON is parsed for each of its fields."""
    body = F.col("body") if "body" in table.columns else F.format_string(
        '{"a": %d, "b": "%s", "c": %d}', F.col("id"), F.hex("id"), F.col("k")
    )  # fmt: skip
    text = table.where("id % 4 = 0").withColumn("t", body)
    fields = ["a", "b", "c", "d", "e", "f"]
    if on:
        run(text.select(*(F.get_json_object("t", f"$.{name}").alias(name) for name in fields)))
    else:
        run(text.select(F.from_json("t", "a STRING, b STRING").alias("p")).select("p.a", "p.b"))


@case
def interpreted_plan(spark: SparkSession, table: DataFrame, on: bool) -> None:
    """Code generation is off, by settings that the harness gives."""
    run(table.where(F.col("v") > 3).select(heavy(rounds=3), F.col("k") + 1).where("k > 3")
        .groupBy("(k + 1)").count())  # fmt: skip


@case
def no_broadcast(spark: SparkSession, table: DataFrame, on: bool) -> None:
    """A small table is shuffled to, by settings that the harness gives."""
    names = spark.range(0, 1000).selectExpr("id AS k", "concat('n', id) AS name")
    run(table.join(names, "k").select("name", "v"))


@case
def failing_tasks(spark: SparkSession, table: DataFrame, on: bool) -> None:
    """The first attempt of some tasks fails near its end."""
    rows = table.rdd.map(lambda row: row["v"] or 0.0).coalesce(4)

    def work(index: int, values: Any) -> Any:
        from pyspark import TaskContext

        total = sum(value * value for value in values)
        context = TaskContext.get()
        if on and index % 2 == 0 and context is not None and context.attemptNumber() == 0:
            raise RuntimeError("planted")
        yield total

    few = rows.sample(False, 0.2, 7)
    few.mapPartitionsWithIndex(work).sum()


def main() -> None:
    name, shape, on, folder = sys.argv[1], sys.argv[2], sys.argv[3] == "on", Path(sys.argv[4])
    spark = SparkSession.builder.appName(f"{name}-{shape}-{sys.argv[3]}").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    table = data(spark, shape, folder)
    if sys.argv[3] == "data":
        CASES[name](spark, table, True)
        CASES[name](spark, table, False)
    else:
        CASES[name](spark, table, on)
    spark.stop()


if __name__ == "__main__":
    main()
