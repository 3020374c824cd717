"""Events: narrow rows, many keys, times. The inputs of a site's analytics, and its reports."""

from __future__ import annotations

from pyspark.sql import functions as F

from benchmarks.faults.later.job import SIZE, Job, Shape

SHAPE = Shape("events")
TABLES = ("events", "users")
ROWS = 4_000_000 * SIZE
COLUMNS = "user_id LONG, at TIMESTAMP, kind STRING, page INT, amount DOUBLE"
START = 1767225600
"""First second of 2026, UTC."""


@SHAPE.input("events")
def write_events(job: Job, path: str) -> None:
    """Write narrow rows of many users, over 30 days."""
    job.spark.range(0, ROWS, 1, 8).selectExpr("id", "xxhash64(id) AS h").selectExpr(
        "pmod(h, 300000) AS user_id",
        f"timestamp_seconds({START} + pmod(h, 2592000)) AS at",
        "element_at(array('view', 'click', 'search', 'buy', 'leave'), cast(1 + pmod(h, 5) AS INT))"
        " AS kind",
        "cast(pmod(h, 5003) AS INT) AS page",
        "cast(pmod(h, 9973) / 100.0 AS DOUBLE) AS amount",
    ).write.parquet(path)


@SHAPE.input("users")
def write_users(job: Job, path: str) -> None:
    """Write who the users are."""
    job.spark.range(0, 300_000, 1, 4).selectExpr(
        "id AS user_id", "concat('plan ', pmod(id, 5)) AS plan",
        "concat('country ', pmod(xxhash64(id), 40)) AS country",
        "hex(xxhash64(id)) AS token",
    ).write.parquet(path)  # fmt: skip


@SHAPE.input("sections")
def write_sections(job: Job, path: str) -> None:
    """Write which page is in which section."""
    job.spark.range(0, 5003, 1, 1).selectExpr(
        "cast(id AS INT) AS page", "concat('section ', id % 25) AS section"
    ).write.parquet(path)


def _json(job: Job, path: str, files: int, part: str, compression: str) -> None:
    few = job.table("events").where(part)
    few.coalesce(files).write.option("compression", compression).json(path)


SHAPE.input("gzipped")(lambda job, path: _json(job, path, 1, "page % 8 = 0", "gzip"))
SHAPE.input("gzipped-in-parts")(lambda job, path: _json(job, path, 8, "page % 8 = 0", "gzip"))
SHAPE.input("json")(lambda job, path: _json(job, path, 8, "page % 2 = 0", "none"))
SHAPE.input("one-page-in-two")(
    lambda job, path: job.table("events").where("page % 2 = 0").write.parquet(path)
)


@SHAPE.input("tracked")
def write_tracked(job: Job, path: str) -> None:
    """Write events with all that a tracker knows, of which a report needs little."""
    job.table("events").where("page % 6 = 0").selectExpr(
        "kind", "page", "user_id", "at", "amount", "array(page % 5, page % 7, page % 9) AS tests",
        "named_struct('os', concat('os', page % 7), 'agent', hex(xxhash64(at)), 'w', page % 99)"
        " AS device", "named_struct('country', page % 40, 'city', hex(user_id)) AS place",
        "concat('https://example.org/', hex(page), '?', hex(xxhash64(user_id))) AS address",
    ).write.json(path)  # fmt: skip


@SHAPE.input("bots")
def write_bots(job: Job, path: str) -> None:
    """Write events of which most are of one crawler, whose pages are known by their minute."""
    job.spark.range(0, 1_500_000, 1, 8).selectExpr(
        "if(id % 20 < 17, -1, pmod(xxhash64(id), 300000)) AS user_id", "id AS event",
        f"timestamp_seconds({START} + pmod(xxhash64(id), 2592000)) AS at",
        "cast(pmod(xxhash64(id), 5003) AS INT) AS page",
    ).write.parquet(path)  # fmt: skip


@SHAPE.input("campaigns")
def write_campaigns(job: Job, path: str) -> None:
    """Write campaigns, each of half an hour."""
    job.spark.range(0, 1440, 1, 1).selectExpr(
        "id AS campaign", f"timestamp_seconds({START} + id * 1800) AS began",
        f"timestamp_seconds({START} + id * 1800 + 1800) AS ended",
        f"date_format(timestamp_seconds({START} + id * 1800), 'yyyy-MM-dd HH:mm:ss') AS began_text",
        "cast(id % 30 AS INT) AS topic",
    ).write.parquet(path)  # fmt: skip


@SHAPE.input("days")
def write_days(job: Job, path: str) -> None:
    """Write the events of each day into a folder of its own."""
    days = job.table("events").withColumn("day", F.to_date("at"))
    days.repartition("day").write.partitionBy("day").parquet(path)


def _hours(job: Job, path: str, files: int) -> None:
    hours = job.table("events").where("page % 2 = 0").withColumn("day", F.to_date("at"))
    hours.repartition(30, "day").repartition(files, "day", F.minute("at")).write.partitionBy(
        "day"
    ).parquet(path)


SHAPE.input("many-files")(lambda job, path: _hours(job, path, 50))
SHAPE.input("few-files")(
    lambda job, path: job.table("events").where("page % 2 = 0")
    .withColumn("day", F.to_date("at")).repartition(8, "day").write.partitionBy("day").parquet(path)
)  # fmt: skip


@SHAPE.input("payloads")
def write_payloads(job: Job, path: str) -> None:
    """Write events as a tracker sends them: with a nested payload, and times as text."""
    job.table("events").where("page % 4 = 1").selectExpr(
        "user_id",
        "date_format(at, 'yyyy-MM-dd HH:mm:ss') AS at_text",
        """to_json(named_struct('page', named_struct('id', page, 'kind', kind), 'amount', amount,
          'device', named_struct('os', concat('os', page % 7), 'size', page % 11,
                                 'agent', concat('agent/', page % 99, ' (', hex(user_id), ')')),
          'at', unix_seconds(at))) AS payload""",
    ).write.parquet(path)


def usual(job: Job) -> None:
    """Report the last week's events by hour and kind, and its buyers by plan."""
    events, users = job.table("events"), job.table("users")
    week = events.where("at >= '2026-01-25'")
    job.publish(
        "hours",
        week.groupBy(F.date_trunc("hour", "at").alias("hour"), "kind").agg(
            F.count("*").alias("n"), F.sum("amount").alias("amount")
        ),
    )
    job.publish(
        "buyers",
        week.where("kind = 'buy'").join(users, "user_id").groupBy("plan", "country").agg(
            F.sum("amount").alias("amount"), F.count("*").alias("n")
        ),
    )  # fmt: skip


SHAPE.usual = usual
