"""Readings: arrays and doubles of sensors. The inputs of a plant's reports, and the usual ones."""

from __future__ import annotations

from pyspark.sql import functions as F

from benchmarks.faults.later.job import SIZE, Job, Shape

SHAPE = Shape("readings")
TABLES = ("readings", "sensors")
ROWS = 600_000 * SIZE
START = 1767225600
"""First second of 2026, UTC."""
SITES = 12


@SHAPE.input("readings")
def write_readings(job: Job, path: str) -> None:
    """Write readings of 2000 sensors: twelve samples each, and a few doubles."""
    job.spark.range(0, ROWS, 1, 8).selectExpr("id", "xxhash64(id) AS h").selectExpr(
        "id AS reading",
        "cast(id % 2000 AS INT) AS sensor",
        f"timestamp_seconds({START} + cast(id / 2000 AS LONG) * 3600) AS at",
        "transform(sequence(1, 12), i -> cast(pmod(xxhash64(h, i), 10007) / 100.0 AS DOUBLE))"
        " AS samples",
        "cast(pmod(h, 6007) / 100.0 AS DOUBLE) AS temperature",
        "cast(pmod(h, 1013) / 10.0 AS DOUBLE) AS pressure",
        "cast(pmod(h, 4) AS INT) AS quality",
    ).write.parquet(path)


@SHAPE.input("sensors")
def write_sensors(job: Job, path: str) -> None:
    """Write where the sensors are: three of four at one site."""
    job.spark.range(0, 2000, 1, 1).selectExpr(
        "cast(id AS INT) AS sensor", f"if(id % 20 < 17, 0, cast(id % {SITES} AS INT)) AS site",
        "cast(id % 7 AS DOUBLE) AS lowest", "90.0D + id % 5 AS highest",
        "cast(1 + id % 3 AS DOUBLE) / 2 AS gain",
    ).write.parquet(path)  # fmt: skip


def _text(job: Job, path: str, files: int, compression: str, part: str) -> None:
    lines = job.table("readings").where(part).select(
        F.concat_ws("|", "sensor", F.unix_seconds("at"), F.concat_ws(";", F.transform(
            "samples", lambda x: x.cast("string")))).alias("value")
    )  # fmt: skip
    lines.coalesce(files).write.option("compression", compression).text(path)


SHAPE.input("gzipped")(lambda job, path: _text(job, path, 1, "gzip", "reading % 2 = 0"))
SHAPE.input("gzipped-in-parts")(lambda job, path: _text(job, path, 8, "gzip", "reading % 2 = 0"))
SHAPE.input("text")(lambda job, path: _text(job, path, 8, "none", "true"))


@SHAPE.input("wide-csv")
def write_wide_csv(job: Job, path: str) -> None:
    """Write each sample into a column of its own."""
    job.table("readings").select(
        "sensor", "at", *(F.col("samples")[i].alias(f"s{i}") for i in range(12)), "temperature",
        "pressure", "quality",
    ).write.option("header", True).csv(path)  # fmt: skip


@SHAPE.input("limits")
def write_limits(job: Job, path: str) -> None:
    """Write limits, of a sensor or of a site's pressure, some thousands."""
    job.spark.range(0, 2400, 1, 1).selectExpr(
        "cast(if(id < 2000, id, -1) AS INT) AS sensor",
        "if(id < 2000, -1.0D, cast((id - 2000) * 25 / 10 AS DOUBLE)) AS pressure",
        "cast(id % 13 AS INT) AS grade",
    ).write.parquet(path)  # fmt: skip


@SHAPE.input("alarms")
def write_alarms(job: Job, path: str) -> None:
    """Write levels of alarm, many for each remainder of a sensor's number."""
    job.spark.range(0, 50 * 12, 1, 1).selectExpr(
        "cast(id % 50 AS INT) AS line", "94.0D + cast(id / 50 AS INT) / 2.0D AS level",
        "concat('alarm ', cast(id / 50 AS INT)) AS alarm",
    ).write.parquet(path)  # fmt: skip


SHAPE.input("many-files")(
    lambda job, path: job.table("readings").where("reading % 2 = 0")
    .repartition("sensor").write.partitionBy("sensor").parquet(path)
)  # fmt: skip
SHAPE.input("few-files")(
    lambda job, path: job.table("readings").where("reading % 2 = 0")
    .repartition(8).write.parquet(path)
)  # fmt: skip


@SHAPE.input("by-week")
def write_by_week(job: Job, path: str) -> None:
    """Write the readings of each half day into a folder of its own."""
    readings = job.table("readings").withColumn(
        "half_day", ((F.unix_seconds("at") - START) / 43200).cast("int")
    )
    readings.repartition(8, "half_day").write.partitionBy("half_day").parquet(path)


@SHAPE.input("shifts")
def write_shifts(job: Job, path: str) -> None:
    """Write which half day was whose."""
    job.spark.range(0, 30, 1, 1).selectExpr(
        "cast(id AS INT) AS half_day", "concat('crew ', id % 15) AS crew"
    ).write.parquet(path)


@SHAPE.input("calibrations")
def write_calibrations(job: Job, path: str) -> None:
    """Write calibrations: each sensor was calibrated each day."""
    job.spark.range(0, 2000 * 25, 1, 2).selectExpr(
        "cast(id % 2000 AS INT) AS sensor", "cast(id / 2000 AS INT) AS day",
        "1.0D + pmod(xxhash64(id), 100) / 1000.0D AS factor",
    ).write.parquet(path)  # fmt: skip


@SHAPE.input("messages")
def write_messages(job: Job, path: str) -> None:
    """Write readings as the messages of a gateway."""
    job.table("readings").where("reading % 5 = 0").select(
        F.to_json(F.struct("sensor", F.col("samples").alias("v"), "quality")).alias("message")
    ).write.parquet(path)


def usual(job: Job) -> None:
    """Report means of sensors by day, and readings beyond their limits by site."""
    readings, sensors = job.table("readings"), job.table("sensors")
    week = readings.where("at >= '2026-01-10'")
    job.publish(
        "days",
        week.groupBy("sensor", F.to_date("at").alias("day")).agg(
            F.avg("temperature").alias("temperature"), F.max("pressure").alias("pressure")
        ),
    )
    job.publish(
        "beyond",
        week.join(sensors, "sensor").where("temperature < lowest OR temperature > highest - 40")
        .groupBy("site", "quality").agg(F.count("*").alias("n"), F.max("pressure").alias("worst")),
    )  # fmt: skip


SHAPE.usual = usual
