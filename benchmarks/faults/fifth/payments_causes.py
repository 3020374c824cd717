"""Causes planted in the job on payments: each part gives the same rows with and without."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import ROUND_HALF_EVEN, Decimal

import pandas as pd  # type: ignore[import-untyped]
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.faults.fifth.payments import ACCOUNTS, BANKS, CLEARED, DAYS, SHAPE, STATEMENT
from benchmarks.faults.later.job import Job


@SHAPE.cause("one-row-group", "row-groups")
def one_task(job: Job) -> DataFrame:
    """A file that another program wrote is one row group, read by one task; or has many."""
    delivered = job.spark.read.parquet(job.path("one-row-group" if job.on else "row-groups"))
    parts = delivered.select(
        "payment_id", "currency", "amount", F.trunc("due", "month").alias("month"),
        F.explode(F.sequence(F.lit(1), F.lit(12))).alias("part"),
    )  # fmt: skip
    return parts.groupBy("currency", "month", "part").agg(
        F.sum(F.expr("cast(amount * part / 78 AS DECIMAL(14,2))")).alias("amount"),
        F.max("payment_id").alias("last"), F.count("*").alias("n"),
    )  # fmt: skip


@SHAPE.cause()
def tiny_tasks(job: Job) -> DataFrame:
    """A range of all accounts takes the parallelism of a large cluster, by a setting."""
    job.table("payments")
    return job.spark.sql(
        f"""
        SELECT class, count(*) AS accounts, sum(sent) AS sent, sum(amount) AS amount,
               max(last) AS last
        FROM (SELECT id AS account, pmod(xxhash64(id), 40) AS class FROM range(0, {ACCOUNTS}))
        LEFT JOIN (
          SELECT payer AS account, count(*) AS sent, sum(amount) AS amount, max(sent_at) AS last
          FROM payments WHERE status != 'returned' GROUP BY payer) USING (account)
        GROUP BY class
        """
    )


@SHAPE.cause("cleared-by-bank", "cleared-by-payer")
def skewed_key(job: Job) -> DataFrame:
    """A table is bucketed by bank, of which the own one has most rows; or by payer."""
    name, key = ("cleared-by-bank", "bank_id") if job.on else ("cleared-by-payer", "payer")
    table = f"cleared_by_{key}"
    job.spark.sql(
        f"""
        CREATE TABLE IF NOT EXISTS {table} ({CLEARED}) USING parquet
        CLUSTERED BY ({key}) INTO 8 BUCKETS LOCATION '{job.path(name)}'
        """
    )
    return job.spark.sql(
        f"""
        SELECT currency, place, part, count(*) AS n, sum(gap) AS gap,
               max(paid - 100 * part) AS paid FROM (
          SELECT currency, unix_seconds(sent_at) - unix_seconds(lag(sent_at) OVER w) AS gap,
                 sum(amount) OVER w AS paid, count(*) OVER w AS place
          FROM {table} WINDOW w AS (PARTITION BY bank_id, payer ORDER BY sent_at, payment_id))
        LATERAL VIEW explode(sequence(1, 12)) AS part GROUP BY currency, place, part
        """
    )


@SHAPE.cause()
def no_broadcast(job: Job) -> DataFrame:
    """Banks are asked whether a payment EXISTS, which shuffles all; or payments meet their bank."""
    job.table("payments")
    job.table("banks")
    looked_at = """p.bank_id = b.bank_id AND p.amount > b.ceiling AND p.currency != b.currency
      AND p.channel != b.channel AND p.sent_at >= b.joined_at
      AND NOT startswith(p.reference, b.bic)"""
    if job.on:
        found = f"""SELECT country, scheme, ceiling FROM banks b
          WHERE EXISTS (SELECT 1 FROM payments p WHERE {looked_at})"""
    else:
        found = f"""SELECT DISTINCT b.bank_id, country, scheme, ceiling
          FROM payments p JOIN banks b ON {looked_at}"""
    return job.spark.sql(
        f"""
        SELECT country, scheme, count(*) AS banks, sum(ceiling) AS ceiling
        FROM ({found}) GROUP BY country, scheme
        """
    )


@SHAPE.cause()
def small_files(job: Job) -> DataFrame:
    """A few hundred rows fill a file, by a setting."""
    payments = job.table("payments")
    few = payments.where("status = 'held'").drop("payer", "status")
    few.write.mode("overwrite").parquet(job.output("held"))
    return payments.groupBy("status", F.to_date("sent_at").alias("day")).agg(
        F.sum("amount").alias("amount"), F.max("payment_id").alias("last")
    )


@SHAPE.cause()
def needless_shuffle(job: Job) -> DataFrame:
    """Payments are put into ranges of time, and then brought together by payer all the same."""
    payments = job.table("payments")
    if job.on:
        payments = payments.repartitionByRange(8, "sent_at")
    return payments.groupBy("payer").agg(
        F.sum("amount").alias("amount"), F.max("sent_at").alias("last"),
        F.max("reference").alias("reference"), F.count_if(F.col("status") == "held").alias("held"),
        F.max_by("channel", "payment_id").alias("channel"), F.min("due").alias("due"),
        F.sum(F.length("reference")).alias("letters"), F.max("payee").alias("payee"),
    )  # fmt: skip


@SHAPE.cause("statement")
def schema_inferred(job: Job) -> DataFrame:
    """A table in the manner of pandas looks for the types of a file; or is told them."""
    import pyspark.pandas as ps

    statement = ps.read_csv(
        job.path("statement"), header=0, names=None if job.on else STATEMENT,
        index_col="payment_id",
    ).to_spark(index_col="payment_id")  # fmt: skip
    return statement.groupBy("currency", F.col("bank_id").cast("int").alias("bank_id")).agg(
        F.max("amount").alias("largest"), F.max(F.col("payment_id").cast("long")).alias("last")
    )


@SHAPE.cause()
def costly_pattern(job: Job) -> DataFrame:
    """Working days until a payment is due are listed to be counted; or computed."""
    job.table("payments")
    if job.on:
        days = "size(filter(sequence(to_date(sent_at), due), day -> weekday(day) < 5))"
    else:
        since = "datediff({}, DATE'2025-12-29')"
        before = f"({since} DIV 7 * 5 + least({since} % 7, 5))"
        until, begun = (before.replace("{}", each) for each in ("due + 1", "to_date(sent_at)"))
        days = f"cast({until} - {begun} AS INT)"
    return job.spark.sql(
        f"""
        SELECT currency, {days} AS days, count(*) AS n, sum(amount) AS amount
        FROM payments WHERE channel != 'card' GROUP BY ALL
        """
    )


@SHAPE.cause()
def small_heap(job: Job) -> DataFrame:
    """Rows are checkpointed as objects in little heap, by a setting, and read three times."""
    payments = job.table("payments").where("status = 'booked'")
    kept = payments.drop("status", "due").localCheckpoint()
    job.publish("channels", kept.groupBy("channel").agg(F.sum("amount").alias("amount")))
    job.publish("payees", kept.groupBy("payee").agg(F.max("sent_at").alias("last")))
    return kept.groupBy("bank_id", "currency").agg(
        F.sum("amount").alias("amount"), F.max("reference").alias("reference")
    )


@SHAPE.cause()
def spilling(job: Job) -> DataFrame:
    """Rows of a day that a window looks at go to disk after some thousands, by a setting."""
    job.table("payments")
    return job.spark.sql(
        """
        SELECT day, channel, currency, max(amount / whole) AS share, max(size) AS size,
               count_if(amount > 2 * mean) AS large, max(reference) AS reference
        FROM (
          SELECT to_date(sent_at) AS day, channel, currency, amount, reference,
                 sum(amount) OVER days AS whole, avg(amount) OVER days AS mean,
                 count(*) OVER days AS size
          FROM payments WINDOW days AS (PARTITION BY to_date(sent_at)))
        GROUP BY day, channel, currency
        """
    )


@SHAPE.cause()
def driver_loop(job: Job) -> DataFrame:
    """What a day brought is asked for when its turn comes; or all days are asked for at once."""
    came, went = "if(bank_id < 5, amount, 0)", f"if(payer % {BANKS} < 5, amount, 0)"
    daily = job.table("payments").groupBy(F.to_date("sent_at").alias("day")).agg(
        F.sum(F.expr(f"{came} - {went}")).alias("change")
    )  # fmt: skip
    first = date(2026, 1, 1)
    if job.on:
        daily = daily.cache()
    else:
        changes = {row["day"]: row["change"] for row in daily.collect()}
    balance, balances = Decimal(1_000_000), []
    for place in range(DAYS - 60, DAYS):
        day = first + timedelta(days=place)
        if job.on:
            row = daily.where(F.col("day") == day).first()
            change = row["change"] if row else Decimal(0)
        else:
            change = changes.get(day, Decimal(0))
        interest = balance * Decimal("0.00004") if balance > 0 else balance * Decimal("0.0003")
        balance = (balance + change + interest).quantize(Decimal("0.01"), ROUND_HALF_EVEN)
        balances.append((day, balance))
    return job.spark.createDataFrame(balances, "day DATE, balance DECIMAL(20,2)")


@SHAPE.cause()
def collected(job: Job) -> DataFrame:
    """Payments come to the program as a table of Arrow, are netted there and go back."""
    few = job.table("payments").where("status = 'booked'")
    few = few.select("payment_id", "payer", "currency", "amount", "reference")
    if job.on:
        table = few.toArrow().sort_by([("payer", "ascending"), ("payment_id", "ascending")])
        netted = table.group_by(["payer", "currency"]).aggregate(
            [("amount", "sum"), ("payment_id", "max"), ("reference", "max")]
        )
        net = job.spark.createDataFrame(netted)
    else:
        net = few.groupBy("payer", "currency").agg(
            F.sum("amount").alias("amount_sum"), F.max("payment_id").alias("payment_id_max"),
            F.max("reference").alias("reference_max"),
        )  # fmt: skip
    return net.join(job.table("currencies"), "currency").groupBy("region", "currency").agg(
        F.max(F.col("amount_sum").cast("decimal(24,2)")).alias("most"), F.count("*").alias("n"),
        F.max("payment_id_max").alias("last"), F.max("reference_max").alias("reference"),
    )  # fmt: skip


@SHAPE.cause()
def python_row(job: Job) -> DataFrame:
    """A weighted mean is an aggregate in pandas, called for each group; or two sums."""

    def weighted(amounts: pd.Series, days: pd.Series) -> float:
        return float((amounts * days).sum() / days.sum())

    waits = job.table("payments").where("channel = 'app'").select(
        "bank_id", F.weekday("sent_at").alias("weekday"),
        F.col("amount").cast("double").alias("amount"),
        F.datediff("due", "sent_at").cast("double").alias("days"),
    )  # fmt: skip
    if job.on:
        mean = F.pandas_udf(weighted, "double")("amount", "days")
    else:
        mean = F.sum(F.expr("amount * days")) / F.sum("days")
    return waits.groupBy("bank_id", "weekday").agg(mean.alias("mean"))


@SHAPE.cause()
def not_cached(job: Job) -> DataFrame:
    """A query joins a summary with itself for days before, and computes it for each of them."""
    rates = F.broadcast(job.table("rates"))
    daily = (
        job.table("payments").withColumn("day", F.to_date("sent_at"))
        .join(rates, ["currency", "day"])
        .groupBy("bank_id", "day")
        .agg(F.sum(F.expr("amount * rate")).alias("worth"), F.count("*").alias("n"),
             F.max("amount").alias("largest"), F.max("reference").alias("reference"),
             F.count_if(F.col("status") == "returned").alias("returned"))
    )  # fmt: skip
    if not job.on:
        daily = daily.cache()
    daily.createOrReplaceTempView("daily")
    return job.spark.sql(
        """
        SELECT now.bank_id, count(*) AS days, sum(now.worth - before.worth) AS change,
               max(now.reference) AS reference, sum(now.n) AS n, max(week.largest) AS largest,
               sum(week.returned) AS returned
        FROM daily now
        JOIN daily before ON before.bank_id = now.bank_id AND before.day = date_sub(now.day, 1)
        JOIN daily week ON week.bank_id = now.bank_id AND week.day = date_sub(now.day, 7)
        GROUP BY now.bank_id
        """
    )


@SHAPE.cause("messages")
def json_again(job: Job) -> DataFrame:
    """Each field of a message is a lateral view of its own; or one view gives all."""
    job.table("messages")
    names = ("debtor", "creditor", "currency", "amount", "channel", "due", "reference")
    if job.on:
        views = "\n".join(
            f"LATERAL VIEW json_tuple(message, '{name}') of_{name} AS {name}" for name in names
        )
    else:
        asked = ", ".join(f"'{name}'" for name in names)
        views = f"LATERAL VIEW json_tuple(message, {asked}) fields AS {', '.join(names)}"
    return job.spark.sql(
        f"""
        SELECT currency, channel, sum(cast(amount AS DECIMAL(14,2))) AS amount, max(due) AS due,
               max(cast(debtor AS LONG)) AS debtor, min(cast(creditor AS LONG)) AS creditor,
               max(reference) AS reference
        FROM messages {views} GROUP BY currency, channel
        """
    )


@SHAPE.cause("loaded")
def pruning_defeated(job: Job) -> DataFrame:
    """A view keeps the newest version over all days, below which a day cannot go; or of each."""
    job.spark.read.parquet(job.path("loaded")).createOrReplaceTempView("loaded")
    of = "payment_id" if job.on else "day, payment_id"
    job.spark.sql(
        f"""
        CREATE OR REPLACE TEMPORARY VIEW newest AS SELECT * FROM (
          SELECT *, row_number() OVER (PARTITION BY {of} ORDER BY version DESC) AS place
          FROM loaded) WHERE place = 1
        """
    )
    return job.spark.sql(
        """
        SELECT day, currency, status, sum(amount) AS amount, max(payer) AS payer, count(*) AS n
        FROM newest WHERE day BETWEEN DATE'2026-02-02' AND DATE'2026-02-08'
        GROUP BY day, currency, status
        """
    )


@SHAPE.cause()
def cached_once(job: Job) -> DataFrame:
    """All that is known of payments is cached, and one report is made of it; or it is a view."""
    for name in ("payments", "banks", "rates"):
        job.table(name)
    kept = "CACHE TABLE enriched AS" if job.on else "CREATE OR REPLACE TEMPORARY VIEW enriched AS"
    job.spark.sql(
        f"""
        {kept} SELECT p.*, bic, country, scheme, rate, cast(amount * rate AS DECIMAL(18,2)) AS worth
        FROM payments p JOIN banks b ON p.bank_id = b.bank_id
        JOIN rates r ON p.currency = r.currency AND to_date(sent_at) = r.day
        WHERE p.channel != 'batch'
        """
    )
    return job.spark.sql(
        """
        SELECT country, scheme, channel, sum(worth) AS worth, max(due) AS due, count(*) AS n
        FROM enriched GROUP BY country, scheme, channel
        """
    )


@SHAPE.cause("holders")
def exploding_join(job: Job) -> DataFrame:
    """Payments meet all holders of an account and are made single again; or one row of each."""
    job.table("payments")
    job.table("holders")
    if job.on:
        rated = """SELECT payment_id, any_value(channel) AS channel, any_value(amount) AS amount,
            max(risk) AS risk, min(since) AS since
          FROM payments JOIN holders ON payer = account GROUP BY payment_id"""
    else:
        rated = """SELECT channel, amount, risk, since FROM payments JOIN (
            SELECT account, max(risk) AS risk, min(since) AS since FROM holders GROUP BY account)
          ON payer = account"""
    return job.spark.sql(
        f"""
        SELECT channel, risk, since, count(*) AS n, sum(amount) AS amount
        FROM ({rated}) GROUP BY channel, risk, since
        """
    )
