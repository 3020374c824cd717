"""Add up the revenue of each department: spark-submit revenue.py ORDERS."""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("revenue").getOrCreate()


@F.udf("string")
def department(product):
    return product.strip().split("-")[0].upper()


orders = spark.read.parquet(sys.argv[1])
(
    orders.groupBy(department("product").alias("department"))
    .agg(F.round(F.sum(F.col("price") * F.col("quantity"))).alias("revenue"))
    .orderBy("department")
    .show()
)
spark.stop()
