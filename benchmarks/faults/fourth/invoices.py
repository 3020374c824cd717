"""Invoices of many lines: decimals, dates, nested structs, a hierarchy, rates. Inputs, reports."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.faults.later.job import SIZE, Job, Shape

SHAPE = Shape("invoices")
TABLES = ("lines", "customers", "products", "groups", "rates")
ROWS = 800_000 * SIZE
CUSTOMERS = 30_000
PRODUCTS = 6_000
FIRST = "DATE'2024-01-01'"
LAST = "DATE'2025-12-31'"
DAYS = 731
CURRENCIES = "array('EUR', 'USD', 'GBP', 'CHF', 'SEK', 'PLN', 'CZK', 'DKK')"
MESSAGE = """line_id LONG, quantity INT, tax STRUCT<code: STRING>, ship STRUCT<country: STRING>"""
ARCHIVE = """line_id LONG, invoice_id LONG, customer_id LONG, issued DATE, currency STRING,
quantity INT, price DECIMAL(12,4), discount DECIMAL(5,4), sku STRING, remarks STRING"""
MEASURES = ("gross", "net", "tax", "freight", "rebate", "paid", "open", "lines", "items", "returns")


@SHAPE.input("lines")
def write_lines(job: Job, path: str) -> None:
    """Write lines, eight of each invoice; nine of ten invoices name no order."""
    ids = job.spark.range(0, ROWS, 1, 8)
    ids.selectExpr("id", "xxhash64(id) AS h", "xxhash64(id DIV 8, 2) AS g").selectExpr(
        "id AS line_id", "id DIV 8 AS invoice_id",
        f"pmod(g, {CUSTOMERS}) AS customer_id", f"pmod(h, {PRODUCTS}) AS product_id",
        f"date_add({FIRST}, cast(pmod(xxhash64(g), {DAYS}) AS INT)) AS issued",
        f"element_at({CURRENCIES}, cast(1 + pmod(g, 8) AS INT)) AS currency",
        "cast(1 + pmod(xxhash64(h), 40) AS INT) AS quantity",
        "cast(cast(100 + pmod(h, 9999000) AS DECIMAL(12,0)) * 0.0001 AS DECIMAL(12,4)) AS price",
        "cast(cast(pmod(h, 5) AS DECIMAL(5,0)) * 0.05 AS DECIMAL(5,4)) AS discount",
        "named_struct('code', concat('T', pmod(h, 4)),"
        " 'rate', cast(cast(pmod(h, 4) * 7 AS DECIMAL(5,0)) * 0.01 AS DECIMAL(5,3))) AS tax",
        "named_struct('country', concat('country ', pmod(g, 24)),"
        " 'city', concat('city ', pmod(xxhash64(g), 900)),"
        " 'street', concat('road ', substr(hex(g), 1, 6), ', no. ', pmod(g, 300))) AS ship",
        "if(pmod(id DIV 8, 10) = 0, id DIV 80, NULL) AS order_ref",
        "concat('by ', element_at(array('rail', 'road', 'air'), cast(1 + pmod(h, 3) AS INT)),"
        " repeat(' ', cast(44 + pmod(h, 8) AS INT)), 'dock ', pmod(h, 40),"
        " repeat(' ', cast(pmod(g, 6) AS INT))) AS remarks",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("customers")
def write_customers(job: Job, path: str) -> None:
    """Write who buys, in what currency, on what credit."""
    job.spark.range(0, CUSTOMERS, 1, 1).selectExpr(
        "id AS customer_id", "concat('segment ', pmod(xxhash64(id), 7)) AS segment",
        "concat('region ', pmod(xxhash64(id, 1), 12)) AS region",
        f"element_at({CURRENCIES}, cast(1 + pmod(xxhash64(id, 2), 8) AS INT)) AS currency",
        "cast(1000 + pmod(xxhash64(id, 3), 90000) AS DECIMAL(12,2)) AS credit",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("products")
def write_products(job: Job, path: str) -> None:
    """Write the leaves of the hierarchy."""
    job.spark.range(0, PRODUCTS, 1, 1).selectExpr(
        "id AS product_id", "concat('SKU-', lpad(hex(xxhash64(id)), 16, '0')) AS sku",
        "concat('g', id DIV 10) AS group_id",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("groups")
def write_groups(job: Job, path: str) -> None:
    """Write the three levels above products: groups, families, divisions."""
    levels = [("g", "f", 600), ("f", "d", 60), ("d", "", 6)]
    rows = [
        (f"{kind}{i}", f"{above}{i // 10}" if above else "all")
        for kind, above, n in levels
        for i in range(n)
    ]
    nodes = job.spark.createDataFrame(rows, "node STRING, parent STRING")
    nodes.coalesce(1).write.mode("overwrite").parquet(path)


@SHAPE.input("rates")
def write_rates(job: Job, path: str) -> None:
    """Write a rate to the euro for each currency and day."""
    job.spark.range(0, DAYS * 8, 1, 1).selectExpr(
        f"element_at({CURRENCIES}, cast(1 + id % 8 AS INT)) AS currency",
        f"date_add({FIRST}, cast(id DIV 8 AS INT)) AS day",
        "cast(cast(50000 + pmod(xxhash64(id), 150000) AS DECIMAL(12,0)) * 0.00001"
        " AS DECIMAL(12,6)) AS rate",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


def _xml(job: Job, path: str, files: int) -> None:
    few = job.table("lines").where("line_id % 2 = 0").selectExpr(
        "line_id", "customer_id", "issued", "currency", "quantity", "price", "ship.country"
    )  # fmt: skip
    few.coalesce(files).write.xml(path, rowTag="line", compression="gzip")


SHAPE.input("packed-xml")(lambda job, path: _xml(job, path, 1))
SHAPE.input("packed-xml-in-parts")(lambda job, path: _xml(job, path, 8))


@SHAPE.input("orders")
def write_orders(job: Job, path: str) -> None:
    """Write the orders that some invoices name: too many to be sent to all tasks."""
    job.spark.range(0, ROWS // 80, 1, 4).selectExpr(
        "id AS order_ref", "concat('buyer ', pmod(xxhash64(id), 50)) AS buyer",
        "concat_ws('-', hex(xxhash64(id)), hex(xxhash64(id, 1)), hex(xxhash64(id, 2)),"
        " hex(xxhash64(id, 3)), hex(xxhash64(id, 4)), hex(xxhash64(id, 5)), hex(xxhash64(id, 6)),"
        " hex(xxhash64(id, 7)), hex(xxhash64(id, 8)), hex(xxhash64(id, 9)), hex(xxhash64(id, 10)),"
        " hex(xxhash64(id, 11)), hex(xxhash64(id, 12)), hex(xxhash64(id, 13)),"
        " hex(xxhash64(id, 14)), hex(xxhash64(id, 15)), hex(xxhash64(id, 16)),"
        " hex(xxhash64(id, 17)), hex(xxhash64(id, 18)), hex(xxhash64(id, 19))) AS signed",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("offices")
def write_offices(job: Job, path: str) -> None:
    """Write which office has which customers, by ranges of twenty-five numbers."""
    job.spark.range(0, CUSTOMERS // 25, 1, 1).selectExpr(
        "concat('office ', id % 60) AS office", "id * 25 AS low", "id * 25 + 24 AS high",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("tiers")
def write_tiers(job: Job, path: str) -> None:
    """Write for each currency twenty-four tiers of what a line may cost with tax."""
    job.spark.range(0, 8 * 24, 1, 1).selectExpr(
        f"element_at({CURRENCIES}, cast(1 + id % 8 AS INT)) AS currency",
        "concat('tier ', id DIV 8) AS tier",
        "cast(id DIV 8 * 1750 AS DECIMAL(16,2)) AS least",
        "cast((id DIV 8 + 1) * 1750 AS DECIMAL(16,2)) AS beyond",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("messages")
def write_messages(job: Job, path: str) -> None:
    """Write lines as a queue kept them: a column with JSON of all their fields."""
    job.table("lines").where("line_id % 2 = 0").selectExpr(
        "line_id DIV 8 % 4 AS shard", "to_json(struct(*)) AS message"
    ).repartition(8).write.mode("overwrite").parquet(path)


@SHAPE.input("sheets")
def write_sheets(job: Job, path: str) -> None:
    """Write wide rows: for each of twelve months a struct of ten measures."""
    months = [
        "named_struct("
        + ", ".join(
            f"'{name}', pmod(xxhash64(id, {month * 10 + place}), 1000)"
            for place, name in enumerate(MEASURES)
        )
        + f") AS m{month}"
        for month in range(12)
    ]
    job.spark.range(0, 100_000 * SIZE, 1, 8).selectExpr(
        f"pmod(xxhash64(id), {CUSTOMERS}) AS customer_id", *months
    ).write.mode("overwrite").parquet(path)


def _archived(job: Job) -> DataFrame:
    lines, products = job.table("lines"), job.table("products")
    return lines.where("line_id % 8 > 0").join(F.broadcast(products), "product_id").select(
        "line_id", "invoice_id", "customer_id", "issued", "currency", "quantity", "price",
        "discount", "sku", F.rtrim("remarks").alias("remarks"),
    )  # fmt: skip


@SHAPE.input("archive-text")
def write_archive_text(job: Job, path: str) -> None:
    """Write old lines as text with semicolons and German dates."""
    _archived(job).write.mode("overwrite").csv(path, sep=";", dateFormat="dd.MM.yyyy")


@SHAPE.input("archive")
def write_archive(job: Job, path: str) -> None:
    """Write old lines as columns."""
    _archived(job).write.mode("overwrite").parquet(path)


def usual(job: Job) -> None:
    """Report the last month's amounts by segment and currency, and taxes by country."""
    lines = job.table("lines").where("issued >= DATE'2025-12-01'")
    job.publish(
        "segments",
        lines.join(job.table("customers"), "customer_id")
        .groupBy("segment", "region")
        .agg(F.sum("price").alias("price"), F.count("*").alias("lines")),
    )
    job.publish(
        "taxes",
        job.spark.sql(
            """
            SELECT ship.country, tax.code, sum(price * tax.rate) AS tax, max(price) AS dearest
            FROM lines WHERE issued >= DATE'2025-12-01' GROUP BY ship.country, tax.code
            """
        ),
    )


SHAPE.usual = usual
