"""Payments between accounts: ids, decimals and times, with banks, currencies and their rates."""

from __future__ import annotations

from pyspark.sql import functions as F

from benchmarks.faults.later.job import SIZE, Job, Shape

SHAPE = Shape("payments")
TABLES = ("payments", "banks", "currencies", "rates")
ROWS = 600_000 * SIZE
ACCOUNTS = 60_000
BANKS = 900
HOLDERS = 10
"""People who may use an account."""
DAYS = 90
START = 1767225600
"""First second of 2026, UTC."""
CURRENCIES = (
    "array('EUR', 'USD', 'GBP', 'CHF', 'SEK', 'PLN', 'CZK', 'DKK', 'HUF', 'NOK', 'RON', 'JPY')"
)
COUNTRIES = "array('DE', 'FR', 'GB', 'CH', 'SE', 'PL', 'CZ', 'DK', 'HU', 'NO', 'RO', 'JP')"
CLEARED = """payment_id LONG, payer LONG, bank_id INT, currency STRING, amount DECIMAL(14,2),
sent_at TIMESTAMP"""
STATEMENT = """payment_id LONG, payer LONG, payee LONG, bank_id INT, currency STRING,
amount DOUBLE, sent_at TIMESTAMP, due DATE, channel STRING, reference STRING"""


@SHAPE.input("payments")
def write_payments(job: Job, path: str) -> None:
    """Write payments of ninety days, each due some days or weeks after it was sent."""
    ids = job.spark.range(0, ROWS, 1, 8)
    known = ids.selectExpr(
        "id", "xxhash64(id) AS h", "xxhash64(id, 2) AS g", "xxhash64(id, 3) AS f"
    )
    known.selectExpr(
        "id AS payment_id", f"pmod(h, {ACCOUNTS}) AS payer", f"pmod(g, {ACCOUNTS}) AS payee",
        f"cast(pmod(g, {ACCOUNTS}) % {BANKS} AS INT) AS bank_id",
        f"element_at({CURRENCIES}, cast(1 + pmod(f, 12) AS INT)) AS currency",
        "cast(cast(1 + pmod(xxhash64(h), 4999999) AS DECIMAL(14,2)) * 0.01 AS DECIMAL(14,2))"
        " AS amount",
        f"timestamp_seconds({START} + pmod(f, {DAYS * 86400})) AS sent_at",
        f"date_add(to_date(timestamp_seconds({START} + pmod(f, {DAYS * 86400}))),"
        " cast(5 + pmod(h, 80) AS INT)) AS due",
        "element_at(array('card', 'app', 'branch', 'batch'),"
        " cast(1 + pmod(xxhash64(g), 4) AS INT)) AS channel",
        "element_at(array('booked', 'booked', 'booked', 'held', 'returned'),"
        " cast(1 + pmod(h, 5) AS INT)) AS status",
        "concat('E2E-', lower(hex(f)), '-', pmod(h, 9000)) AS reference",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("banks")
def write_banks(job: Job, path: str) -> None:
    """Write banks, where they are, and above which amount a payment to them is looked at."""
    job.spark.range(0, BANKS, 1, 1).selectExpr(
        "cast(id AS INT) AS bank_id", "concat('BANK', upper(hex(100000 + id)), 'XX') AS bic",
        f"element_at({COUNTRIES}, cast(1 + id % 12 AS INT)) AS country",
        "concat('scheme ', id % 7) AS scheme",
        f"element_at({CURRENCIES}, cast(1 + id % 12 AS INT)) AS currency",
        "element_at(array('card', 'app', 'branch', 'batch'), cast(1 + id % 4 AS INT)) AS channel",
        "cast(49900 + id % 97 AS DECIMAL(14,2)) AS ceiling",
        f"timestamp_seconds({START} + 3600 * (id % 400)) AS joined_at",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("currencies")
def write_currencies(job: Job, path: str) -> None:
    """Write currencies with their regions and digits."""
    job.spark.range(0, 12, 1, 1).selectExpr(
        f"element_at({CURRENCIES}, cast(1 + id AS INT)) AS currency",
        "concat('region ', id % 4) AS region", "cast(if(id = 11, 0, 2) AS INT) AS digits",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("rates")
def write_rates(job: Job, path: str) -> None:
    """Write what each currency was worth on each day."""
    job.spark.range(0, 12 * DAYS, 1, 1).selectExpr(
        f"element_at({CURRENCIES}, cast(1 + id % 12 AS INT)) AS currency",
        "date_add(DATE'2026-01-01', cast(id DIV 12 AS INT)) AS day",
        "cast((100000 + pmod(xxhash64(id), 900000)) / 1000000 AS DECIMAL(12,6)) AS rate",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


def _delivered(job: Job, path: str, row_group: int) -> None:
    few = job.table("payments").where("payment_id % 3 > 0")
    few = few.select("payment_id", "payer", "currency", "amount", "due", "sent_at")
    few.coalesce(1).write.mode("overwrite").option("parquet.block.size", row_group).parquet(path)


SHAPE.input("one-row-group")(lambda job, path: _delivered(job, path, 1 << 30))
SHAPE.input("row-groups")(lambda job, path: _delivered(job, path, 1 << 20))


def _bucketed(job: Job, path: str, key: str) -> None:
    cleared = job.table("payments").selectExpr(
        "payment_id", "payer",
        "if(pmod(xxhash64(payment_id, 5), 100) < 90, 0, bank_id) AS bank_id",
        "currency", "amount", "sent_at",
    )  # fmt: skip
    writer = cleared.repartition(8, key).write.mode("overwrite").option("path", path)
    writer.bucketBy(8, key).saveAsTable(f"cleared_by_{key}")


SHAPE.input("cleared-by-bank")(lambda job, path: _bucketed(job, path, "bank_id"))
SHAPE.input("cleared-by-payer")(lambda job, path: _bucketed(job, path, "payer"))


@SHAPE.input("holders")
def write_holders(job: Job, path: str) -> None:
    """Write who may use which account, and how much of a risk each of them is."""
    job.spark.range(0, ACCOUNTS * HOLDERS, 1, 1).selectExpr(
        f"id DIV {HOLDERS} AS account", "cast(pmod(xxhash64(id), 50) AS INT) AS risk",
        "cast(2020 + pmod(xxhash64(id, 1), 6) AS INT) AS since",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("statement")
def write_statement(job: Job, path: str) -> None:
    """Write one payment in four as text with a header."""
    few = job.table("payments").where("payment_id % 4 = 0").drop("status")
    few.write.mode("overwrite").option("header", True).csv(path)


@SHAPE.input("messages")
def write_messages(job: Job, path: str) -> None:
    """Write some payments as messages in JSON, as they came in."""
    job.table("payments").where("payment_id % 4 = 1").selectExpr(
        """to_json(named_struct('id', payment_id, 'debtor', payer, 'creditor', payee,
          'currency', currency, 'amount', cast(amount AS STRING), 'channel', channel,
          'due', due, 'agent', named_struct('bank', bank_id, 'status', status),
          'reference', reference)) AS message"""
    ).write.mode("overwrite").parquet(path)


@SHAPE.input("loaded")
def write_loaded(job: Job, path: str) -> None:
    """Write versions of payments by day: one in eight was loaded again on the same day."""
    first = job.table("payments").where("payment_id % 2 = 0").selectExpr(
        "payment_id", "payer", "currency", "amount", "status", "1 AS version",
        "to_date(sent_at) AS day",
    )  # fmt: skip
    again = first.where("payment_id % 16 = 0").withColumn("version", F.lit(2))
    loaded = first.union(again.withColumn("status", F.lit("corrected")))
    loaded.repartition(8, "day").write.mode("overwrite").partitionBy("day").parquet(path)


def usual(job: Job) -> None:
    """Report the last weeks' payments by country and day, and what they are worth by region."""
    payments, banks, rates = job.table("payments"), job.table("banks"), job.table("rates")
    last = payments.where("sent_at >= TIMESTAMP'2026-03-11 00:00:00'")
    last = last.withColumn("day", F.to_date("sent_at"))
    job.publish(
        "countries",
        last.join(banks.select("bank_id", "country"), "bank_id")
        .groupBy("country", "status", "day")
        .agg(F.sum("amount").alias("amount"), F.count("*").alias("n")),
    )
    job.publish(
        "regions",
        last.join(F.broadcast(rates), ["currency", "day"])
        .join(job.table("currencies"), "currency")
        .groupBy("region", "channel")
        .agg(F.sum(F.expr("amount * rate")).alias("worth"), F.max("amount").alias("largest")),
    )


SHAPE.usual = usual
