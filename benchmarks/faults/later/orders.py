"""Orders: wide rows, few keys. The inputs of a shop's daily reports, and what it always reports."""

from __future__ import annotations

from pyspark.sql import functions as F

from benchmarks.faults.later.job import SIZE, Job, Shape

SHAPE = Shape("orders")
TABLES = ("orders", "products", "customers")
ROWS = 1_000_000 * SIZE
COLUMNS = """order_id LONG, customer_id LONG, product_id INT, store_id INT, status STRING,
channel STRING, ordered_at TIMESTAMP, quantity INT, price DOUBLE, discount DOUBLE, currency STRING,
city STRING, street STRING, phone STRING, mail STRING, note STRING"""


@SHAPE.input("orders")
def write_orders(job: Job, path: str) -> None:
    """Write wide rows of few stores, products and states: most of guests, whose number is 0."""
    ids = job.spark.range(0, ROWS, 1, 8)
    ids.selectExpr("id", "xxhash64(id) AS h", "xxhash64(id, 2) AS g").selectExpr(
        "id AS order_id",
        "if(pmod(h, 100) < 85, 0, pmod(g, 60000)) AS customer_id",
        "cast(pmod(g, 300) AS INT) AS product_id",
        "cast(pmod(h, 40) AS INT) AS store_id",
        "element_at(array('new', 'paid', 'packed', 'sent', 'back'), cast(1 + pmod(g, 5) AS INT))"
        " AS status",
        "element_at(array('web', 'shop', 'phone'), cast(1 + pmod(h, 3) AS INT)) AS channel",
        "timestamp_seconds(1767225600 + pmod(g, 7776000)) AS ordered_at",
        "cast(1 + pmod(h, 9) AS INT) AS quantity",
        "cast(pmod(g, 99991) / 100.0 AS DOUBLE) AS price",
        "cast(pmod(h, 30) / 100.0 AS DOUBLE) AS discount",
        "element_at(array('EUR', 'USD', 'GBP', 'CHF', 'SEK', 'PLN'), cast(1 + pmod(g, 6) AS INT))"
        " AS currency",
        "concat('C', pmod(h, 200)) AS city",
        "concat(pmod(g, 300), ' ', substr(hex(h), 1, 6), ' Street') AS street",
        "concat('+49 ', pmod(abs(g), 100000), '-', pmod(h, 1000)) AS phone",
        "concat('u', pmod(g, 60000), '@', substr(hex(g), 1, 3), '.example.org') AS mail",
        "concat('ref ', hex(g), ' box ', pmod(h, 90), ' door ', pmod(g, 7)) AS note",
    ).write.mode("overwrite").parquet(path)


@SHAPE.input("products")
def write_products(job: Job, path: str) -> None:
    """Write a small table."""
    job.spark.range(0, 300, 1, 1).selectExpr(
        "cast(id AS INT) AS product_id", "concat('product ', id) AS product",
        "concat('category ', id % 12) AS category", "cast(id % 17 AS DOUBLE) AS weight",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("customers")
def write_customers(job: Job, path: str) -> None:
    """Write a table of middle size."""
    job.spark.range(0, 60_000, 1, 2).selectExpr(
        "id AS customer_id", "concat('segment ', id % 5) AS segment",
        "concat('country ', pmod(xxhash64(id), 30)) AS country",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("history")
def write_history(job: Job, path: str) -> None:
    """Write what is known of customers, too large for a broadcast."""
    job.spark.range(0, 400_000, 1, 8).selectExpr(
        "id AS customer_id", "concat('grade ', pmod(xxhash64(id), 7)) AS grade",
        "cast(pmod(id, 100) / 50.0 AS DOUBLE) AS rate",
        "concat(hex(xxhash64(id)), hex(xxhash64(id, 1))) AS address",
        "concat(hex(xxhash64(id, 2)), hex(xxhash64(id, 3))) AS company",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


def _gzipped(job: Job, path: str, files: int) -> None:
    few = job.table("orders").select("order_id", "store_id", "channel", "quantity", "price")
    few.coalesce(files).write.option("compression", "gzip").csv(path)


SHAPE.input("gzipped")(lambda job, path: _gzipped(job, path, 1))
SHAPE.input("gzipped-in-parts")(lambda job, path: _gzipped(job, path, 8))


@SHAPE.input("bands")
def write_bands(job: Job, path: str) -> None:
    """Write bands of prices, each 0.50 wide."""
    job.spark.range(0, 2000, 1, 1).selectExpr(
        "cast(id AS INT) AS band", "cast(id * 0.5 AS DOUBLE) AS low",
        "cast(id * 0.5 + 0.5 AS DOUBLE) AS high", "cast(id % 9 AS DOUBLE) AS fee",
    ).write.parquet(path)  # fmt: skip


@SHAPE.input("routes")
def write_routes(job: Job, path: str) -> None:
    """Write for each store which references go which way."""
    job.spark.range(0, 40 * 16, 1, 1).selectExpr(
        "cast(id % 40 AS INT) AS store_id", "cast(id / 40 AS INT) * 16 AS start",
        "cast(id / 40 AS INT) * 16 + 16 AS beyond", "concat('route ', id % 23) AS route",
    ).write.parquet(path)  # fmt: skip


@SHAPE.input("csv")
def write_csv(job: Job, path: str) -> None:
    """Write all columns as text."""
    job.table("orders").write.option("header", True).csv(path)


def _in_files(job: Job, path: str, files: int) -> None:
    job.table("orders").where("order_id % 2 = 0").repartition(files).write.parquet(path)


SHAPE.input("many-files")(lambda job, path: _in_files(job, path, 1600))
SHAPE.input("few-files")(lambda job, path: _in_files(job, path, 8))


@SHAPE.input("by-store")
def write_by_store(job: Job, path: str) -> None:
    """Write the orders of each store into a folder of its own."""
    job.table("orders").repartition("store_id").write.partitionBy("store_id").parquet(path)


@SHAPE.input("chosen")
def write_chosen(job: Job, path: str) -> None:
    """Write two stores."""
    job.spark.range(0, 2, 1, 1).selectExpr("cast(3 + 20 * id AS INT) AS store_id").write.parquet(
        path
    )


@SHAPE.input("tariffs")
def write_tariffs(job: Job, path: str) -> None:
    """Write tariffs of products, each with many versions."""
    job.spark.range(0, 300 * 30, 1, 1).selectExpr(
        "cast(id % 300 AS INT) AS product_id", "cast(id / 300 AS INT) AS version",
        "cast(pmod(xxhash64(id), 500) / 10.0 AS DOUBLE) AS tariff",
    ).write.parquet(path)  # fmt: skip


@SHAPE.input("documents")
def write_documents(job: Job, path: str) -> None:
    """Write orders as the documents that a shop's website sends."""
    job.table("orders").where("order_id % 4 = 0").select(
        "order_id",
        F.to_json(
            F.struct("customer_id", "product_id", "status", "channel", "quantity", "price",
                     "currency", "city", "street", "phone", "mail", "note")
        ).alias("document"),
    ).write.parquet(path)  # fmt: skip


def usual(job: Job) -> None:
    """Report the last month's revenue by category and day, and its best customers."""
    orders, products = job.table("orders"), job.table("products")
    job.table("customers")
    sold = F.col("quantity") * F.col("price") * (1 - F.col("discount"))
    job.publish(
        "revenue",
        orders.where("ordered_at >= '2026-03-10' AND status != 'back'")
        .join(products, "product_id")
        .groupBy("category", F.to_date("ordered_at").alias("day"))
        .agg(F.sum(sold).alias("revenue"), F.count("*").alias("orders")),
    )
    job.publish(
        "best",
        job.spark.sql(
            """
            SELECT country, segment, sum(quantity * price) AS spent FROM orders
            JOIN customers USING (customer_id)
            WHERE ordered_at >= '2026-03-10' GROUP BY country, segment
            """
        ),
    )


SHAPE.usual = usual
