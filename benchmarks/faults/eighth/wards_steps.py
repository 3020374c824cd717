"""Steps of the hospital's job, in two ways each."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from functools import reduce
from pathlib import Path

import numpy as np
import pandas as pd
from pyspark import InheritableThread, Row
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from benchmarks.faults.eighth.wards import strained
from benchmarks.faults.seventh.work import SIZE, Step, Work, Writer

REFERRAL = (
    "clinic STRING, doctor STRING, reason STRING, urgent INT, weeks INT, phone STRING, mark STRING"
)
BY_DAY = "vital_id LONG, pulse INT, systolic INT, device STRING, day DATE"
DAYS = pd.date_range("2026-02-01", periods=75).date


def codes(work: Work) -> DataFrame:
    """Count stays by the chapter of their diagnosis."""
    stays, chapters = work.table("stays"), F.broadcast(work.table("chapters"))
    if work.on:
        of = stays["diagnosis"].startswith(chapters["prefix"])
    else:
        of = F.substring(stays["diagnosis"], 1, 3) == chapters["prefix"]
    return stays.join(chapters, of).groupBy("chapter", "ward").agg(
        F.sum(F.col("days") * F.col("weight")).alias("weight"), F.count("*").alias("n")
    )  # fmt: skip


def referrals(work: Work) -> DataFrame:
    """Summarise by clinic what doctors wrote when they sent patients."""
    sent = work.table("referrals")
    names = [field.split(" ")[0] for field in REFERRAL.split(", ")]
    if work.on:
        read = sent.selectExpr(
            *(f"xpath_string(document, '/r/{name}') AS {name}" for name in names)
        )
    else:
        parsed = F.from_xml("document", REFERRAL, {"rowTag": "r"}).alias("r")
        read = sent.select(parsed).select("r.*")
    return read.groupBy("clinic").agg(
        F.sum(F.col("urgent").cast("int")).alias("urgent"), F.max("reason").alias("reason"),
        F.sum(F.col("weeks").cast("int")).alias("weeks"), F.max("phone").alias("phone"),
        F.max("doctor").alias("doctor"), F.max("mark").alias("mark"),
    )  # fmt: skip


def _referrals(work: Work, path: str) -> None:
    stays = work.table("stays").where(f"stay_id < {3_500 * SIZE}")
    document = (
        "concat('<r><clinic>clinic ', ward, '</clinic><doctor>', doctor, '</doctor><reason>', note,"
        " '</reason><urgent>', days % 2, '</urgent><weeks>', days, '</weeks><phone>+42 ', stay_id,"
        " '</phone><mark>', kin, '</mark></r>') AS document"
    )
    stays.repartition(8).selectExpr(document).write.mode("overwrite").parquet(path)


def pseudonyms(work: Work) -> DataFrame:
    """Hand over what monitors measured without the numbers of patients."""
    work.table("vitals").createOrReplaceTempView("vitals")
    patient = "CAST(CAST(patient_id AS STRING) AS BINARY)"
    hidden = f"base64(aes_encrypt({patient}, CAST('one key of night' AS BINARY), 'ECB', 'PKCS'))"
    sums = "max(pulse) AS pulse, sum(warmth) AS warmth, count(*) AS n"
    if work.on:
        of = f"(SELECT {hidden} AS patient, pulse, warmth FROM vitals WHERE pulse > 70)"
        by = f"SELECT patient, {sums} FROM {of} GROUP BY patient"
    else:
        by = f"SELECT patient_id, {sums} FROM vitals WHERE pulse > 70 GROUP BY patient_id"
        by = f"SELECT {hidden} AS patient, pulse, warmth, n FROM ({by})"
    return work.spark.sql(by)


def charts(work: Work) -> DataFrame:
    """Draw the charts of the days after which monitors were changed, hour by hour."""
    for day in ("2026-02-11", "2026-03-14", "2026-04-08"):
        work.publish(f"chart-{day}", _chart(work, day))
    return _chart(work, "2026-05-20")


def _chart(work: Work, day: str) -> DataFrame:
    if work.on:
        of_day = F.date_format("at", "yyyy-MM-dd") == day
    else:
        begun = F.lit(day).cast("timestamp")
        of_day = (F.col("at") >= begun) & (F.col("at") < begun + F.expr("INTERVAL 1 DAY"))
    return work.table("vitals").where(of_day).groupBy(F.hour("at").alias("hour")).agg(
        F.sum("pulse").alias("pulse"), F.max("device").alias("device"),
        F.min("systolic").alias("systolic"), F.max("warmth").alias("warmth"),
    )  # fmt: skip


def letters(work: Work) -> DataFrame:
    """Count by ward how many letters about stays are due in each week."""
    stays = work.table("stays")
    if not work.on:
        stays = stays.select("ward", "came", "days")

    def due(stay: Row) -> tuple[tuple[int, int], int]:
        week = (stay.came.toordinal() + stay.days) // 7
        return (stay.ward, week), 1 + stay.days // 14

    counted = stays.rdd.map(due).reduceByKey(lambda one, other: one + other, 8)
    rows = counted.map(lambda pair: (*pair[0], pair[1]))
    return work.spark.createDataFrame(rows, "ward INT, week INT, letters LONG")


def rounds(work: Work) -> DataFrame:
    """Prepare what doctors look at on their rounds."""
    stays = work.table("stays").select("stay_id", "ward", "doctor", "insurer")
    vitals = work.table("vitals").where("vital_id % 2 = 0")
    vitals = vitals.select("stay_id", "pulse", strained(4).alias("strain"), "device")
    patients = vitals.join(stays, "stay_id")
    if work.on:
        known = work.result("known")
        shutil.rmtree(known, ignore_errors=True)
        work.spark.sparkContext.setCheckpointDir(known)
        patients = patients.checkpoint()
    return patients.groupBy("ward").agg(
        F.max("pulse").alias("pulse"), F.count("*").alias("n"), F.max("device").alias("device"),
        F.sum("strain").alias("strain"), F.max("doctor").alias("doctor"),
        F.max("insurer").alias("insurer"),
    )  # fmt: skip


def beds(work: Work) -> DataFrame:
    """Look at each tenth row of what monitors measured, as the statisticians do."""
    import pyspark.pandas as ps

    kind = "sequence" if work.on else "distributed-sequence"
    with ps.option_context("compute.default_index_type", kind):
        vitals = work.table("vitals").select("pulse", "systolic", "warmth").pandas_api()
        vitals["place"] = vitals.index % 10
        few = vitals[vitals["place"] == 3].to_spark()
        return few.groupBy("pulse").agg(
            F.sum("systolic").alias("systolic"), F.max("warmth").alias("warmth"),
            F.count("*").alias("n"),
        )  # fmt: skip


def dosing(work: Work) -> DataFrame:
    """Compute doses with the pharmacists' program, which has a log of its own."""
    log = work.result("doses.log") if work.on else None

    def dosed(stays: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        with ExitStack() as held:
            if log:
                file = held.enter_context(open(log, "a"))
                fcntl.flock(file, fcntl.LOCK_EX)
            for some in stays:
                hours = np.linspace(0.0, 24.0, 500)
                decay = np.exp(-hours[None, :] / (1.0 + some["days"].to_numpy()[:, None]))
                peaks = np.rint(np.cumsum(np.sqrt(decay), axis=1)[:, -1] * 1000)
                yield pd.DataFrame({"ward": some["ward"], "dose": peaks.astype("int64")})

    if log:
        Path(log).parent.mkdir(parents=True, exist_ok=True)
    stays = work.table("stays").select("ward", "days")
    doses = stays.mapInPandas(dosed, "ward INT, dose LONG")
    return doses.groupBy("ward").agg(F.sum("dose").alias("dose"), F.count("*").alias("n"))


def alarms(work: Work) -> DataFrame:
    """Find alarms, while the program shows how far it is."""
    vitals = work.table("vitals").groupBy("device").agg(
        F.max(strained(22)).alias("strain"), F.count_if(F.col("pulse") > 140).alias("fast")
    )  # fmt: skip
    path, tracker = work.result("found"), work.spark.sparkContext.statusTracker()
    writer = vitals.write.mode("overwrite")
    task = InheritableThread(target=writer.parquet, args=(path,))
    task.start()
    shown = 0
    while task.is_alive():
        shown = max(shown, *map(len, (tracker.getActiveStageIds(), tracker.getActiveJobsIds())))
        if not work.on:
            task.join(1.0)
    return work.spark.read.schema(vitals.schema).parquet(path)


def transfers(work: Work) -> DataFrame:
    """Sum what the monitors of the last weeks measured, from a folder for each day."""
    root, reader = work.path("by_day"), work.spark.read.schema(BY_DAY)
    if work.on:
        days = [
            reader.option("basePath", root).parquet(f"{root}/day={day}").where("pulse > 60")
            for day in DAYS
        ]
        vitals = reduce(DataFrame.unionByName, days)
    else:
        until = F.lit(str(DAYS[-1]))
        vitals = reader.parquet(root).where(F.col("day").between(F.lit(str(DAYS[0])), until))
        vitals = vitals.where("pulse > 60")
    return vitals.groupBy("day").agg(
        F.sum("systolic").alias("systolic"), F.max("device").alias("device"),
        F.count("*").alias("n"),
    )  # fmt: skip


def _by_day(work: Work, path: str) -> None:
    vitals = work.table("vitals").select(
        "vital_id", "pulse", "systolic", "device", F.to_date("at").alias("day")
    )
    vitals.repartition(8, "day").write.mode("overwrite").partitionBy("day").parquet(path)


def admissions(work: Work) -> DataFrame:
    """Summarise who came, in six tables for six offices."""
    stays = work.table("stays")
    for number, name in enumerate(("insurer", "doctor", "diet", "bed", "came")):
        wide = [F.sum((F.col("days") + n) * (number + n)).alias(f"n{n}") for n in range(12)]
        work.publish(f"office-{number}", stays.groupBy(name).agg(*wide))
    return stays.groupBy("ward").agg(F.max("note").alias("note"), F.sum("days").alias("days"))


def census(work: Work) -> DataFrame:
    """Keep the cleaned notes of stays for four tables."""
    work.table("stays").createOrReplaceTempView("stays")
    cleaned = r"regexp_replace(regexp_replace(note, '([0-9A-F])([0-9A-F])', '$2$1'), '\\s+', '_')"
    work.spark.sql(
        f"""
        CACHE TABLE cleaned OPTIONS ('storageLevel' 'MEMORY_ONLY')
        AS SELECT ward, days, doctor, insurer, diet, sha2(note, 512) AS mark, {cleaned} AS note
        FROM stays
        """
    )
    for name in ("doctor", "insurer", "diet"):
        asked = f"SELECT {name}, max(note) AS note, max(mark) AS mark FROM cleaned GROUP BY {name}"
        work.publish(f"by-{name}", work.spark.sql(asked))
    return work.spark.sql(
        "SELECT ward, sum(days) AS days, max(note) AS note FROM cleaned GROUP BY ward"
    )


def discharges(work: Work) -> DataFrame:
    """Give the rise of the pulse between measurements of a stay."""
    vitals = work.table("vitals").select("stay_id", "vital_id", "pulse", "systolic")
    if work.on:
        vitals = vitals.repartition(8, "stay_id")
    before = Window.partitionBy("stay_id").orderBy("vital_id")
    risen = vitals.select("systolic", (F.col("pulse") - F.lag("pulse").over(before)).alias("r"))
    return risen.groupBy("systolic").agg(F.sum(F.abs("r")).alias("r"), F.count("*").alias("n"))


def handbook(work: Work) -> DataFrame:
    """Sum the days of stays, by a query in which all columns have a name."""
    work.table("stays").createOrReplaceTempView("stays")
    columns = "*" if work.on else "stay_id, patient_id, ward, came, days, insurer"
    return work.spark.sql(
        f"""
        WITH every AS (SELECT {columns} FROM stays),
             dated AS (SELECT *, month(came) AS month, sha2(insurer, 256) AS mark FROM every)
        SELECT ward, month, sum(days) AS days, max(mark) AS mark, count(*) AS n
        FROM (SELECT * FROM dated WHERE days > 1) GROUP BY ward, month
        """
    )


STEPS: dict[str, Step] = {
    "codes": codes, "referrals": referrals, "pseudonyms": pseudonyms, "charts": charts,
    "letters": letters, "rounds": rounds, "beds": beds, "dosing": dosing, "alarms": alarms,
    "transfers": transfers, "admissions": admissions, "census": census, "discharges": discharges,
    "handbook": handbook,
}  # fmt: skip
INPUTS: dict[str, dict[str, Writer]] = {
    "referrals": {"referrals": _referrals}, "transfers": {"by_day": _by_day},
}  # fmt: skip
"""What a step reads beside the tables."""
