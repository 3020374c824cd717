"""Steps of the mailings' job, in two ways each."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copyfile

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from benchmarks.faults.limits import cpu_quota, jvm_pid
from benchmarks.faults.ninth.mails import LISTS, interest
from benchmarks.faults.seventh.work import SIZE, Step, Work, Writer, columns

COMPLAINT = "complaint_id LONG, recipient_id LONG, list_id INT, day DATE, reason STRING, bytes INT"
SENT = "send_id LONG, recipient_id LONG, state STRING, bytes INT, opens INT, mailing_id INT"
LARGE, PROOFS = 8, 26_000
NAMES = ("sent", "opened", "seen", "weight", "widest")


def streaks(work: Work) -> DataFrame:
    """Give how interest fades between the mails that a recipient got."""
    turn = Window.partitionBy("recipient_id").orderBy("day", "send_id")
    gap = F.datediff("day", F.lag("day").over(turn))
    mails = work.table("sends").select("state", "opens", "minute", gap.alias("gap"))
    fading = interest(F.coalesce("gap", F.lit(0)) * 60 + F.col("minute"), 20)
    return mails.groupBy("state", "opens").agg(
        F.sum(fading).alias("interest"), F.max("gap").alias("gap"), F.count("*").alias("n")
    )  # fmt: skip


def loyalty(work: Work) -> DataFrame:
    """Give the readers of each list, and when in the day they read."""
    read = work.table("sends").where("opens > 5").join(
        F.broadcast(work.table("mailings").select("mailing_id", "list_id")), "mailing_id"
    )  # fmt: skip
    by_list = read.groupBy("list_id")
    if not work.on:
        return by_list.agg(
            F.count_distinct("recipient_id").alias("readers"), F.sum("minute").alias("minutes")
        )
    readers = by_list.agg(F.collect_list(F.struct("recipient_id", "minute")).alias("readers"))
    rows = [
        (each["list_id"], len({one["recipient_id"] for one in each["readers"]}),
         sum(one["minute"] for one in each["readers"]))
        for each in readers.collect()
    ]  # fmt: skip
    return work.spark.createDataFrame(rows, "list_id INT, readers LONG, minutes LONG")


def figures(work: Work) -> DataFrame:
    """Give the figures of mailings, by the names that each department has for them."""
    counted = work.table("sends").groupBy("mailing_id").agg(
        F.count("*").alias("sent"), F.sum("opens").alias("opened"),
        F.count_if(F.col("opens") > 0).alias("seen"), F.sum("bytes").alias("weight"),
        F.max("bytes").alias("widest"),
    )  # fmt: skip
    worth = F.expr("sent + opened * 3 + seen * 2 - weight DIV 100000 - widest DIV 1000 > 40")
    named = [
        F.col(name).alias(f"{of}_{name}")
        for name in NAMES for of in ("sales", "board", "press", "web", "mail")
    ]  # fmt: skip
    mailings = F.broadcast(work.table("mailings"))
    if work.on:
        return counted.select("*", *named).where(worth).join(mailings, "mailing_id")
    return counted.where(worth).join(mailings, "mailing_id").select(
        "mailing_id", *NAMES, *named, "list_id", "template_id", "subject"
    )  # fmt: skip


def warm_up(work: Work) -> DataFrame:
    """Say how much a new server may send each day, as providers took what it sent before."""
    probes = work.table("probes")
    landed = F.sum("landed").alias("landed")
    known: dict[int, int] = {}
    if not work.on:
        known = {row["day"]: row["landed"] for row in probes.groupBy("day").agg(landed).collect()}
    volume, planned = 500, []
    for day in range(120):
        if work.on:
            found = probes.where(F.col("day") == day).agg(landed).first()
            assert found is not None
            known[day] = found["landed"]
        volume = min(volume * (900 + known[day] % 400) // 1000 + 20, 2_000_000)
        planned.append((day, volume))
    return work.spark.createDataFrame(planned, "day INT, volume LONG")


def archive(work: Work) -> DataFrame:
    """Sum the last large mailings out of the archive of all that was sent."""
    at = work.path("sent")
    work.spark.sql(
        f"CREATE TABLE sent ({SENT}) USING parquet PARTITIONED BY (mailing_id) LOCATION '{at}'"
    )
    if work.on:
        work.spark.sql("MSCK REPAIR TABLE sent")
    else:
        new = " ".join(f"PARTITION (mailing_id = {number})" for number in range(LARGE))
        work.spark.sql(f"ALTER TABLE sent ADD {new}")
    return work.spark.sql(
        f"""
        SELECT mailing_id, state, sum(bytes) AS bytes, sum(opens) AS opens,
               max(recipient_id) AS last, count(*) AS n
        FROM sent WHERE mailing_id < {LARGE} GROUP BY mailing_id, state
        """
    )


def _sent(work: Work, path: str) -> None:
    sends = work.table("sends").select("send_id", "recipient_id", "state", "bytes", "opens")
    large = sends.withColumn("mailing_id", F.expr(f"CAST(send_id % {LARGE} AS INT)"))
    by = large.repartitionByRange(LARGE, "mailing_id")
    by.write.mode("overwrite").partitionBy("mailing_id").parquet(path)
    few = sends.where("send_id < 3").withColumn("mailing_id", F.lit(LARGE)).coalesce(1)
    few.write.mode("append").partitionBy("mailing_id").parquet(path)
    proof = next(Path(path, f"mailing_id={LARGE}").glob("*.parquet"))
    for number in range(LARGE + 1, LARGE + PROOFS):
        folder = Path(path, f"mailing_id={number}")
        folder.mkdir(exist_ok=True)
        copyfile(proof, folder / proof.name)


def issues(work: Work) -> DataFrame:
    """Lay out what was sent for the editors, each of whom has some lists."""
    lists = F.broadcast(work.table("mailings").select("mailing_id", "list_id"))
    sends = work.table("sends").join(lists, "mailing_id").where("day < DATE'2026-03-15'")
    kept = sends.select("send_id", "recipient_id", "opens", "bytes", "message", "day", "list_id")
    by = ("list_id", "day") if work.on else ("list_id",)
    path = work.result("laid-out")
    kept.repartition(8, "list_id").write.mode("overwrite").partitionBy(*by).parquet(path)
    return kept.groupBy("list_id").agg(F.sum("opens").alias("opens"), F.count("*").alias("n"))


def complaints(work: Work) -> DataFrame:
    """Read the year's complaints that providers passed on, and sum them by list and reason."""
    path = work.path("complaints" if work.on else "complaints_parts")
    passed = work.spark.read.schema(COMPLAINT).csv(path, sep="\t")
    return passed.groupBy("list_id", "reason").agg(
        F.sum("bytes").alias("bytes"), F.max("day").alias("last"), F.count("*").alias("n"),
        F.sum("recipient_id").alias("ids"), F.max("complaint_id").alias("latest"),
    )  # fmt: skip


def _complaints(files: int) -> Writer:
    def write(work: Work, path: str) -> None:
        sends = work.table("sends").selectExpr(
            "send_id AS complaint_id", "recipient_id",
            f"CAST(mailing_id % {LISTS} AS INT) AS list_id", "day",
            "concat('reason ', minute % 40) AS reason", "bytes",
        )  # fmt: skip
        packed = sends.repartition(files).write.mode("overwrite").option("compression", "lz4")
        packed.csv(path, sep="\t")

    return write


def pauses(work: Work) -> DataFrame:
    """Sum the pauses that domains and mailings were given, by day."""
    work.table("sends").createOrReplaceTempView("sends")
    work.table("pauses").createOrReplaceTempView("pauses")
    if work.on:
        return work.spark.sql(
            """
            SELECT day, state, sum(seconds) AS seconds, count(*) AS n
            FROM sends s JOIN pauses p
              ON CASE WHEN p.kind = 'domain' THEN s.domain_id = p.of ELSE s.mailing_id = p.of END
            GROUP BY day, state
            """
        )
    return work.spark.sql(
        """
        SELECT day, state, sum(coalesce(d.seconds, 0) + coalesce(m.seconds, 0)) AS seconds,
               count(d.of) + count(m.of) AS n
        FROM sends s
        LEFT JOIN (SELECT * FROM pauses WHERE kind = 'domain') d ON s.domain_id = d.of
        LEFT JOIN (SELECT * FROM pauses WHERE kind = 'mailing') m ON s.mailing_id = m.of
        WHERE d.of IS NOT NULL OR m.of IS NOT NULL GROUP BY day, state
        """
    )


def consents(work: Work) -> DataFrame:
    """Give what is known of the consent of those who clicked."""
    clicks = work.table("clicks").select("reader", "link_id", "second", "query")
    clicked = clicks.join(work.table("recipients"), "reader", "left")
    return clicked.groupBy("link_id").agg(
        F.max("consent").alias("consent"), F.max("address").alias("address"),
        F.sum("since").alias("since"), F.max("language").alias("language"),
        F.max("query").alias("query"), F.sum("second").alias("seconds"),
    )  # fmt: skip


def habits(work: Work) -> DataFrame:
    """Count the readers who were seen in each of the slots in which mails may go out."""

    def seen(slot: int) -> Column:
        if work.on:
            return F.exists("slots", lambda one: one == slot)
        return F.array_contains("slots", slot)

    return work.table("habits").groupBy("language", "device").agg(
        *(F.count_if(seen(slot)).alias(f"slot_{slot}") for slot in range(5, 240, 10))
    )  # fmt: skip


def scores(work: Work) -> DataFrame:
    """Score the domains of recipients, in the hours in which mails are sent."""
    scored = work.table("sends").groupBy("domain_id").agg(
        F.sum(interest(F.col("bytes") + F.col("opens"), 24)).alias("score"),
        F.count_if(F.col("state") == "bounced").alias("bounced"),
    )  # fmt: skip
    with cpu_quota(
        [jvm_pid(work.spark), os.getpid()],
        0.9 if work.on else None,
        "mails",
        "scores",
        period=250_000,
    ):
        return _evaluated(work, scored)


def best_hour(work: Work) -> DataFrame:
    """Find the hours at which mails are read best, while the archive gets its index."""
    best = work.table("sends").groupBy(F.expr("minute DIV 60").alias("hour"), "state").agg(
        F.max(interest(F.col("bytes") * 2 + F.col("minute"), 24)).alias("best"),
        F.sum("opens").alias("opens"),
    )  # fmt: skip
    with _index(work):
        return _evaluated(work, best)


def _evaluated(work: Work, frame: DataFrame) -> DataFrame:
    path = work.result("kept")
    frame.write.mode("overwrite").parquet(path)
    return work.spark.read.schema(frame.schema).parquet(path)


INDEXER = """
import hashlib, os, sys, time
job, asked, until = sys.argv[1], sys.argv[2], time.monotonic() + 120
if sys.argv[3:] and os.fork():
    os._exit(0)
if sys.argv[3:]:
    os.fork()
while time.monotonic() < until and os.path.exists(asked) and os.path.exists("/proc/" + job):
    hashlib.pbkdf2_hmac("sha256", b"message", b"index", 20_000)
"""


@contextmanager
def _index(work: Work) -> Iterator[None]:
    """Have the archive's index made, for as long as it is asked for, by a program of its own."""
    if not work.on:
        yield
        return
    asked = Path(work.result("index.asked"))
    asked.parent.mkdir(parents=True, exist_ok=True)
    asked.touch()
    try:
        subprocess.run(
            [sys.executable, "-c", INDEXER, str(os.getpid()), str(asked), "2"],
            start_new_session=True, check=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        yield
    finally:
        asked.unlink()


def masthead(work: Work) -> DataFrame:
    """Give one file with the figures of each list, for the first page."""
    lists = F.broadcast(work.table("mailings").select("mailing_id", "list_id"))
    counted = work.table("sends").join(lists, "mailing_id").groupBy("list_id").agg(
        F.sum(interest(F.col("minute") + F.col("opens"), 12)).alias("interest"),
        F.max("day").alias("last"), F.count("*").alias("n"),
    )  # fmt: skip
    return counted.coalesce(1) if work.on else counted


def blocklist(work: Work) -> DataFrame:
    """Sum what was sent to the domains of a list that is handed in."""
    if work.on:
        blocked = work.spark.read.schema("domain_id INT, reason STRING").csv(work.path("blocked"))
    else:
        blocked = work.table("blocked_rows")
    sends = work.table("sends").join(F.broadcast(blocked), "domain_id")
    return sends.groupBy("reason", "state").agg(
        F.sum(interest(F.col("bytes"), 12)).alias("interest"), F.count("*").alias("n")
    )


def _blocked(form: str) -> Writer:
    def write(work: Work, path: str) -> None:
        rows = work.spark.range(0, 300, 1, 1).selectExpr(
            "CAST(id * 2 AS INT) AS domain_id", "concat('reason ', pmod(xxhash64(id), 7)) AS reason"
        )
        packed = "gzip" if form == "csv" else "snappy"
        rows.write.mode("overwrite").format(form).option("compression", packed).save(path)

    return write


STEPS: dict[str, Step] = {
    "streaks": streaks, "loyalty": loyalty, "figures": figures, "warm-up": warm_up,
    "archive": archive, "issues": issues, "complaints": complaints, "pauses": pauses,
    "consents": consents, "habits": habits, "scores": scores, "best-hour": best_hour,
    "masthead": masthead, "blocklist": blocklist,
}  # fmt: skip
INPUTS: dict[str, dict[str, Writer]] = {
    "warm-up": {
        "probes": columns(
            40_000 * SIZE, "id AS probe_id", "CAST(pmod(h, 120) AS INT) AS day",
            "CAST(pmod(g, 2) AS INT) AS landed", "CAST(pmod(shiftright(g, 9), 30) AS INT) AS box",
        )
    },
    "archive": {"sent": _sent},
    "complaints": {"complaints": _complaints(1), "complaints_parts": _complaints(8)},
    "pauses": {
        "pauses": columns(
            300, "IF(id % 2 = 0, 'domain', 'mailing') AS kind", "CAST(id DIV 2 * 3 AS INT) AS of",
            "CAST(1 + pmod(h, 600) AS INT) AS seconds",
        )
    },
    "habits": {
        "habits": columns(
            280_000 * SIZE, "id AS recipient_id", "CAST(pmod(g, 7) AS INT) AS device",
            "element_at(array('de', 'en', 'fr', 'it', 'pl'), CAST(1 + pmod(h, 5) AS INT))"
            " AS language",
            "transform(sequence(1, 30), i -> CAST(pmod(xxhash64(id, i), 240) AS INT)) AS slots",
        )
    },
    "blocklist": {"blocked": _blocked("csv"), "blocked_rows": _blocked("parquet")},
}  # fmt: skip
"""What a step reads beside the tables."""
