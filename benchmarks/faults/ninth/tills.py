"""The tills of a chain of shops: lines of receipts, baskets, articles, members, vouchers, shops."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from benchmarks.faults.seventh.work import SIZE, Work, columns, whole

DAYS = 180
SHOPS = 400
LINES = 800_000 * SIZE
BASKETS = 250_000 * SIZE
MEMBERS = 300_000 * SIZE
ARTICLES = 6_000
FAMILIES = 90

TABLES = {
    "lines": columns(
        LINES, "id AS line_id", f"pmod(h, {BASKETS}) AS basket_id",
        f"CAST(pmod(g, {ARTICLES}) AS INT) AS article_id",
        "CAST(pmod(shiftright(h, 13), 32) AS INT) AS till",
        "CAST(1 + pmod(shiftright(g, 23), 9) AS INT) AS quantity",
        "CAST(19 + pmod(shiftright(h, 5), 4000) AS INT) AS cents",
        "CAST(420 + pmod(shiftright(g, 7), 840) AS INT) AS minute",
        f"date_add(DATE'2026-01-01', CAST(pmod(shiftright(h, 17), {DAYS}) AS INT)) AS day",
        "concat('T', hex(g)) AS mark",
    ),
    "baskets": columns(
        BASKETS, "id AS basket_id", f"CAST(pmod(h, {SHOPS}) AS INT) AS shop_id",
        f"pmod(g, {MEMBERS}) AS member_id",
        f"date_add(DATE'2026-01-01', CAST(pmod(shiftright(g, 5), {DAYS}) AS INT)) AS day",
        "CAST(500 + pmod(shiftright(h, 11), 20000) AS INT) AS net",
        "CAST(40 + pmod(shiftright(g, 15), 3000) AS INT) AS vat",
        "CAST(pmod(shiftright(h, 21), 900) AS INT) AS discount",
        "CAST(pmod(shiftright(g, 27), 300) AS INT) AS deposit",
        "CAST(pmod(shiftright(h, 31), 200) AS INT) AS bonus",
        "CAST(pmod(shiftright(g, 33), 5) AS INT) AS rounding",
        "concat('R', hex(h)) AS receipt",
    ),
    "members": columns(
        MEMBERS, "id AS member_id", "concat('card ', hex(h)) AS card",
        "concat('member ', hex(g)) AS name", "CAST(pmod(h, 20) AS INT) AS region",
        "concat(pmod(g, 190), ' ', hex(h), ' street, door ', pmod(h, 17)) AS address",
    ),
    "articles": columns(
        ARTICLES, "CAST(id AS INT) AS article_id", "concat('article ', hex(h)) AS article",
        f"CAST(pmod(h, {FAMILIES}) AS INT) AS family",
        "IF(pmod(g, 3) = 0, 7, 19) AS vat",
    ),
    "shops": columns(
        SHOPS, "CAST(id AS INT) AS shop_id", "concat('shop ', hex(h)) AS shop",
        "CAST(pmod(g, 20) AS INT) AS region", "concat('town ', pmod(h, 150)) AS town",
    ),
    "vouchers": columns(
        1_500, "CAST(id AS INT) AS voucher_id", "CAST(7 + pmod(h, 60) AS INT) AS days",
        "date_add(DATE'2026-01-08', CAST(pmod(g, 3000) AS INT)) AS until",
        "CAST(50 + pmod(shiftright(h, 9), 950) AS INT) AS worth",
        "concat('campaign ', pmod(g, 40)) AS campaign",
    ),
}  # fmt: skip


def demand(value: Column, rounds: int) -> Column:
    """Follow the demand for what costs so much, price cut by price cut, to a whole number."""
    left = value / 30_000.0
    for _ in range(rounds):
        left = F.exp(-F.sqrt(left + 0.25))
    return whole(left * 1e6)


def report(work: Work) -> DataFrame:
    """Sum what was sold by family and month."""
    articles = work.table("articles").select("article_id", "family", "vat")
    return (
        work.table("lines")
        .join(F.broadcast(articles), "article_id")
        .groupBy("family", "vat", F.month("day").alias("month"))
        .agg(F.sum("cents").alias("cents"), F.max("quantity").alias("q"), F.count("*").alias("n"))
    )
