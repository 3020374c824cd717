"""The seventh to the ninth set of faults: ``spark-submit job.py STEP SHAPE on|off|data FOLDER``.

A nightly job over one shape of data: a report that is the same in all runs, and one step, in one of
two ways that give the same rows. With ``data`` it writes its inputs only.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from benchmarks.faults.cases import SHAPES
from benchmarks.faults.seventh.work import Work


def of(shape: str) -> tuple[Any, Any]:
    """Give what makes the tables and the report of a shape of data, and its steps."""
    folder = next(name for name, shapes in SHAPES.items() if shape in shapes)
    place = f"benchmarks.faults.{folder}.{shape}"
    return import_module(place), import_module(f"{place}_steps")


def main() -> None:
    """Do the job, and print the checksum of its result."""
    name, shape, mode, folder = sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4])
    spark = SparkSession.builder.appName(shape).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    work, (tables, steps) = Work(spark, folder / shape, name, mode == "on"), of(shape)
    if mode == "data":
        work.prepare(tables.TABLES)
        work.prepare(steps.INPUTS.get(name, {}))
    else:
        work.publish("report", tables.report(work))
        work.publish(name, steps.STEPS[name](work))
        print("checksum:", work.checksum, flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
