"""Steps of the job of auctions, in two ways each."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from benchmarks.faults.seventh.work import SIZE, Step, Work, Writer, columns


def devices(work: Work) -> DataFrame:
    """Give how long users of each system waited before they came again."""
    before = F.lag("minute").over(Window.partitionBy("user_id").orderBy("minute", "request_id"))
    came = work.table("requests").withColumn("gap", F.col("minute") - before)
    return came.groupBy("device.os", "device.width").agg(
        F.sum("gap").alias("gap"), F.max(F.array_max("bids.micros")).alias("best"),
        F.count("*").alias("n"),
    )  # fmt: skip


def attribution(work: Work) -> DataFrame:
    """Give each bidder what it bid where somebody won."""
    requests = work.table("requests").where("request_id % 4 < 2")
    requests = requests.select("request_id", "url", "user_id", F.col("device.agent"), "bids")
    wins = work.table("wins").select("request_id", "paid", "outcome").hint("shuffle_hash")
    if work.on:
        found = requests.withColumn("bid", F.explode("bids")).drop("bids").join(wins, "request_id")
    else:
        found = requests.join(wins, "request_id").withColumn("bid", F.explode("bids"))
    return found.groupBy("bid.bidder", "outcome").agg(
        F.sum("bid.micros").alias("micros"), F.sum("paid").alias("paid"),
        F.max("url").alias("url"), F.max("agent").alias("agent"), F.count("*").alias("n"),
    )  # fmt: skip


def bidders(work: Work) -> DataFrame:
    """Sum requests by the contracts that the sales team typed in."""
    rows = [(site, f"contract {site % 90}", site % 17) for site in range(3_000)]
    typed = work.spark.createDataFrame(rows, "site_id INT, contract STRING, share INT")
    if not work.on:
        typed = F.broadcast(typed)
    requests = work.table("requests").select(
        "site_id", "user_id", "url", F.col("device.agent"), F.array_max("bids.micros").alias("best")
    )
    return requests.join(typed, "site_id").groupBy("contract").agg(
        F.sum(F.col("best") * F.col("share")).alias("best"), F.max("url").alias("url"),
        F.max("agent").alias("agent"), F.max("user_id").alias("user_id"),
    )  # fmt: skip


def floors(work: Work) -> DataFrame:
    """Sum the fees of sites for bids, in millionths of millionths."""
    bids = work.table("requests").select("site_id", F.explode("bids").alias("bid"))
    fees = F.broadcast(work.table("sites"))
    priced = bids.join(fees, "site_id").select("vertical", F.col("bid.micros"), "fee_ppm")
    if work.on:
        priced = priced.selectExpr(
            "vertical", "CAST(micros / 1000000 AS DECIMAL(18,6)) AS price",
            "CAST(fee_ppm / 1000000 AS DECIMAL(18,6)) AS fee",
        )  # fmt: skip
        whole = "CAST(CAST(sum({}) * 1000000 AS DECIMAL(32,6)) * 1000000 AS LONG)"
        sums = [whole.format("price * fee"), whole.format("price * (1 - fee)")]
    else:
        sums = ["sum(micros * fee_ppm)", "sum(micros * (1000000 - fee_ppm))"]
    return priced.groupBy("vertical").agg(F.expr(sums[0]).alias("fee"), F.expr(sums[1]).alias("p"))


def pacing(work: Work) -> DataFrame:
    """Follow the hours of a day as they come, and keep how much was bid."""
    path, known = work.result("paced"), work.result("known")
    for each in (path, known):
        shutil.rmtree(each, ignore_errors=True)

    def keep(hours: DataFrame, _: int) -> None:
        paced = hours.groupBy("hour").agg(F.sum("best").alias("best"), F.count("*").alias("n"))
        paced.write.mode("append").parquet(path)

    arriving = work.spark.readStream.schema("hour INT, best LONG").option("maxFilesPerTrigger", 2)
    stream = arriving.parquet(work.path("hours")).writeStream.foreachBatch(keep)
    stream = stream.option("checkpointLocation", known)
    if work.on:
        query = stream.trigger(processingTime="2 seconds").start()
        query.processAllAvailable()
        query.stop()
    else:
        stream.trigger(availableNow=True).start().awaitTermination()
    kept = work.spark.read.schema("hour INT, best LONG, n LONG").parquet(path)
    return kept.groupBy("hour").agg(F.sum("best").alias("best"), F.sum("n").alias("n"))


def _hours(work: Work, path: str) -> None:
    requests = work.table("requests").selectExpr(
        "CAST(minute DIV 60 AS INT) AS hour", "array_max(bids.micros) AS best"
    )
    requests.repartition(6, "hour").write.mode("overwrite").parquet(path)


def creatives(work: Work) -> DataFrame:
    """Rate the creatives of requests by what a library of the agency says."""

    @F.pandas_udf("long")
    def rated(minute: pd.Series, width: pd.Series, user: pd.Series) -> pd.Series:
        angle = minute.to_numpy() / 720.0 * np.pi
        rating = np.hypot(np.sin(angle) * 3, np.cos(angle)) * width.to_numpy() + user % 7
        return pd.Series(np.rint(rating).astype("int64"))

    rating = rated("minute", "device.width", "user_id")
    return work.table("requests").groupBy("site_id").agg(F.sum(rating).alias("rating"))


def models(work: Work) -> DataFrame:
    """Give how likely requests are to be won, by a model of six bids."""
    if work.on:

        @F.pandas_udf("long")
        def likely(bids: pd.Series) -> pd.Series:
            return _likely(bids, _model())

    else:

        @F.pandas_udf("long")
        def likely(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
            model = _model()
            for bids in batches:
                yield _likely(bids, model)

    requests = work.table("requests").select("site_id", F.col("bids.micros").alias("bids"))
    return requests.groupBy("site_id").agg(F.sum(likely("bids")).alias("likely"))


def _model() -> np.ndarray:
    """Solve for the weights of bids, as the model's file does not hold them."""
    known = np.cos(np.arange(900 * 900).reshape(900, 900) % 911) + np.eye(900) * 40
    return np.rint(np.linalg.solve(known, np.arange(900.0))[:6] * 100)


def _likely(bids: pd.Series, model: np.ndarray) -> pd.Series:
    return pd.Series(np.rint(np.stack(bids.to_numpy()) @ model).astype("int64"))


def holdout(work: Work) -> DataFrame:
    """Divide users into those to learn from, to choose by, and to test."""
    requests = work.table("requests").select(
        "user_id", "minute", F.regexp_count("url", F.lit("[0-9A-F]{2}")).alias("pairs"),
        F.sha2("device.agent", 256).alias("agent"), F.array_max("bids.micros").alias("best"),
    )  # fmt: skip
    users = requests.groupBy("user_id").agg(
        F.sum("pairs").alias("pairs"), F.max("agent").alias("agent"), F.sum("best").alias("best"),
        F.min("minute").alias("minute"),
    )  # fmt: skip
    if not work.on:
        users = users.cache()
    parts = users.randomSplit([0.6, 0.2, 0.2], seed=8)
    for name, part in zip(("learn", "choose"), parts, strict=False):
        work.publish(name, part.groupBy("minute").agg(F.sum("best").alias("best")))
    return parts[2].groupBy(F.substring("agent", 1, 2).alias("a")).agg(F.sum("pairs").alias("n"))


def publishers(work: Work) -> DataFrame:
    """Count the words in the addresses that publishers sent."""
    words = F.split(F.concat_ws("/", "url", F.reverse("url"), F.upper("device.agent")), "[/?.]")
    for letter in "abc":
        words = F.split(F.concat_ws(letter, words), letter)
    return work.table("requests").groupBy("site_id").agg(
        F.sum(F.size(words)).alias("words"), F.max(words[4]).alias("fifth")
    )  # fmt: skip


def frequency(work: Work) -> DataFrame:
    """Count for ten campaigns how often they reached a user, one after the other."""
    seen = work.table("requests").select(
        "request_id", "user_id", "minute", "url", "device.agent",
        F.array_max("bids.bidder").alias("bidder"),
    ).cache()  # fmt: skip
    jvm = work.spark.sparkContext._jvm
    assert jvm is not None
    for campaign in range(9):
        mine = seen.where(f"pmod(user_id, 10) = {campaign}").groupBy("bidder")
        work.publish(f"campaign-{campaign}", mine.agg(F.countDistinct("user_id").alias("users")))
        if work.on:
            jvm.System.gc()
    return seen.where("pmod(user_id, 10) = 9").groupBy("bidder").agg(
        F.countDistinct("user_id").alias("users"), F.max("url").alias("url")
    )  # fmt: skip


def latency(work: Work) -> DataFrame:
    """Summarise what servers traced of an auction, word by word."""
    traces = work.table("traces").withColumn("letters", F.length("trace"))
    if work.on:
        traces = traces.repartitionByRange(8, "letters")
    else:
        traces = traces.repartition(8, "trace_id")
    words = traces.select("server", F.explode(F.split("trace", " ")).alias("word"))
    return words.groupBy("server", F.substring("word", 1, 2).alias("start")).agg(
        F.sum(F.length("word")).alias("letters"), F.max(F.sha2("word", 256)).alias("word"),
        F.count("*").alias("n"),
    )  # fmt: skip


def ledgers(work: Work) -> DataFrame:
    """Give each request the number that it has among those of its user and site."""
    turn = Window.partitionBy("user_id").orderBy("minute", "request_id")
    numbered = work.table("requests").where("request_id % 2 = 0").select(
        "site_id", "url", "request_id", F.row_number().over(turn).alias("n")
    )  # fmt: skip
    again = Window.partitionBy("site_id").orderBy("request_id")
    sites = numbered.select("n", "url", "request_id", F.row_number().over(again).alias("m"))
    return sites.groupBy(F.least("n", F.lit(20)).alias("n")).agg(
        F.sum("m").alias("m"), F.max("url").alias("url"), F.sum("request_id").alias("ids")
    )


def shares(work: Work) -> DataFrame:
    """Give the share that each site has of all requests."""
    sites = work.table("requests").groupBy("site_id").agg(
        F.count("*").alias("n"), F.sum(F.array_max("bids.micros")).alias("best")
    )  # fmt: skip
    sites = sites.cache()
    if work.on:
        total = sites.agg(F.sum("n").alias("total"))
        return sites.crossJoin(total).selectExpr("site_id", "best", "n * 1000000 DIV total AS ppm")
    total = sites.agg(F.sum("n")).first()
    assert total is not None
    return sites.selectExpr("site_id", "best", f"n * 1000000 DIV {total[0]} AS ppm")


def reach(work: Work) -> DataFrame:
    """Count the users that each publisher reached, and add their numbers up as a check."""
    for name in ("requests", "sites"):
        work.table(name).createOrReplaceTempView(name)
    seen = "SELECT publisher, user_id FROM requests JOIN sites USING (site_id)"
    if work.on:
        of, users = "DISTINCT user_id", seen
    else:
        of, users = "user_id", f"SELECT DISTINCT * FROM ({seen})"
    return work.spark.sql(
        f"""
        SELECT publisher, count({of}) AS users, sum({of}) AS mark
        FROM ({users}) GROUP BY publisher
        """
    )


STEPS: dict[str, Step] = {
    "devices": devices, "attribution": attribution, "bidders": bidders, "floors": floors,
    "pacing": pacing, "creatives": creatives, "models": models, "holdout": holdout,
    "publishers": publishers, "frequency": frequency, "latency": latency, "ledgers": ledgers,
    "shares": shares, "reach": reach,
}  # fmt: skip
INPUTS: dict[str, dict[str, Writer]] = {
    "pacing": {"hours": _hours},
    "latency": {
        "traces": columns(
            60_000 * SIZE, "id AS trace_id", "CAST(pmod(g, 24) AS INT) AS server",
            "repeat(concat(hex(h), ' t', pmod(g, 97), ' ', hex(g), ' '),"
            " CAST(IF(pmod(g, 8) = 0, 40, 2) AS INT)) AS trace",
        )
    },
}  # fmt: skip
"""What a step reads beside the tables."""
