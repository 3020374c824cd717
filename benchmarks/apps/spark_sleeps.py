"""A PySpark program whose tasks sleep for known times and compute a little in between.

Arguments: task slots, seconds that each task sleeps in all. Sleeps last from 10 ms to 2 s, as much
time in each of `RANGES_MS`; within one their lengths spread evenly over its logarithm. Half of them
are ``Thread.sleep``, half ``LockSupport.parkNanos``. The last line of stdout is a JSON object: how
many sleeps were asked for in each range, and their time.
"""

import json
import sys

from pyspark.sql import Column, SparkSession
from pyspark.sql.functions import col, count, lit, when
from pyspark.sql.functions import pow as power
from pyspark.sql.functions import sum as total

RANGES_MS = {(10, 50): 52, (50, 200): 13, (200, 1000): 3, (1000, 2000): 1}
"""Sleeps of a round, which takes about six seconds."""
ROUND = sum(RANGES_MS.values())
ROUND_S = 6.0


def lengths() -> Column:
    """Length of a row's sleep in ms, by its number."""
    place = col("id") * 31 % ROUND  # every place of a round once
    part = col("id") * 0.6180339887 % 1  # evenly spread
    found = lit(None)
    end = ROUND
    for (low, high), times in RANGES_MS.items():
        length = low * power(lit(high / low), part)
        found = when(place < end, length).otherwise(found)
        end -= times
    return found.cast("bigint")


def main() -> None:
    """Sleep, and print what was asked for."""
    slots, seconds = int(sys.argv[1]), float(sys.argv[2])
    rows = slots * round(max(1.0, seconds / ROUND_S)) * ROUND
    spark = (
        SparkSession.builder.master(f"local[{slots}]")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    asked = spark.range(0, rows, 1, slots).withColumn("ms", lengths())
    sleeps = """
        CASE WHEN id % 2 = 0 THEN java_method('java.lang.Thread', 'sleep', ms) ELSE
        java_method('java.util.concurrent.locks.LockSupport', 'parkNanos', ms * 1000000) END
    """
    work = "aggregate(sequence(1, 3000), double(id), (sum, x) -> sum + sqrt(x))"
    asked.selectExpr(sleeps, work).write.format("noop").mode("overwrite").save()
    by_range = {}
    for low, high in RANGES_MS:
        of = asked.where(col("ms").between(low, high - 1))
        found = of.agg(count("*"), total("ms")).first()
        by_range[f"{low}-{high}"] = {"count": found[0], "ms": found[1]}
    spark.stop()
    print(json.dumps(by_range))


if __name__ == "__main__":
    main()
