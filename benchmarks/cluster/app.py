"""What is submitted: on hosts without this checkout, by Spark's own Python.

    spark-submit app.py tpch FOLDER [QUERIES]   the queries of FOLDER/queries.json, in order

Waits until two executors are there and prints ``BEGUN``, and at its end ``DONE`` and what it found.
"""

from __future__ import annotations

import json
import sys
import time
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


def main() -> None:
    """Do what the arguments say."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName(sys.argv[1]).getOrCreate()
    await_executors(spark)
    print("BEGUN", flush=True)
    programs = {"tpch": tpch}
    found = programs[sys.argv[1]](spark, *sys.argv[2:])
    print(f"DONE {json.dumps(found)}", flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
