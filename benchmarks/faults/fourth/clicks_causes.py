"""Causes planted in the job on clicks: each part gives the same rows with and without."""

from __future__ import annotations

import math
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from pyspark.ml.feature import StringIndexer
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.faults.fourth.clicks import LOGGED, PAYLOAD, SHAPE, STAGED
from benchmarks.faults.later.job import Job


@SHAPE.cause()
def one_task(job: Job) -> DataFrame:
    """A plan for seconds of a quarter is unrolled from one row; or its hours are spread before."""
    last = F.expr("max(at) + INTERVAL 60 DAYS").alias("last")
    ends = job.table("clicks").agg(F.date_trunc("hour", F.min("at")).alias("first"), last)
    hours = ends.select(F.explode(F.expr("sequence(first, last, INTERVAL 1 HOUR)")).alias("began"))
    if not job.on:
        hours = hours.repartition(8)
    seconds = hours.select(
        F.explode(F.expr("sequence(began, began + INTERVAL 3599 SECONDS, INTERVAL 1 SECOND)"))
        .alias("at")
    )  # fmt: skip
    shown = seconds.withColumn("local", F.expr("from_utc_timestamp(at, 'Europe/Berlin')"))
    paced = shown.withColumn("hour", F.hour("local")).join(
        F.broadcast(job.table("campaigns")), "hour"
    )
    return paced.groupBy("channel", "hour", F.date_format("local", "EEE").alias("day")).agg(
        F.sum(F.expr("budget * minute(local) DIV 60")).alias("spent"), F.count("*").alias("n")
    )


@SHAPE.cause("log-archive", "log-archive-by-hours")
def gzip_input(job: Job) -> DataFrame:
    """Beside the current log lies the archive, rotated once; or every few hours."""
    folder = job.path("log-archive" if job.on else "log-archive-by-hours")
    log = job.spark.read.load(
        [f"{folder}/current", f"{folder}/archive"], format="csv", sep="\t", schema=LOGGED
    )
    query = F.explode(F.split(F.split_part("url", F.lit("?"), F.lit(2)), "&")).alias("asked")
    asked = log.select("page_id", "status", "ms", "at", query)
    return asked.groupBy(
        "status", F.expr("split_part(asked, '=', 1)").alias("name"),
        F.expr("at DIV 3600 % 24").alias("hour"),
    ).agg(
        F.count("*").alias("n"), F.max("ms").alias("longest"),
        F.max(F.length("asked")).alias("length"),
    )  # fmt: skip


@SHAPE.cause()
def tiny_tasks(job: Job) -> DataFrame:
    """What is kept in memory for three reports is cut finely, so that it fits; or is not."""
    clicks = job.table("clicks").select("user_id", "page_id", "event", "cents", "ms")
    kept = clicks.repartition(400 if job.on else 8).cache()
    job.publish("events", kept.groupBy("event").agg(F.sum("cents").alias("cents")))
    job.publish("slow", kept.where("ms > 89000").groupBy("page_id").agg(F.count("*").alias("n")))
    return kept.groupBy("page_id", "event").agg(
        F.sum("cents").alias("cents"), F.max("user_id").alias("last")
    )


@SHAPE.cause("ads")
def skewed_key(job: Job) -> DataFrame:
    """Clicks without an advertisement meet in one task of a left join; or have own keys."""
    clicks, ads = job.table("clicks"), job.table("ads")
    key: Any = F.col("ad_id")
    if not job.on:
        key = F.coalesce("ad_id", -1 - F.col("click_id"))
    left = clicks.select(key.alias("ad_id"), "url", "agent", "event", "cents")
    asked = left.join(ads, "ad_id", "left").select(
        "keyword", "event", "cents", "agent", F.length("placed").alias("placed"),
        F.explode(F.split(F.split_part("url", F.lit("?"), F.lit(2)), "&")).alias("asked"),
    )  # fmt: skip
    return asked.groupBy("keyword", "event", F.expr("split_part(asked, '=', 1)").alias("name")).agg(
        F.sum("cents").alias("cents"), F.max(F.length("asked")).alias("asked"),
        F.max("placed").alias("placed"), F.sum(F.length("agent")).alias("agents"),
    )  # fmt: skip


@SHAPE.cause("outages")
def interval_join(job: Job) -> DataFrame:
    """Clicks in outages are those for which one exists that spans them; or by the minute."""
    job.table("clicks")
    job.table("outages")
    if job.on:
        inside = "EXISTS (SELECT 1 FROM outages WHERE at >= began AND at < ended)"
    else:
        minutes = "sequence(began, ended - INTERVAL 1 MINUTE, INTERVAL 1 MINUTE)"
        inside = f"date_trunc('minute', at) IN (SELECT explode({minutes}) FROM outages)"
    return job.spark.sql(
        f"""
        SELECT page_id, event, count(*) AS n, sum(cents) AS cents, max(ms) AS longest
        FROM clicks WHERE {inside} GROUP BY page_id, event
        """
    )


@SHAPE.cause("offers")
def pair_expression(job: Job) -> DataFrame:
    """A price is read from the address for each offer of its shelf; or once for each click."""
    offers = job.table("offers")
    clicks = job.table("clicks").where("click_id % 5 = 0").select(
        (F.col("page_id") % 20).alias("of"), "event", "cents", "url"
    )  # fmt: skip
    price = F.parse_url("url", F.lit("QUERY"), F.lit("price")).cast("int")
    if not job.on:
        clicks = clicks.withColumn("price", price)
        price = F.col("price")
    valid = (offers.shelf == clicks.of) & (price >= offers.least) & (price < offers.beyond)
    return offers.join(clicks, valid, "right").groupBy("of", "least", "event").agg(
        F.sum("cents").alias("cents"), F.count("*").alias("n")
    )  # fmt: skip


@SHAPE.cause()
def costly_pattern(job: Job) -> DataFrame:
    """All parameters of an address are put into a map to take one out; or that one is cut out."""
    if job.on:
        campaign = "str_to_map(split_part(url, '?', 2), '[&;]', '=')['utm_campaign']"
    else:
        campaign = "split_part(split_part(url, 'utm_campaign=', 2), '&', 1)"
    return job.table("clicks").groupBy(F.expr(campaign).alias("campaign"), "event").agg(
        F.sum("cents").alias("cents"), F.count("*").alias("n")
    )  # fmt: skip


@SHAPE.cause()
def python_row(job: Job) -> DataFrame:
    """Pages are joined by a path that Python takes from the address; or that Spark does."""

    def path_of(url: str) -> str:
        return urlsplit(url).path

    clicks, pages = job.table("clicks").where("click_id % 4 > 0"), job.table("pages")
    path = F.udf(path_of)("url") if job.on else F.parse_url("url", F.lit("PATH"))
    return clicks.join(pages, path == pages.path).groupBy("section", "template").agg(
        F.sum("cents").alias("cents"), F.count("*").alias("n")
    )  # fmt: skip


@SHAPE.cause()
def not_cached(job: Job) -> DataFrame:
    """Gaps in visits are computed for a total, a report, the values of a pivot, and the pivot."""
    job.table("clicks")
    steps = job.spark.sql(
        """
        SELECT page_id % 100 AS shelf, least(gap DIV 600, 5) AS late, count(*) AS n,
               sum(cents) AS cents FROM (
          SELECT page_id, cents, unix_seconds(at) - unix_seconds(
            lag(at) OVER (PARTITION BY session ORDER BY at, click_id)) AS gap FROM clicks)
        WHERE gap IS NOT NULL GROUP BY page_id % 100, least(gap DIV 600, 5)
        """
    )
    if not job.on:
        steps = steps.cache()
    whole = steps.agg(F.sum("n")).collect()[0][0]
    job.publish("late", steps.groupBy("late").agg(F.sum("n").alias("n")))
    shares = steps.withColumn("share", F.expr(f"n * 1000000 DIV {whole}"))
    return (
        shares.groupBy("shelf")
        .pivot("late")
        .agg(F.sum("cents").alias("cents"), F.sum("share").alias("share"))
    )


@SHAPE.cause()
def driver_loop(job: Job) -> DataFrame:
    """Each rule of each column is checked by a query of its own; or all of them by one."""
    daily = job.table("clicks").groupBy(F.to_date("at").alias("day"), "event").agg(
        F.count("*").alias("n"), F.sum("cents").alias("cents"), F.max("ms").alias("ms"),
        F.min("page_id").alias("page"), F.max("user_id").alias("user"), F.max("ad_id").alias("ad"),
        F.max(F.length("url")).alias("url"), F.max(F.length("agent")).alias("agent"),
    ).cache()  # fmt: skip
    broken = ("IS NULL", "= ''", "= '?'", "LIKE '-%'", "LIKE '% '", "LIKE 'null%'", "RLIKE '[|]'")
    rules = [(name, rule) for name in daily.columns for rule in broken]
    tests = [f"coalesce(cast({name} AS STRING) {rule}, false)" for name, rule in rules]
    if job.on:
        counts: Any = [daily.where(test).count() for test in tests]
    else:
        counts = daily.agg(*(F.expr(f"count_if({test})") for test in tests)).collect()[0]
    found = [(*rule, n) for rule, n in zip(rules, counts, strict=True)]
    return job.spark.createDataFrame(found, "name STRING, rule STRING, n LONG")


@SHAPE.cause()
def idle_driver(job: Job) -> DataFrame:
    """The program fits a curve of buyers, number by number; or array by array."""
    bought = F.avg(F.expr("if(event = 'buy', 1D, 0D)")).alias("bought")
    rows = (
        job.table("clicks")
        .groupBy(F.expr("page_id % 20").alias("shelf"), F.hour("at").alias("hour"),
                 F.weekday("at").alias("day"))
        .agg(bought).orderBy("shelf", "hour", "day").collect()
    )  # fmt: skip
    xs = [
        [1.0, shelf / 20, math.sin(hour * math.pi / 12), math.cos(hour * math.pi / 12), day / 7]
        for shelf, hour, day, _ in rows
    ]
    ys, weights, rounds, step = [row["bought"] for row in rows], [0.0] * 5, 1500, 0.5
    if job.on:
        for _ in range(rounds):
            slopes = [0.0] * 5
            for x, y in zip(xs, ys, strict=True):
                off = 1 / (1 + math.exp(-sum(a * b for a, b in zip(weights, x, strict=True)))) - y
                for place, value in enumerate(x):
                    slopes[place] += off * value
            weights = [a - step * b / len(xs) for a, b in zip(weights, slopes, strict=True)]
    else:
        known, wanted, fitted = np.array(xs), np.array(ys), np.zeros(5)
        for _ in range(rounds):
            off = 1 / (1 + np.exp(-known @ fitted)) - wanted
            fitted -= step * (off @ known) / len(xs)
        weights = fitted.tolist()
    found = list(enumerate(weights))
    return job.spark.createDataFrame(found, "place INT, weight DOUBLE")


@SHAPE.cause()
def collected(job: Job) -> DataFrame:
    """The last click of each session is found by pandas in the program; or by Spark."""
    few = (
        job.table("clicks")
        .where("click_id % 2 = 0")
        .selectExpr("session", "unix_seconds(at) * 10000000 + click_id AS place", "page_id", "ms")
    )
    if job.on:
        table = few.toPandas().sort_values(["session", "place"])
        last = job.spark.createDataFrame(table.drop_duplicates("session", keep="last"))
    else:
        last = few.groupBy("session").agg(
            F.max_by("page_id", "place").alias("page_id"), F.max_by("ms", "place").alias("ms")
        )
    return last.groupBy(F.col("page_id").cast("int").alias("page_id")).agg(
        F.count("*").alias("n"), F.max(F.col("ms").cast("int")).alias("longest")
    )


@SHAPE.cause("tracked")
def schema_inferred(job: Job) -> DataFrame:
    """Fields of JSON in a column are looked for in all its rows before; or they are known."""
    payloads = job.table("tracked").select("payload")
    reader = job.spark.read if job.on else job.spark.read.schema(PAYLOAD)
    return reader.json(payloads).groupBy("event", "page_id").agg(F.count("*").alias("n"))


@SHAPE.cause()
def small_files(job: Job) -> DataFrame:
    """Each task writes into the folders of all days and events; or each folder has one task."""
    clicks = job.table("clicks").withColumn("day", F.to_date("at"))
    few = clicks.where("click_id % 4 = 0").select("click_id", "page_id", "cents", "day", "event")
    few = few.repartition(12, "page_id") if job.on else few.repartition(12, "day", "event")
    few.write.mode("overwrite").partitionBy("day", "event").parquet(job.output("by-day"))
    return clicks.groupBy("day", "event").agg(F.sum("cents").alias("cents"))


@SHAPE.cause()
def spilling(job: Job) -> DataFrame:
    """Sets of groups are added up in little memory outside of the heap, by settings."""
    job.table("clicks")
    return job.spark.sql(
        """
        SELECT session IS NULL AS by_user, n, count(*) AS groups, sum(cents) AS cents FROM (
          SELECT session, user_id, page_id, count(*) AS n, sum(cents) AS cents FROM clicks
          GROUP BY GROUPING SETS ((session), (user_id, page_id)))
        GROUP BY session IS NULL, n
        """
    )


@SHAPE.cause()
def small_heap(job: Job) -> DataFrame:
    """Sessions are numbered for a model, with all their names in little heap, by a setting."""
    few = job.table("clicks").where("click_id % 5 < 2").select("session", "page_id", "cents")
    indexer = StringIndexer(inputCol="session", outputCol="number", stringOrderType="frequencyDesc")
    numbered = indexer.fit(few).transform(few)
    return numbered.groupBy(F.expr("cast(number AS LONG) % 1000").alias("part")).agg(
        F.sum("cents").alias("cents"), F.max("page_id").alias("page"), F.count("*").alias("n")
    )


@SHAPE.cause()
def interpreted_plan(job: Job) -> DataFrame:
    """Sections of popular pages are in a CASE too long to be compiled; or in a joined table."""
    clicks = job.table("clicks").select("page_id", "event", "cents", "ms")
    popular = job.table("pages").where("page_id < 600").select("page_id", "section")
    if job.on:
        section: Any = F
        for page, name in popular.orderBy("page_id").collect():
            section = section.when(F.col("page_id") == page, name)
        found = clicks.withColumn("section", section)
    else:
        found = clicks.join(F.broadcast(popular), "page_id", "left")
    return found.groupBy("section", "event").agg(
        F.sum("cents").alias("cents"), F.max("ms").alias("longest"), F.count("*").alias("n")
    )


@SHAPE.cause()
def no_broadcast(job: Job) -> DataFrame:
    """Pages are joined as if both sides could miss, which rules a broadcast out; or one side."""
    clicks, pages = job.table("clicks"), job.table("pages")
    joined = clicks.join(pages, "page_id", "outer" if job.on else "left")
    return joined.groupBy("section", "template").agg(
        F.sum("cents").alias("cents"), F.max("at").alias("last"),
        F.sum(F.length("url") + F.length("agent") + F.length("session")).alias("letters"),
    )  # fmt: skip


@SHAPE.cause()
def text_format(job: Job) -> DataFrame:
    """Rows for three reports are put down as text on the way, and read again; or as Parquet."""
    staged = job.table("clicks").selectExpr(
        "click_id", "user_id", "unix_seconds(at) AS at", "event", "page_id", "cents", "url"
    )  # fmt: skip
    path = job.output("staged")
    if job.on:
        staged.write.mode("overwrite").csv(path)
        again = job.spark.read.schema(STAGED).csv(path)
    else:
        staged.write.mode("overwrite").parquet(path)
        again = job.spark.read.schema(STAGED).parquet(path)
    job.publish("events", again.groupBy("event").agg(F.max("at").alias("at")))
    job.publish("users", again.groupBy(F.expr("user_id % 100 AS user")).agg(F.sum("cents")))
    return again.groupBy("page_id", "event").agg(
        F.sum("cents").alias("cents"), F.max("click_id").alias("last"),
        F.sum(F.length("url")).alias("letters"),
    )  # fmt: skip


@SHAPE.cause()
def needless_shuffle(job: Job) -> DataFrame:
    """Both parts of a union are clustered by session, before rows are added up by page."""
    job.table("clicks")
    spread = "CLUSTER BY session" if job.on else ""
    return job.spark.sql(
        f"""
        WITH bought AS (SELECT * FROM clicks WHERE event IN ('buy', 'cart') {spread}),
             seen AS (SELECT * FROM clicks WHERE event NOT IN ('buy', 'cart') {spread})
        SELECT page_id, event, sum(cents) AS cents, max(length(url)) AS address,
               max(length(agent)) AS agent, sum(length(session)) AS letters, count(*) AS n
        FROM (SELECT * FROM bought UNION ALL SELECT * FROM seen) GROUP BY page_id, event
        """
    )
