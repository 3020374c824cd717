"""Add up the revenue of each department: spark-submit revenue.py ORDERS."""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("revenue").getOrCreate()


def department(product):
    return F.upper(F.substring_index(F.trim(product), "-", 1))


orders = spark.read.parquet(sys.argv[1])
(
    orders.groupBy(department("product").alias("department"))
    .agg(F.round(F.sum(F.col("price") * F.col("quantity"))).alias("revenue"))
    .orderBy("department")
    .show()
)
spark.stop()
