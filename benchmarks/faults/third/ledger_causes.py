"""Causes planted in the job on a ledger: each part gives the same rows with and without."""

from __future__ import annotations

import lzma
import shutil
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.faults.later.job import Job
from benchmarks.faults.third.ledger import ACCOUNTS, COLUMNS, SHAPE

SIDES = """SELECT debit AS account, booked, booking_id, kind, amount FROM bookings
UNION ALL SELECT credit, booked, booking_id, kind, -amount FROM bookings"""


@SHAPE.cause()
def one_task(job: Job) -> DataFrame:
    """Partitions of a shuffle are put together to far too large ones, by settings."""
    job.table("bookings")
    return job.spark.sql(
        f"""
        SELECT account % 200 AS fold, count(*) AS n, max(balance) AS highest,
               min(balance) AS lowest FROM (
          SELECT account, sum(amount) OVER (
            PARTITION BY account ORDER BY booked, booking_id, amount
            ROWS UNBOUNDED PRECEDING) AS balance FROM ({SIDES})) GROUP BY account % 200
        """
    )


@SHAPE.cause("gzipped", "gzipped-in-parts")
def gzip_input(job: Job) -> DataFrame:
    """The bank sends one file, packed; or a file for each of eight branches."""
    path = job.path("gzipped" if job.on else "gzipped-in-parts")
    known = "booking_id LONG, kind STRING, amount DECIMAL(12,2), booked DATE"
    bookings = job.spark.read.csv(path, schema=known, sep=";", header=True)
    written_off = bookings.select(
        "kind", "amount", "booking_id", "booked",
        F.explode(F.sequence(F.lit(0), F.lit(23))).alias("month"),
    )  # fmt: skip
    due = (F.year("booked") * 12 + F.month("booked") + F.col("month")).alias("due")
    return written_off.groupBy("kind", due).agg(
        F.sum("amount").alias("amount"), F.max("booking_id").alias("last"), F.count("*").alias("n")
    )


@SHAPE.cause()
def tiny_tasks(job: Job) -> DataFrame:
    """Many partitions of shuffles are not put together, by settings."""
    job.table("bookings")
    return job.spark.sql(
        """
        SELECT n, month(latest) AS month, count(*) AS accounts, sum(amount) AS amount FROM (
          SELECT debit, count(*) AS n, max(booked) AS latest, sum(amount) AS amount
          FROM bookings GROUP BY debit) GROUP BY n, month(latest)
        """
    )


@SHAPE.cause()
def skewed_key(job: Job) -> DataFrame:
    """Rows go to their journal's file in one task each; or in several."""
    job.table("bookings")
    sides = job.spark.sql(
        """
        SELECT journal, booking_id, stack(2, debit, amount, credit, -amount)
          AS (account, amount), booked, memo FROM bookings
        """
    )
    part = F.when(F.col("journal") == "sales", F.col("booking_id") % 16).otherwise(0)
    spread = sides.repartition(8, *(["journal"] if job.on else ["journal", part]))
    months = spread.select("*", F.explode(F.sequence(F.lit(0), F.lit(2))).alias("month"))
    months.write.mode("overwrite").partitionBy("journal").parquet(job.output("journals"))
    return job.table("bookings").groupBy("journal").agg(F.sum("amount").alias("amount"))


@SHAPE.cause("blocked")
def interval_join(job: Job) -> DataFrame:
    """Blocked accounts are left out by NOT IN two columns; or by NOT EXISTS."""
    job.table("bookings")
    job.table("blocked")
    if job.on:
        kept = "(debit, booked) NOT IN (SELECT account, day FROM blocked)"
    else:
        kept = "NOT EXISTS (SELECT 1 FROM blocked WHERE account = debit AND day = booked)"
    return job.spark.sql(
        f"""
        SELECT kind, currency, sum(amount) AS amount, count(*) AS n FROM bookings
        WHERE {kept} GROUP BY kind, currency
        """
    )


@SHAPE.cause("rules")
def pair_expression(job: Job) -> DataFrame:
    """A number is cut out of the reference for each rule of the kind; or once for each booking."""
    job.table("bookings")
    job.table("rules")
    number = "cast(split(reference, '-')[1] AS INT)"
    source = "bookings"
    if not job.on:
        source = f"(SELECT kind, currency, amount, {number} AS number FROM bookings)"
        number = "number"
    return job.spark.sql(
        f"""
        SELECT b.kind, currency, sum(amount) AS amount, count(*) AS n FROM {source} b
        LEFT SEMI JOIN rules r ON b.kind = r.kind AND {number} >= low AND {number} < beyond
        GROUP BY b.kind, currency
        """
    )


@SHAPE.cause()
def costly_pattern(job: Job) -> DataFrame:
    """A group of a pattern with many ways to match gives a number; or two cuts do."""
    if job.on:
        pattern = r"(?i)^(.*),? ?(.*)(invoice|credit note|reminder)(.*) no\. ([0-9]+)(.*)$"
        number = F.regexp_extract("memo", pattern, 5)
    else:
        number = F.substring_index(F.substring_index("memo", " no. ", -1), " ", 1)
    return (
        job.table("bookings").where("booking_id % 5 = 0").groupBy(number.alias("number"))
        .agg(F.sum("amount").alias("amount"), F.count("*").alias("n"))
    )  # fmt: skip


@SHAPE.cause()
def python_row(job: Job) -> DataFrame:
    """Each group is walked through in pandas; or added up by an aggregate."""

    def close(rows: pd.DataFrame) -> pd.DataFrame:
        total, n = 0, 0
        for _, row in rows.iterrows():
            total += row["cents"] if row["debit"] > row["credit"] else -row["cents"]
            n += 1
        kind, month = rows["kind"].iloc[0], rows["month"].iloc[0]
        return pd.DataFrame({"kind": [kind], "month": [month], "total": [total], "n": [n]})

    cents = F.expr("cast(amount * 100 AS LONG)").alias("cents")
    month = (F.year("booked") * 12 + F.month("booked")).alias("month")
    few = job.table("bookings").where("booking_id % 8 = 0")
    few = few.select("kind", month, "debit", "credit", cents)
    groups = few.groupBy("kind", "month")
    if job.on:
        return groups.applyInPandas(close, "kind STRING, month INT, total LONG, n LONG")
    total = F.sum(F.expr("if(debit > credit, cents, -cents)")).alias("total")
    return groups.agg(total, F.count("*").alias("n"))


@SHAPE.cause()
def not_cached(job: Job) -> DataFrame:
    """A view in SQL is asked four times, and each query computes it; or it is cached."""
    job.table("bookings")
    sql = job.spark.sql
    sql(
        f"""
        CREATE OR REPLACE TEMPORARY VIEW quarters AS
        SELECT account, year(booked) * 4 + quarter(booked) AS quarter,
               sum(amount) AS balance, count(*) AS n, max(booking_id) AS last
        FROM ({SIDES}) GROUP BY account, year(booked) * 4 + quarter(booked)
        """
    )
    if not job.on:
        sql("CACHE LAZY TABLE quarters")
    job.publish(
        "sums", sql("SELECT quarter, sum(balance) AS b, sum(n) AS n FROM quarters GROUP BY quarter")
    )
    job.publish(
        "busy",
        sql(
            "SELECT account, max(n) AS n, max(last) AS last FROM quarters"
            " GROUP BY account HAVING max(n) > 15"
        ),
    )
    job.publish("red", sql(
        "SELECT quarter, count(*) AS n, min(balance) AS b FROM quarters"
        " WHERE balance < 0 GROUP BY quarter"))  # fmt: skip
    return sql(
        """
        SELECT country, quarter, sum(balance) AS balance, max(last) AS last
        FROM quarters JOIN accounts USING (account) GROUP BY country, quarter
        """
    )


@SHAPE.cause()
def driver_loop(job: Job) -> DataFrame:
    """A table is fetched page by page, each a query of its own; or it is used as it is."""
    balances = job.table("bookings").groupBy("debit").agg(
        F.sum("amount").cast("decimal(22,2)").alias("amount"), F.count("*").alias("n")
    )  # fmt: skip
    if not job.on:
        return balances
    ordered, page = balances.cache().orderBy("debit"), ACCOUNTS // 50
    rows: list[Any] = []
    for place in range(50):
        rows += [tuple(row) for row in ordered.offset(place * page).limit(page).collect()]
    return job.spark.createDataFrame(rows, "debit LONG, amount DECIMAL(22,2), n LONG")


@SHAPE.cause()
def idle_driver(job: Job) -> DataFrame:
    """The program packs an export for the archive tightly, while Spark waits; or copies it."""
    export, archive = job.output("export"), Path(job.output("archive"))
    few = job.table("bookings").where("booking_id % 12 = 0")
    few.select("booking_id", "reference", "memo").write.mode("overwrite").parquet(export)
    archive.mkdir(parents=True, exist_ok=True)
    for file in sorted(Path(export).glob("part-*")):
        if job.on:
            packed = lzma.compress(file.read_bytes(), preset=9)
            (archive / f"{file.name}.xz").write_bytes(packed)
        else:
            shutil.copyfile(file, archive / file.name)
    return job.table("bookings").groupBy("kind", "booked").agg(F.sum("amount").alias("amount"))


@SHAPE.cause()
def collected(job: Job) -> DataFrame:
    """Bookings and accounts meet in a dictionary of the program; or in a join."""
    bookings = job.table("bookings").where("booking_id % 8 = 0").select("debit", "kind", "amount")
    accounts = job.table("accounts").select("account", "country")
    if job.on:
        countries = {row["account"]: row["country"] for row in accounts.collect()}
        rows: list[tuple[str, str, Decimal]] = [
            (countries[row["debit"]], row["kind"], row["amount"]) for row in bookings.collect()
        ]
        met = job.spark.createDataFrame(rows, "country STRING, kind STRING, amount DECIMAL(12,2)")
    else:
        met = bookings.join(accounts, bookings.debit == accounts.account)
    return met.groupBy("country", "kind").agg(F.sum("amount").alias("amount"))


@SHAPE.cause("csv")
def schema_inferred(job: Job) -> DataFrame:
    """A view of files of CSV is made with an option that looks for types; or with types."""
    known = "" if job.on else f"({COLUMNS})"
    inferred = ", inferSchema 'true'" if job.on else ""
    job.spark.sql(
        f"""
        CREATE OR REPLACE TEMPORARY VIEW handed_in {known}
        USING csv OPTIONS (path '{job.path("csv")}', header 'true'{inferred})
        """
    )
    return job.spark.sql(
        """
        SELECT kind, currency, cast(max(debit) AS LONG) AS debit, count(*) AS n
        FROM handed_in GROUP BY kind, currency
        """
    )


@SHAPE.cause("many-files", "few-files")
def small_files(job: Job) -> DataFrame:
    """Each load's folder is named on its own, with one small file; or the loads were joined."""
    if job.on:
        paths = sorted(map(str, Path(job.path("many-files")).glob("load-*")))
    else:
        paths = [job.path("few-files")]
    return job.spark.read.parquet(*paths).groupBy("kind", "currency").agg(
        F.sum("amount").alias("amount"), F.max("booked").alias("last")
    )  # fmt: skip


@SHAPE.cause()
def spilling(job: Job) -> DataFrame:
    """Rows that were booked twice are looked for in a hash table of little memory."""
    bookings = job.table("bookings")
    once = bookings.select("debit", "kind", "amount", "reference", "memo").distinct()
    return once.groupBy("kind").agg(
        F.count("*").alias("n"), F.sum("amount").alias("amount"),
        F.sum(F.length("memo") + F.length("reference")).alias("letters"), F.max("debit").alias("d"),
    )  # fmt: skip


@SHAPE.cause()
def small_heap(job: Job) -> DataFrame:
    """The most frequent memos are counted by objects in little heap, by a setting."""
    return job.table("bookings").groupBy("kind").agg(
        F.mode("memo", True).alias("memo"), F.count("*").alias("n")
    )  # fmt: skip


@SHAPE.cause()
def interpreted_plan(job: Job) -> DataFrame:
    """A statement before the query turns off that stages are compiled."""
    if job.on:
        job.spark.sql("SET spark.sql.codegen.wholeStage=false")
    return job.spark.sql(
        """
        SELECT class, kind, month, sum(part) AS part, count(*) AS n, max(booking_id) AS last FROM (
          SELECT class, kind, booking_id, month(booked) + later AS month,
                 cents * (1 + later % 3) AS part
          FROM (SELECT *, cast(amount * 100 AS LONG) AS cents FROM bookings)
          JOIN accounts ON debit = account LATERAL VIEW explode(sequence(0, 15)) AS later
          WHERE cents > 1000 AND currency != 'SEK') GROUP BY class, kind, month
        """
    )


@SHAPE.cause()
def no_broadcast(job: Job) -> DataFrame:
    """A hint asks that both sides be shuffled for a hash join; or none does."""
    job.table("bookings")
    hint = "/*+ SHUFFLE_HASH(accounts) */" if job.on else ""
    return job.spark.sql(
        f"""
        SELECT {hint} country, kind, sum(amount) AS amount, max(booked) AS last,
          sum(length(memo) + length(reference)) AS letters, max(length(journal)) AS longest
        FROM bookings JOIN accounts ON debit = account GROUP BY country, kind
        """
    )


@SHAPE.cause()
def failing_tasks(job: Job) -> DataFrame:
    """Rows are sent to a system that drops the connection once, when all of them were sent."""
    on = job.on

    def send(rows: Iterator[Any]) -> None:
        from pyspark import TaskContext

        task, control = TaskContext.get(), 0
        for row in rows:
            control = (control * 31 + len(row[1]) + row[0]) % 1_000_003
        if on and task is not None and task.attemptNumber() == 0:
            raise ConnectionResetError(f"the connection was reset after {control}")

    job.table("bookings").where("booking_id % 4 > 0").select("debit", "memo").foreachPartition(send)
    return job.table("bookings").groupBy("kind").agg(F.sum("amount").alias("amount"))


@SHAPE.cause("fixed")
def text_format(job: Job) -> DataFrame:
    """Fields are cut out of lines of fixed widths; or they are columns of Parquet."""
    if job.on:
        lines = job.spark.read.text(job.path("fixed"))
        bookings = lines.selectExpr(
            "cast(trim(substr(value, 1, 10)) AS LONG) AS booking_id",
            "cast(trim(substr(value, 11, 8)) AS LONG) AS debit",
            "cast(trim(substr(value, 19, 8)) AS LONG) AS credit",
            "cast(trim(substr(value, 27, 14)) AS DECIMAL(12,2)) AS amount",
            "to_date(substr(value, 41, 8), 'yyyyMMdd') AS booked",
            "trim(substr(value, 49, 8)) AS kind",
        )  # fmt: skip
    else:
        bookings = job.table("bookings")
    return bookings.groupBy("kind", F.trunc("booked", "month").alias("month")).agg(
        F.sum("amount").alias("amount"), F.max("booking_id").alias("last"),
        F.max("debit").alias("debit"), F.min("credit").alias("credit"),
    )  # fmt: skip
