"""Ledger: bookings on two sides, decimals and dates, many accounts. Inputs, and usual reports."""

from __future__ import annotations

import shutil
from pathlib import Path

from pyspark.sql import functions as F

from benchmarks.faults.later.job import SIZE, Job, Shape

SHAPE = Shape("ledger")
TABLES = ("bookings", "accounts")
ROWS = 1_200_000 * SIZE
ACCOUNTS = 40_000
COLUMNS = """booking_id LONG, debit LONG, credit LONG, amount DECIMAL(12,2), currency STRING,
booked DATE, kind STRING, journal STRING, reference STRING, memo STRING"""
KINDS = "array('goods', 'wages', 'rent', 'tax', 'bank', 'asset', 'loan', 'other')"


@SHAPE.input("bookings")
def write_bookings(job: Job, path: str) -> None:
    """Write bookings of two years; nine of ten are in the journal of sales."""
    ids = job.spark.range(0, ROWS, 1, 8)
    ids.selectExpr("id", "xxhash64(id) AS h", "xxhash64(id, 2) AS g").selectExpr(
        "id AS booking_id",
        f"pmod(h, {ACCOUNTS}) AS debit", f"pmod(g, {ACCOUNTS}) AS credit",
        "cast(cast(1 + pmod(xxhash64(h), 9999999) AS DECIMAL(12,2)) * 0.01 AS DECIMAL(12,2))"
        " AS amount",
        "element_at(array('EUR', 'USD', 'GBP', 'CHF', 'SEK'), cast(1 + pmod(g, 5) AS INT))"
        " AS currency",
        "date_add(DATE'2024-01-01', cast(pmod(xxhash64(g), 731) AS INT)) AS booked",
        f"element_at({KINDS}, cast(1 + pmod(g, 8) AS INT)) AS kind",
        "if(id % 10 < 9, 'sales', concat('journal ', pmod(h, 7))) AS journal",
        "concat('RE-', pmod(h, 10000), '-', id, '/', substr(hex(g), 1, 4)) AS reference",
        "concat('paid by ', substr(hex(h), 1, 8), ' to ', substr(hex(g), 1, 8), ' for the ',"
        " element_at(array('invoice', 'credit note', 'reminder'), cast(1 + pmod(h, 3) AS INT)),"
        " ' no. ', pmod(g, 3000), ' of the ', 1 + pmod(h, 28), 'th, thank you') AS memo",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("accounts")
def write_accounts(job: Job, path: str) -> None:
    """Write a table of middle size."""
    job.spark.range(0, ACCOUNTS, 1, 1).selectExpr(
        "id AS account", "concat('class ', id % 9) AS class",
        "concat('country ', pmod(xxhash64(id), 30)) AS country",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


def _gzipped(job: Job, path: str, files: int) -> None:
    few = job.table("bookings").select("booking_id", "kind", "amount", "booked")
    few.coalesce(files).write.options(compression="gzip", sep=";", header=True).csv(path)


SHAPE.input("gzipped")(lambda job, path: _gzipped(job, path, 1))
SHAPE.input("gzipped-in-parts")(lambda job, path: _gzipped(job, path, 8))


@SHAPE.input("blocked")
def write_blocked(job: Job, path: str) -> None:
    """Write on which days which accounts were blocked."""
    job.spark.range(0, 400, 1, 1).selectExpr(
        f"pmod(xxhash64(id), {ACCOUNTS}) AS account",
        "date_add(DATE'2024-01-01', cast(pmod(xxhash64(id, 3), 731) AS INT)) AS day",
    ).write.mode("overwrite").parquet(path)


@SHAPE.input("rules")
def write_rules(job: Job, path: str) -> None:
    """Write for each kind which numbers are checked: twenty-four ranges apart from each other."""
    job.spark.range(0, 8 * 24, 1, 1).selectExpr(
        f"element_at({KINDS}, cast(1 + id % 8 AS INT)) AS kind",
        "cast(id DIV 8 AS INT) * 400 AS low", "cast(id DIV 8 AS INT) * 400 + 300 AS beyond",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("csv")
def write_csv(job: Job, path: str) -> None:
    """Write all columns as text."""
    job.table("bookings").write.mode("overwrite").option("header", True).csv(path)


@SHAPE.input("fixed")
def write_fixed(job: Job, path: str) -> None:
    """Write lines whose fields have fixed widths, as a mainframe sends them."""
    job.table("bookings").select(
        F.concat(
            F.lpad(F.col("booking_id").cast("string"), 10, " "),
            F.lpad(F.col("debit").cast("string"), 8, " "),
            F.lpad(F.col("credit").cast("string"), 8, " "),
            F.lpad(F.col("amount").cast("string"), 14, " "),
            F.date_format("booked", "yyyyMMdd"), F.rpad("kind", 8, " "), F.rpad("memo", 90, " "),
        ).alias("value")
    ).write.mode("overwrite").text(path)  # fmt: skip


def _loads(job: Job, path: str, files: int) -> None:
    loads = job.table("bookings").where("booking_id % 2 = 0").repartition(files)
    loads.write.mode("overwrite").parquet(path)


SHAPE.input("few-files")(lambda job, path: _loads(job, path, 8))


@SHAPE.input("many-files")
def write_many_files(job: Job, path: str) -> None:
    """Write each load into a folder of its own."""
    _loads(job, path, 1500)
    for place, each in enumerate(sorted(Path(path).glob("part-*.parquet"))):
        load = Path(path) / f"load-{place:04}"
        load.mkdir(exist_ok=True)
        shutil.move(each, load / each.name)


def usual(job: Job) -> None:
    """Report the last quarter's amounts by class and month, and by country and currency."""
    bookings, accounts = job.table("bookings"), job.table("accounts")
    late = bookings.where("booked >= DATE'2025-07-01'")
    job.publish(
        "classes",
        late.join(accounts, late.debit == accounts.account)
        .groupBy("class", F.trunc("booked", "month").alias("month"))
        .agg(F.sum("amount").alias("amount"), F.count("*").alias("bookings")),
    )
    job.publish(
        "countries",
        job.spark.sql(
            """
            SELECT country, currency, kind, sum(amount) AS amount, max(amount) AS largest
            FROM bookings JOIN accounts ON credit = account
            WHERE booked >= DATE'2025-04-01' GROUP BY country, currency, kind
            """
        ),
    )


SHAPE.usual = usual
