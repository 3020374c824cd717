"""The later sets of faults: ``spark-submit later_app.py CAUSE SHAPE on|off|data FOLDER``.

A job of several queries over one shape of data, which writes what they give; one part of it has the
cause, or its healthy twin, which gives the same rows. With ``data`` it writes its inputs only.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.faults.fourth import (
    clicks,
    clicks_causes,
    grid,
    grid_causes,
    invoices,
    invoices_causes,
)
from benchmarks.faults.later import (
    events,
    events_causes,
    orders,
    orders_causes,
    readings,
    readings_causes,
)  # fmt: skip
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
        (orders, orders_causes), (events, events_causes), (readings, readings_causes),
        (trips, trips_causes), (ledger, ledger_causes), (texts, texts_causes),
        (clicks, clicks_causes), (grid, grid_causes), (invoices, invoices_causes),
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
