"""Clicks of a web shop: narrow rows with addresses and agents, few users with most of them."""

from __future__ import annotations

from pyspark.sql import functions as F

from benchmarks.faults.later.job import SIZE, Job, Shape

SHAPE = Shape("clicks")
TABLES = ("clicks", "pages", "campaigns")
ROWS = 1_000_000 * SIZE
PAGES = 2000
CAMPAIGNS = 200
SECTIONS = "array('shoes', 'coats', 'hats', 'bags', 'sale', 'kids', 'home', 'sport')"
START = 1767225600
"""First second of 2026, UTC."""
DAYS = 30
STAGED = "click_id LONG, user_id LONG, at LONG, event STRING, page_id INT, cents INT, url STRING"
LOGGED = "click_id LONG, at LONG, page_id INT, status INT, ms INT, url STRING"
PAYLOAD = "event STRING, page_id LONG"


@SHAPE.input("clicks")
def write_clicks(job: Job, path: str) -> None:
    """Write clicks, of which one user has a twentieth; one in eight comes from an advertisement."""
    ids = job.spark.range(0, ROWS, 1, 8).selectExpr("id", "xxhash64(id) AS h", "xxhash64(id, 2) g")
    known = ids.selectExpr(
        "id AS click_id", "h", "g",
        "cast(200000D * pow(pmod(h, 1000003) / 1000003D, 4) AS LONG) AS user_id",
        f"cast({PAGES} * pow(pmod(g, 1000033) / 1000033D, 3) AS INT) AS page_id",
        f"{START} + pmod(g, {DAYS * 86400}) AS second",
    )  # fmt: skip
    known.selectExpr(
        "click_id", "user_id",
        "lower(hex(xxhash64(user_id, second DIV 3600))) AS session",
        "timestamp_seconds(second) AS at",
        "element_at(array('view', 'view', 'view', 'search', 'click', 'cart', 'buy'),"
        " cast(1 + pmod(h, 7) AS INT)) AS event",
        "page_id",
        f"concat('https://shop.example/', element_at({SECTIONS}, 1 + page_id % 8), '/item-',"
        " page_id, '?q=', lower(hex(pmod(g, 5000))), '&price=', pmod(h, 1200), '&utm_campaign=c',"
        f" pmod(h, {CAMPAIGNS}), '&utm_source=mail&ref=', lower(hex(h))) AS url",
        "concat('Mozilla/5.0 (', element_at(array('Windows NT 10.0; Win64; x64', 'X11; Linux',"
        " 'Macintosh; Intel Mac OS X 14_2'), cast(1 + pmod(h, 3) AS INT)),"
        " ') AppleWebKit/537.36 (KHTML, like Gecko) Chrome/', 90 + pmod(g, 40), '.0.',"
        " pmod(h, 12), ' Safari/537.36') AS agent",
        "cast(pmod(h, 90000) AS INT) AS ms", "cast(pmod(g, 20000) AS INT) AS cents",
        "if(click_id % 8 = 0, click_id DIV 8, NULL) AS ad_id",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("pages")
def write_pages(job: Job, path: str) -> None:
    """Write what the pages are."""
    job.spark.range(0, PAGES, 1, 1).selectExpr(
        "cast(id AS INT) AS page_id", f"element_at({SECTIONS}, cast(1 + id % 8 AS INT)) AS section",
        f"concat('/', element_at({SECTIONS}, cast(1 + id % 8 AS INT)), '/item-', id) AS path",
        "concat('template ', id % 13) AS template",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("campaigns")
def write_campaigns(job: Job, path: str) -> None:
    """Write which campaign goes by which channel, in which hours of the day."""
    job.spark.range(0, CAMPAIGNS, 1, 1).selectExpr(
        "concat('c', id) AS campaign", "concat('channel ', id % 6) AS channel",
        "cast(id % 24 AS INT) AS hour", "cast(1000 + id * 7 AS LONG) AS budget",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


def _rotated(job: Job, path: str, files: int) -> None:
    lines = job.table("clicks").selectExpr(
        "click_id", "unix_seconds(at) AS at", "page_id", "200 + page_id % 4 AS status", "ms", "url",
    )  # fmt: skip
    old, new = lines.where("click_id % 20 > 0"), lines.where("click_id % 20 = 0")
    old.coalesce(files).write.option("compression", "gzip").csv(f"{path}/archive", sep="\t")
    new.coalesce(1).write.csv(f"{path}/current", sep="\t")


SHAPE.input("log-archive")(lambda job, path: _rotated(job, path, 1))
SHAPE.input("log-archive-by-hours")(lambda job, path: _rotated(job, path, 8))


@SHAPE.input("ads")
def write_ads(job: Job, path: str) -> None:
    """Write advertisements that were clicked, with what was searched for."""
    job.spark.range(0, ROWS // 8, 1, 8).selectExpr(
        "id AS ad_id", "concat('keyword ', pmod(xxhash64(id), 40)) AS keyword",
        "concat('placed by ', hex(xxhash64(id, 1)), hex(xxhash64(id, 2))) AS placed",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("outages")
def write_outages(job: Job, path: str) -> None:
    """Write when the shop was slow: 1800 times, some minutes each."""
    job.spark.range(0, 1800, 1, 1).selectExpr(
        f"timestamp_seconds({START} + id * 1440) AS began",
        f"timestamp_seconds({START} + id * 1440 + 60 * (2 + id % 5)) AS ended",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("offers")
def write_offers(job: Job, path: str) -> None:
    """Write ranges of prices for which there are offers: twelve for each shelf, with gaps."""
    job.spark.range(0, 20 * 12, 1, 1).selectExpr(
        "cast(id % 20 AS INT) AS shelf", "cast(id DIV 20 AS INT) * 100 AS least",
        "cast(id DIV 20 AS INT) * 100 + 40 AS beyond",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("tracked")
def write_tracked(job: Job, path: str) -> None:
    """Write what the tracker sent as JSON, in one column."""
    job.table("clicks").where("click_id % 2 = 0").selectExpr(
        """to_json(named_struct('event', event, 'page_id', page_id, 'user',
          named_struct('id', user_id, 'agent', agent), 'url', url, 'ms', ms, 'cents', cents,
          'tests', array(page_id % 3, page_id % 5))) AS payload"""
    ).write.mode("overwrite").parquet(path)


def usual(job: Job) -> None:
    """Report the last days' clicks by section and hour, and what campaigns sold."""
    last = job.table("clicks").where(f"at >= timestamp_seconds({START + (DAYS - 6) * 86400})")
    job.publish(
        "sections",
        last.join(job.table("pages"), "page_id")
        .groupBy("section", "event", F.hour("at").alias("hour"))
        .agg(F.count("*").alias("n"), F.max("ms").alias("longest")),
    )
    campaign = F.expr("split_part(split_part(url, 'utm_campaign=', 2), '&', 1)")
    job.publish(
        "sold",
        last.where("event = 'buy'").select(campaign.alias("campaign"), "cents")
        .join(job.table("campaigns"), "campaign")
        .groupBy("channel").agg(F.sum("cents").alias("cents"), F.count("*").alias("n")),
    )  # fmt: skip


SHAPE.usual = usual
