"""The programs that are submitted: on hosts without this checkout, by Spark's own Python.

    spark-submit app.py tpch FOLDER [QUERIES]      the queries of FOLDER/queries.json, in order
    spark-submit app.py burn SECONDS TASKS LOOPS   rounds of tasks that compute and shuffle
    spark-submit app.py shuffle SECONDS ROWS       rounds of rows that change hosts
    spark-submit app.py read SECONDS FOLDER        rounds of reading files that no page cache has

Each waits until two executors are there and prints ``BEGUN``, and at its end ``DONE`` and what it
found, by which harm to a result is seen: ``[rounds, what all rounds found alike]``.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

EXECUTORS = 2
PATIENCE_S = 300.0


def await_executors(spark: Any) -> None:
    """Wait until all executors are there; go on without after a while."""
    context = spark.sparkContext
    if context.master.startswith("local"):
        return
    deadline = time.monotonic() + PATIENCE_S
    # The driver is one of them.
    while context._jsc.sc().getExecutorMemoryStatus().size() <= EXECUTORS:
        if time.monotonic() > deadline:
            return
        time.sleep(0.1)


def tpch(spark: Any, folder: str, only: str = "") -> list[int]:
    """Run queries; returns the rows of each."""
    queries = json.loads(Path(folder, "queries.json").read_text("utf-8"))
    for table in Path(folder).iterdir():
        if table.is_dir():
            spark.read.parquet(table.as_uri()).createOrReplaceTempView(table.name)
    names = only.split(",") if only else sorted(queries)
    return [len(spark.sql(queries[name]).collect()) for name in names]


def rounds(seconds: str, one: Callable[[], Any]) -> list[Any]:
    """Do the same until the time is over; returns how often, and what it gave each time."""
    deadline, found = time.monotonic() + float(seconds), []
    while not found or time.monotonic() < deadline:
        found.append(one())
    if any(value != found[0] for value in found):
        raise SystemExit(f"rounds differ: {found}")
    return [len(found), found[0]]


def burn(spark: Any, seconds: str, tasks: str, loops: str) -> list[Any]:
    """Compute and shuffle."""
    count, turns = int(tasks), int(loops)

    def work(number: int) -> tuple[int, int]:
        value = 0
        for turn in range(turns):
            value = (value * 31 + turn) % 1_000_003
        return number % 4, value

    def one() -> int:
        made = spark.sparkContext.parallelize(range(count), count).map(work)
        return sum(value for _, value in made.reduceByKey(lambda a, b: a + b, 4).collect())

    return rounds(seconds, one)


def shuffle(spark: Any, seconds: str, rows: str) -> list[Any]:
    """Send rows from host to host."""
    spark.conf.set("spark.sql.adaptive.enabled", "false")

    def one() -> Any:
        made = spark.range(0, int(rows), 1, 4).selectExpr(
            "id", "sha2(cast(id AS string), 256) AS s"
        )
        return made.repartition(8, "id").selectExpr("max(s)", "count(*)").collect()[0][1]

    return rounds(seconds, one)


def read(spark: Any, seconds: str, folder: str) -> list[Any]:
    """Read files from the disk."""
    files = sorted(Path(folder).iterdir())

    def one() -> int:
        for file in files:
            with file.open("rb") as opened:
                os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return int(
            spark.read.text(Path(folder).as_uri()).selectExpr("sum(length(value))").collect()[0][0]
        )

    return rounds(seconds, one)


def main() -> None:
    """Do what the arguments say."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName(sys.argv[1]).getOrCreate()
    await_executors(spark)
    print("BEGUN", flush=True)
    programs = {"tpch": tpch, "burn": burn, "shuffle": shuffle, "read": read}
    found = programs[sys.argv[1]](spark, *sys.argv[2:])
    print(f"DONE {json.dumps(found)}", flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
