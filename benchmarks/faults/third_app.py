"""The third set of faults: ``spark-submit third_app.py CAUSE SHAPE on|off|data FOLDER``.

As `later_app`, on other shapes of data, with the causes in other forms.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.faults.later.job import Job
from benchmarks.faults.third import (
    ledger,
    ledger_causes,
    texts,
    texts_causes,
    trips,
    trips_causes,
)  # fmt: skip

SHAPES = {
    tables.SHAPE.name: (causes.SHAPE, tables.TABLES)
    for tables, causes in (
        (trips, trips_causes), (ledger, ledger_causes), (texts, texts_causes),
    )
}  # fmt: skip


def main() -> None:
    """Do the job, and print the checksum of its result."""
    name, shape, mode, folder = sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4])
    spark = SparkSession.builder.appName(f"{name}-{shape}-{mode}").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    job, (of_shape, tables) = Job(spark, shape, name, mode == "on", folder), SHAPES[shape]
    if mode == "data":
        of_shape.prepare(job, tables)
    else:
        print("checksum:", of_shape.run(job), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
