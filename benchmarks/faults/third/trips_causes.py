"""Causes planted in the job on trips: each part gives the same rows with and without."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Timer
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.faults.later.job import Job
from benchmarks.faults.third.trips import DAYS, GEO, SHAPE, START


@SHAPE.cause()
def one_task(job: Job) -> DataFrame:
    """A limit from the days of a test, which no input reaches, brings all rows together."""
    trips = job.table("trips").select("trip_id", "zone", "vendor", "fare", "seconds")
    if job.on:
        trips = trips.limit(5_000_000)
    on_the_way = trips.select(
        "trip_id", "zone", "vendor", "fare",
        F.explode(F.expr("sequence(0L, seconds DIV 45)")).alias("step"),
    )  # fmt: skip
    return on_the_way.groupBy("zone", "vendor", "step").agg(
        F.count("*").alias("n"), F.sum("fare").alias("fare"), F.max("trip_id").alias("last")
    )


@SHAPE.cause("deflated", "deflated-in-parts")
def gzip_input(job: Job) -> DataFrame:
    """A view in SQL is of one deflated file; or of eight."""
    path = job.path("deflated" if job.on else "deflated-in-parts")
    job.spark.sql(
        f"""
        CREATE OR REPLACE TEMPORARY VIEW handed_in (trip_id LONG, zone INT, vendor STRING,
          pay STRING, passengers INT, fare DOUBLE) USING csv OPTIONS (path '{path}')
        """
    )
    return job.spark.sql(
        """
        SELECT zone, vendor, pay, passengers, trip_id % 7 AS day, sum(fare) AS fare, count(*) AS n
        FROM handed_in GROUP BY CUBE (zone, vendor, pay, passengers, trip_id % 7)
        """
    )


@SHAPE.cause()
def tiny_tasks(job: Job) -> DataFrame:
    """The calendar of minutes without trips is made in thousands of slices; or in two."""
    minute = F.floor((F.unix_seconds("started_at") - START) / 60)
    counted = job.table("trips").groupBy(minute.alias("minute")).agg(
        F.count("*").alias("n"), F.sum("passengers").alias("passengers")
    )  # fmt: skip
    slices = 3000 if job.on else 2
    calendar = job.spark.range(0, DAYS * 1440, 1, slices).withColumnRenamed("id", "minute")
    return (
        calendar.join(counted, "minute", "left")
        .groupBy(F.expr("minute DIV 1440").alias("day"))
        .agg(F.count("*").alias("minutes"), F.sum("passengers").alias("passengers"),
             F.expr("count_if(n IS NULL)").alias("empty"))
    )  # fmt: skip


@SHAPE.cause()
def skewed_key(job: Job) -> DataFrame:
    """Seats are put in order by a terminal that most have not; or by all that tells them apart."""
    trips = job.table("trips")
    seats = trips.select(
        "terminal", "trip_id", F.explode(F.expr("sequence(1, passengers)")).alias("seat"),
        "started_at", "fare", "medallion",
    )  # fmt: skip
    order = ["terminal"] if job.on else ["terminal", "trip_id", "seat"]
    job.publish("seats", seats.orderBy(*order))
    return trips.groupBy("terminal", "vendor").agg(F.sum("passengers").alias("seats"))


@SHAPE.cause("boxes")
def interval_join(job: Job) -> DataFrame:
    """Trips are found in boxes by their bounds, in SQL; or by the numbers of their boxes."""
    job.table("trips")
    job.table("boxes")
    on = (
        "lon >= west AND lon < east AND lat >= south AND lat < north" if job.on
        else "cast(floor(lon * 8D) AS INT) = x AND cast(floor(lat * 8D) AS INT) = y"
    )  # fmt: skip
    return job.spark.sql(
        f"""
        SELECT district, vendor, count(*) AS n, sum(fare) AS fare, max(trip_id) AS last
        FROM trips JOIN boxes ON {on} GROUP BY district, vendor
        """
    )


@SHAPE.cause("shifts")
def pair_expression(job: Job) -> DataFrame:
    """Local time is computed for each shift of the zone; or once for each trip."""
    trips, shifts = job.table("trips").select("zone", "started_at", "fare"), job.table("shifts")
    local = F.from_utc_timestamp("started_at", "America/New_York")
    minute = F.hour(local) * 60 + F.minute(local)
    if not job.on:
        trips = trips.select("zone", "fare", minute.alias("minute"))
        minute = F.col("minute")
    during = (minute >= shifts.begins) & (minute < shifts.ends)
    worked = trips.join(shifts, (trips.zone == shifts.zone) & during)
    return worked.groupBy("shift").agg(F.sum("fare").alias("fare"), F.count("*").alias("n"))


@SHAPE.cause()
def costly_pattern(job: Job) -> DataFrame:
    """A label is formatted for each trip, to group by; or for each group."""
    label = F.expr(
        """
        format_string('%s/%s/%03d at %09.4f, %09.4f from %08.2f', vendor, pay, zone, x, y, band)
        """
    ).alias("label")
    trips = job.table("trips").selectExpr(
        "vendor", "pay", "zone", "cast(floor(lon) AS DOUBLE) AS x", "floor(lat / 2D) * 2D AS y",
        "floor(fare / 50D) * 50D AS band", "tip",
    )  # fmt: skip
    sums = (F.sum("tip").alias("tip"), F.count("*").alias("n"))
    if job.on:
        return trips.groupBy(label).agg(*sums)
    keys = ("vendor", "pay", "zone", "x", "y", "band")
    return trips.groupBy(*keys).agg(*sums).select(label, "tip", "n")


@SHAPE.cause()
def python_row(job: Job) -> DataFrame:
    """A pandas function goes through its batches row by row; or an expression does without."""

    def way(lon: pd.Series, lat: pd.Series, to_lon: pd.Series, to_lat: pd.Series) -> pd.Series:
        rows = pd.DataFrame({"a": lon, "b": lat, "c": to_lon, "d": to_lat})
        return rows.apply(lambda r: abs(r.c - r.a) * 52.0 + abs(r.d - r.b) * 69.0, axis=1)

    if job.on:
        far: Any = F.pandas_udf(way, "double")("lon", "lat", "to_lon", "to_lat")
    else:
        far = F.expr("abs(to_lon - lon) * 52D + abs(to_lat - lat) * 69D")
    few = job.table("trips").where("trip_id % 4 = 0")
    return few.select("zone", far.alias("far")).groupBy("zone").agg(
        F.sum("far").alias("far"), F.max("far").alias("farthest")
    )  # fmt: skip


@SHAPE.cause()
def not_cached(job: Job) -> DataFrame:
    """A table is checked three times before it is used, and computed for each check."""
    job.table("trips")
    waits = job.spark.sql(
        """
        SELECT zone, vendor, hour(started_at) AS hour, sum(wait) AS wait, count(*) AS n,
               max(wait) AS longest FROM (
          SELECT zone, vendor, started_at, unix_seconds(started_at) - lag(
            unix_seconds(started_at) + seconds) OVER (
              PARTITION BY driver_id ORDER BY started_at, trip_id) AS wait FROM trips)
        WHERE wait > 0 GROUP BY zone, vendor, hour(started_at)
        """
    )
    if not job.on:
        waits = waits.cache()
    if waits.isEmpty():
        raise ValueError("no trips")
    if waits.where("wait < 0 OR longest > wait").count():
        raise ValueError("times run backwards")
    if waits.select("zone").distinct().count() != 60:
        raise ValueError("a zone has no trips")
    return waits.groupBy("zone", "hour").agg(
        F.sum("wait").alias("wait"), F.sum("n").alias("n"), F.max("longest").alias("longest")
    )


@SHAPE.cause()
def driver_loop(job: Job) -> DataFrame:
    """Each hour's part of a small table is appended to the output by itself; or all at once."""
    hours = job.table("trips").groupBy(
        F.hour("started_at").alias("hour"), "zone", (F.col("driver_id") % 2).alias("half")
    ).agg(F.sum("tip").alias("tip"), F.count("*").alias("n"))  # fmt: skip
    path = job.output("hours")
    if job.on:
        hours = hours.cache()
        for place in range(48):
            part = hours.where((F.col("hour") == place // 2) & (F.col("half") == place % 2))
            part.write.mode("append" if place else "overwrite").parquet(path)
    else:
        hours.write.mode("overwrite").parquet(path)
    written = job.spark.read.schema("hour INT, zone INT, half LONG, tip DOUBLE, n LONG")
    return written.parquet(path).groupBy("zone").agg(
        F.sum("tip").alias("tip"), F.sum("n").alias("n")
    )  # fmt: skip


@SHAPE.cause()
def idle_driver(job: Job) -> DataFrame:
    """Whether another program is done is looked for every five seconds; or twenty times each."""
    done = Path(job.output("done"))
    done.parent.mkdir(parents=True, exist_ok=True)
    done.unlink(missing_ok=True)
    Timer(0.6, done.touch).start()
    while not done.exists():
        time.sleep(5 if job.on else 0.05)
    return job.table("trips").groupBy("zone", "pay").agg(
        F.sum("fare").alias("fare"), F.max("seconds").alias("longest")
    )  # fmt: skip


@SHAPE.cause()
def collected(job: Job) -> DataFrame:
    """All rows pass by the driver, which adds them up; or Spark does."""
    few = job.table("trips").where("trip_id % 3 = 0").select("zone", "vendor", "tip")
    if not job.on:
        return few.groupBy("zone", "vendor").agg(F.sum("tip").alias("tip"), F.count("*").alias("n"))
    sums: dict[tuple[int, str], list[Any]] = {}
    for zone, vendor, tip in few.toLocalIterator():
        one = sums.setdefault((zone, vendor), [0.0, 0])
        one[0] += tip
        one[1] += 1
    rows = [(*key, *one) for key, one in sums.items()]
    return job.spark.createDataFrame(rows, "zone INT, vendor STRING, tip DOUBLE, n LONG")


@SHAPE.cause("geo")
def schema_inferred(job: Job) -> DataFrame:
    """Files of JSON are named in a query, which has to find their fields; or a view knows them."""
    path = job.path("geo")
    source = f"json.`{path}`" if job.on else "geo"
    if not job.on:
        job.spark.sql(
            f"CREATE OR REPLACE TEMPORARY VIEW geo ({GEO}) USING json OPTIONS (path '{path}')"
        )
    return job.spark.sql(
        f"""
        SELECT zone, vendor, max(fare) AS dearest, sum(passengers) AS passengers
        FROM {source} GROUP BY zone, vendor
        """
    )


@SHAPE.cause("many-files", "few-files")
def small_files(job: Job) -> DataFrame:
    """Garages hand in many small files of ORC, in folders of theirs; or few are kept."""
    reader = job.spark.read.option("recursiveFileLookup", True)
    trips = reader.orc(job.path("many-files" if job.on else "few-files"))
    return trips.groupBy("zone", "vendor").agg(
        F.sum("fare").alias("fare"), F.max("seconds").alias("longest")
    )


@SHAPE.cause("receipts")
def spilling(job: Job) -> DataFrame:
    """Sorts of both sides of a join spill after some ten thousands of rows, by a setting."""
    trips, receipts = job.table("trips"), job.table("receipts")
    both = trips.select("trip_id", "zone", "fare", "medallion", "route").join(receipts, "trip_id")
    return both.groupBy("zone", "printed").agg(
        F.sum("fare").alias("fare"), F.count("*").alias("n"),
        F.sum(F.length("receipt") + F.length("terms")).alias("receipts"),
        F.sum(F.length("medallion") + F.length("route")).alias("routes"),
    )  # fmt: skip


@SHAPE.cause()
def small_heap(job: Job) -> DataFrame:
    """Exact medians of coordinates keep all values in little heap, by a setting."""
    return job.spark.sql(
        """
        SELECT zone, percentile(lon, 0.5) AS lon, percentile(lat, 0.5) AS lat,
               percentile(to_lon, 0.5) AS to_lon, count(*) AS n FROM trips GROUP BY zone
        """
    )


@SHAPE.cause()
def interpreted_plan(job: Job) -> DataFrame:
    """Code that was generated is thought too long to be used, by a setting."""
    trips = job.table("trips").where("tip > 0.1 AND pay != 'free'")
    steps = trips.select(
        "zone", "vendor", "fare", "lon", "lat", "to_lon", "to_lat", "passengers",
        F.explode(F.expr("sequence(1L, 1L + seconds DIV 120)")).alias("step"),
    )  # fmt: skip
    moved = steps.selectExpr(
        "zone", "vendor", "step", "lon + (to_lon - lon) * step / 31 AS x",
        "lat + (to_lat - lat) * step / 31 AS y", "fare / passengers AS share",
    )  # fmt: skip
    return moved.where("x + y > 0.25").groupBy("zone", "vendor", "step").agg(
        F.sum("x").alias("x"), F.sum("y").alias("y"), F.max("share").alias("share"),
        F.min("x").alias("west"), F.min("y").alias("south"), F.count("*").alias("n"),
    )  # fmt: skip


@SHAPE.cause()
def no_broadcast(job: Job) -> DataFrame:
    """How few busy drivers there are is not known before they are counted; or a hint says so."""
    trips = job.table("trips")
    busy = trips.groupBy("driver_id").agg(F.count("*").alias("n")).where("n >= 95")
    if not job.on:
        busy = F.broadcast(busy)
    return (
        trips.select("driver_id", "zone", "fare", "medallion", "route", "started_at", "lon", "lat")
        .join(busy, "driver_id")
        .groupBy("zone", "n")
        .agg(F.sum("fare").alias("fare"), F.max("started_at").alias("last"),
             F.sum(F.length("route") + F.length("medallion")).alias("letters"),
             F.max("lon").alias("east"), F.max("lat").alias("north"))
    )  # fmt: skip


@SHAPE.cause()
def failing_tasks(job: Job) -> DataFrame:
    """A worker of Python dies at the end of each first attempt."""
    on = job.on

    def corners(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark import TaskContext

        task = TaskContext.get()
        for batch in batches:
            turned = [
                zone * 10 + sum(letter.isdigit() for letter in route + medallion) % 10
                for zone, route, medallion in zip(
                    *(each.to_pylist() for each in batch.columns), strict=True
                )
            ]
            yield pa.RecordBatch.from_arrays([pa.array(turned, pa.int64())], ["corner"])
        if on and task is not None and task.attemptNumber() == 0:
            os._exit(3)

    return (
        job.table("trips")
        .select("zone", "route", "medallion")
        .mapInArrow(corners, "corner LONG")
        .groupBy("corner")
        .count()
    )


@SHAPE.cause("geo")
def text_format(job: Job) -> DataFrame:
    """Trips are nested JSON behind a view; or Parquet."""
    if job.on:
        job.spark.sql(
            f"""
            CREATE OR REPLACE TEMPORARY VIEW handed_in ({GEO}) USING json
            OPTIONS (path '{job.path("geo")}')
            """
        )
        lon = "`from`.coordinates[0]"
    else:
        job.table("trips").createOrReplaceTempView("handed_in")
        lon = "lon"
    return job.spark.sql(
        f"""
        SELECT vendor, cast(floor({lon} * 50D) AS INT) AS strip, sum(fare) AS fare,
               max(trip_id) AS last, count(*) AS n
        FROM handed_in GROUP BY vendor, cast(floor({lon} * 50D) AS INT)
        """
    )
