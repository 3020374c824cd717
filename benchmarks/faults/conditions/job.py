"""Conditions of JVM and machine: ``spark-submit job.py STEP SHAPE on|off|data FOLDER``.

One step, in one of two ways that give the same rows, or in the same way under two conditions, which
the command line and the treatment of the run set. With ``data`` it compiles the functions in Java.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from benchmarks.faults.conditions.functions import build
from benchmarks.faults.seventh.work import Work


def main() -> None:
    """Do the step, and print the checksum of its result."""
    name, shape, mode, folder = sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4])
    if mode == "data":
        build(folder / shape)
        return
    steps = import_module(f"benchmarks.faults.conditions.{shape}_steps").STEPS
    spark = SparkSession.builder.appName(shape).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    work = Work(spark, folder / shape, name, mode == "on")
    work.publish(name, steps[name](work))
    print("checksum:", work.checksum, flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
