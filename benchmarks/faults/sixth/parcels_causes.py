"""Causes planted in the job on parcels: each part gives the same rows with and without."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark import AccumulatorParam
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from benchmarks.faults.later.job import SIZE, Job
from benchmarks.faults.sixth.parcels import FEED, SHAPE, TRAIL


@SHAPE.cause()
def codegen_off(job: Job) -> DataFrame:
    """A lambda looks for an hour in a list, which takes the filter out of compiled code; or IN."""
    peaks = (7, 8, 16, 17, 18)
    hour = (F.col("began") + F.col("passed")) % 24
    if job.on:
        busy = F.exists(F.array(*map(F.lit, peaks)), lambda peak: peak == hour)
    else:
        busy = hour.isin(*peaks)
    under_way = job.table("parcels").select(
        "service", "weight", "to_depot", F.hour("sent_at").alias("began"),
        F.explode(F.sequence(F.lit(0), F.lit(119))).alias("passed"),
    )  # fmt: skip
    return (
        under_way.where(busy)
        .groupBy("service", (F.col("to_depot") % 20).alias("hall"))
        .agg(
            F.sum("weight").alias("weight"), F.count("*").alias("n"), F.max("passed").alias("last")
        )
    )


@SHAPE.cause()
def driver_loop(job: Job) -> DataFrame:
    """Each depot is asked whether it had a crowded day, by a query of its own; or all are."""
    daily = job.table("scans").groupBy("depot_id", F.to_date("scanned_at").alias("day")).agg(
        F.count("*").alias("n"), F.count_distinct("device_id").alias("devices")
    )  # fmt: skip
    crowded = daily.where(F.col("n") > 69 * SIZE + 40)
    depots = job.table("depots").where("country IN ('DE', 'NL')").select("depot_id", "name")
    if not job.on:
        return depots.join(crowded.select("depot_id").distinct(), "depot_id")
    crowded.cache()
    alarms = []
    for depot in depots.collect():
        if not crowded.where(F.col("depot_id") == depot.depot_id).isEmpty():
            alarms.append(depot)
    return job.spark.createDataFrame(alarms, depots.schema)


class Manifests(DataSource):  # type: ignore[misc]
    """Lines of manifests from depots' servers, some of which close connections early."""

    @classmethod
    def name(cls) -> str:
        """Give its name."""
        return "manifests"

    def schema(self) -> str:
        """Give the fields of a line, and whether its label is sound."""
        return "service STRING, to_depot INT, weight INT, sound BOOLEAN"

    def reader(self, schema: Any) -> DataSourceReader:
        """Give what reads it."""
        return ManifestsReader(self.options)


class ManifestsReader(DataSourceReader):  # type: ignore[misc]
    """Reads a file of manifests in each task."""

    def __init__(self, options: Any) -> None:
        self.path, self.closes = options["path"], options["closes"] == "early"

    def partitions(self) -> list[InputPartition]:
        """Give each file."""
        return [InputPartition(str(file)) for file in sorted(Path(self.path).glob("part-*"))]

    def read(self, partition: InputPartition) -> Iterator[tuple[str, int, int, bool]]:
        """Read a file, at whose end the server may close the connection once."""
        from pyspark import TaskContext

        with open(partition.value) as lines:
            for line in lines:
                label, service, depot, weight, _ = line.split("|")
                digits = [int(letter) for letter in label if letter.isdigit()]
                control = sum(digit * (3 if place % 2 else 1) for place, digit in enumerate(digits))
                yield service, int(depot), int(weight), control % 10 != 0
        task = TaskContext.get()
        if self.closes and task is not None and task.attemptNumber() == 0:
            raise ConnectionResetError("the server closed the connection before the last block")


@SHAPE.cause("manifests")
def failing_tasks(job: Job) -> DataFrame:
    """A source in Python loses its server once at the end of each file; or keeps it."""
    job.spark.dataSource.register(Manifests)
    manifests = (
        job.spark.read.format("manifests")
        .option("closes", "early" if job.on else "late").load(job.path("manifests"))
    )  # fmt: skip
    return manifests.groupBy("service", "to_depot").agg(
        F.sum("weight").alias("weight"), F.count_if("sound").alias("sound")
    )


@SHAPE.cause("trails")
def json_again(job: Job) -> DataFrame:
    """Each scan of a document is read by its place and paths; or all are taken out at once."""
    job.table("trails")
    if job.on:
        scan = "get_json_object(trail, concat('$.scans[', place, '].{}'))"
        names = ("depot", "event", "minute", "device.battery")
        paths = ", ".join(f"{scan.format(name)} AS {name.split('.')[-1]}" for name in names)
        last = "json_array_length(get_json_object(trail, '$.scans')) - 1"
        read = f"""SELECT {paths}
          FROM trails LATERAL VIEW explode(sequence(0, {last})) AS place"""
    else:
        read = f"""SELECT scan.depot, scan.event, scan.minute, scan.device.battery
          FROM trails LATERAL VIEW explode(from_json(trail, '{TRAIL}').scans) AS scan"""
    return job.spark.sql(
        f"""
        SELECT cast(depot AS INT) AS depot, event, count(*) AS n,
               max(cast(minute AS LONG)) AS minute, sum(cast(battery AS INT)) AS battery
        FROM ({read}) GROUP BY cast(depot AS INT), event
        """
    )


@SHAPE.cause()
def nested_loop(job: Job) -> DataFrame:
    """A depot is the one whose list contains the postcode; or the list's elements are joined."""
    parcels, depots = job.table("parcels"), job.table("depots")
    if job.on:
        served = F.array_contains(depots.postcodes, parcels.postcode)
        placed = parcels.join(depots, served)
    else:
        codes = depots.select("name", "region", F.explode("postcodes").alias("code"))
        placed = parcels.join(codes, parcels.postcode == codes.code)
    return placed.groupBy("name", "region", "service").agg(
        F.sum("weight").alias("weight"), F.max("parcel_id").alias("last")
    )


@SHAPE.cause()
def no_broadcast(job: Job) -> DataFrame:
    """A limit of 64 was meant in megabytes and is one of bytes; or says what it is in."""
    limit = "64" if job.on else "64MB"
    job.spark.conf.set("spark.sql.autoBroadcastJoinThreshold", limit)
    for name in ("scans", "depots", "devices"):
        job.table(name)
    return job.spark.sql(
        """
        SELECT region, vendor, event, hour(at) AS hour, count(*) AS n, max(at) AS last,
               sum(length(note) + length(model)) AS letters, max(parcel_id) AS newest,
               max(lat) AS north
        FROM (
          SELECT *, explode(array(scanned_at - INTERVAL 2 MINUTES, scanned_at,
                                  scanned_at + INTERVAL 40 MINUTES)) AS at
          FROM scans) JOIN depots USING (depot_id) JOIN devices USING (device_id)
        GROUP BY region, vendor, event, hour(at)
        """
    )


@contextmanager
def kept(frame: DataFrame) -> Iterator[DataFrame]:
    """Keep a frame in memory for the length of a block."""
    frame.persist()
    try:
        yield frame
    finally:
        frame.unpersist()


@SHAPE.cause()
def not_cached(job: Job) -> DataFrame:
    """What reports are made of is released before they are written, as they are lazy; or after."""
    ways = job.table("scans").groupBy("parcel_id").agg(
        F.min("scanned_at").alias("began"), F.max("scanned_at").alias("ended"),
        F.max("depot_id").alias("depot_id"), F.min("device_id").alias("device_id"),
        F.count_if(F.col("note").like("belt 1%")).alias("belts"), F.count("*").alias("n"),
        F.sum(F.length("note")).alias("letters"),
    )  # fmt: skip
    ways = ways.withColumn("hours", F.expr("(unix_seconds(ended) - unix_seconds(began)) DIV 3600"))

    def reports(ways: DataFrame) -> dict[str, DataFrame]:
        day = F.to_date("began").alias("day")
        facts = (F.sum("hours").alias("hours"), F.max("ended").alias("ended"),
                 F.sum("belts").alias("belts"), F.sum("n").alias("scans"),
                 F.max("letters").alias("letters"))  # fmt: skip
        return {
            "depots": ways.groupBy("depot_id").agg(*facts, F.max("device_id").alias("device")),
            "devices": ways.groupBy("device_id").agg(*facts, F.max("depot_id").alias("depot")),
            "days": ways.groupBy(day).agg(*facts, F.max("depot_id").alias("depot")),
            "slow": ways.where("hours >= 22").groupBy("depot_id", "n").agg(*facts),
        }

    if job.on:
        with kept(ways) as known:
            made = reports(known)
    else:
        made = reports(ways.persist())
    last = made.pop("slow")
    for name, report in made.items():
        job.publish(name, report)
    return last


@SHAPE.cause("trials")
def per_pair(job: Job) -> DataFrame:
    """A parcel's lot, a hash of its label, is computed for each trial; or once for each parcel."""
    trials = job.table("trials")
    parcels = job.table("parcels").select("service", "label", "weight", "parcel_id")
    lot = F.conv(F.substring(F.sha2("label", 256), 1, 4), 16, 10).cast("int")
    if not job.on:
        parcels = parcels.select("service", "weight", "parcel_id", lot.alias("lot"))
        lot = F.col("lot")
    takes_part = (lot >= trials["first"]) & (lot < trials["beyond"])
    return (
        parcels.join(trials, (parcels.service == trials["of"]) & takes_part)
        .groupBy("trial")
        .agg(F.sum("weight").alias("weight"), F.count("*").alias("n"),
             F.max("parcel_id").alias("last"))
    )  # fmt: skip


@SHAPE.cause()
def python_row(job: Job) -> DataFrame:
    """Rows are counted one by one in an accumulator of the program; or grouped and counted."""
    few = job.table("scans").where("event IN ('sorted', 'unloaded')").select(
        "depot_id", "event", F.hour("scanned_at").alias("hour")
    )  # fmt: skip
    if not job.on:
        return few.groupBy("depot_id", "event", "hour").agg(F.count("*").alias("n"))

    class Tally(AccumulatorParam[dict[Any, int]]):  # type: ignore[misc]
        def zero(self, value: dict[Any, int]) -> dict[Any, int]:
            return {}

        def addInPlace(self, one: dict[Any, int], other: dict[Any, int]) -> dict[Any, int]:  # noqa: N802
            for key, n in other.items():
                one[key] = one.get(key, 0) + n
            return one

    tally = job.spark.sparkContext.accumulator({}, Tally())
    few.foreach(lambda scan: tally.add({(scan.depot_id, scan.event, scan.hour): 1}))
    return job.spark.createDataFrame(
        [(*key, n) for key, n in tally.value.items()],
        "depot_id INT, event STRING, hour INT, n LONG",
    )


@SHAPE.cause("feed")
def schema_inferred(job: Job) -> DataFrame:
    """A stream over files finds fields and times in all of them before it starts; or knows them."""
    reader = job.spark.readStream.option("timestampFormat", "dd.MM.yyyy HH:mm:ss")
    if job.on:
        job.spark.conf.set("spark.sql.streaming.schemaInference", "true")
        reader = reader.option("inferTimestamp", True)
    else:
        reader = reader.schema(FEED)
    feed = reader.json(job.path("feed"))
    heavy = feed.where("weight >= 20").select(
        F.col("depot").cast("int").alias("depot"), "event", "place.belt", "weight",
        F.hour("scanned_at").alias("hour"),
    )  # fmt: skip
    folder, marks = job.output("heavy"), job.output("heavy-marks")
    for written in (folder, marks):
        shutil.rmtree(written, ignore_errors=True)
    heavy.writeStream.trigger(availableNow=True).option("checkpointLocation", marks).start(
        folder, format="parquet", outputMode="append"
    ).awaitTermination()
    return (
        job.spark.read.parquet(folder)
        .groupBy("depot", "belt", "hour")
        .agg(F.sum("weight").alias("weight"), F.count("*").alias("n"))
    )


@SHAPE.cause("consignments", "shippers")
def skewed_key(job: Job) -> DataFrame:
    """The market place's rows are one task's; or adaptive execution splits them, by settings."""
    consignments, shippers = job.table("consignments"), job.table("shippers")
    rated = consignments.join(shippers, "shipper").select(
        "service", "weight", "discount", "terms", "label",
        F.explode(F.sequence(F.lit(1), F.lit(80))).alias("tariff"),
    )  # fmt: skip
    return rated.groupBy("service", "tariff").agg(
        F.sum(F.expr("weight * tariff * (100 - discount) DIV 100")).alias("fee"),
        F.sum(F.crc32(F.concat("label", F.substring("terms", 1, 8), "tariff"))).alias("control"),
        F.count("*").alias("n"),
    )


@SHAPE.cause()
def small_heap(job: Job) -> DataFrame:
    """Ways of parcels are lists of objects, all of them in little heap at once, by a setting."""
    job.table("scans")
    return job.spark.sql(
        """
        SELECT element_at(way, 1).depot_id AS first, element_at(way, -1).event AS last,
               count(*) AS n, sum(size(way)) AS scans,
               sum(length(element_at(way, 2).note)) AS letters
        FROM (
          SELECT parcel_id,
                 array_sort(collect_list(struct(scanned_at, depot_id, event, note))) AS way
          FROM scans WHERE parcel_id % 2 = 0 GROUP BY parcel_id)
        GROUP BY element_at(way, 1).depot_id, element_at(way, -1).event
        """
    )


@SHAPE.cause()
def spilling(job: Job) -> DataFrame:
    """Scans that a window puts in order go to disk after some thousands, by a setting."""
    job.table("scans")
    return job.spark.sql(
        """
        SELECT depot_id, event, sum(since) AS since, max(since) AS longest, count(*) AS n,
               sum(length(note) + length(came)) AS letters, max(device_id) AS device
        FROM (
          SELECT *, unix_seconds(scanned_at) - unix_seconds(lag(scanned_at) OVER w) AS since,
                 lag(note) OVER w AS came
          FROM scans WINDOW w AS (PARTITION BY parcel_id ORDER BY scanned_at))
        GROUP BY depot_id, event
        """
    )


@SHAPE.cause()
def tiny_tasks(job: Job) -> DataFrame:
    """Depots meet depots in a product whose slices multiply to hundreds; or to four."""
    slices = 16 if job.on else 2
    places = [(row.depot_id, row.lat, row.lon) for row in job.table("depots").collect()]
    depots = job.spark.sparkContext.parallelize(places, slices)

    def apart(pair: Any) -> tuple[int, int, int]:
        (one, lat, lon), (other, north, east) = pair
        x = math.radians(east - lon) * math.cos(math.radians((lat + north) / 2))
        return one, other, round(6371 * math.hypot(x, math.radians(north - lat)))

    pairs = depots.cartesian(depots).map(apart)
    distances = job.spark.createDataFrame(pairs, "from_depot INT, to_depot INT, km INT")
    return (
        job.table("parcels")
        .join(F.broadcast(distances), ["from_depot", "to_depot"])
        .groupBy("service", (F.col("km") / 100).cast("int").alias("band"))
        .agg(F.sum("weight").alias("weight"), F.max("km").alias("km"), F.count("*").alias("n"))
    )
