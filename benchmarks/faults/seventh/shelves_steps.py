"""Steps of the library's job, in two ways each."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import reduce

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.faults.seventh.shelves import ITEMS
from benchmarks.faults.seventh.work import Step, Work, Writer

CARD = (
    "title STRING, author STRING, year LONG, lang STRING, pages LONG, shelf LONG, press STRING,"
    " copies LONG, note STRING"
)
NUMBERS = ("year", "pages", "shelf", "copies")
TEXTS = ("title", "author", "press", "note")
LOG = "loan_id LONG, item_id LONG, patron_id INT, branch INT, taken DATE, days INT"


def cards(work: Work) -> DataFrame:
    """Summarise what cards say, by language."""
    items, fields = work.table("items"), ("lang", *NUMBERS, *TEXTS)
    if work.on:
        read = items.select(
            *(F.get_json_object("card", f"$.{name}").alias(name) for name in fields)
        )
    else:
        read = items.select(F.from_json("card", CARD).alias("c")).select("c.*")
    return read.groupBy("lang").agg(
        *(F.sum(F.col(name).cast("long")).alias(name) for name in NUMBERS),
        *(F.max(name).alias(name) for name in TEXTS),
    )


def feed(work: Work) -> DataFrame:
    """Read the cards that another library sent."""
    reader = work.spark.read if work.on else work.spark.read.schema(CARD)
    sent = reader.json(work.path("feed"))
    return sent.groupBy("lang").agg(F.sum("pages").alias("pages"), F.max("note").alias("note"))


def _feed(work: Work, path: str) -> None:
    work.table("items").select(F.col("card").alias("value")).write.mode("overwrite").text(path)


def returns(work: Work) -> DataFrame:
    """Read two years' log of returns, and sum it by branch."""
    path = work.path("returns" if work.on else "returns_parts")
    log = work.spark.read.schema(LOG).csv(path)
    return log.groupBy("branch").agg(
        F.sum("days").alias("days"),
        F.max("taken").alias("last"),
        F.sum("patron_id").alias("ids"),
        F.sum("item_id").alias("items"),
        F.max("loan_id").alias("loan"),
    )


def _returns(files: int) -> Writer:
    def write(work: Work, path: str) -> None:
        loans = work.table("loans")
        loans = loans.unionByName(loans.withColumn("taken", F.date_sub("taken", 364)))
        loans = loans.repartition(files)
        loans.write.mode("overwrite").option("compression", "gzip").csv(path)

    return write


def kiosks(work: Work) -> DataFrame:
    """Sum what the kiosks of the branches reported."""
    loans = work.table("kiosks" if work.on else "kiosks_together")
    return loans.groupBy("branch").agg(F.sum("days").alias("days"), F.max("taken").alias("last"))


def _kiosks(files: int) -> Writer:
    def write(work: Work, path: str) -> None:
        loans = work.table("loans").where("loan_id % 6 = 0")
        most = ITEMS // 2 // files + 1
        loans.write.mode("overwrite").option("maxRecordsPerFile", most).parquet(path)

    return write


def vault(work: Work) -> DataFrame:
    """Look six branches up in the vault of last year's loans."""
    reader = work.spark.read.schema("loan_id LONG, days INT, branch INT, week INT")
    root, branches = work.path("vault"), range(0, 60, 10)
    if work.on:
        of_each = [reader.parquet(root).where(F.col("branch") == branch) for branch in branches]
        loans = reduce(DataFrame.unionByName, of_each)
    else:
        folders = [f"{root}/branch={branch}" for branch in branches]
        loans = reader.option("basePath", root).parquet(*folders)
    return loans.groupBy("branch").agg(F.sum("days").alias("days"), F.count("*").alias("n"))


def _vault(work: Work, path: str) -> None:
    loans = work.table("loans").where("loan_id % 20 = 0")
    weeks = loans.select("loan_id", "days", "branch", F.weekofyear("taken").alias("week"))
    weeks.repartition(8, "branch").write.mode("overwrite").partitionBy("branch", "week").parquet(
        path
    )


def check_digits(work: Work) -> DataFrame:
    """Give the check digits of numbers, whose rule a module of the publishers has."""

    def digit(isbn: str) -> int:
        return (10 - sum(int(one) * (1 + 2 * (n % 2)) for n, one in enumerate(isbn)) % 10) % 10

    @F.pandas_udf("long")
    def digits(isbn: pd.Series) -> pd.Series:
        import numpy as np

        table = np.frombuffer("".join(isbn).encode(), dtype="u1").reshape(-1, 12) - 48
        return pd.Series(-(table.astype("i8") @ np.tile([1, 3], 6)) % 10)

    found = F.udf(digit, "long", useArrow=False) if work.on else digits
    return work.table("items").groupBy("branch").agg(F.sum(found("isbn")).alias("digits"))


def volumes(work: Work) -> DataFrame:
    """Find which volume an abstract speaks of."""
    if work.on:
        pattern, group = r"^(.*)[ ,](.*)\b(volume|vol|band|tome)\b\W*(\d+)\b(.*)$", 4
    else:
        pattern, group = r"\b(?:volume|vol|band|tome)\b\W*(\d+)", 1
    volume = F.regexp_extract("abstract", pattern, group).cast("long")
    return work.table("items").groupBy("branch").agg(F.sum(volume).alias("volumes"))


def halls(work: Work) -> DataFrame:
    """Count items by the hall where their subject stands."""
    items = work.table("items").select("item_id", "subject")
    if work.on:
        known = [(row["subject"], row["hall"]) for row in work.table("subjects").collect()]
        hall = F.when(F.col("subject") == "none", None)
        for subject, number in known:
            hall = hall.when(F.col("subject") == subject, number)
        found = items.select("item_id", hall.alias("hall"))
    else:
        found = items.join(F.broadcast(work.table("subjects")), "subject", "left")
    return found.groupBy("hall").agg(F.count("*").alias("n"), F.sum("item_id").alias("ids"))


def shelf_list(work: Work) -> DataFrame:
    """Count what each branch acquired in each year."""
    items = work.table("items")
    if work.on:
        items = items.cache()
    by = items.groupBy("branch", F.year("acquired").alias("year"))
    return by.agg(F.count("*").alias("n"), F.max("title").alias("title"))


def overdue(work: Work) -> DataFrame:
    """Sum the days by which loans are late, by branch."""
    late = work.table("loans").where("days > 28").select("branch", "patron_id", "days")
    if not work.on:
        return late.groupBy("branch").agg(F.sum(F.col("days") - 28).alias("late"))
    days: dict[int, int] = {}
    for row in late.collect():
        days[row["branch"]] = days.get(row["branch"], 0) + row["days"] - 28
    return work.spark.createDataFrame(sorted(days.items()), "branch INT, late LONG")


def exports(work: Work) -> DataFrame:
    """Export the loans of each quarter to the file server."""
    loans = work.table("loans").withColumn("quarter", F.quarter("taken"))
    for quarter in range(1, 5):
        mine = loans.where(F.col("quarter") == quarter)
        by = mine.groupBy("branch").agg(F.sum("days").alias("days"), F.count("*").alias("n"))
        work.publish(f"quarter-{quarter}", by)
        if work.on:
            time.sleep(1.1)
    return loans.groupBy("quarter").agg(F.count("*").alias("n"))


def scanned_pages(work: Work) -> DataFrame:
    """Read what scanners made of abstracts."""
    on = work.on

    def read(pages: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        from pyspark import TaskContext

        for page in pages:
            words = page["abstract"].map(lambda text: len({w[:3] for w in text.lower().split()}))
            yield pd.DataFrame({"branch": page["branch"], "words": words})
        here = TaskContext.get()
        if on and here and here.partitionId() % 2 == 0 and here.attemptNumber() == 0:
            raise ConnectionError("scanner went away")

    pages = work.table("items").select("branch", "abstract")
    return pages.mapInPandas(read, "branch INT, words LONG").groupBy("branch").agg(
        F.sum("words").alias("words")
    )  # fmt: skip


def mailings(work: Work) -> DataFrame:
    """Count the items that patrons borrowed, by subject."""
    loans = work.table("loans").where("loan_id % 2 = 0")
    borrowed = loans.join(work.table("items"), "item_id")
    return borrowed.groupBy("subject").agg(F.count("*").alias("n"), F.sum("days").alias("days"))


def readers(work: Work) -> DataFrame:
    """List what patrons read in each quarter."""
    loans = work.table("loans").select(
        F.quarter("taken").alias("quarter"),
        F.concat_ws("/", "patron_id", "item_id", "loan_id").alias("mark"),
    )
    read = loans.groupBy("quarter").agg(F.sort_array(F.collect_list("mark")).alias("marks"))
    return read.select("quarter", F.size("marks").alias("n"), F.col("marks")[100].alias("mark"))


def gate_log(work: Work) -> DataFrame:
    """Sum the log of the gates, which is kept packed."""
    log = work.spark.read.schema(LOG).csv(work.path("gates_old" if work.on else "gates"))
    return log.groupBy("branch").agg(F.sum("days").alias("days"), F.sum("item_id").alias("ids"))


def _gates(packed: str) -> Writer:
    def write(work: Work, path: str) -> None:
        work.table("loans").write.mode("overwrite").option("compression", packed).csv(path)

    return write


def staging(work: Work) -> DataFrame:
    """Stage the items, and count them by subject."""
    items = work.table("items").select("item_id", "title", "abstract", "card", "subject")
    path = work.result("staged")
    (items.orderBy("title") if work.on else items).write.mode("overwrite").parquet(path)
    staged = work.spark.read.schema(items.schema).parquet(path)
    return staged.groupBy("subject").agg(
        F.count("*").alias("n"), F.max("abstract").alias("text"), F.max("card").alias("card")
    )


def yearbook(work: Work) -> DataFrame:
    """Count the year's loans by branch and day."""
    if work.on:
        loans = work.spark.read.schema(LOG).csv(work.path("yearbook"))
    else:
        loans = work.table("loans")
    return loans.groupBy("branch", "taken").agg(
        F.sum("days").alias("days"), F.count("*").alias("n")
    )


def notices(work: Work) -> DataFrame:
    """Prepare the notices of loans, in as many parts as there are readers of them."""
    loans = work.table("loans").select("branch", "patron_id", "item_id", "days")
    text = F.concat_ws(" ", F.hex("patron_id"), F.hex("item_id"), "days")
    return loans.groupBy("branch").agg(F.max(F.sha2(text, 256)).alias("text"))


def reshelved(work: Work) -> DataFrame:
    """Sum what was lent by item, and the items by branch."""
    loans, items = work.table("loans"), work.table("items")
    lent = items.select("item_id", "branch", "title", "abstract", "card")
    if work.on:
        lent = lent.repartition(8, "branch")
    days = loans.groupBy("item_id").agg(F.sum("days").alias("days"))
    words = F.length(F.concat_ws(" ", "title", "abstract", "card")).alias("letters")
    both = lent.select("item_id", "branch", words).join(days, "item_id")
    return both.groupBy("branch").agg(
        F.sum("days").alias("days"), F.sum("letters").alias("letters")
    )


def opening_hours(work: Work) -> DataFrame:
    """Count loans by branch, with a few hours that are typed in."""
    hours = {branch: 40 + branch % 7 for branch in range(60)}
    loans = work.table("loans").groupBy("branch").agg(F.count("*").alias("n"))
    if work.on:
        pairs = work.spark.createDataFrame(sorted(hours.items()), "branch INT, hours INT")
        return loans.join(F.broadcast(pairs), "branch")
    return loans.select("branch", "n", (40 + F.pmod("branch", F.lit(7))).cast("int").alias("hours"))


STEPS: dict[str, Step] = {
    "cards": cards, "feed": feed, "returns": returns, "kiosks": kiosks, "vault": vault,
    "check-digits": check_digits, "volumes": volumes, "halls": halls, "shelf-list": shelf_list,
    "overdue": overdue, "exports": exports, "scanned-pages": scanned_pages, "mailings": mailings,
    "readers": readers, "gate-log": gate_log, "staging": staging,
    "yearbook": yearbook, "notices": notices, "reshelved": reshelved,
    "opening-hours": opening_hours,
}  # fmt: skip
INPUTS: dict[str, dict[str, Writer]] = {
    "feed": {"feed": _feed},
    "returns": {"returns": _returns(1), "returns_parts": _returns(8)},
    "kiosks": {"kiosks": _kiosks(2000), "kiosks_together": _kiosks(8)},
    "vault": {"vault": _vault},
    "gate-log": {"gates_old": _gates("bzip2"), "gates": _gates("gzip")},
    "yearbook": {"yearbook": _gates("none")},
}
"""What a step reads beside the tables."""
