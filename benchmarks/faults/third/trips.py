"""Trips of taxis: medium rows, coordinates, few categories. Inputs, and what is always reported."""

from __future__ import annotations

import shutil
from pathlib import Path

from pyspark.sql import functions as F

from benchmarks.faults.later.job import SIZE, Job, Shape

SHAPE = Shape("trips")
TABLES = ("trips", "zones", "drivers")
ROWS = 1_500_000 * SIZE
ZONES = 60
DAYS = 90
START = 1767225600
"""First second of 2026, UTC."""
GEO = """trip_id LONG, zone LONG, vendor STRING, passengers LONG, fare DOUBLE,
`from` STRUCT<coordinates: ARRAY<DOUBLE>, kind: STRING>,
`to` STRUCT<coordinates: ARRAY<DOUBLE>, kind: STRING>, driver STRING, route STRING"""


@SHAPE.input("trips")
def write_trips(job: Job, path: str) -> None:
    """Write trips within four degrees; nearly all from no terminal of the airport, which is 0."""
    ids = job.spark.range(0, ROWS, 1, 8)
    ids.selectExpr("id", "xxhash64(id) AS h", "xxhash64(id, 2) AS g").selectExpr(
        "id AS trip_id",
        f"cast(pmod(h, {ZONES}) AS INT) AS zone",
        "element_at(array('yellow', 'green', 'black'), cast(1 + pmod(g, 3) AS INT)) AS vendor",
        "element_at(array('card', 'cash', 'app', 'free'), cast(1 + pmod(h, 4) AS INT)) AS pay",
        "cast(1 + pmod(g, 6) AS INT) AS passengers",
        "pmod(g, 20000) AS driver_id",
        f"timestamp_seconds({START} + pmod(g, {DAYS * 86400})) AS started_at",
        "cast(60 + pmod(h, 3540) AS INT) AS seconds",
        "pmod(h, 4000000) / 1e6D AS lon", "pmod(g, 4000000) / 1e6D AS lat",
        "pmod(xxhash64(h), 4000000) / 1e6D AS to_lon",
        "pmod(xxhash64(g), 4000000) / 1e6D AS to_lat",
        "(250 + pmod(h, 9750)) / 1e2D AS fare", "pmod(g, 700) / 1e2D AS tip",
        "if(id % 20 < 18, 0, cast(1 + pmod(h, 9) AS INT)) AS terminal",
        "concat('M', substr(hex(g), 1, 4), '-', pmod(h, 5000)) AS medallion",
        "concat('by ', substr(hex(h), 1, 6), ' and ', substr(hex(g), 1, 6), ' road') AS route",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("zones")
def write_zones(job: Job, path: str) -> None:
    """Write a small table."""
    job.spark.range(0, ZONES, 1, 1).selectExpr(
        "cast(id AS INT) AS zone", "concat('borough ', id % 5) AS borough",
        "cast(1 + id % 4 AS DOUBLE) AS toll",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("drivers")
def write_drivers(job: Job, path: str) -> None:
    """Write who drives for whom."""
    job.spark.range(0, 20_000, 1, 1).selectExpr(
        "id AS driver_id", "concat('company ', pmod(xxhash64(id), 25)) AS company"
    ).write.mode("overwrite").parquet(path)


def _deflated(job: Job, path: str, files: int) -> None:
    few = job.table("trips").select("trip_id", "zone", "vendor", "pay", "passengers", "fare")
    few.coalesce(files).write.option("compression", "deflate").csv(path)


SHAPE.input("deflated")(lambda job, path: _deflated(job, path, 1))
SHAPE.input("deflated-in-parts")(lambda job, path: _deflated(job, path, 8))


@SHAPE.input("boxes")
def write_boxes(job: Job, path: str) -> None:
    """Write boxes of an eighth of a degree, whose bounds are exact."""
    job.spark.range(0, 32 * 32, 1, 1).selectExpr(
        "cast(id % 32 AS INT) AS x", "cast(id DIV 32 AS INT) AS y",
        "(id % 32) / 8D AS west", "(id % 32 + 1) / 8D AS east",
        "(id DIV 32) / 8D AS south", "(id DIV 32 + 1) / 8D AS north",
        "cast(id % 37 AS INT) AS district",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("shifts")
def write_shifts(job: Job, path: str) -> None:
    """Write the shifts of each zone: twenty a day, each of 72 minutes of local time."""
    job.spark.range(0, ZONES * 20, 1, 1).selectExpr(
        f"cast(id % {ZONES} AS INT) AS zone", f"cast(id DIV {ZONES} AS INT) * 72 AS begins",
        f"cast(id DIV {ZONES} AS INT) * 72 + 72 AS ends", "concat('shift ', id % 11) AS shift",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("geo")
def write_geo(job: Job, path: str) -> None:
    """Write trips as lines of nested JSON."""
    point = "named_struct('coordinates', array({0}lon, {0}lat), 'kind', 'Point')"
    job.table("trips").selectExpr(
        "trip_id", "zone", "vendor", "passengers", "fare", f"{point.format('')} AS `from`",
        f"{point.format('to_')} AS `to`", "medallion AS driver", "route",
    ).write.mode("overwrite").json(path)  # fmt: skip


def _orc(job: Job, path: str, files: int) -> None:
    job.table("trips").where("trip_id % 2 = 0").repartition(files).write.mode("overwrite").orc(path)


SHAPE.input("few-files")(lambda job, path: _orc(job, path, 8))


@SHAPE.input("many-files")
def write_many_files(job: Job, path: str) -> None:
    """Write many files, and put them into the folders of forty garages."""
    _orc(job, path, 2400)
    for place, each in enumerate(sorted(Path(path).glob("part-*.orc"))):
        garage = Path(path) / f"garage-{place % 40:02}"
        garage.mkdir(exist_ok=True)
        shutil.move(each, garage / each.name)


@SHAPE.input("receipts")
def write_receipts(job: Job, path: str) -> None:
    """Write a receipt for each trip, in another order."""
    job.table("trips").select(
        (F.lit(ROWS - 1) - F.col("trip_id")).alias("trip_id"),
        F.concat(F.lit("receipt "), F.hex(F.xxhash64("trip_id", "fare"))).alias("receipt"),
        F.expr("concat('terms ', hex(xxhash64(route)), hex(xxhash64(route, 1)))").alias("terms"),
        (F.col("trip_id") % 90).alias("printed"),
    ).write.mode("overwrite").parquet(path)


def usual(job: Job) -> None:
    """Report the last month's fares by borough and day, and tips by company."""
    trips, zones = job.table("trips"), job.table("zones")
    job.table("drivers")
    job.publish(
        "fares",
        trips.where("started_at >= '2026-03-01'")
        .join(zones, "zone")
        .groupBy("borough", F.to_date("started_at").alias("day"))
        .agg(F.sum(F.expr("fare + toll")).alias("fares"), F.count("*").alias("trips")),
    )
    job.publish(
        "tips",
        job.spark.sql(
            """
            SELECT company, pay, sum(tip) AS tips, sum(seconds) AS seconds FROM trips
            JOIN drivers USING (driver_id)
            WHERE started_at >= '2026-03-01' GROUP BY company, pay
            """
        ),
    )


SHAPE.usual = usual
