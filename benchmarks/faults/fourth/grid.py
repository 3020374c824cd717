"""A grid of weather stations: arrays, maps, series, many cells. Inputs, and usual reports."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

from pyspark.sql import functions as F

from benchmarks.faults.later.job import SIZE, Job, Shape

SHAPE = Shape("grid")
TABLES = ("observations", "stations", "cells")
ROWS = 700_000 * SIZE
STATIONS = 1500
CELLS = 150_000 * SIZE
START = 1767225600
"""First second of 2026, UTC."""
NETWORKS = "array('synop', 'road', 'buoy', 'ship', 'airport')"
COLUMNS = """obs_id LONG, station INT, seconds LONG, temperature DOUBLE, pressure DOUBLE,
wind DOUBLE, rain0 DOUBLE, rain1 DOUBLE, rain2 DOUBLE, rain3 DOUBLE, rain4 DOUBLE, rain5 DOUBLE,
report STRING"""


@SHAPE.input("observations")
def write_observations(job: Job, path: str) -> None:
    """Write what each station observed in each hour; most rows do not say in which cell."""
    ids = job.spark.range(0, ROWS, 1, 8)
    ids.selectExpr("id", "xxhash64(id) AS h", "xxhash64(id, 2) AS g").selectExpr(
        "id AS obs_id", f"cast(id % {STATIONS} AS INT) AS station",
        f"timestamp_seconds({START} + (id DIV {STATIONS}) * 3600) AS at",
        f"if(id % 20 < 18, NULL, pmod(h, {CELLS})) AS cell",
        "cast(pmod(h, 4007) / 100D - 10D AS DOUBLE) AS temperature",
        "950D + pmod(g, 1001) / 10D AS pressure", "pmod(xxhash64(h), 301) / 10D AS wind",
        "transform(sequence(1, 6), i -> pmod(xxhash64(h, i), 250) / 100D) AS rain",
        "map('gust', cast(pmod(g, 40) AS INT), 'hail', cast(pmod(h, 9) AS INT),"
        " 'fog', cast(pmod(h, 1000) AS INT), 'frost', cast(pmod(g, 7) AS INT)) AS signs",
        f"concat('METAR S', lpad(id % {STATIONS}, 4, '0'), ' ', lpad(pmod(g, 360), 3, '0'),"
        " lpad(pmod(h, 60), 2, '0'), 'KT ', 1000 + pmod(g, 9000), ' SCT', 100 + pmod(h, 900), ' ',"
        " lpad(pmod(h, 40), 2, '0'), '/', lpad(pmod(g, 30), 2, '0'), ' Q', 950 + pmod(h, 100),"
        " ' NOSIG RMK ', substr(hex(g), 1, 6)) AS report",
        "concat('signal=', pmod(g, 60), ';door=', pmod(h, 2), ';heater=', pmod(g, 3),"
        " ';battery=', pmod(xxhash64(g), 1000), ';firmware=', pmod(g, 20)) AS health",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("stations")
def write_stations(job: Job, path: str) -> None:
    """Write where the stations are: a small table."""
    job.spark.range(0, STATIONS, 1, 1).selectExpr(
        "cast(id AS INT) AS station", "concat('station ', hex(xxhash64(id))) AS name",
        f"element_at({NETWORKS}, cast(1 + id % 5 AS INT)) AS network",
        "concat('region ', pmod(xxhash64(id), 20)) AS region",
        "cast(pmod(xxhash64(id, 1), 4000) AS INT) AS x",
        "cast(pmod(xxhash64(id, 2), 3000) AS INT) AS y",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("cells")
def write_cells(job: Job, path: str) -> None:
    """Write the cells of the grid: a large table that describes others."""
    job.spark.range(0, CELLS, 1, 4).selectExpr(
        "id AS cell", "cast(pmod(xxhash64(id, 1), 4000) AS INT) AS x",
        "cast(pmod(xxhash64(id, 2), 3000) AS INT) AS y",
        "concat('cover ', pmod(xxhash64(id), 25)) AS cover",
        "concat(hex(xxhash64(id, 3)), hex(xxhash64(id, 4)), hex(xxhash64(id, 5))) AS soil",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


def _arrays(job: Job, path: str, files: int) -> None:
    few = job.table("observations").where("obs_id % 5 = 0")
    few = few.select("station", "temperature", "pressure", "wind", "rain", "signs")
    lines = Path(path + ".lines")
    few.repartition(files).write.mode("overwrite").json(str(lines))
    Path(path).mkdir(parents=True, exist_ok=True)
    for place, each in enumerate(sorted(lines.glob("part-*.json"))):
        with each.open() as source, gzip.open(f"{path}/{place}.json.gz", "wt") as packed:
            for number, line in enumerate(source):
                packed.write((",\n" if number else "[") + line.rstrip("\n"))
            packed.write("]\n")
    shutil.rmtree(lines)


SHAPE.input("one-array")(lambda job, path: _arrays(job, path, 1))
SHAPE.input("arrays")(lambda job, path: _arrays(job, path, 8))


@SHAPE.input("storms")
def write_storms(job: Job, path: str) -> None:
    """Write when there was a storm, now and in years before: an hour or two each."""
    hours = ROWS // STATIONS
    first = f"{START} + (pmod(xxhash64(id), {hours}) - id % 10 * {hours}) * 3600"
    job.spark.range(0, 2000, 1, 1).selectExpr(
        f"timestamp_seconds({first}) AS valid_from",
        f"timestamp_seconds({first} + (1 + id % 2) * 3600) AS valid_until",
    ).write.mode("overwrite").parquet(path)


@SHAPE.input("levels")
def write_levels(job: Job, path: str) -> None:
    """Write which levels of batteries are no matter of concern, a few ranges for each line."""
    job.spark.range(0, 100 * 12, 1, 1).selectExpr(
        "cast(id % 100 AS INT) AS line", "cast(id DIV 100 AS INT) * 83 AS low",
        "cast(id DIV 100 AS INT) * 83 + 9 AS high",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("messages")
def write_messages(job: Job, path: str) -> None:
    """Write observations as messages from a queue."""
    job.table("observations").where("obs_id % 5 < 3").select(
        F.to_json(F.struct("station", "temperature", "wind", "rain", "signs", "report"))
        .alias("message")
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("lines")
def write_lines(job: Job, path: str) -> None:
    """Write observations as lines of text, with a remark before each hundredth."""
    line = F.concat_ws(
        ",", "obs_id", "station", F.unix_seconds("at"), "temperature", "pressure", "wind",
        *(F.col("rain")[i] for i in range(6)), F.concat(F.lit('"'), "report", F.lit('"')),
    )  # fmt: skip
    remark = F.when(F.col("obs_id") % 100 == 0, F.lit("# checked\n")).otherwise(F.lit(""))
    lines = job.table("observations").select(F.concat(remark, line).alias("value"))
    lines.write.mode("overwrite").text(path)


def usual(job: Job) -> None:
    """Report the last days' extremes by region and day, and rain by network."""
    observations, stations = job.table("observations"), job.table("stations")
    job.table("cells")
    late = observations.where(f"obs_id >= {ROWS * 3 // 4}")
    job.publish(
        "extremes",
        late.join(stations, "station")
        .groupBy("region", F.to_date("at").alias("day"))
        .agg(F.max("temperature").alias("high"), F.min("temperature").alias("low")),
    )
    job.publish(
        "rain",
        job.spark.sql(
            f"""
            SELECT network, hour(at) AS hour, sum(rain[0] + rain[1]) AS rain, max(wind) AS wind
            FROM observations JOIN stations USING (station)
            WHERE obs_id >= {ROWS * 3 // 4} GROUP BY network, hour(at)
            """
        ),
    )


SHAPE.usual = usual
