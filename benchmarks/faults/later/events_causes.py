"""Causes planted in the job on events: each part gives the same rows with and without."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from benchmarks.faults.later.events import COLUMNS, SHAPE, START
from benchmarks.faults.later.job import Job


@SHAPE.cause()
def one_task(job: Job) -> DataFrame:
    """Shares of the whole are computed by a window over everything; or by a total, joined."""
    events = job.table("events").where("page % 2 = 0").select("user_id", "kind", "at", "amount")
    if job.on:
        shares = job.spark.sql(
            """
            SELECT kind, user_id % 1000 AS cohort, amount, hour(at) AS hour,
              sum(amount) OVER () AS whole, max(at) OVER () AS latest
            FROM events WHERE page % 2 = 0
            """
        )
    else:
        whole = events.agg(F.sum("amount").alias("whole"), F.max("at").alias("latest"))
        shares = events.crossJoin(F.broadcast(whole)).selectExpr(
            "kind", "user_id % 1000 AS cohort", "amount", "hour(at) AS hour", "whole", "latest"
        )
    return shares.groupBy("kind", "cohort").agg(
        F.sum(F.expr("1e6 * amount / whole")).alias("share"), F.max("hour").alias("hour")
    )


@SHAPE.cause("gzipped", "gzipped-in-parts")
def gzip_input(job: Job) -> DataFrame:
    """Lines of JSON come in one gzip file; or in eight."""
    path = job.path("gzipped" if job.on else "gzipped-in-parts")
    events = job.spark.read.schema(COLUMNS).json(path)
    windows = events.select(
        "user_id", "kind", F.explode(F.sequence(F.lit(0), F.lit(23))).alias("back"), "at"
    ).select("user_id", "kind", F.expr("date_trunc('hour', at) + make_interval(0, 0, 0, 0, back)")
             .alias("hour"))  # fmt: skip
    return windows.groupBy("kind", "hour").agg(
        F.count("*").alias("n"), F.max("user_id").alias("last")
    )


@SHAPE.cause()
def tiny_tasks(job: Job) -> DataFrame:
    """Two thousand shuffle partitions which adaptive execution may not join, by settings."""
    return (
        job.table("events").where("page % 5 < 2").groupBy("user_id")
        .agg(F.count("*").alias("n"), F.max("at").alias("last"), F.sum("amount").alias("amount"))
        .groupBy("n", F.to_date("last").alias("day")).agg(F.count("*").alias("users"))
    )  # fmt: skip


@SHAPE.cause("bots")
def skewed_key(job: Job) -> DataFrame:
    """Events are kept together by user, of whom one is a crawler; or by user and day."""
    bots = job.table("bots")
    if job.on:
        bots.repartition("user_id").createOrReplaceTempView("bots")
    return job.spark.sql(
        """
        SELECT page % 100 AS shelf, count(*) AS n, sum(place) AS places, max(since) AS since FROM (
          SELECT page,
            row_number() OVER (PARTITION BY user_id, to_date(at) ORDER BY at, event) AS place,
            unix_seconds(at) - unix_seconds(first_value(at) OVER (
              PARTITION BY user_id, to_date(at) ORDER BY at, event)) AS since
          FROM bots) GROUP BY page % 100
        """
    )


@SHAPE.cause("campaigns")
def interval_join(job: Job) -> DataFrame:
    """Campaigns are found by crossing and filtering; or by the number of the half hour."""
    events, campaigns = job.table("events").where("page % 8 = 0"), job.table("campaigns")
    if job.on:
        met = events.crossJoin(campaigns).where("at >= began AND at < ended")
    else:
        half_hour = F.floor((F.unix_seconds("at") - START) / 1800)
        met = events.join(campaigns, half_hour == campaigns.campaign)
    return met.groupBy("topic", "kind").agg(
        F.sum("amount").alias("amount"), F.count("*").alias("n")
    )


@SHAPE.cause("payloads", "campaigns")
def pair_expression(job: Job) -> DataFrame:
    """Times as text are parsed for each pair of event and campaign of its topic; or before."""
    payloads, campaigns = job.table("payloads"), job.table("campaigns")
    few = payloads.where("user_id % 6 = 0")
    left, right = few.selectExpr("user_id % 30 AS topic", "at_text"), campaigns
    if job.on:
        late = "to_timestamp(e.at_text) >= to_timestamp(c.began_text) + INTERVAL 29 DAYS"
    else:
        left = left.selectExpr("topic", "to_timestamp(at_text) AS at")
        right = right.selectExpr("topic", "to_timestamp(began_text) + INTERVAL 29 DAYS AS late")
        late = "e.at >= c.late"
    left.createOrReplaceTempView("e")
    right.createOrReplaceTempView("c")
    return job.spark.sql(
        "SELECT e.topic, count(*) AS n FROM e JOIN c"
        f" ON e.topic = c.topic AND {late} GROUP BY e.topic"
    )


@SHAPE.cause()
def costly_pattern(job: Job) -> DataFrame:
    """The day is written as text and read again by a pattern; or cut from the time."""
    if job.on:
        day = "to_date(date_format(at, 'EEEE, dd MMMM yyyy'), 'EEEE, dd MMMM yyyy')"
        job.spark.conf.set("spark.sql.legacy.timeParserPolicy", "LEGACY")
    else:
        day = "to_date(at)"
    events = job.table("events").where("page % 4 = 0")
    return events.groupBy(F.expr(day).alias("day"), "kind").agg(F.count("*").alias("n"))


@SHAPE.cause()
def python_row(job: Job) -> DataFrame:
    """Rows go through Python as an RDD; or stay columns."""
    events = job.table("events").where("page % 8 = 0").select("user_id", "kind", "amount")
    if job.on:
        taxed: Any = events.rdd.map(
            lambda row: Row(group=row.user_id % 500, kind=row.kind.upper(), net=row.amount / 1.25)
        )
        net = job.spark.createDataFrame(
            taxed, '"group" LONG, kind STRING, net DOUBLE'.replace('"', "`")
        )
    else:
        net = events.selectExpr(
            "user_id % 500 AS `group`", "upper(kind) AS kind", "amount / 1.25 AS net"
        )
    return net.groupBy("group", "kind").agg(F.sum("net").alias("net"))


@SHAPE.cause()
def not_cached(job: Job) -> DataFrame:
    """Sessions are computed again in every round of an iteration, with what it found before."""
    job.table("events")
    pages = job.spark.sql(
        """
        SELECT page, next_page, count(*) AS n FROM (
          SELECT page % 64 AS page,
            lead(page % 64) OVER (PARTITION BY user_id ORDER BY at, page, amount) AS next_page
          FROM events WHERE user_id % 4 = 0)
        WHERE next_page IS NOT NULL GROUP BY page, next_page
        """
    )
    if not job.on:
        pages = pages.cache()
    ranks = dict.fromkeys(range(64), 1.0)
    for _ in range(4):
        known = job.spark.createDataFrame(list(ranks.items()), "page LONG, rank DOUBLE")
        given = pages.join(F.broadcast(known), "page").groupBy("next_page").agg(
            F.sum(F.expr("rank * n")).alias("rank")
        )  # fmt: skip
        rows = given.collect()
        total = sum(row["rank"] for row in rows)
        ranks = {row["next_page"]: row["rank"] / total for row in rows}
    return job.spark.createDataFrame(sorted(ranks.items()), "page LONG, rank DOUBLE")


@SHAPE.cause("days")
def driver_loop(job: Job) -> DataFrame:
    """Each day is read and written on its own; or all days at once."""
    path = job.path("days")
    if not job.on:
        days = job.spark.read.parquet(path)
        return days.where("kind = 'buy'").groupBy("day").agg(F.sum("amount").alias("amount"))
    found: list[tuple[Any, ...]] = []
    for day in range(1, 31):
        text = f"2026-01-{day:02}"
        one = job.spark.read.parquet(f"{path}/day={text}").where("kind = 'buy'")
        if one.take(1):
            row = one.agg(F.sum("amount")).first()
            found.append((text, row[0] if row else None))
    known = job.spark.createDataFrame(found, "day STRING, amount DOUBLE")
    return known.select(F.to_date("day").alias("day"), "amount")


@SHAPE.cause()
def idle_driver(job: Job) -> DataFrame:
    """The driver walks through rows in Python; or Spark adds them up."""
    hours = (
        job.table("events").where("page % 40 = 3").groupBy("user_id", F.hour("at").alias("hour"))
    )
    counted = hours.count()
    if not job.on:
        late = F.when(F.col("hour") >= 18, F.col("count")).otherwise(0)
        return counted.groupBy("hour").agg(F.sum("count").alias("n"), F.sum(late).alias("late"))
    table = counted.select("hour", "count").toPandas()
    found: dict[int, list[int]] = {}
    for _, row in table.iterrows():
        one = found.setdefault(int(row["hour"]), [0, 0])
        one[0] += int(row["count"])
        one[1] += int(row["count"]) if row["hour"] >= 18 else 0
    rows = [(hour, *sums) for hour, sums in found.items()]
    return job.spark.createDataFrame(rows, "hour INT, n LONG, late LONG")


@SHAPE.cause()
def collected(job: Job) -> DataFrame:
    """Events come to the driver for pandas, and go back; or stay where they are."""
    events = job.table("events").where("page % 20 = 0").select("user_id", "at", "kind", "amount")
    if job.on:
        job.spark.conf.set("spark.sql.execution.arrow.pyspark.enabled", "false")
        table = events.toPandas()
        table["cohort"] = table["user_id"] % 100
        known = job.spark.createDataFrame(table[["cohort", "kind", "amount"]])
    else:
        known = events.select((F.col("user_id") % 100).alias("cohort"), "kind", "amount")
    return known.groupBy("cohort", "kind").agg(F.sum("amount").alias("amount"))


@SHAPE.cause("tracked")
def schema_inferred(job: Job) -> DataFrame:
    """Lines of JSON are read for their fields first; or their schema is known."""
    reader = job.spark.read if job.on else job.spark.read.schema("kind STRING, page LONG")
    return reader.json(job.path("tracked")).groupBy("kind").agg(F.max("page").alias("page"))


@SHAPE.cause("many-files", "few-files")
def small_files(job: Job) -> DataFrame:
    """Each day's folder has fifty files; or one."""
    events = job.spark.read.parquet(job.path("many-files" if job.on else "few-files"))
    return events.groupBy("day", "kind").agg(
        F.sum("amount").alias("amount"), F.max("at").alias("at")
    )


@SHAPE.cause()
def spilling(job: Job) -> DataFrame:
    """Users' events are collected in little memory, by a setting."""
    users = job.table("events").where("page % 2 = 0").groupBy("user_id", "kind").agg(
        F.collect_list(F.struct("at", "page")).alias("visits")
    )  # fmt: skip
    return users.groupBy("kind", F.size("visits").alias("n")).agg(
        F.count("*").alias("users"), F.max(F.array_max("visits")).getField("at").alias("last")
    )


@SHAPE.cause()
def small_heap(job: Job) -> DataFrame:
    """Events are cached as objects in little heap, by a setting, and read three times."""
    events = job.table("events").where("page % 2 = 0").cache()
    job.publish("kinds", events.groupBy("kind").agg(F.count("*").alias("n")))
    job.publish("pages", events.groupBy("page").agg(F.max("at").alias("at")))
    return events.groupBy("user_id").agg(F.collect_set("page").alias("pages")).groupBy(
        F.size("pages").alias("n")
    ).agg(F.count("*").alias("users"))  # fmt: skip


@SHAPE.cause()
def interpreted_plan(job: Job) -> DataFrame:
    """Neither stages nor expressions are compiled, by settings."""
    hour = F.hour("at")
    return (
        job.table("events").where("amount > 0.5 AND kind IN ('view', 'click', 'buy', 'search')")
        .select("page", "amount", hour.alias("hour"), F.expr("unix_seconds(at) % 3600").alias("s"),
                F.concat_ws("/", "kind", (F.col("page") % 10).cast("string")).alias("path"))
        .where("s BETWEEN 5 AND 3590").groupBy("path", "hour")
        .agg(F.sum(F.expr("amount * s / 3600")).alias("amount"), F.count("*").alias("n"))
    )  # fmt: skip


@SHAPE.cause("sections")
def no_broadcast(job: Job) -> DataFrame:
    """A hint asks for a merge with a small table; or none does."""
    job.table("events")
    job.table("sections")
    hint = "/*+ MERGE(sections) */" if job.on else ""
    return job.spark.sql(
        f"""
        SELECT {hint} section, kind, count(*) AS n, sum(amount) AS amount, max(at) AS last
        FROM events JOIN sections ON events.page = sections.page GROUP BY section, kind
        """
    )


@SHAPE.cause()
def failing_tasks(job: Job) -> DataFrame:
    """An RDD's partitions fail once when they are nearly done."""
    on = job.on

    def totals(rows: Iterator[Any]) -> Iterator[tuple[int, int, int]]:
        from pyspark import TaskContext

        found = [[0, 0] for _ in range(24)]
        for row in rows:
            found[row[0]][0] += 1
            found[row[0]][1] += len(row[1])
        task = TaskContext.get()
        if on and task is not None and task.partitionId() % 4 and task.attemptNumber() == 0:
            raise OSError("the connection was reset")
        return iter([(hour, n, size) for hour, (n, size) in enumerate(found)])

    few = job.table("events").where("page % 5 = 0").select(F.hour("at"), "kind").coalesce(8)
    made = job.spark.createDataFrame(few.rdd.mapPartitions(totals), "hour LONG, n LONG, size LONG")
    return made.groupBy("hour").agg(F.sum("n").alias("n"), F.sum("size").alias("size"))


@SHAPE.cause()
def costly_codec(job: Job) -> DataFrame:
    """Shuffles are compressed as for an archive, by settings."""
    events = job.table("events").repartition(8, "user_id").sortWithinPartitions("user_id", "at")
    return events.groupBy("user_id").agg(
        F.count("*").alias("n"), F.min("at").alias("first"), F.max("kind").alias("kind")
    ).groupBy("n", "kind").agg(
        F.max("first").alias("first"), F.count("*").alias("users")
    )  # fmt: skip


@SHAPE.cause("json", "one-page-in-two")
def text_format(job: Job) -> DataFrame:
    """Events are lines of JSON; or Parquet."""
    if job.on:
        events = job.spark.read.schema(COLUMNS).json(job.path("json"))
    else:
        events = job.spark.read.parquet(job.path("one-page-in-two"))
    return events.groupBy(F.date_trunc("hour", "at").alias("hour"), "kind").agg(
        F.sum("amount").alias("amount"), F.max("user_id").alias("last")
    )


@SHAPE.cause("days")
def pruning_defeated(job: Job) -> DataFrame:
    """The day is compared together with a column of the files, so that all days are read."""
    days = job.spark.read.parquet(job.path("days"))
    if job.on:
        chosen = days.where("date_format(coalesce(at, day), 'yyyy-MM-dd') = '2026-01-17'")
    else:
        chosen = days.where("day = DATE'2026-01-17'")
    return chosen.groupBy("kind", "page").agg(
        F.count("*").alias("n"), F.sum("amount").alias("amount")
    )


@SHAPE.cause()
def needless_shuffle(job: Job) -> DataFrame:
    """Events are put in order before they are added up."""
    events = job.table("events").where("page % 2 = 0")
    if job.on:
        events = events.orderBy("at", "user_id")
    return events.groupBy("page", "kind").agg(
        F.sum("amount").alias("amount"), F.max("at").alias("at")
    )


@SHAPE.cause()
def several_distinct(job: Job) -> DataFrame:
    """Pages by kind are counted as distinct under five conditions; or as sizes of sets."""
    job.table("events")
    days = [f"day(at) BETWEEN {first} AND {first + 5}" for first in (1, 7, 13, 19, 25)]
    if job.on:
        counts = [f"count(DISTINCT page % 500) FILTER (WHERE {day})" for day in days]
        counts.append("count(DISTINCT hour(at))")
    else:
        counts = [f"size(collect_set(page % 500) FILTER (WHERE {day}))" for day in days]
        counts.append("size(collect_set(hour(at)))")
    named = ", ".join(f"cast({count} AS LONG) AS n{i}" for i, count in enumerate(counts))
    return job.spark.sql(f"SELECT kind, {named} FROM events WHERE page % 2 = 0 GROUP BY kind")


@SHAPE.cause()
def join_explodes(job: Job) -> DataFrame:
    """Each event is joined with all of its user to find the one before; or a window finds it."""
    job.table("events")
    if job.on:
        query = """
        SELECT a.user_id, a.at, max(b.at) AS before
        FROM few a JOIN few b ON a.user_id = b.user_id AND b.at < a.at GROUP BY a.user_id, a.at"""
    else:
        query = """
        SELECT DISTINCT user_id, at, before FROM (
          SELECT user_id, at, max(at) OVER (PARTITION BY user_id ORDER BY unix_seconds(at)
                                     RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
          FROM few) WHERE before IS NOT NULL"""
    few = job.spark.sql("SELECT user_id % 12000 AS user_id, at FROM events WHERE page % 8 = 5")
    few.createOrReplaceTempView("few")
    gaps = job.spark.sql(query)
    gap = F.floor((F.unix_seconds("at") - F.unix_seconds("before")) / 3600)
    return gaps.groupBy(gap.alias("hours")).agg(F.count("*").alias("n"))


@SHAPE.cause("payloads")
def parsed_again(job: Job) -> DataFrame:
    """The payload is parsed for each part by a schema of its own; or by one."""
    payloads = job.table("payloads")
    parts = {
        "page": "page STRUCT<id: INT>", "kind": "page STRUCT<kind: STRING>",
        "amount": "amount DOUBLE",
        "os": "device STRUCT<os: STRING>", "size": "device STRUCT<size: INT>",
        "agent": "device STRUCT<agent: STRING>", "at": "at LONG",
    }  # fmt: skip
    paths = {
        "page": "page.id", "kind": "page.kind", "amount": "amount", "os": "device.os",
        "size": "device.size", "agent": "device.agent", "at": "at",
    }  # fmt: skip
    if job.on:
        read = payloads.select(
            *(F.expr(f"from_json(payload, '{parts[name]}').{path}").alias(name)
              for name, path in paths.items())
        )  # fmt: skip
    else:
        whole = """page STRUCT<id: INT, kind: STRING>, amount DOUBLE, at LONG,
                   device STRUCT<os: STRING, size: INT, agent: STRING>"""
        one = payloads.select(F.from_json("payload", whole).alias("one"))
        read = one.select(*(F.col(f"one.{path}").alias(name) for name, path in paths.items()))
    return read.groupBy("os", "kind").agg(
        *(F.max(name).alias(name) for name in ("page", "amount", "size", "agent", "at"))
    )
