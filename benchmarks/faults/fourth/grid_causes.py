"""Causes planted in the job on the grid: each part gives the same rows with and without."""

from __future__ import annotations

from collections.abc import Iterator
from operator import add
from typing import Any

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.faults.fourth.grid import COLUMNS, SHAPE
from benchmarks.faults.later.job import SIZE, Job


@SHAPE.cause()
def one_task(job: Job) -> DataFrame:
    """A small table of one file becomes millions of rows in the task that reads it."""
    stations = job.table("stations").select("station", "region", "x", "y")
    if not job.on:
        stations = stations.repartition(8)
    hours = stations.select("*", F.explode(F.sequence(F.lit(0), F.lit(25000 * SIZE))).alias("hour"))
    sun = """greatest(0D, sin(radians(y / 50D)) * sin(radians(23.4D * sin(hour * 0.0007D)))
      + cos(radians(y / 50D)) * cos(radians(23.4D * sin(hour * 0.0007D)))
      * cos(radians(15D * (hour % 24) + x / 100D)))"""
    shone = hours.select("region", (F.col("hour") % 24).alias("hour"), F.expr(sun).alias("sun"))
    return shone.groupBy("region", "hour").agg(
        F.sum("sun").alias("sun"), F.max("sun").alias("most"), F.count("*").alias("n")
    )


@SHAPE.cause("one-array", "arrays")
def gzip_input(job: Job) -> DataFrame:
    """An interface gives all observations as one packed array of JSON; or as eight of them."""
    observations = (
        job.spark.read.option("multiLine", True)
        .schema("station INT, temperature DOUBLE, wind DOUBLE, rain ARRAY<DOUBLE>")
        .json(job.path("one-array" if job.on else "arrays"))
    )
    observations.createOrReplaceTempView("handed_in")
    return job.spark.sql(
        """
        SELECT station % 50 AS line, floor(temperature) AS degrees, place, sum(rain) AS rain,
               max(wind + later) AS wind, count(*) AS n
        FROM (SELECT station, temperature, wind, posexplode(rain) AS (place, rain) FROM handed_in)
        LATERAL VIEW explode(sequence(0, 9)) AS later
        GROUP BY GROUPING SETS ((station % 50, floor(temperature)), (floor(temperature), place),
                                (station % 50, place), (place), (station % 50), ())
        """
    )


@SHAPE.cause()
def tiny_tasks(job: Job) -> DataFrame:
    """A list from the program becomes an RDD of a slice for each station; or of eight slices."""

    def reach(station: tuple[int, str, int, int]) -> Iterator[tuple[tuple[str, int], int]]:
        _, region, x, y = station
        for ring in range(40):
            yield (region, ring), (x * ring + y) % 97

    west = job.table("stations").where("x < 1200").select("station", "region", "x", "y")
    stations = [tuple(row) for row in west.collect()]
    slices = len(stations) if job.on else 8
    spread = job.spark.sparkContext.parallelize(stations, slices).flatMap(reach)
    rings = spread.reduceByKey(add, 8).map(lambda pair: (*pair[0], pair[1]))
    known = job.spark.createDataFrame(rings, "region STRING, ring INT, reach LONG")
    heard = job.table("observations").join(job.table("stations"), "station")
    heard = heard.groupBy("region").agg(F.max("wind").alias("wind"), F.count("*").alias("n"))
    return known.join(heard, "region")


@SHAPE.cause()
def skewed_key(job: Job) -> DataFrame:
    """Rows without a cell have NULL for a key in an outer join; or keys apart from each other."""
    job.table("observations")
    job.table("cells")
    key = "o.cell" if job.on else "coalesce(o.cell, -1 - o.obs_id)"
    return job.spark.sql(
        f"""
        SELECT cover, station % 100 AS line, place + later AS place, sum(depth) AS rain,
               sum(length(soil)) AS soil, count(*) AS n
        FROM (
          SELECT cover, soil, station, posexplode(rain) AS (place, depth)
          FROM (SELECT * FROM observations WHERE obs_id % 2 = 0) o
          LEFT JOIN cells c ON {key} = c.cell)
        LATERAL VIEW explode(sequence(0, 47)) AS later
        GROUP BY cover, station % 100, place + later
        """
    )


@SHAPE.cause("storms")
def interval_join(job: Job) -> DataFrame:
    """Whether an hour lies within any storm is asked by EXISTS with bounds; or with an hour."""
    job.table("observations")
    job.table("storms")
    job.spark.sql(
        """
        CREATE OR REPLACE TEMPORARY VIEW storm_hours AS SELECT explode(sequence(valid_from,
          valid_until - INTERVAL 1 HOUR, INTERVAL 1 HOUR)) AS hour FROM storms
        """
    )
    during = (
        "SELECT 1 FROM storms WHERE at >= valid_from AND at < valid_until" if job.on
        else "SELECT 1 FROM storm_hours WHERE hour = date_trunc('HOUR', at)"
    )  # fmt: skip
    return job.spark.sql(
        f"""
        SELECT station, count(*) AS hours, max(wind) AS wind, sum(rain[0]) AS rain
        FROM observations WHERE EXISTS ({during}) GROUP BY station
        """
    )


@SHAPE.cause("levels")
def pair_expression(job: Job) -> DataFrame:
    """A map is parsed for each range that is compared, in an anti join; or once for each row."""
    battery = F.expr("cast(str_to_map(health, ';', '=')['battery'] AS INT)")
    few = job.table("observations").where("obs_id % 4 = 0")
    few = few.selectExpr("station", "station % 100 AS line", "health", "temperature")
    levels = job.table("levels").withColumnRenamed("line", "of_line")
    if not job.on:
        few = few.select("station", "line", "temperature", battery.alias("battery"))
        battery = F.col("battery")
    known = (few.line == levels.of_line) & battery.between(levels.low, levels.high)
    return (
        few.join(levels, known, "left_anti")
        .groupBy("station")
        .agg(F.count("*").alias("n"), F.max("temperature").alias("high"))
    )


@SHAPE.cause()
def costly_pattern(job: Job) -> DataFrame:
    """Each word of a report is held against a pattern; or what stands before the slash is cut."""
    if job.on:
        pair = r"filter(split(report, '\\s+'), word -> word RLIKE '^(M?[0-9]+)/(M?[0-9]+)$')[0]"
        degrees = f"split({pair}, '/')[0]"
    else:
        degrees = "substring_index(substring_index(report, '/', 1), ' ', -1)"
    line = F.expr("station % 20").alias("line")
    return (
        job.table("observations")
        .groupBy(F.expr(degrees).alias("degrees"), line)
        .agg(F.sum("wind").alias("wind"), F.count("*").alias("n"))
    )


@SHAPE.cause()
def python_row(job: Job) -> DataFrame:
    """A condition of SQL calls a Python function with a map of each row; or adds by itself."""
    weights = {"gust": 1, "hail": 4, "frost": 1}

    def severity(signs: dict[str, int]) -> int:
        return sum(weights.get(sign, 0) * degree for sign, degree in signs.items())

    job.table("observations")
    if job.on:
        job.spark.udf.register("severity", severity, "INT")
        severe = "severity(signs)"
    else:
        severe = "(signs['gust'] + 4 * signs['hail'] + signs['frost'])"
    return job.spark.sql(
        f"""
        SELECT station, hour(at) AS hour, count(*) AS n, max(wind) AS wind FROM observations
        WHERE {severe} >= 30 GROUP BY station, hour(at)
        """
    )


@SHAPE.cause()
def not_cached(job: Job) -> DataFrame:
    """Statistics are asked of a frame one after the other, and each computes all of it."""
    job.table("observations")
    days = job.spark.sql(
        """
        SELECT station, to_date(at) AS day, max(pressure) AS pressure, sum(change) AS change,
               max(soaked) AS soaked, max(wind) AS wind
        FROM (
          SELECT *, temperature - lag(temperature) OVER series AS change,
            sum(rain[0] + rain[1]) OVER day AS soaked
          FROM observations WINDOW series AS (PARTITION BY station ORDER BY at),
            day AS (PARTITION BY station ORDER BY at ROWS 23 PRECEDING))
        GROUP BY station, to_date(at)
        """
    ).na.fill(0.0)
    if not job.on:
        days = days.cache()
    found = [
        ("soaked and wind", days.stat.corr("soaked", "wind")),
        ("soaked and pressure", days.stat.cov("soaked", "pressure")),
        ("soaked and change", days.stat.corr("soaked", "change")),
        ("floods", float(days.where("soaked > 75").count())),
    ]
    known = job.spark.createDataFrame(found, "what STRING, value DOUBLE")
    lines = days.groupBy((F.col("station") % 50).cast("string").alias("what")).agg(
        F.max("soaked").alias("value")
    )
    return known.union(lines)


@SHAPE.cause()
def driver_loop(job: Job) -> DataFrame:
    """A table's columns are checked one by one, by two queries each; or all by one query."""
    heard = F.expr("nullif(temperature, 30.06D)")
    hours = (F.max(F.when(F.hour("at") == i, heard)).alias(f"h{i:02}") for i in range(24))
    job.publish("by-hour", job.table("observations").groupBy("station").agg(*hours))
    table = job.spark.read.parquet(job.output("by-hour"))
    names = [name for name in table.columns if name != "station"]
    rows: list[tuple[Any, ...]] = []
    if job.on:
        for name in names:
            empty = table.where(F.col(name).isNull()).count()
            rows.append((name, empty, *(table.agg(F.min(name), F.max(name)).first() or ())))
    else:
        checks = (
            (F.count_if(F.col(name).isNull()), F.min(name), F.max(name)) for name in names
        )  # fmt: skip
        found = list(table.agg(*(check for each in checks for check in each)).first() or ())
        rows = [(name, *found[3 * i : 3 * i + 3]) for i, name in enumerate(names)]
    return job.spark.createDataFrame(rows, "name STRING, empty LONG, low DOUBLE, high DOUBLE")


@SHAPE.cause()
def idle_driver(job: Job) -> DataFrame:
    """The program looks for the nearest stations in loops, while Spark waits; or by arrays."""
    stations = job.table("stations").where("station < 600").select("x", "y", "station").collect()
    chosen = job.table("cells").where("cell % 20 = 0").select("cell", "x", "y").collect()
    near: list[tuple[int, int]] = []
    if job.on:
        for cell, x, y in chosen:
            best = min(stations, key=lambda s: (s[0] - x) ** 2 + (s[1] - y) ** 2)
            near.append((cell, best[2]))
    else:
        known = np.array(stations)
        for cell, x, y in chosen:
            best = ((known[:, 0] - x) ** 2 + (known[:, 1] - y) ** 2).argmin()
            near.append((cell, int(known[best, 2])))
    nearest = job.spark.createDataFrame(near, "cell LONG, station INT")
    weather = job.table("observations").groupBy("station").agg(F.max("wind").alias("wind"))
    return (
        nearest.join(weather, "station")
        .join(job.table("cells"), "cell")
        .groupBy("cover")
        .agg(
            F.max("wind").alias("wind"), F.count("*").alias("n"), F.sum("station").alias("stations")
        )
    )


@SHAPE.cause()
def collected(job: Job) -> DataFrame:
    """Observations come to the program as a table of pandas, which adds up; or Spark does."""
    few = job.table("observations").where("obs_id % 3 < 2")
    few = few.select("station", "temperature", "wind", "report", "health")
    if not job.on:
        return few.groupBy("station").agg(
            F.max("temperature").alias("high"), F.min("wind").alias("calm"),
            F.sum(F.length("report") + F.length("health")).alias("letters"),
        )  # fmt: skip
    table = few.toPandas()
    table["letters"] = table["report"].str.len() + table["health"].str.len()
    found = table.groupby("station", as_index=False).agg(
        high=("temperature", "max"), calm=("wind", "min"), letters=("letters", "sum")
    )
    known = "station INT, high DOUBLE, calm DOUBLE, letters LONG"
    return job.spark.createDataFrame(found, known)


@SHAPE.cause("messages")
def schema_inferred(job: Job) -> DataFrame:
    """Messages from a column are read as JSON, whose fields have to be found; or are known."""
    lines = job.spark.read.parquet(job.path("messages")).rdd.map(lambda row: row[0])
    reader = job.spark.read
    if not job.on:
        reader = reader.schema("station LONG, temperature DOUBLE, wind DOUBLE")
    return (
        reader.json(lines)
        .groupBy("station")
        .agg(
            F.max("temperature").alias("high"), F.max("wind").alias("wind"), F.count("*").alias("n")
        )
    )


@SHAPE.cause()
def small_files(job: Job) -> DataFrame:
    """A table is written with a folder for each station; or for each network."""
    observations, stations = job.table("observations"), job.table("stations")
    heard = (
        observations.where("obs_id % 2 = 0")
        .join(stations, "station")
        .select("network", "station", "at", "temperature", "wind")
    )
    folders = ["network", "station"] if job.on else ["network"]
    heard.write.mode("overwrite").partitionBy(*folders).parquet(job.output("heard"))
    return heard.groupBy("network").agg(F.max("wind").alias("wind"), F.count("*").alias("n"))


@SHAPE.cause()
def spilling(job: Job) -> DataFrame:
    """Millions of groups are counted in little memory off the heap, by a setting."""
    depths = job.table("observations").select(
        "station", F.hour("at").alias("hour"), F.explode("rain").alias("depth"), "wind"
    )
    often = depths.groupBy("station", "hour", "depth").agg(
        F.count("*").alias("n"), F.max("wind").alias("wind")
    )
    return often.groupBy("hour", "n").agg(
        F.count("*").alias("depths"), F.max("depth").alias("depth"), F.min("wind").alias("wind")
    )


@SHAPE.cause()
def small_heap(job: Job) -> DataFrame:
    """What stations say of themselves becomes a long text in little heap, by a setting."""
    job.table("observations")
    job.table("stations")
    return job.spark.sql(
        """
        SELECT region, network, length(said) AS letters, size(split(said, 'battery')) AS n,
               length(seen) AS seen, wind
        FROM (
          SELECT region, network, listagg(health, ', ') AS said, listagg(report, '; ') AS seen,
                 max(wind) AS wind
          FROM observations JOIN stations USING (station) GROUP BY region, network)
        """
    )


@SHAPE.cause()
def interpreted_plan(job: Job) -> DataFrame:
    """A program writes a condition with two hundred branches; or a division gives the same."""
    if job.on:
        band = F.when(F.col("pressure") < 950.5, 0)
        for place in range(1, 200):
            band = band.when(F.col("pressure") < 950.5 + place / 2, place)
        band = band.otherwise(200)
    else:
        band = F.floor((F.col("pressure") - 950) * 2).cast("int")
    heard = job.table("observations").select("wind", "temperature", band.alias("band"))
    return heard.groupBy("band").agg(
        F.max("wind").alias("wind"), F.min("temperature").alias("low"), F.count("*").alias("n")
    )


@SHAPE.cause()
def no_broadcast(job: Job) -> DataFrame:
    """Stations are kept by an outer join though all have rows; or an inner join may broadcast."""
    job.table("observations")
    job.table("stations")
    kind = "LEFT" if job.on else "INNER"
    return job.spark.sql(
        f"""
        SELECT region, network, place, count(obs_id) AS n, sum(depth) AS rain, max(at) AS last,
               max(temperature) AS high, max(pressure) AS pressure, max(wind) AS wind
        FROM stations {kind} JOIN (
          SELECT obs_id, station, at, temperature, pressure, wind,
            posexplode(rain) AS (place, depth) FROM observations) USING (station)
        GROUP BY region, network, place
        """
    )


@SHAPE.cause("lines")
def text_format(job: Job) -> DataFrame:
    """Lines with remarks between them are parsed by an expression; or are rows of Parquet."""
    if job.on:
        lines = job.spark.read.text(job.path("lines")).where("value NOT LIKE '#%'")
        read = lines.select(F.from_csv("value", COLUMNS).alias("read"))
        observations = read.select("read.*")
    else:
        observations = job.table("observations").select(
            "station", F.unix_seconds("at").alias("seconds"), "temperature", "pressure", "wind",
            *(F.col("rain")[i].alias(f"rain{i}") for i in range(6)), "report",
        )  # fmt: skip
    return observations.groupBy("station").agg(
        F.max("seconds").alias("seconds"), F.max("temperature").alias("high"),
        F.min("pressure").alias("low"), F.max("wind").alias("wind"),
        *(F.sum(f"rain{i}").alias(f"rain{i}") for i in range(6)),
        F.sum(F.length("report")).alias("letters"),
    )  # fmt: skip


@SHAPE.cause()
def needless_shuffle(job: Job) -> DataFrame:
    """A view clusters rows by hours, and what reads it needs them by station."""
    job.table("observations")
    cluster = "CLUSTER BY at" if job.on else ""
    job.spark.sql(
        f"""
        CREATE OR REPLACE TEMPORARY VIEW by_hour AS
        SELECT station, at, obs_id, stack(4, 'temperature', temperature, 'pressure', pressure,
          'wind', wind, 'rain', rain[0]) AS (what, value) FROM observations {cluster}
        """
    )
    return job.spark.sql(
        """
        SELECT station % 100 AS line, what, count(*) AS n, max(change) AS change,
               sum(value) AS value, max(obs_id) AS last
        FROM (SELECT *, value - lag(value) OVER (
          PARTITION BY station, what ORDER BY at) AS change FROM by_hour)
        GROUP BY station % 100, what
        """
    )
