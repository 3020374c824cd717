"""The application of the set: ``spark-submit job.py STEP SHAPE on|off|data FOLDER``.

A report that is the same in all runs, and one step, in one of two ways that give the same rows.
With ``data`` it writes the inputs of the step only. What is to be up before Spark is started first.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from benchmarks.faults.seventh.job import of
from benchmarks.faults.seventh.work import Work


def main() -> None:
    """Do the job, and print the checksum of its result."""
    name, shape, mode, folder = sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4])
    tables, steps = of(shape)
    inputs = steps.INPUTS.get(name, {})
    if mode == "data" and not inputs:
        return
    if name in steps.BEFORE:
        steps.BEFORE[name](folder / shape / "before")
    spark = SparkSession.builder.appName(shape).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    work = Work(spark, folder / shape, name, mode == "on")
    if mode == "data":
        work.prepare(inputs)
    else:
        work.publish("report", tables.report(work))
        work.publish(name, steps.STEPS[name](work))
        print("checksum:", work.checksum, flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
