"""The later sets of faults: ``spark-submit later_app.py CAUSE SHAPE on|off|data FOLDER``.

A job of several queries over one shape of data, which writes what they give; one part of it has the
cause, or its healthy twin, which gives the same rows. With ``data`` it writes its inputs only.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.faults.cases import SHAPES
from benchmarks.faults.later.job import Job


def of(shape: str) -> tuple[Any, Any]:
    """Give the causes of a shape of data, and what makes its tables."""
    name = next(
        name for name, shapes in SHAPES.items() if shape in shapes and name != "development"
    )
    place = f"benchmarks.faults.{name}.{shape}"
    return import_module(f"{place}_causes").SHAPE, import_module(place).TABLES


def main() -> None:
    """Do the job, and print the checksum of its result."""
    name, shape, mode, folder = sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4])
    spark = SparkSession.builder.appName(f"{name}-{shape}-{mode}").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    job, (of_shape, tables) = Job(spark, shape, name, mode == "on", folder), of(shape)
    if mode == "data":
        of_shape.prepare(job, tables)
    else:
        print("checksum:", of_shape.run(job), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
