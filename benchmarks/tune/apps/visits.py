"""Sessions of a web shop's visitors, by a Python function for each visit: visits.py OUT [VISITS].

Written as its authors write it: a row-wise UDF between two shuffles. Visits follow from their
numbers, so that every run has the same result.
"""

import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

SHELVES = ("books", "music", "garden", "tools", "toys", "shoes", "lamps", "tea")


def shelf(path, seconds):
    """Name the shelf of a page, and whether somebody looked at it or only passed by."""
    words = [word for word in path.strip("/").split("/") if word]
    number = sum(ord(letter) * (at + 1) for at, letter in enumerate(words[-1]))
    return f"{SHELVES[number % len(SHELVES)]}-{'looked' if seconds > 40 else 'passed'}"


def main(out, visits):
    """Count pages of each shelf, and the visitors who saw most."""
    spark = SparkSession.builder.appName("visits").getOrCreate()
    named = F.udf(shelf, "string")
    pages = spark.range(visits).select(
        (F.abs(F.hash("id")) % 20_000).alias("visitor"),
        F.concat(F.lit("/shop/item-"), (F.abs(F.xxhash64("id")) % 997).cast("string")).alias(
            "path"
        ),
        (F.abs(F.hash(F.col("id") + 1)) % 90).alias("seconds"),
    )
    sessions = (
        pages.withColumn("shelf", named("path", "seconds"))
        .groupBy("visitor", "shelf")
        .agg(F.count("*").alias("pages"), F.sum("seconds").alias("seconds"))
    )
    most = (
        sessions.groupBy("shelf")
        .agg(
            F.sum("pages").alias("pages"),
            F.max(F.struct("seconds", "visitor")).alias("longest"),
        )
        .orderBy("shelf")
        .collect()
    )
    lines = [f"{one['shelf']} {one['pages']} {one['longest']['seconds']}" for one in most]
    Path(out).write_text("\n".join(lines) + "\n")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 2_000_000)
