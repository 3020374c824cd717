"""Write a Parquet table of orders, the same on every machine: the input of the tutorials."""

import argparse

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

DEPARTMENTS = ["books", "garden", "kitchen", "music", "sports", "toys"]


def drawn(column: str, values: int) -> Column:
    """Draw one of so many values for each order, by a hash of its number."""
    return F.pmod(F.xxhash64("id", F.lit(column)), F.lit(values))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--files", type=int, default=8)
    options = parser.parse_args()

    spark = SparkSession.builder.appName("make-orders").getOrCreate()
    departments = F.array(*map(F.lit, DEPARTMENTS))
    department = F.element_at(departments, (drawn("department", 6) + 1).cast("int"))
    spark.range(0, options.rows, numPartitions=options.files).select(
        F.col("id").alias("order_id"),
        F.concat(F.lit(" "), department, F.lit("-"), drawn("item", 100_000)).alias("product"),
        drawn("customer", 50_000).alias("customer_id"),
        (drawn("price", 20_000) / 100).alias("price"),
        (drawn("quantity", 5) + 1).cast("int").alias("quantity"),
    ).write.mode("overwrite").parquet(options.folder)
    spark.stop()


if __name__ == "__main__":
    main()
