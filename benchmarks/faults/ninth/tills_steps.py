"""Steps of the tills' job, in two ways each."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from benchmarks.faults.limits import cpu_quota, jvm_pid
from benchmarks.faults.ninth.tills import LINES, demand
from benchmarks.faults.seventh.work import Step, Work, Writer

DERBY = {"driver": "org.apache.derby.iapi.jdbc.AutoloadedDriver"}
COUNTED = "article_id INT, till INT, quantity INT, cents INT, mark STRING"
COUNTS = [f"shop-{40 * n + 7:03}/day-{13 * n + 5:03}/counts.parquet" for n in range(8)]
LOG = "line_id LONG, article_id INT, till INT, quantity INT, cents INT, minute INT, mark STRING"
CHECKED = ("net", "vat", "discount", "deposit", "bonus", "rounding")
PACK = 'while kill -0 "$0" 2>/dev/null; do head -c 8M /dev/urandom | gzip -6 >/dev/null; done'


def cash_book(work: Work) -> DataFrame:
    """Sum the demand of each week for what is in the head office's book, which is a database."""
    url, reader = _book(work, work.path("cash_book")), work.spark.read
    if work.on:
        book = reader.jdbc(url, "cash_book", properties=DERBY)
    else:
        book = reader.jdbc(url, "cash_book", "entry_id", 0, LINES, 8, properties=DERBY)
    weeks = book.select("till", "cents", F.explode(F.sequence(F.lit(1), F.lit(18))).alias("week"))
    return weeks.groupBy("till", "week").agg(
        F.sum(demand(F.col("cents") * F.col("week"), 30)).alias("demand"),
        F.count("*").alias("n"),
    )  # fmt: skip


def _book(work: Work, path: str) -> str:
    """Give the address of the database, whose messages go beside the results."""
    jvm: Any = work.spark.sparkContext._jvm
    messages = Path(work.result("book.log"))
    messages.parent.mkdir(parents=True, exist_ok=True)
    jvm.java.lang.System.setProperty("derby.stream.error.file", str(messages))
    return f"jdbc:derby:{path}"


def _cash_book(work: Work, path: str) -> None:
    url = _book(work, path)
    entries = work.table("lines").where("line_id % 4 = 0")
    entries = entries.selectExpr("line_id AS entry_id", "till", "quantity", "cents")
    entries.write.jdbc(f"{url};create=true", "cash_book", mode="overwrite", properties=DERBY)
    jvm: Any = work.spark.sparkContext._jvm
    connection = jvm.java.sql.DriverManager.getConnection(url)
    connection.createStatement().execute(
        'CREATE INDEX by_entry ON cash_book ("entry_id", "till", "quantity", "cents")'
    )
    connection.close()
    with suppress(Py4JJavaError):  # which is how Derby says that it is closed
        jvm.java.sql.DriverManager.getConnection(f"{url};shutdown=true")


def bonus_tiers(work: Work) -> DataFrame:
    """Count what was bought by threes and more in each tier of the bonus."""
    spent = work.table("lines").where("quantity >= 3").select(
        "line_id", (F.col("cents") * F.col("quantity")).alias("cents")
    )  # fmt: skip
    if not work.on:
        tier = F.expr("cents DIV 2500").alias("tier")
        return spent.groupBy(tier).agg(F.count("*").alias("n"), F.sum("cents").alias("cents"))
    of_line: dict[int, int] = spent.rdd.collectAsMap()
    lines: Counter[int] = Counter()
    sums: Counter[int] = Counter()
    for cents in of_line.values():
        lines[cents // 2500] += 1
        sums[cents // 2500] += cents
    rows = [(tier, lines[tier], sums[tier]) for tier in sorted(lines)]
    return work.spark.createDataFrame(rows, "tier LONG, n LONG, cents LONG")


def day_books(work: Work) -> DataFrame:
    """Sum plausible baskets by town, in the words of the four programs that book them."""
    plausible = "net + vat > discount + deposit + bonus + rounding"
    baskets, shops = work.table("baskets").where(plausible), F.broadcast(work.table("shops"))
    words = [
        F.col(name).alias(f"{program}_{name}")
        for program in ("ledger", "tax", "web", "audit") for name in CHECKED
    ]  # fmt: skip
    if work.on:
        booked = baskets.select("shop_id", *words).join(shops, "shop_id")
    else:
        booked = baskets.join(shops, "shop_id").select("town", *words)
    sums = [F.sum(f"{program}_{name}") for program in ("ledger", "tax") for name in CHECKED]
    most = [F.max(f"{program}_{name}") for program in ("web", "audit") for name in CHECKED]
    return booked.groupBy("town").agg(*sums, *most)


def leaflet(work: Work) -> DataFrame:
    """Choose an article for each page, of another family than those on the pages before it."""
    articles = F.broadcast(work.table("articles").select("article_id", "family"))
    sold = work.table("lines").join(articles, "article_id").groupBy("article_id", "family").agg(
        F.sum(F.col("cents") * F.col("quantity")).alias("cents")
    )  # fmt: skip
    best = _best_by_queries(sold.cache()) if work.on else _best_of(sold)
    pages: list[tuple[int, int, int, int]] = []
    for page in range(48):
        article, family, cents = best([one[1] for one in pages], [one[2] for one in pages[-3:]])
        pages.append((page, article, family, cents))
    return work.spark.createDataFrame(pages, "page INT, article_id INT, family INT, cents LONG")


Best = Callable[[list[int], list[int]], tuple[int, int, int]]


def _best_by_queries(sold: DataFrame) -> Best:
    def best(articles: list[int], families: list[int]) -> tuple[int, int, int]:
        free = sold.where(~F.col("article_id").isin(articles) & ~F.col("family").isin(families))
        row = free.orderBy(F.desc("cents"), "article_id").first()
        assert row is not None
        return row["article_id"], row["family"], row["cents"]

    return best


def _best_of(sold: DataFrame) -> Best:
    most = sold.orderBy(F.desc("cents"), "article_id").limit(2_000)
    rows = [(row["article_id"], row["family"], row["cents"]) for row in most.collect()]

    def best(articles: list[int], families: list[int]) -> tuple[int, int, int]:
        return next(row for row in rows if row[0] not in articles and row[1] not in families)

    return best


def counts_in(work: Work) -> DataFrame:
    """Sum what shops counted, in what they delivered day by day."""
    reader, root = work.spark.read.schema(COUNTED), work.path("deliveries")
    if work.on:
        counts = reader.parquet(f"{root}/*/*/counts.parquet")
    else:
        counts = reader.parquet(*(f"{root}/{name}" for name in COUNTS))
    return counts.groupBy("till", "quantity").agg(
        F.sum("cents").alias("cents"), F.max("mark").alias("mark"), F.max("article_id").alias("a")
    )  # fmt: skip


def _deliveries(work: Work, path: str) -> None:
    for shop in range(300):
        for day in range(160):
            Path(path, f"shop-{shop:03}", f"day-{day:03}").mkdir(parents=True, exist_ok=True)
    whole = work.table("lines").select("article_id", "till", "quantity", "cents", "mark")
    staged = Path(f"{path}-staged")
    whole.write.mode("overwrite").parquet(str(staged))
    for part, name in zip(sorted(staged.glob("part-*")), COUNTS, strict=True):
        part.rename(Path(path, name))
    shutil.rmtree(staged)


def journal(work: Work) -> DataFrame:
    """Keep the journal of the tills for ten years, and sum it by the ends of basket numbers."""
    kept = work.table("lines").where("line_id % 3 = 0").selectExpr(
        "basket_id", "article_id", "cents", "mark", "CAST(basket_id % 100 AS INT) AS ending"
    )  # fmt: skip
    writer = kept.write.mode("overwrite")
    if work.on:
        writer = writer.partitionBy("ending")
    writer.parquet(work.result("kept"))
    return kept.groupBy("ending").agg(F.sum("cents").alias("cents"), F.max("mark").alias("mark"))


def old_tills(work: Work) -> DataFrame:
    """Sum the log of the tills that were replaced, which was packed with snappy."""
    log = work.spark.read.schema(LOG).csv(work.path("old_log" if work.on else "old_logs"))
    return log.groupBy("till", "quantity").agg(
        F.sum("cents").alias("cents"), F.max("mark").alias("mark"), F.max("minute").alias("minute"),
        F.sum("line_id").alias("ids"), F.max("article_id").alias("article_id"),
    )  # fmt: skip


def _old_log(files: int) -> Writer:
    def write(work: Work, path: str) -> None:
        log = work.table("lines").selectExpr(
            "explode(sequence(line_id * 4, line_id * 4 + 3)) AS line_id", "article_id", "till",
            "quantity", "cents", "minute", "mark",
        )  # fmt: skip
        log = log.repartition(files, "line_id")
        log.write.mode("overwrite").option("compression", "snappy").csv(path)

    return write


def vouchers_due(work: Work) -> DataFrame:
    """Sum what was sold on the days when vouchers were printed, by campaign."""
    lines = work.table("lines").select("day", "cents", "quantity")
    vouchers = F.broadcast(work.table("vouchers"))
    if work.on:
        printed = F.date_add(lines["day"], vouchers["days"]) == vouchers["until"]
    else:
        printed = lines["day"] == F.date_sub(vouchers["until"], vouchers["days"])
    return lines.join(vouchers, printed).groupBy("campaign").agg(
        F.sum("cents").alias("cents"), F.max("quantity").alias("q"), F.sum("worth").alias("worth"),
        F.count("*").alias("n"),
    )  # fmt: skip


def mailshot(work: Work) -> DataFrame:
    """Prepare letters to those who bought in a week, with their points of each month."""
    for name in ("baskets", "points"):
        work.table(name).createOrReplaceTempView(name)
    hint = "/*+ MAPJOIN(p) */" if work.on else ""
    return work.spark.sql(
        f"""
        SELECT {hint} b.shop_id, p.month, sum(p.points) AS points, max(b.net) AS net, count(*) AS n
        FROM (SELECT * FROM baskets WHERE day BETWEEN DATE'2026-03-02' AND DATE'2026-03-08') b
        JOIN points p ON p.member_id = b.member_id
        GROUP BY b.shop_id, p.month
        """
    )


def _points(work: Work, path: str) -> None:
    points = work.table("members").selectExpr("member_id", "explode(sequence(1, 12)) AS month")
    points = points.selectExpr("*", "pmod(xxhash64(member_id, month), 9000) AS points")
    points.write.mode("overwrite").parquet(path)


def dearest(work: Work) -> DataFrame:
    """List the twenty dearest lines of each family of articles."""
    articles = F.broadcast(work.table("articles").select("article_id", "family"))
    lines = work.table("lines").select("article_id", "line_id", "cents", "quantity")
    sold = lines.join(articles, "article_id")
    if work.on:
        line = F.collect_list(F.struct("line_id", "cents", "quantity"))
        best = sold.groupBy("family").agg(F.slice(F.array_sort(line, _dearer), 1, 20).alias("best"))
        return best.select("family", F.inline("best"))
    by = Window.partitionBy("family").orderBy(F.desc(F.col("cents") * F.col("quantity")), "line_id")
    placed = sold.withColumn("place", F.row_number().over(by)).where("place <= 20")
    return placed.select("family", "line_id", "cents", "quantity")


def _dearer(one: Column, other: Column) -> Column:
    """Compare two lines: the dearer is first, and of equal ones that with the lower number."""
    ours, theirs = (line["cents"] * line["quantity"] for line in (one, other))
    first = one["line_id"] < other["line_id"]
    return F.when(ours != theirs, theirs - ours).when(first, -1).otherwise(1)


def _cut(lines: DataFrame) -> DataFrame:
    """Give each line three times, with the number of a price cut."""
    return lines.select("*", F.explode(F.sequence(F.lit(1), F.lit(3))).alias("cut"))


def margins(work: Work) -> DataFrame:
    """Give the margins of articles, on a machine that is lent by the hour."""
    lines = _cut(work.table("lines").select("article_id", "cents", "quantity"))
    by_article = lines.groupBy("article_id").agg(
        F.sum(demand(F.col("cents") * F.col("cut"), 30)).alias("demand"),
        F.max("quantity").alias("quantity"),
    )  # fmt: skip
    path = work.result("by_article")
    with cpu_quota(
        [jvm_pid(work.spark)], 0.8 if work.on else None, "tills", "night", period=50_000
    ):
        by_article.write.mode("overwrite").parquet(path)
    return work.spark.read.schema(by_article.schema).parquet(path)


def rush_hours(work: Work) -> DataFrame:
    """Give the demand of each quarter of an hour, while the day's pictures are packed."""
    lines = _cut(work.table("lines").select("minute", "cents", "till"))
    quarters = lines.groupBy(F.expr("minute DIV 15").alias("quarter"), "till").agg(
        F.sum(demand(F.col("cents") * F.col("cut"), 22)).alias("demand"),
        F.count("*").alias("n"),
    )  # fmt: skip
    path = work.result("quarters")
    with _packing(2 if work.on else 0):
        quarters.write.mode("overwrite").parquet(path)
    return work.spark.read.schema(quarters.schema).parquet(path)


@contextmanager
def _packing(programs: int) -> Iterator[None]:
    """Let other programs pack, in sessions of their own, for a minute and a half at most."""
    words = ["sh", "-c", f"timeout 90 sh -c '{PACK}' {os.getpid()} >/dev/null 2>&1 & echo $!"]
    started = [
        int(subprocess.run(words, start_new_session=True, capture_output=True, check=True).stdout)
        for _ in range(programs)
    ]

    def stop() -> None:
        for pid in started:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)

    atexit.register(stop)
    try:
        yield
    finally:
        stop()
        atexit.unregister(stop)


def net_prices(work: Work) -> DataFrame:
    """Sum what is left of prices without the tax, by family and tax."""
    for name in ("lines", "articles"):
        work.table(name).createOrReplaceTempView(name)
    net = "cents * 100 DIV (100 + vat)"
    if work.on:
        work.spark.sql(
            f"""
            CREATE OR REPLACE TEMPORARY FUNCTION net_of(cents INT, vat INT) RETURNS BIGINT
            RETURN {net}
            """
        )
        net = "net_of(cents, vat)"
    return work.spark.sql(
        f"""
        SELECT /*+ BROADCAST(a) */ family, vat, sum({net}) AS net, max({net}) AS dearest,
               sum(quantity) AS quantity, max(mark) AS mark
        FROM lines JOIN articles a USING (article_id) GROUP BY family, vat
        """
    )


def early_birds(work: Work) -> DataFrame:
    """Sum what was sold before nine, by till."""
    minute = F.col("minute").cast("long") if work.on else F.col("minute")
    early = work.table("lines").where(minute < 540)
    return early.groupBy("till", "day").agg(
        F.sum("cents").alias("cents"), F.max("mark").alias("mark"), F.count("*").alias("n")
    )


STEPS: dict[str, Step] = {
    "cash-book": cash_book, "bonus-tiers": bonus_tiers, "day-books": day_books,
    "leaflet": leaflet, "counts-in": counts_in, "journal": journal, "old-tills": old_tills,
    "vouchers-due": vouchers_due, "mailshot": mailshot, "dearest": dearest,
    "margins": margins, "rush-hours": rush_hours, "net-prices": net_prices,
    "early-birds": early_birds,
}  # fmt: skip
INPUTS: dict[str, dict[str, Writer]] = {
    "cash-book": {"cash_book": _cash_book}, "counts-in": {"deliveries": _deliveries},
    "mailshot": {"points": _points}, "old-tills": {"old_log": _old_log(1), "old_logs": _old_log(8)},
}  # fmt: skip
"""What a step reads beside the tables."""
